//! Weight files that are not what a card names are refused before anything is computed.

use crate::program::{Folder, Ran};
use crate::study::two_sources;
use sha2::{Digest, Sha256};

/// The head of a GGUF file and nothing that follows from it.
const WEIGHTS: &[u8] = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0not a model at all, only its first bytes";

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A study whose judge is described by `tiny.toml`, with its file in `weights/`.
fn with_card(bytes: usize, sha256: &str) -> Folder {
    let folder = two_sources(&["case-1"]);
    let text = folder.read("study.toml").replace("card = \"written-replies\"", "card = \"tiny.toml\"\nmodel_dir = \"weights\"");
    folder.write("study.toml", text).write("weights/tiny.gguf", WEIGHTS).write(
        "tiny.toml",
        format!(
            "name = \"tiny\"\nkind = \"judge\"\narchitecture = \"llama\"\nlicence = \"none\"\nsource = \"a test\"\ncontext_tokens = 512\n\
             [[file]]\npath = \"tiny.gguf\"\nbytes = {bytes}\nsha256 = {sha256:?}\n[template]\nsha256 = {:?}\n",
            "0".repeat(64)
        ),
    );
    folder
}

/// `run` and `models verify` both refuse the file; neither leaves results.
fn refused(folder: &Folder, words: &[&str]) {
    let run = folder.assize(&["run", "."]).exits(3);
    run.says("weights/tiny.gguf").hides("panicked");
    assert_eq!(run.stdout, "");
    assert!(!folder.join("results").exists());
    let verify: Ran = folder.assize(&["models", "verify", "tiny.toml", "--model-dir", "weights", "--json"]).exits(3);
    let result = verify.json()[0]["result"].as_str().unwrap().to_string();
    assert!(result.contains("weights/tiny.gguf"), "{result}");
    for word in words {
        run.says(word);
        assert!(result.contains(word), "{word:?} is not in {result}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    std::fs::remove_file(folder.join("weights/tiny.gguf")).unwrap();
    refused(&folder, &["missing", "file 1 of 1"]);
    // The study itself can be checked without it.
    let check = folder.assize(&["check", ".", "--json"]).exits(0).json();
    assert!(check["model"].as_str().unwrap().contains("tiny.gguf is missing"), "{check:#}");
}

#[test]
fn a_file_of_another_size_is_named() {
    let folder = with_card(WEIGHTS.len() + 1, &sha256(WEIGHTS));
    refused(&folder, &[&format!("expected {} bytes, got {}", WEIGHTS.len() + 1, WEIGHTS.len())]);
}

#[test]
fn a_file_with_another_hash_is_named() {
    let folder = with_card(WEIGHTS.len(), &"a".repeat(64));
    refused(&folder, &[&"a".repeat(64), &sha256(WEIGHTS)]);
}

#[test]
fn a_file_that_is_no_model_is_named() {
    refused(&with_card(WEIGHTS.len(), &sha256(WEIGHTS)), &[]);
}

#[test]
fn a_file_that_changed_after_it_was_verified_is_found() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    folder.assize(&["run", "."]).exits(3);
    let mut other = WEIGHTS.to_vec();
    *other.last_mut().unwrap() ^= 1;
    folder.write("weights/tiny.gguf", &other);
    refused(&folder, &[&sha256(WEIGHTS), &sha256(&other)]);
}

#[test]
fn a_shard_without_its_others_is_named() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    let card = folder.read("tiny.toml").replace("tiny.gguf", "tiny-00001-of-00002.gguf");
    folder.write("tiny.toml", card).write("weights/tiny-00001-of-00002.gguf", WEIGHTS);
    folder.assize(&["run", "."]).exits(3).says("tiny-00001-of-00002.gguf").says("shard 1 of 2");
}

#[test]
fn a_card_that_cannot_be_read_is_named() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    folder.write("tiny.toml", folder.read("tiny.toml").replace("licence", "license"));
    folder.assize(&["run", "."]).exits(3).says("tiny.toml").says("license");
    std::fs::remove_file(folder.join("tiny.toml")).unwrap();
    folder.assize(&["run", "."]).exits(3).says("tiny.toml");
    folder.assize(&["models", "verify", "nowhere"]).exits(3).says("nowhere").says("written-replies");
}

#[test]
fn replies_on_record_need_no_weights_to_be_listed() {
    let folder = with_card(WEIGHTS.len(), &"a".repeat(64));
    let ran = folder.assize(&["run", ".", "--no-engine"]).exits(4);
    ran.says("1 of 1 games are still to be judged");
}

#[test]
fn a_card_that_leaves_its_files_open_says_how_to_complete_it() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    for command in [
        &["run", ".", "--card", "gpt-oss-120b"][..],
        &["models", "verify", "gpt-oss-120b"],
        &["requests", ".", "--card", "gpt-oss-120b"],
    ] {
        let ran = folder.assize(command).exits(3);
        ran.says("assize models pin gpt-oss-120b --model-dir DIR --out my-card.toml");
        assert_eq!(ran.stdout, "");
    }
    let list = folder.assize(&["models", "list", "--json"]).exits(0).json();
    let row = list.as_array().unwrap().iter().find(|row| row["card"] == "gpt-oss-120b").expect("listed");
    assert_eq!(row["state"], "files to be pinned");
    assert!(row["megabytes"].is_null(), "no size is invented: {row}");
}

#[test]
fn pinning_names_what_it_cannot_use() {
    let folder = with_card(WEIGHTS.len(), &sha256(WEIGHTS));
    let pin = |card: &str, more: &[&str]| folder.assize(&[&["models", "pin", card, "--model-dir", "weights"], more].concat());
    pin("tiny.toml", &[]).exits(2).says("names its files already");
    pin("gemma-3-27b-it", &["--out", "tiny.toml"]).exits(2).says("tiny.toml is there already");
    pin("gemma-3-27b-it", &["--out", "new.toml"]).exits(3).says("weights/tiny.gguf").hides("panicked");
    folder.write("weights/other.gguf", WEIGHTS);
    pin("gemma-3-27b-it", &[]).exits(3).says("other.gguf, tiny.gguf").says("--file");
    pin("gemma-3-27b-it", &["--file", "none.gguf"]).exits(3).says("weights/none.gguf");
    assert!(!folder.join("new.toml").exists());
}
