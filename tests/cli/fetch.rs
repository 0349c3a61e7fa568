//! `models fetch` against a server on this machine that speaks the hub's paths.

use crate::program::Folder;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Files of one repository, and what was asked for.
struct Hub {
    endpoint: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    /// Serves `files`; the connection for the whole of `cut` breaks off once after half of it.
    fn serve(files: &[(&str, Vec<u8>)], cut: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let files: HashMap<String, Vec<u8>> = files.iter().map(|(name, bytes)| ((*name).to_string(), bytes.clone())).collect();
        let mut cut = cut.map(str::to_string);
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                answer(stream, &files, &mut cut, &log);
            }
        });
        Self { endpoint, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, files: &HashMap<String, Vec<u8>>, cut: &mut Option<String>, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = headers.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_string));
    let path = request.split(' ').nth(1).unwrap_or_default().to_string();
    log.lock().unwrap().push(format!("{path} {}", range.clone().unwrap_or_default()));
    if path.starts_with("/api/models/") {
        let siblings: Vec<_> = files.keys().map(|name| serde_json::json!({"rfilename": name})).collect();
        let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        return;
    }
    let name = path.split(&format!("/resolve/{COMMIT}/")).nth(1).unwrap_or_default();
    let Some(bytes) = files.get(name) else {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    };
    let range = range.unwrap_or_else(|| "0-".into());
    let (from, to) = range.split_once('-').unwrap();
    let from: usize = from.parse().unwrap();
    let to = to.parse::<usize>().map_or(bytes.len(), |to| (to + 1).min(bytes.len()));
    let mut part = &bytes[from.min(bytes.len())..to];
    let etag: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let _ = write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\nETag: \"{etag}\"\r\n\
         x-repo-commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        part.len(),
        to.max(1) - 1,
        bytes.len()
    );
    if part.len() > 1 && cut.as_deref() == Some(name) {
        *cut = None;
        part = &part[..part.len() / 2];
    }
    let _ = stream.write_all(part);
}

fn encoder() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", b"{\"a\": 1}".to_vec()),
        ("1_Pooling/config.json", b"{\"pooling_mode_mean_tokens\": true}".to_vec()),
        ("model.safetensors", (0..200_000_u32).map(|i| (i % 251) as u8).collect()),
        ("README.md", b"not needed".to_vec()),
        ("onnx/model.onnx", b"not needed".to_vec()),
    ]
}

fn card(files: &str) -> String {
    format!(
        "name = \"mini\"\nkind = \"encoder\"\narchitecture = \"bert\"\nlicence = \"none\"\nsource = \"a test\"\n{}\n\
         [hub]\nrepo = \"team/mini\"\nrevision = \"main\"\n{files}",
        if files.is_empty() { "pinned = false" } else { "" }
    )
}

#[test]
fn what_an_encoder_needs_is_fetched_recorded_and_not_fetched_again() {
    let hub = Hub::serve(&encoder(), None);
    let folder = Folder::new();
    folder.write("mini.toml", card(""));
    let fetch = || folder.assize(&["models", "fetch", "mini.toml", "--model-dir", "weights", "--endpoint", &hub.endpoint, "--json"]);
    let table = fetch().exits(0).json();
    assert_eq!(table.as_array().unwrap().len(), 4, "{table:#}");
    assert_eq!(std::fs::read(folder.join("weights/mini/model.safetensors")).unwrap(), encoder()[3].1);
    assert!(folder.join("weights/mini/1_Pooling/config.json").exists());
    assert!(!folder.join("weights/mini/README.md").exists());
    let lock = folder.read("weights/models.lock");
    assert!(lock.contains(COMMIT) && lock.contains("team/mini") && lock.contains("model.safetensors"), "{lock}");
    assert!(hub.asked()[0].starts_with("/api/models/team/mini/revision/main"), "{:?}", hub.asked());
    let n_asked = hub.asked().len();
    fetch().exits(0);
    assert_eq!(hub.asked().len(), n_asked, "nothing is asked for that is there");
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_stopped() {
    let hub = Hub::serve(&encoder(), Some("model.safetensors"));
    let folder = Folder::new();
    folder.write("mini.toml", card(""));
    folder.assize(&["models", "fetch", "mini.toml", "--model-dir", "weights", "--endpoint", &hub.endpoint]).exits(0);
    assert_eq!(std::fs::read(folder.join("weights/mini/model.safetensors")).unwrap(), encoder()[3].1);
    let ranges: Vec<String> = hub.asked().into_iter().filter(|line| line.contains("model.safetensors")).collect();
    assert!(ranges.iter().any(|line| line.ends_with(" 100000-")), "{ranges:?}");
}

#[test]
fn another_file_than_the_card_names_is_refused_and_removed() {
    let hub = Hub::serve(&encoder(), None);
    let folder = Folder::new();
    let files = format!("[[file]]\npath = \"mini/config.json\"\nbytes = 2\nsha256 = \"{}\"\n", "0".repeat(64));
    folder.write("mini.toml", card(&files));
    let ran = folder.assize(&["models", "fetch", "mini.toml", "--model-dir", "weights", "--endpoint", &hub.endpoint]).exits(3);
    ran.says("mini/config.json").says("0000");
    assert!(!folder.join("weights/mini/config.json").exists());
    assert!(!folder.join("weights/models.lock").exists());
}

#[test]
fn a_changed_file_and_a_hub_that_is_away_are_named() {
    let hub = Hub::serve(&encoder(), None);
    let folder = Folder::new();
    folder.write("mini.toml", card(""));
    let fetch = |endpoint: &str| folder.assize(&["models", "fetch", "mini.toml", "--model-dir", "weights", "--endpoint", endpoint]);
    fetch("http://127.0.0.1:9").exits(1).says("127.0.0.1:9").says("team/mini");
    fetch(&hub.endpoint).exits(0);
    folder.write("weights/mini/config.json", "{\"changed\": true}");
    fetch(&hub.endpoint).exits(3).says("weights/mini/config.json").says("models.lock");
    folder.assize(&["models", "fetch", "smollm2-135m-instruct"]).exits(2).says("[hub]");
}
