//! Content-addressed, append-only records of finished items.
//!
//! A store is a folder: `format.json` and `segments/<writer>.jsonl`. Every process that writes owns a segment of its own, so
//! writers on a shared file system need no common lock. The index is rebuilt when the store is opened; nothing else is saved.
//! Knows nothing of what an item means: a pipeline's state is its replies.

mod error;
mod export;
mod format;
mod index;
mod key;
mod merge;
mod record;
mod segment;
mod vectors;
mod writer;

pub use error::StoreError;
pub use export::{ExportFormat, export};
pub use key::ItemKey;
pub use merge::{MergeSummary, merge};
pub use record::{FinishReason, Origin, Outcome, Record, Timings, Usage};
pub use segment::{Damage, DamageKind};
pub use vectors::{VectorCounts, VectorKey, VectorStore};

use index::{Index, Place};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};
use writer::Writer;

/// What opening a store found besides good records.
#[derive(Debug, Clone, Default)]
pub struct OpenReport {
    /// Records that can be answered from.
    pub n_records: usize,
    /// Segments read.
    pub n_segments: usize,
    /// Segments that another live process is writing.
    pub n_live_writers: usize,
    /// Torn tails and corrupt lines, each with its file and line.
    pub damage: Vec<Damage>,
}

/// An open store: answers known keys, appends new records.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    index: RwLock<Index>,
    writer: Mutex<Writer>,
    report: OpenReport,
}

impl Store {
    /// Opens the store at `root`, creating it when absent. Torn tails of dead writers of this host are cut.
    ///
    /// # Errors
    /// [`StoreError::NewerVersion`] for a store written by a newer Assize, [`StoreError::Io`] for a path that cannot be used.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        format::create_or_check(root)?;
        Self::load(root, true)
    }

    /// Opens an existing store without changing a byte of it.
    ///
    /// # Errors
    /// As [`Store::open`], and [`StoreError::NotAStore`] when there is none.
    pub fn open_read_only(root: &Path) -> Result<Self, StoreError> {
        format::check(root)?;
        Self::load(root, false)
    }

    /// As [`Store::open_read_only`]; where there is no folder yet, a store without records, which is not made either.
    ///
    /// # Errors
    /// As [`Store::open_read_only`], but for an absent folder.
    pub fn open_read_only_or_empty(root: &Path) -> Result<Self, StoreError> {
        if root.exists() { Self::open_read_only(root) } else { Self::load(root, false) }
    }

    fn load(root: &Path, cut_torn_tails: bool) -> Result<Self, StoreError> {
        let mut index = Index::default();
        let mut report = OpenReport::default();
        for path in segment::list(root)? {
            let scan = segment::scan(&path, cut_torn_tails, |place, record| index.insert(place, record))?;
            report.n_segments += 1;
            report.n_live_writers += usize::from(scan.live);
            report.damage.extend(scan.damage);
        }
        report.n_records = index.len();
        Ok(Self { root: root.to_path_buf(), index: RwLock::new(index), writer: Mutex::new(Writer::new(root)), report })
    }

    /// What opening found.
    #[must_use]
    pub fn open_report(&self) -> &OpenReport {
        &self.report
    }

    /// The folder of this store.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The record that answers `key`, or `None` when it is unknown or what is on record does not answer it.
    ///
    /// # Errors
    /// [`StoreError::Io`] or [`StoreError::Changed`] when the segment cannot be read back as it was indexed.
    pub fn get(&self, key: &ItemKey) -> Result<Option<Record>, StoreError> {
        let place = self.index().answer(key);
        place.map(|place| segment::read_at(&place)).transpose()
    }

    /// Appends `record` and makes it answer its key. The line is handed to the operating system before this returns.
    ///
    /// # Errors
    /// [`StoreError::Write`] when the disk refuses it; what was stored before stays whole.
    pub fn put(&self, record: &Record) -> Result<(), StoreError> {
        let place = self.writer.lock().expect("no thread panics while it holds the writer").append(record)?;
        self.index.write().expect("no thread panics while it holds the index").insert(place, record);
        Ok(())
    }

    /// Flushes what was appended to the device.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn sync(&self) -> Result<(), StoreError> {
        self.writer.lock().expect("no thread panics while it holds the writer").sync()
    }

    /// Every stored record in key order, read one by one.
    pub fn records(&self) -> impl Iterator<Item = Result<Record, StoreError>> + use<> {
        let mut places: Vec<(ItemKey, Place)> = self.index().places();
        places.sort_by_key(|(key, _)| *key);
        places.into_iter().map(|(_, place)| segment::read_at(&place))
    }

    fn index(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        self.index.read().expect("no thread panics while it holds the index")
    }
}

#[cfg(test)]
mod tests;
