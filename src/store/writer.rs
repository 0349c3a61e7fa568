//! The one segment that this process appends to.

use super::index::Place;
use super::{Record, StoreError, segment};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Appended lines reach the device at the latest after this many lines or this long.
const SYNC_LINES: usize = 64;
const SYNC_AFTER: Duration = Duration::from_secs(2);

/// Appends lines; the file is made at the first one, so that a run that computes nothing leaves no trace.
#[derive(Debug)]
pub(super) struct Writer {
    root: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: Arc<Path>,
    file: File,
    length: u64,
    unsynced: usize,
    synced_at: Instant,
}

fn host_name() -> String {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect()
}

/// Whether the segment at `path` was written on this host: only there does a free lock prove that its writer is dead.
pub(super) fn is_of_this_host(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.split('-').next().is_some_and(|host| host == host_name())
}

/// A segment name that no other writer has: host, process, time.
pub(super) fn new_segment_path(root: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    root.join("segments").join(format!("{}-{}-{}.jsonl", host_name(), std::process::id(), now.as_nanos()))
}

impl Writer {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), open: None }
    }

    fn open(&mut self) -> Result<&mut Open, StoreError> {
        if self.open.is_none() {
            let path = new_segment_path(&self.root);
            let file =
                OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path).map_err(StoreError::write(&path))?;
            // Where locks are not supported the segment still has a name of its own; readers then cut nothing.
            let _ = file.try_lock();
            self.open = Some(Open { path: path.into(), file, length: 0, unsynced: 0, synced_at: Instant::now() });
        }
        Ok(self.open.as_mut().expect("opened just above"))
    }

    pub fn append(&mut self, record: &Record) -> Result<Place, StoreError> {
        let line = segment::encode(record);
        let open = self.open()?;
        if let Err(source) = open.file.write_all(&line) {
            // Half a line may have reached the file: take it back, so that a later line does not continue it.
            let path = open.path.to_path_buf();
            let _ = open.file.set_len(open.length);
            return Err(StoreError::Write { path, source });
        }
        let place =
            Place { path: Arc::clone(&open.path), offset: open.length, length: u32::try_from(line.len()).unwrap_or(u32::MAX) };
        open.length += line.len() as u64;
        open.unsynced += 1;
        if open.unsynced >= SYNC_LINES || open.synced_at.elapsed() >= SYNC_AFTER {
            self.sync()?;
        }
        Ok(place)
    }

    pub fn sync(&mut self) -> Result<(), StoreError> {
        if let Some(open) = self.open.as_mut().filter(|open| open.unsynced > 0) {
            open.file.sync_data().map_err(StoreError::write(&*open.path))?;
            open.unsynced = 0;
            open.synced_at = Instant::now();
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.sync();
    }
}
