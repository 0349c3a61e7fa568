//! Where each key's answer lies. Kept in memory: about 100 bytes an item, no reply text.

use super::{ItemKey, Record};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The bytes of one line.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: Arc<Path>,
    pub offset: u64,
    pub length: u32,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    answers: bool,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<ItemKey, Entry>,
}

impl Index {
    /// Notes a record. The first record that answers a key stays; one that does not is replaced by whatever comes later.
    pub fn insert(&mut self, place: Place, record: &Record) {
        let entry = Entry { place, answers: record.outcome.answers() };
        match self.entries.get(&record.key) {
            Some(known) if known.answers => {}
            _ => {
                self.entries.insert(record.key, entry);
            }
        }
    }

    pub fn answer(&self, key: &ItemKey) -> Option<Place> {
        self.entries.get(key).filter(|entry| entry.answers).map(|entry| entry.place.clone())
    }

    pub fn places(&self) -> Vec<(ItemKey, Place)> {
        self.entries.iter().map(|(key, entry)| (*key, entry.place.clone())).collect()
    }

    pub fn len(&self) -> usize {
        self.entries.values().filter(|entry| entry.answers).count()
    }
}
