//! Model cards and the local files they name. Cards are texts; weights are never part of the project.
//!
//! Knows nothing of engines: a chat template or a context length inside a weight file is read by `engine::generate` and compared
//! with the card there.

mod card;
mod files;
mod first_bytes;
mod pin;
mod reasoning;

pub use card::{BUILTIN_CARDS, CardError, ModelCard, ModelFile, ModelKind, Served, Template};
pub use files::{FileError, LocalFile, LocalModel, locate, sha256_of, shard_of, verify_hashes};
pub use first_bytes::not_a_gguf;
pub use pin::{Measured, pin};
pub use reasoning::{DEFAULT_REASONING_TOKENS, Marks, Reasoning};
