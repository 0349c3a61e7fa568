//! A judge without its weights: its prompts can be laid out and counted, and its file says what it would take. For plans.

use super::model::{LoadError, Loaded, load_vocabulary};
use super::{LlamaSettings, batching};
use crate::data::Numerics;
use crate::engine::generate::{ChatError, DryRun, KvShape, Message};
use crate::models::{LocalModel, ModelCard};
use std::sync::Arc;

/// Vocabulary, chat template and metadata of a judge.
pub struct LlamaVocabulary {
    loaded: Loaded,
    settings: LlamaSettings,
}

impl LlamaVocabulary {
    /// Reads vocabulary and metadata of `card`'s first file, checked against the card; no weights.
    ///
    /// # Errors
    /// [`LoadError`] when the file cannot be read or is not what the card says.
    pub fn open(card: &ModelCard, files: &LocalModel, settings: &LlamaSettings) -> Result<Self, LoadError> {
        Ok(Self { loaded: load_vocabulary(card, files, settings)?, settings: settings.clone() })
    }

    /// The prompt as the judge gets it.
    ///
    /// # Errors
    /// [`ChatError`] where the template refuses the messages.
    pub fn tokenize(&self, messages: &[Message]) -> Result<Arc<[i32]>, ChatError> {
        Ok(self.loaded.tokenize(messages)?.iter().map(|token| token.0).collect())
    }

    /// The sizes of the attention cache.
    ///
    /// # Errors
    /// The metadata key that is needed and absent.
    pub fn kv_shape(&self) -> Result<KvShape, String> {
        let text = |key: &str| self.loaded.model.meta_val_str(key).ok();
        let architecture = text("general.architecture").unwrap_or_default();
        KvShape::of(&architecture, !self.loaded.can_share(), |key| text(key)?.parse().ok())
    }

    /// Fast mode without a model, `window` prompts in flight and `n_reply` passes for a reply; `None` in exact mode, which computes
    /// every prompt as a whole.
    #[must_use]
    pub fn dry_run(&self, window: usize, n_reply: usize) -> Option<DryRun> {
        let batching = batching(&self.loaded, &self.settings);
        let is_fast = self.settings.numerics == Numerics::Fast;
        is_fast.then(|| DryRun::new(batching.limits, batching.pass_tokens, window, n_reply))
    }

    /// Cells that fast mode keeps free for the reply to a prompt of `n_prompt` tokens.
    #[must_use]
    pub fn reserve(&self, n_prompt: usize, most_tokens: u32) -> usize {
        batching(&self.loaded, &self.settings).reserve(n_prompt, most_tokens)
    }
}
