//! `models.lock`: which files of which revision were fetched, with their hashes.

use super::sha256_of;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A fetched file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedFile {
    /// Relative to the folder of the lock.
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
}

/// A fetched model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedModel {
    pub card: String,
    pub repo: String,
    /// The commit that the files are of.
    pub revision: String,
    #[serde(rename = "file")]
    pub files: Vec<LockedFile>,
}

/// All fetched models of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    #[serde(default, rename = "model")]
    pub models: Vec<LockedModel>,
}

/// Why a lock or what it names cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    #[error("cannot use {path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("{path}: sha256 {found}, {expected} in models.lock; the file was changed: remove it and fetch it again")]
    Changed { path: PathBuf, found: String, expected: String },
}

impl Lock {
    fn path(folder: &Path) -> PathBuf {
        folder.join("models.lock")
    }

    /// Reads the lock of a folder; empty where there is none.
    ///
    /// # Errors
    /// [`LockError::File`].
    pub fn read(folder: &Path) -> Result<Self, LockError> {
        let path = Self::path(folder);
        if !path.exists() {
            return Ok(Self::default());
        }
        let failed = |reason: String| LockError::File { path: path.clone(), reason };
        let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        toml::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// Enters a model in the place of an earlier entry of its card, and writes the lock.
    ///
    /// # Errors
    /// [`LockError::File`].
    pub fn enter(&mut self, folder: &Path, model: LockedModel) -> Result<(), LockError> {
        self.models.retain(|other| other.card != model.card);
        self.models.push(model);
        self.models.sort_by(|a, b| a.card.cmp(&b.card));
        let path = Self::path(folder);
        let failed = |reason: String| LockError::File { path: path.clone(), reason };
        let text = toml::to_string(self).map_err(|error| failed(error.to_string()))?;
        let partial = path.with_extension("lock.partial");
        std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &path)).map_err(|error| failed(error.to_string()))
    }

    /// The entry of a card.
    #[must_use]
    pub fn of(&self, card: &str) -> Option<&LockedModel> {
        self.models.iter().find(|model| model.card == card)
    }
}

impl LockedFile {
    /// Measures a file that was fetched to `folder`.
    ///
    /// # Errors
    /// [`LockError::File`].
    pub fn measure(folder: &Path, path: &Path) -> Result<Self, LockError> {
        let whole = folder.join(path);
        let failed = |error: std::io::Error| LockError::File { path: whole.clone(), reason: error.to_string() };
        let bytes = std::fs::metadata(&whole).map_err(failed)?.len();
        Ok(Self { path: path.to_path_buf(), bytes, sha256: sha256_of(&whole).map_err(failed)? })
    }

    /// Whether the file is there as it was fetched; `Ok(false)` where it is absent.
    ///
    /// # Errors
    /// [`LockError::Changed`].
    pub fn is_there(&self, folder: &Path) -> Result<bool, LockError> {
        if !folder.join(&self.path).exists() {
            return Ok(false);
        }
        let found = Self::measure(folder, &self.path)?;
        if found.sha256 == self.sha256 {
            return Ok(true);
        }
        Err(LockError::Changed { path: folder.join(&self.path), found: found.sha256, expected: self.sha256.clone() })
    }
}
