//! One folder of a study: its files by case, and what else is there.
//!
//! This file must not know what a file holds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::data::id::CaseId;

/// Files that systems leave beside others, whatever their case.
const LITTER: [&str; 4] = [".DS_Store", "Thumbs.db", "desktop.ini", ".directory"];

/// The entries of a folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// Regular files, also behind links.
    pub files: BTreeMap<CaseId, PathBuf>,
    /// Entries that are named like a file of a case and are none, with what they are.
    pub irregular: BTreeMap<CaseId, (PathBuf, String)>,
    /// Names of everything else.
    pub others: Vec<String>,
    /// Entries that systems leave (`.DS_Store`, `._name`).
    pub n_litter: usize,
    /// What is wrong with names: the entry, what was expected and got, the remedy.
    pub faults: Vec<(PathBuf, String, &'static str)>,
}

impl Listing {
    /// Lists a folder. A file belongs to a case when one of `suffixes` follows the case's name.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn read(dir: &Path, suffixes: &[&str]) -> std::io::Result<Self> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(dir)? {
            paths.push(entry?.path());
        }
        paths.sort();
        let mut listing = Self::default();
        for path in paths {
            listing.add(dir, path, suffixes);
        }
        Ok(listing)
    }

    /// Puts one entry where it belongs.
    fn add(&mut self, dir: &Path, path: PathBuf, suffixes: &[&str]) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if LITTER.iter().any(|litter| litter.eq_ignore_ascii_case(&name)) || name.starts_with("._") {
            self.n_litter += 1;
            return;
        }
        let Some(stem) = suffixes.iter().find_map(|&suffix| name.strip_suffix(suffix)) else {
            self.others.push(name);
            return;
        };
        if path.to_str().is_none() {
            let what = format!("expected a file name in UTF-8, got other bytes in \"{name}\"");
            self.faults.push((dir.to_path_buf(), what, "rename the file"));
            return;
        }
        let case = match CaseId::new(stem) {
            Ok(case) => case,
            Err(error) => {
                self.faults.push((path, error.to_string(), "rename the file"));
                return;
            }
        };
        if let Some(first) = self.files.get(&case) {
            let first = first.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let what = if first == name {
                format!("expected one file of the case \"{case}\", got several")
            } else {
                format!("expected one file of the case \"{case}\", got \"{first}\" and \"{name}\"")
            };
            self.faults.push((dir.to_path_buf(), what, "remove one of them, or choose one by a suffix"));
            return;
        }
        match irregularity(&path) {
            None => {
                self.files.insert(case, path);
            }
            Some(what) => {
                self.irregular.insert(case, (path, what));
            }
        }
    }
}

/// What an entry is that is no regular file; `None` for a regular file, also behind a link.
fn irregularity(path: &Path) -> Option<String> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let target = || fs::read_link(path).map(|target| format!(" to \"{}\"", target.display())).unwrap_or_default();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => None,
        Ok(metadata) if metadata.is_dir() => Some("a folder".into()),
        Ok(metadata) => Some(special_kind(&metadata).into()),
        Err(error) if is_link && error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("a link{} that leads nowhere", target()))
        }
        Err(error) if is_link => Some(format!("a link{} that cannot be followed ({error})", target())),
        Err(error) => Some(format!("an entry that cannot be looked at ({error})")),
    }
}

fn special_kind(metadata: &fs::Metadata) -> &'static str {
    let kind = metadata.file_type();
    match (kind.is_fifo(), kind.is_socket()) {
        (true, _) => "a pipe (FIFO)",
        (_, true) => "a socket",
        _ => "a device",
    }
}
