//! What a GGUF says of itself, read without its weights.

use super::model::{LoadError, open};
use crate::models::ModelCard;
use llama_cpp_2::model::LlamaModel;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Facts of a GGUF that a card states too.
#[derive(Debug, Clone, serde::Serialize)]
pub struct GgufFacts {
    pub architecture: String,
    /// Tokens the model was trained with.
    pub trained_context: u32,
    pub n_vocab: i32,
    pub template_sha256: Option<String>,
    #[serde(skip)]
    pub(super) template: Option<String>,
}

/// Reads the facts of the GGUF at `path`.
///
/// # Errors
/// [`LoadError`] when llama.cpp cannot read it.
pub fn inspect(path: &Path) -> Result<GgufFacts, LoadError> {
    Ok(facts(&open(path)?))
}

pub(super) fn facts(model: &LlamaModel) -> GgufFacts {
    let template = model.chat_template(None).ok().and_then(|template| template.to_string().ok());
    let architecture = model.meta_val_str("general.architecture").unwrap_or_default();
    // A model opened for its vocabulary alone has no parameters yet: the context is read from the metadata.
    let trained_context = model
        .meta_val_str(&format!("{architecture}.context_length"))
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| model.n_ctx_train());
    GgufFacts {
        architecture,
        trained_context,
        n_vocab: model.n_vocab(),
        template_sha256: template
            .as_ref()
            .map(|text| Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()),
        template,
    }
}

impl GgufFacts {
    /// Compares with what `card` says; `path` is named in errors.
    ///
    /// # Errors
    /// [`LoadError::NoTemplate`], [`LoadError::Template`] or [`LoadError::Context`].
    pub fn check(&self, card: &ModelCard, path: &Path) -> Result<(), LoadError> {
        let found = self.template_sha256.clone().ok_or_else(|| LoadError::NoTemplate { path: path.to_path_buf() })?;
        if let Some(expected) = card.template.as_ref().and_then(|template| template.sha256.as_ref())
            && *expected != found
        {
            return Err(LoadError::Template { path: path.to_path_buf(), expected: expected.clone(), found });
        }
        if let Some(card_context) = card.context_tokens
            && card_context > self.trained_context
        {
            return Err(LoadError::Context { path: path.to_path_buf(), card: card_context, trained: self.trained_context });
        }
        Ok(())
    }
}
