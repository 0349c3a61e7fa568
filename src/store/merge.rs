//! Joining segments, of one store or of several, into one.

use super::{Record, Store, StoreError, format, segment, writer};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a merge did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergeSummary {
    pub n_records: usize,
    pub n_new_records: usize,
    pub n_segments_before: usize,
    pub n_damaged_lines_left_behind: usize,
}

/// Rewrites `root` as one segment, adding the answers that the stores in `from` hold and `root` does not. The new segment is
/// complete on the device before an old one is removed; damaged lines stay behind in `segments/damaged/`.
///
/// # Errors
/// [`StoreError::Busy`] when a live process writes `root`; [`StoreError::NotAStore`] for a folder in `from` that is none, or a
/// `root` that is none when `from` is empty; otherwise as [`Store::open`].
pub fn merge(root: &Path, from: &[&Path]) -> Result<MergeSummary, StoreError> {
    // Everything that can be refused is opened before a byte is written.
    let others = from.iter().map(|other| Store::open_read_only(other)).collect::<Result<Vec<_>, _>>()?;
    if from.is_empty() {
        format::check(root)?;
    }
    format::create_or_check(root)?;
    let old_segments = segment::list(root)?;
    for path in &old_segments {
        if segment::is_live(&File::open(path).map_err(StoreError::io(path))?) {
            return Err(StoreError::Busy { path: path.clone() });
        }
    }
    let store = Store::open(root)?;
    let path = writer::new_segment_path(root);
    let part = path.with_extension("part");
    let written = write_joined(&part, &store, &others).and_then(|summary| {
        fs::rename(&part, &path).map_err(StoreError::write(&path))?;
        Ok(summary)
    });
    let summary = match written {
        Ok(summary) => MergeSummary { n_segments_before: old_segments.len(), ..summary },
        Err(error) => {
            let _ = fs::remove_file(&part);
            return Err(error);
        }
    };
    let damaged: Vec<&Path> = store.open_report().damage.iter().map(|damage| damage.path.as_path()).collect();
    for old in &old_segments {
        if damaged.contains(&old.as_path()) {
            let folder = root.join("segments").join("damaged");
            fs::create_dir_all(&folder).map_err(StoreError::write(&folder))?;
            let name = old.file_name().expect("a listed segment has a name");
            fs::rename(old, folder.join(name)).map_err(StoreError::write(old))?;
        } else {
            fs::remove_file(old).map_err(StoreError::write(old))?;
        }
    }
    Ok(summary)
}

/// Writes every answer of `store` and the further ones of `others` to `part`, on the device when this returns.
fn write_joined(part: &Path, store: &Store, others: &[Store]) -> Result<MergeSummary, StoreError> {
    let mut summary = MergeSummary { n_damaged_lines_left_behind: store.open_report().damage.len(), ..MergeSummary::default() };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part).map_err(StoreError::write(part))?;
    let mut out = BufWriter::new(file);
    let mut put = |record: &Record| out.write_all(&segment::encode(record)).map_err(StoreError::write(part));
    for record in store.records() {
        put(&record?)?;
        summary.n_records += 1;
    }
    let mut added = HashSet::new();
    for record in others.iter().flat_map(Store::records) {
        let record = record?;
        if store.get(&record.key)?.is_none() && added.insert(record.key) {
            put(&record)?;
            summary.n_records += 1;
            summary.n_new_records += 1;
        }
    }
    out.flush().map_err(StoreError::write(part))?;
    out.get_ref().sync_all().map_err(StoreError::write(part))?;
    Ok(summary)
}
