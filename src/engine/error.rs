//! Why a request got no record.

use crate::store::{ItemKey, StoreError};
use std::sync::Arc;
use thiserror::Error;

/// Why a request got no record. A reply that fails its checks is a record, not an error.
#[derive(Debug, Clone, Error)]
pub enum GenerateError {
    #[error("item {key} is not on record and no engine is running")]
    Pending { key: ItemKey },
    #[error("interrupted; run the same command again to go on")]
    Interrupted,
    #[error("{0}")]
    Store(Arc<StoreError>),
    #[error("the engine stopped: {reason}")]
    Engine { reason: String },
}

impl From<StoreError> for GenerateError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
