//! Encoders: texts to vectors (BERT, Qwen3 embedding) and pairs of texts to scores (Qwen3 reranker).
//!
//! A model is a folder in Hugging Face layout; everything about it is read from its files and checked before work starts. Texts are
//! packed without padding; each core computes batches of its own, which for small models beats splitting every product. The same text
//! gives the same vector within rounding (1e-5) whatever it is computed beside.

mod bert;
mod check;
mod embed;
mod error;
mod folder;
mod kernels;
mod packed;
mod qwen3;
mod rerank;
mod settings;

pub use check::{Finding, check};
pub use embed::{Embedder, Prepared, Role};
pub use error::EncodeError;
pub use folder::{Architecture, Dtype, ModelFolder, Pooling, SpecialText};
pub use rerank::{DEFAULT_INSTRUCTION, PREFIX, Pair, Reranker, SUFFIX, Score};
pub use settings::{Device, EncoderIdentity, EncoderSettings};
