//! The files of a card on this machine: found, complete, and the ones that the card means.

use super::{ModelCard, ModelFile, not_a_gguf};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use thiserror::Error;

/// A file of a card, found at `path` with the size that the card names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalFile {
    pub path: PathBuf,
    pub expected: ModelFile,
}

/// Every file of a card.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalModel {
    pub files: Vec<LocalFile>,
}

/// Why a card's files cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    #[error(
        "model `{model}`: {path} is missing (file {number} of {total}); fetch it (`make models` for the default models) or name its folder with --model-dir"
    )]
    Missing { model: String, path: PathBuf, number: usize, total: usize },
    #[error("{path}: expected a GGUF of {expected} bytes, got {what}")]
    Other { path: PathBuf, expected: u64, what: &'static str },
    #[error("{path}: expected {expected} bytes, got {found}; {}", size_remedy(*.expected, *.found))]
    Size { path: PathBuf, expected: u64, found: u64 },
    #[error("{path}: expected sha256 {expected}, got {found}; this is not the file that the card names")]
    Hash { path: PathBuf, expected: String, found: String },
    #[error("{path}: its name says that it is shard {number} of {total}, the card lists {listed} file(s); list every shard")]
    Shards { path: PathBuf, number: usize, total: usize, listed: usize },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
}

fn size_remedy(expected: u64, found: u64) -> &'static str {
    if found < expected { "the download is not complete, fetch it again" } else { "this is not the file that the card names" }
}

/// Finds every file of `card` under `folder` and checks sizes and shard names; reads no contents.
///
/// # Errors
/// The first [`FileError`].
pub fn locate(card: &ModelCard, folder: &Path) -> Result<LocalModel, FileError> {
    let total = card.files.len();
    let mut files = Vec::with_capacity(total);
    for (i, expected) in card.files.iter().enumerate() {
        let path = folder.join(&expected.path);
        if let Some((number, shards)) = shard_of(&expected.path)
            && (shards != total || number != i + 1)
        {
            return Err(FileError::Shards { path, number, total: shards, listed: total });
        }
        let Ok(metadata) = fs::metadata(&path) else {
            return Err(FileError::Missing { model: card.name.clone(), path, number: i + 1, total });
        };
        if metadata.len() != expected.bytes {
            let is_gguf = path.extension().is_some_and(|extension| extension == "gguf");
            if is_gguf && let Ok(Some(what)) = not_a_gguf(&path) {
                return Err(FileError::Other { path, expected: expected.bytes, what });
            }
            return Err(FileError::Size { path, expected: expected.bytes, found: metadata.len() });
        }
        files.push(LocalFile { path, expected: expected.clone() });
    }
    Ok(LocalModel { files })
}

/// `(number, total)` of a split GGUF by its name, as `model-00002-of-00003.gguf`.
#[must_use]
pub fn shard_of(path: &Path) -> Option<(usize, usize)> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let (head, total) = stem.rsplit_once("-of-")?;
    let (_, number) = head.rsplit_once('-')?;
    (total.len() == 5 && number.len() == 5).then(|| Some((number.parse().ok()?, total.parse().ok()?)))?
}

/// A file's hash as computed before, valid while size and modification time stay.
#[derive(Serialize, Deserialize, PartialEq)]
struct Seen {
    bytes: u64,
    modified_ns: u128,
    sha256: String,
}

const SEEN_FILE: &str = ".assize-verified.json";

/// Checks every file against its card's sha256. With `trust_unchanged`, a file that was hashed before and has kept its size and
/// modification time is not read again (weights of a large judge take minutes to read).
///
/// # Errors
/// [`FileError::Hash`] or [`FileError::Read`].
pub fn verify_hashes(model: &LocalModel, folder: &Path, trust_unchanged: bool) -> Result<(), FileError> {
    let seen_path = folder.join(SEEN_FILE);
    let mut seen: BTreeMap<PathBuf, Seen> =
        fs::read(&seen_path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut changed = false;
    for file in &model.files {
        let read_error = |source| FileError::Read { path: file.path.clone(), source };
        let metadata = fs::metadata(&file.path).map_err(read_error)?;
        let modified_ns = metadata.modified().map_err(read_error)?.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let known = seen
            .get(&file.expected.path)
            .filter(|known| trust_unchanged && known.bytes == metadata.len() && known.modified_ns == modified_ns);
        let found = match known {
            Some(known) => known.sha256.clone(),
            None => {
                changed = true;
                sha256_of(&file.path).map_err(read_error)?
            }
        };
        if found != file.expected.sha256 {
            return Err(FileError::Hash { path: file.path.clone(), expected: file.expected.sha256.clone(), found });
        }
        seen.insert(file.expected.path.clone(), Seen { bytes: metadata.len(), modified_ns, sha256: found });
    }
    if changed && let Ok(text) = serde_json::to_vec_pretty(&seen) {
        // A folder that cannot be written (shared weights) only costs the next run a second hash.
        let _ = fs::write(&seen_path, text);
    }
    Ok(())
}

/// The sha256 of a file in lowercase hexadecimal digits.
///
/// # Errors
/// A file that cannot be read.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hasher.update(&buffer[..n]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_names() {
        assert_eq!(shard_of(Path::new("x/judge-00002-of-00003.gguf")), Some((2, 3)));
        assert_eq!(shard_of(Path::new("judge.gguf")), None);
        assert_eq!(shard_of(Path::new("state-of-art.gguf")), None);
    }
}
