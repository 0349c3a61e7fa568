//! The version file of a store.

use super::StoreError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Version written by this program; older ones are read, newer ones refused.
pub(super) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Format {
    format: String,
    version: u32,
}

/// Checks the version file, writing it first where the folder is new. Folders are readable by their owner only.
pub(super) fn create_or_check(root: &Path) -> Result<(), StoreError> {
    let segments = root.join("segments");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&segments).map_err(StoreError::write(&segments))?;
    let path = root.join("format.json");
    let text = serde_json::to_string(&Format { format: "assize-store".into(), version: VERSION })
        .expect("a struct of a string and a number serialises");
    // Written beside and linked in place, so that another process never sees half of it.
    let own = root.join(format!(".format-{}", std::process::id()));
    let create = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&own)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        match fs::hard_link(&own, &path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    if !path.exists() {
        let created = create();
        let _ = fs::remove_file(&own);
        created.map_err(StoreError::write(&path))?;
    }
    check(root)
}

/// Checks the version file.
pub(super) fn check(root: &Path) -> Result<(), StoreError> {
    let path = root.join("format.json");
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(StoreError::NotAStore { path: root.to_path_buf() }),
        other => other.map_err(StoreError::io(&path))?,
    };
    let format: Format =
        serde_json::from_str(&text).map_err(|error| StoreError::BadFormat { path: path.clone(), reason: error.to_string() })?;
    if format.format != "assize-store" {
        return Err(StoreError::BadFormat { path, reason: format!("format `{}`", format.format) });
    }
    if format.version > VERSION {
        return Err(StoreError::NewerVersion { path, supported: VERSION, found: format.version });
    }
    Ok(())
}
