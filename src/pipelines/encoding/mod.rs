//! Long lists of texts through an encoder: windows of texts, each text once, what is known from the store.

mod embed;
mod rerank;

pub use embed::{EmbedSummary, Embedding};
pub use rerank::{RerankSummary, Reranking, ScoredPair, TextPair};

use crate::engine::encode::EncodeError;
use crate::store::StoreError;
use thiserror::Error;

/// Texts that are looked at together: enough to sort by length, few enough to bound the memory.
const WINDOW: usize = 8_192;

/// Why encoding ended early; what was computed before is on record.
#[derive(Debug, Error)]
pub enum EncodingError {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the input or the output had to say.
    #[error("{0}")]
    Outside(String),
    #[error("interrupted")]
    Interrupted,
}
