//! Files of a card from a model hub: the only place that opens a socket.
//!
//! The revision is resolved to a commit first and every file is of that commit. A download that was cut goes on where it stopped. Hashes
//! are compared with the card and with `models.lock`, and recorded there.

use super::card::{Hub, ModelCard, ModelKind};
use super::lock::{Lock, LockError, LockedFile, LockedModel};
use hf_hub::api::Progress;
use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where models are fetched from unless said otherwise.
pub const ENDPOINT: &str = "https://huggingface.co";

/// Why a card cannot be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    #[error("card `{card}` names no [hub]: its source is {source_text}; place the files in the model folder yourself")]
    NoHub { card: String, source_text: String },
    #[error("{endpoint}: {repo} at {revision}: {reason}; what has arrived is kept, the same command goes on")]
    Hub { endpoint: String, repo: String, revision: String, reason: String },
    #[error("{repo} at {revision} holds no file `{file}` of the card")]
    NoSuchFile { repo: String, revision: String, file: PathBuf },
    #[error("{repo} at {revision} holds no config.json with safetensors weights")]
    NothingToFetch { repo: String, revision: String },
    #[error("{path}: sha256 {found}, the card says {expected}; the hub holds another file: check the revision")]
    Hash { path: PathBuf, found: String, expected: String },
    #[error("cannot place {path}: {source}")]
    Place { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Hears how far a file is: name, bytes so far, bytes in all.
pub trait Heard: Fn(&str, usize, usize) {}
impl<F: Fn(&str, usize, usize)> Heard for F {}

struct Telling<'a> {
    name: String,
    so_far: usize,
    total: usize,
    heard: &'a dyn Heard,
}

impl Progress for Telling<'_> {
    fn init(&mut self, size: usize, _filename: &str) {
        (self.total, self.so_far) = (size, 0);
    }

    fn update(&mut self, size: usize) {
        self.so_far += size;
        (self.heard)(&self.name, self.so_far, self.total);
    }

    fn finish(&mut self) {}
}

/// Files of a folder in Hugging Face layout that an encoder is made of.
fn is_encoder_file(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "vocab.txt",
        "modules.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "model.safetensors.index.json",
        "1_Pooling/config.json",
    ];
    NAMES.contains(&name) || (name.ends_with(".safetensors") && !name.contains('/'))
}

/// A model at a hub.
struct Remote<'a> {
    card: &'a ModelCard,
    hub: &'a Hub,
    endpoint: &'a str,
    revision: String,
    api: ApiRepo,
}

impl Remote<'_> {
    fn error(&self, error: &ApiError) -> FetchError {
        FetchError::Hub {
            endpoint: self.endpoint.into(),
            repo: self.hub.repo.clone(),
            revision: self.revision.clone(),
            reason: error.to_string(),
        }
    }

    /// Names at the hub, each with its place relative to the model folder and the hash that the card asks for.
    fn files(&self, names: &[String]) -> Result<Vec<(String, PathBuf, Option<&str>)>, FetchError> {
        let (repo, revision) = (self.hub.repo.clone(), self.revision.clone());
        if self.card.files.is_empty() {
            let files: Vec<_> = names.iter().filter(|name| is_encoder_file(name)).collect();
            let whole = files.iter().any(|name| *name == "config.json") && files.iter().any(|name| name.ends_with(".safetensors"));
            if self.card.kind != ModelKind::Encoder || !whole {
                return Err(FetchError::NothingToFetch { repo, revision });
            }
            return Ok(files.into_iter().map(|name| (name.clone(), Path::new(&self.card.name).join(name), None)).collect());
        }
        let place = |file: &super::ModelFile| {
            // A card's paths begin with the model's own folder, which the hub does not have.
            let inside = file.path.strip_prefix(&self.card.name).unwrap_or(&file.path);
            let name = inside.to_string_lossy().replace('\\', "/");
            if names.contains(&name) {
                return Ok((name, file.path.clone(), ()));
            }
            Err(FetchError::NoSuchFile { repo: repo.clone(), revision: revision.clone(), file: inside.to_path_buf() })
        };
        let mut files = Vec::new();
        for file in &self.card.files {
            let (name, path, ()) = place(file)?;
            files.push((name, path, Some(file.sha256.as_str())));
        }
        Ok(files)
    }
}

/// Fetches what `card` needs into `folder` and enters it in the lock; files that are there already are only checked.
///
/// # Errors
/// [`FetchError`]; what arrived before is kept.
pub fn fetch(card: &ModelCard, folder: &Path, endpoint: &str, heard: &dyn Heard) -> Result<LockedModel, FetchError> {
    let no_hub = || FetchError::NoHub { card: card.name.clone(), source_text: card.source.clone() };
    let hub = card.hub.as_ref().ok_or_else(no_hub)?;
    let mut lock = Lock::read(folder)?;
    // A revision that was resolved before stays, so that a second fetch cannot mix two.
    let known = lock.of(&card.name).filter(|model| model.repo == hub.repo).cloned();
    let asked = known.as_ref().map_or_else(|| hub.revision.clone(), |model| model.revision.clone());
    if let Some(model) = known {
        let mut all_there = true;
        for file in &model.files {
            all_there &= file.is_there(folder)?;
        }
        if all_there {
            return Ok(model);
        }
    }
    let failed = |revision: &str, error: &ApiError| FetchError::Hub {
        endpoint: endpoint.into(),
        repo: hub.repo.clone(),
        revision: revision.into(),
        reason: error.to_string(),
    };
    let cache = Cache::new(folder.join(".hub"));
    let api = ApiBuilder::from_cache(cache).with_endpoint(endpoint.trim_end_matches('/').into()).with_progress(false).with_retries(3);
    let api = api.build().map_err(|error| failed(&asked, &error))?;
    let at = |revision: &str| api.repo(Repo::with_revision(hub.repo.clone(), RepoType::Model, revision.into()));
    let info = at(&asked).info().map_err(|error| failed(&asked, &error))?;
    let remote = Remote { card, hub, endpoint, api: at(&info.sha), revision: info.sha };
    let names: Vec<String> = info.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
    let mut locked = Vec::new();
    for (name, path, expected) in remote.files(&names)? {
        let telling = Telling { name: name.clone(), so_far: 0, total: 0, heard };
        let arrived = remote.api.download_with_progress(&name, telling).map_err(|error| remote.error(&error))?;
        let whole = folder.join(&path);
        let place = || -> std::io::Result<()> {
            if let Some(parent) = whole.parent() {
                std::fs::create_dir_all(parent)?;
            }
            // The hub's own cache holds links to blobs: the blob becomes the file.
            let blob = std::fs::canonicalize(&arrived)?;
            std::fs::rename(&blob, &whole)?;
            std::fs::remove_file(&arrived).or(Ok(()))
        };
        place().map_err(|source| FetchError::Place { path: whole.clone(), source })?;
        let file = LockedFile::measure(folder, &path)?;
        if let Some(expected) = expected.filter(|expected| *expected != file.sha256) {
            let _ = std::fs::remove_file(&whole);
            return Err(FetchError::Hash { path: whole, found: file.sha256, expected: expected.into() });
        }
        locked.push(file);
    }
    let model = LockedModel { card: card.name.clone(), repo: hub.repo.clone(), revision: remote.revision.clone(), files: locked };
    lock.enter(folder, model.clone())?;
    let _ = std::fs::remove_dir_all(folder.join(".hub"));
    Ok(model)
}
