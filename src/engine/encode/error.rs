//! Why an encoder cannot be loaded or used.

use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum EncodeError {
    #[error("cannot read {path}: {source}{hint}")]
    Read { path: PathBuf, source: std::io::Error, hint: &'static str },
    #[error("{path}: {reason}")]
    Invalid { path: PathBuf, reason: String },
    #[error("{path}: architecture `{found}`; BertModel and Qwen3 models (Qwen3Model, Qwen3ForCausalLM) are computed here")]
    Architecture { path: PathBuf, found: String },
    #[error("{path}: tensor `{name}` is missing; the folder holds another architecture's weights or a part of them")]
    MissingTensor { path: PathBuf, name: String },
    #[error("{path}: tensor `{name}` has shape {found:?}, {expected:?} expected by config.json")]
    Shape { path: PathBuf, name: String, found: Vec<usize>, expected: Vec<usize> },
    #[error(
        "{path}: weights as a pickled checkpoint are not read, since unpickling runs code; convert it once: `python -c \"import torch, \
         safetensors.torch as s; s.save_file({{k: v.clone() for k, v in torch.load('pytorch_model.bin', weights_only=True).items()}}, \
         'model.safetensors')\"` in the folder"
    )]
    Pickled { path: PathBuf },
    #[error("{path}: {what}: {one} says {one_says}, {other} says {other_says}; correct one of them or choose with {option}")]
    Contradiction {
        path: PathBuf,
        what: &'static str,
        one: String,
        one_says: String,
        other: String,
        other_says: String,
        option: &'static str,
    },
    #[error("{setting}: {reason}")]
    Setting { setting: &'static str, reason: String },
    #[error("text {index} (counted from 0, {n_tokens} tokens): its {what} is not a finite number; nothing of it is kept")]
    NotFinite { index: usize, n_tokens: usize, what: &'static str },
    #[error("{path}: this is not a reranker: {reason}")]
    NotAReranker { path: PathBuf, reason: String },
}

impl EncodeError {
    pub(super) fn invalid(path: &Path, reason: impl ToString) -> Self {
        Self::Invalid { path: path.to_path_buf(), reason: reason.to_string() }
    }
}

/// Reads a file of a model folder.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, EncodeError> {
    let hint = "; an encoder is a folder in Hugging Face layout: config.json, model.safetensors, tokenizer.json or vocab.txt";
    std::fs::read(path).map_err(|source| EncodeError::Read { path: path.to_path_buf(), source, hint })
}
