//! A segment file: one checksummed record a line.

use super::index::Place;
use super::{Record, StoreError};
use crate::json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A line as stored: the first 64 bits of SHA-256 over the bytes of `record`, and these bytes.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    sum: String,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// A line that holds no usable record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub path: PathBuf,
    /// 1-based.
    pub line: usize,
    pub kind: DamageKind,
}

/// What is wrong with a damaged line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// The last line of a segment, without an end: its writer was stopped while writing. Its item is computed again.
    TornTail,
    /// A complete line whose checksum or form is wrong. Its item is computed again.
    Corrupt,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            DamageKind::TornTail => "half a line at the end, left by a writer that was stopped",
            DamageKind::Corrupt => "a line whose checksum does not match",
        };
        write!(f, "{}:{}: {what}; left out, its item counts as not done", self.path.display(), self.line)
    }
}

/// What reading a segment found.
pub(super) struct Scan {
    pub live: bool,
    pub damage: Vec<Damage>,
}

fn checksum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `record` as a stored line with its line end.
pub(super) fn encode(record: &Record) -> Vec<u8> {
    // Escaped, so that a reader in any language splits the file into the same lines.
    let text = json::line(record).expect("a record serialises: its keys are strings and its numbers finite");
    let raw = RawValue::from_string(text).expect("what was serialised is JSON");
    let line = Line { sum: checksum(raw.get().as_bytes()), record: &raw };
    let mut bytes = serde_json::to_vec(&line).expect("a line of raw JSON serialises");
    bytes.push(b'\n');
    bytes
}

fn decode(bytes: &[u8]) -> Option<Record> {
    let line: Line<'_> = serde_json::from_slice(bytes).ok()?;
    if line.sum != checksum(line.record.get().as_bytes()) {
        return None;
    }
    serde_json::from_str(line.record.get()).ok()
}

/// The segments of a store in name order.
pub(super) fn list(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = root.join("segments");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder).map_err(StoreError::io(&folder))? {
        let path = entry.map_err(StoreError::io(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether a live process holds the writer's lock on `file`. A file system without locks counts as live: nothing is cut there.
pub(super) fn is_live(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

/// Reads every record of the segment at `path` in order. With `cut`, a torn tail of a dead writer of this host is removed from
/// the file; a lock says nothing about writers on other hosts, whose tails are only passed over.
pub(super) fn scan(path: &Path, cut: bool, mut take: impl FnMut(Place, &Record)) -> Result<Scan, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path))?;
    let live = is_live(&file);
    let shared_path: Arc<Path> = Arc::from(path);
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut offset, mut n_line, mut buffer) = (0_u64, 0_usize, Vec::new());
    let mut damage = Vec::new();
    loop {
        buffer.clear();
        let n_bytes = reader.read_until(b'\n', &mut buffer).map_err(StoreError::io(path))?;
        if n_bytes == 0 {
            break;
        }
        n_line += 1;
        match decode(&buffer) {
            Some(record) => {
                let length = u32::try_from(n_bytes).unwrap_or(u32::MAX);
                take(Place { path: Arc::clone(&shared_path), offset, length }, &record);
            }
            None if buffer.ends_with(b"\n") => {
                damage.push(Damage { path: path.to_path_buf(), line: n_line, kind: DamageKind::Corrupt });
            }
            None if live => {} // The writer is in the middle of this line.
            None => {
                damage.push(Damage { path: path.to_path_buf(), line: n_line, kind: DamageKind::TornTail });
                if cut && super::writer::is_of_this_host(path) {
                    let file = File::options().write(true).open(path).map_err(StoreError::write(path))?;
                    file.set_len(offset).map_err(StoreError::write(path))?;
                }
            }
        }
        offset += n_bytes as u64;
    }
    Ok(Scan { live, damage })
}

/// Reads back the record at `place`.
pub(super) fn read_at(place: &Place) -> Result<Record, StoreError> {
    let mut file = File::open(&place.path).map_err(StoreError::io(&*place.path))?;
    file.seek(SeekFrom::Start(place.offset)).map_err(StoreError::io(&*place.path))?;
    let mut buffer = Vec::with_capacity(place.length as usize);
    BufReader::new(file).read_until(b'\n', &mut buffer).map_err(StoreError::io(&*place.path))?;
    decode(&buffer).ok_or_else(|| StoreError::Changed { path: place.path.to_path_buf(), offset: place.offset })
}
