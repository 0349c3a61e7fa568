//! Vectors by content key: what an encoder once computed, for every later run.
//!
//! A collection is a folder for one encoder with its settings: `identity.json` and `segments/<writer>.vectors`, rows of key, elements
//! and checksum. As in the store of records every process appends to a segment of its own, a row cut short by a killed writer is passed
//! over, and nothing else is saved.

use super::writer::new_segment_path;
use super::StoreError;
use hashbrown::HashTable;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of a key on disk, of the counts beside a vector and of a checksum.
const KEY: usize = 16;
const COUNTS: usize = 12;
const SUM: usize = 8;

/// Three counts kept beside a vector, as of tokens and of what was cut.
pub type VectorCounts = [u32; 3];

/// What a vector is stored under: a hash of the text and its role. The encoder is the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VectorKey([u8; KEY]);

impl VectorKey {
    /// The key of a text as `role` (a name that tells documents and the queries of each task apart).
    #[must_use]
    pub fn of(role: &str, text: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update((role.len() as u64).to_le_bytes());
        hash.update(role);
        hash.update(text);
        Self(hash.finalize()[..KEY].try_into().expect("a hash is longer"))
    }

    /// What the index keeps of it: 96 bits.
    fn short(&self) -> [u32; 3] {
        [0, 4, 8].map(|at| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]))
    }
}

fn hash(short: &[u32; 3]) -> u64 {
    u64::from(short[0]) | u64::from(short[1]) << 32
}

/// 16 bytes: a distinct text costs 19 to 37 in the table.
struct Entry {
    key: [u32; 3],
    row: u32,
}

/// A segment and the number of its first row.
struct Segment {
    path: PathBuf,
    file: File,
    first: u32,
    n_rows: u32,
}

/// Vectors of one encoder.
pub struct VectorStore {
    root: PathBuf,
    width: usize,
    index: HashTable<Entry>,
    segments: Vec<Segment>,
    n_rows: u32,
    /// The last segment is this process's own.
    writing: bool,
    n_damaged: usize,
}

fn checksum(bytes: &[u8]) -> [u8; SUM] {
    Sha256::digest(bytes)[..SUM].try_into().expect("a hash is longer")
}

