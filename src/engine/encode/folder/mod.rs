//! A model folder in Hugging Face layout, read and checked before work starts.

mod config;
mod pooling;
mod tokenizer;
mod weights;

pub use config::{Activation, Architecture, BertConfig, Qwen3Config};
pub use pooling::{Pooling, PoolingFacts};
pub use tokenizer::{SpecialText, TextTokenizer};
pub use weights::{Dtype, Weights};

use super::error::EncodeError;
use std::path::{Path, PathBuf};

/// What a folder holds.
pub struct ModelFolder {
    pub path: PathBuf,
    pub architecture: Architecture,
    pub pooling: PoolingFacts,
    pub tokenizer: TextTokenizer,
    pub weights: Weights,
}

impl ModelFolder {
    /// Reads a folder and checks its parts against each other.
    ///
    /// # Errors
    /// [`EncodeError`] naming file, finding and remedy.
    pub fn open(path: &Path) -> Result<Self, EncodeError> {
        let architecture = Architecture::read(path)?;
        let known = match architecture {
            Architecture::Bert(_) => "embeddings.word_embeddings.weight",
            Architecture::Qwen3(_) => "embed_tokens.weight",
        };
        let weights = Weights::open(path, known)?;
        let tokenizer = TextTokenizer::open(path, &architecture)?;
        let pooling = PoolingFacts::read(path, &architecture)?;
        Ok(Self { path: path.to_path_buf(), architecture, pooling, tokenizer, weights })
    }
}
