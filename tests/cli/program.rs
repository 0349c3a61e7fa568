//! Running the binary, and a folder that goes away with its test. Knows nothing of studies.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const BINARY: &str = env!("CARGO_BIN_EXE_assize");

/// A temporary folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("assize-cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and the folders above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Runs the program in this folder with an empty standard input.
    pub fn assize(&self, args: &[&str]) -> Ran {
        self.assize_with("", args)
    }

    /// Runs the program in this folder with `input` on its standard input.
    pub fn assize_with(&self, input: &str, args: &[&str]) -> Ran {
        self.start(input, BINARY, args)
    }

    /// Runs the program under a shell `script`, which starts it as `"$@"`.
    pub fn assize_under(&self, script: &str, args: &[&str]) -> Ran {
        self.start("", "sh", &[&["-c", script, "sh", BINARY], args].concat())
    }

    fn start(&self, input: &str, program: &str, args: &[&str]) -> Ran {
        let mut child = Command::new(program)
            .args(args)
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A program that reads nothing closes the pipe early.
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran {
            command: args.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Ran {
    command: String,
    /// `None` when a signal ended it.
    code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Requires an exit code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "exit code of `{}`\n{}", self.command, self.shown());
        self
    }

    /// Requires a text on standard error.
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "`{}` does not say {text:?}\n{}", self.command, self.shown());
        self
    }

    /// Requires that a text is nowhere on standard output and standard error.
    pub fn hides(&self, text: &str) -> &Self {
        let shown = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(!shown, "`{}` shows {text:?}\n{}", self.command, self.shown());
        self
    }

    /// Requires an empty standard error.
    pub fn is_silent(&self) -> &Self {
        assert!(self.stderr.is_empty(), "`{}` is not silent\n{}", self.command, self.shown());
        self
    }

    /// Standard output, which must be one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("`{}` printed no JSON: {error}\n{}", self.command, self.shown()))
    }

    /// The line of standard error that starts with `start`.
    pub fn line(&self, start: &str) -> &str {
        let line = self.stderr.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("`{}` has no line {start:?}\n{}", self.command, self.shown()))
    }

    fn shown(&self) -> String {
        let head = |text: &str| text.chars().take(4000).collect::<String>();
        format!("--- stdout\n{}\n--- stderr\n{}", head(&self.stdout), head(&self.stderr))
    }
}

/// Every file below a folder with its bytes, by path from it; folders with none.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What is below `root`.
pub fn tree(root: &Path) -> Tree {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_path_buf();
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else {
                found.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Requires the same files with the same bytes.
pub fn assert_same_tree(a: &Path, b: &Path) {
    assert_unchanged(&tree(a), b);
}

/// Requires that `root` is still what [`tree`] found before.
pub fn assert_unchanged(before: &Tree, root: &Path) {
    let now = tree(root);
    let differ: Vec<&PathBuf> = before.keys().chain(now.keys()).filter(|name| before.get(*name) != now.get(*name)).collect();
    assert!(differ.is_empty(), "new, gone or changed below {}: {differ:?}", root.display());
}

/// The files directly in `folder` that end in `extension`, in name order.
pub fn files_in(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension() == Some(OsStr::new(extension)));
    paths.sort();
    paths
}

/// Permission bits of a file or folder.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}
