//! Errors of the store.

use std::path::PathBuf;
use thiserror::Error;

/// What can go wrong with a store. Damaged lines are no error: they are reported by `Store::open_report`.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("cannot use {path}: {source}; check that the folder exists and is yours")]
    Io { path: PathBuf, source: std::io::Error },
    #[error(
        "cannot write to {path}: {source}; free space or permissions are the usual cause, finished replies are kept, run the same command again"
    )]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path} is not an Assize store: format.json is missing; name the store folder of a study")]
    NotAStore { path: PathBuf },
    #[error("{path}: expected a store of version {supported} or older, got version {found}; use the newer Assize that wrote it")]
    NewerVersion { path: PathBuf, supported: u32, found: u32 },
    #[error("{path}: expected a store's format file, got {reason}; restore it or choose another store folder")]
    BadFormat { path: PathBuf, reason: String },
    #[error("{path}: the record at byte {offset} is no longer what it was when the store was opened; run `assize store verify`")]
    Changed { path: PathBuf, offset: u64 },
    #[error("{path}: another process is writing this segment; wait for it to end and try again")]
    Busy { path: PathBuf },
    #[error("cannot export to {path}: {reason}")]
    Export { path: PathBuf, reason: String },
}

impl StoreError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source }
    }
}