impl VectorStore {
    /// Opens the collection of the encoder `identity` below `root`, made when absent.
    ///
    /// # Errors
    /// [`StoreError`] for a path that cannot be used.
    pub fn open(root: &Path, identity: &impl Serialize, width: usize) -> Result<Self, StoreError> {
        let text = serde_json::to_string_pretty(identity).expect("an identity serialises: strings, numbers and lists");
        let name: String = Sha256::digest(text.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let root = root.join("vectors").join(name);
        let segments = root.join("segments");
        std::fs::create_dir_all(&segments).map_err(StoreError::write(&segments))?;
        let path = root.join("identity.json");
        if !path.exists() {
            std::fs::write(&path, text + "\n").map_err(StoreError::write(&path))?;
        }
        let mut store =
            Self { root, width, index: HashTable::new(), segments: Vec::new(), n_rows: 0, writing: false, n_damaged: 0 };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&segments).map_err(StoreError::io(&segments))? {
            let path = entry.map_err(StoreError::io(&segments))?.path();
            if path.extension().is_some_and(|ending| ending == "vectors") {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            store.read(path)?;
        }
        Ok(store)
    }

    fn row_bytes(&self) -> usize {
        KEY + COUNTS + 4 * self.width + SUM
    }

    fn read(&mut self, path: PathBuf) -> Result<(), StoreError> {
        let file = File::open(&path).map_err(StoreError::io(&path))?;
        let n = file.metadata().map_err(StoreError::io(&path))?.len() / self.row_bytes() as u64;
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut row = vec![0; self.row_bytes()];
        let first = self.n_rows;
        for _ in 0..n {
            reader.read_exact(&mut row).map_err(StoreError::io(&path))?;
            let (content, sum) = row.split_at(row.len() - SUM);
            if checksum(content) == sum {
                let key = VectorKey(content[..KEY].try_into().expect("a row begins with its key"));
                self.enter(&key, self.n_rows);
            } else {
                self.n_damaged += 1;
            }
            self.n_rows += 1;
        }
        self.segments.push(Segment { path, file, first, n_rows: self.n_rows - first });
        Ok(())
    }

    fn enter(&mut self, key: &VectorKey, row: u32) {
        let key = key.short();
        if self.index.find(hash(&key), |entry| entry.key == key).is_none() {
            self.index.insert_unique(hash(&key), Entry { key, row }, |entry| hash(&entry.key));
        }
    }

    /// Vectors that can be answered from.
    #[must_use]
    pub fn n_vectors(&self) -> usize {
        self.index.len()
    }

    /// Rows whose checksum is wrong; their texts are embedded again.
    #[must_use]
    pub fn n_damaged(&self) -> usize {
        self.n_damaged
    }

    #[must_use]
    pub fn contains(&self, key: &VectorKey) -> bool {
        let short = key.short();
        self.index.find(hash(&short), |entry| entry.key == short).is_some()
    }

    /// The number of the row of `key` in this process; rows appended later have larger numbers.
    #[must_use]
    pub fn row(&self, key: &VectorKey) -> Option<usize> {
        let short = key.short();
        self.index.find(hash(&short), |entry| entry.key == short).map(|entry| entry.row as usize)
    }

    /// Reads the vector of `key` into `out` and returns its counts; `None` where there is none.
    ///
    /// # Errors
    /// [`StoreError`] when the segment cannot be read.
    pub fn get(&self, key: &VectorKey, out: &mut [f32]) -> Result<Option<VectorCounts>, StoreError> {
        let short = key.short();
        let Some(entry) = self.index.find(hash(&short), |entry| entry.key == short) else { return Ok(None) };
        let at = self.segments.partition_point(|segment| segment.first <= entry.row) - 1;
        // Segments without rows have the first row of the one after them.
        let segment = self.segments[..=at].iter().rev().find(|segment| segment.n_rows > 0).expect("a row lies in a segment");
        let mut bytes = vec![0; COUNTS + 4 * self.width];
        let offset = u64::from(entry.row - segment.first) * self.row_bytes() as u64 + KEY as u64;
        segment.file.read_exact_at(&mut bytes, offset).map_err(StoreError::io(&segment.path))?;
        let (words, _) = bytes.as_chunks::<4>();
        for (to, from) in out.iter_mut().zip(&words[COUNTS / 4..]) {
            *to = f32::from_le_bytes(*from);
        }
        Ok(Some([words[0], words[1], words[2]].map(u32::from_le_bytes)))
    }

    /// Appends vectors that are not there yet.
    ///
    /// # Errors
    /// [`StoreError::Write`]; nothing of a row cut short is read again.
    pub fn append(&mut self, keys: &[VectorKey], counts: &[VectorCounts], vectors: &[f32]) -> Result<(), StoreError> {
        if keys.is_empty() {
            return Ok(());
        }
        if !self.writing {
            let path = new_segment_path(&self.root).with_extension("vectors");
            let options = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path);
            let file = options.map_err(StoreError::write(&path))?;
            self.segments.push(Segment { path, file, first: self.n_rows, n_rows: 0 });
            self.writing = true;
        }
        let mut bytes = Vec::with_capacity(keys.len() * self.row_bytes());
        for ((key, counts), vector) in keys.iter().zip(counts).zip(vectors.chunks_exact(self.width)) {
            let from = bytes.len();
            bytes.extend_from_slice(&key.0);
            bytes.extend(counts.iter().flat_map(|n| n.to_le_bytes()));
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
            let sum = checksum(&bytes[from..]);
            bytes.extend_from_slice(&sum);
        }
        let row_bytes = self.row_bytes() as u64;
        let segment = self.segments.last_mut().expect("the segment of this process");
        if let Err(source) = segment.file.write_all(&bytes).and_then(|()| segment.file.sync_data()) {
            let _ = segment.file.set_len(u64::from(segment.n_rows) * row_bytes);
            return Err(StoreError::Write { path: segment.path.clone(), source });
        }
        segment.n_rows += keys.len() as u32;
        for key in keys {
            self.enter(key, self.n_rows);
            self.n_rows += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("assize-vector-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn get(store: &VectorStore, text: &str) -> Option<Vec<f32>> {
        let mut out = vec![0.0; 2];
        store.get(&VectorKey::of("document", text), &mut out).expect("read").map(|_| out)
    }

    #[test]
    fn vectors_are_there_in_the_next_run_and_only_for_their_encoder() {
        let root = folder("again");
        let mut store = VectorStore::open(&root, &"one", 2).expect("a store");
        let keys = ["fever", "rash"].map(|text| VectorKey::of("document", text));
        store.append(&keys, &[[7, 0, 0], [8, 1, 2]], &[1.0, 2.0, 3.0, 4.0]).expect("kept");
        assert_eq!(get(&store, "rash"), Some(vec![3.0, 4.0]));
        assert_eq!(store.get(&keys[1], &mut [0.0; 2]).expect("read"), Some([8, 1, 2]));
        drop(store);
        let mut store = VectorStore::open(&root, &"one", 2).expect("a store");
        store.append(&[VectorKey::of("document", "cough")], &[[9; 3]], &[5.0, 6.0]).expect("kept");
        assert_eq!(["fever", "rash", "cough", "pain"].map(|text| get(&store, text)), [
            Some(vec![1.0, 2.0]),
            Some(vec![3.0, 4.0]),
            Some(vec![5.0, 6.0]),
            None
        ]);
        assert!(!store.contains(&VectorKey::of("query", "fever")), "a role of its own");
        assert_eq!(get(&VectorStore::open(&root, &"another", 2).expect("a store"), "fever"), None);
        std::fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn a_row_cut_short_and_a_damaged_row_are_passed_over() {
        let root = folder("damage");
        let mut store = VectorStore::open(&root, &"one", 2).expect("a store");
        let keys = ["a", "b", "c"].map(|text| VectorKey::of("document", text));
        store.append(&keys, &[[1; 3]; 3], &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]).expect("kept");
        let path = store.segments[0].path.clone();
        drop(store);
        let mut bytes = std::fs::read(&path).expect("a segment");
        bytes[KEY + 1] ^= 1;
        bytes.truncate(bytes.len() - 3);
        std::fs::write(&path, bytes).expect("damaged");
        let store = VectorStore::open(&root, &"one", 2).expect("a store");
        assert_eq!(["a", "b", "c"].map(|text| get(&store, text)), [None, Some(vec![2.0, 2.0]), None]);
        assert_eq!(store.n_damaged(), 1);
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
