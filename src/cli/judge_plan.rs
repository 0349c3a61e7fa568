//! Which judge answers and how it is run, checked before any weights are loaded.

use super::args::JudgeArgs;
use super::console::Failure;
use super::resolve::within;
use crate::data::Numerics;
use crate::data::study::{EngineSection, JudgeSection};
use crate::engine::generate::llama::{LlamaSettings, gpus};
use crate::engine::{EngineIdentity, ModelIdentity};
use crate::models::{ModelCard, ModelKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most prompts decoded together: llama.cpp counts at most 256 sequences, a few of which hold finished prompts.
pub const MOST_SLOTS: u32 = 248;

/// Who answers, and how.
pub struct JudgePlan {
    pub card: ModelCard,
    pub model_dir: PathBuf,
    pub llama: LlamaSettings,
    /// Without a token for so long the judge counts as hung.
    pub hang_timeout: Duration,
}

impl JudgePlan {
    /// The judge of `section` with what `args` put in its place. A card file lies in `card_base`, the folder of weights that the
    /// section names in `root`.
    pub fn new(args: &JudgeArgs, section: &JudgeSection, card_base: &Path, root: &Path) -> Result<Self, Failure> {
        let card = ModelCard::find(args.card.as_deref().unwrap_or(&section.card), card_base).map_err(Failure::verification)?;
        if card.kind != ModelKind::Judge {
            return Err(Failure::usage(format_args!(
                "model card `{}` is an encoder, a judge is needed; see `assize models list`",
                card.name
            )));
        }
        card.require_pinned().map_err(Failure::verification)?;
        let model_dir = match (&args.model_dir, &section.model_dir) {
            (Some(dir), _) => dir.clone(),
            (None, Some(dir)) => root.join(dir),
            (None, None) => PathBuf::from(".models"),
        };
        let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
        // A served judge is held elsewhere: what this machine has is nothing to it.
        let (engine, gpus) = match &card.served {
            Some(_) => (EngineSection::default(), Vec::new()),
            None => (args.engine.over(section.engine.clone()), gpus().map_err(Failure::verification)?),
        };
        let mut llama = LlamaSettings::new(
            args.numerics.unwrap_or(section.numerics),
            section.context_tokens.or(card.context_tokens).unwrap_or_default(),
            within("slots", 1..=MOST_SLOTS, args.slots.unwrap_or(section.slots))?,
            within("threads", 1..=512, args.threads.or(section.threads).unwrap_or(cores.min(512)))?,
            &engine,
            &gpus,
        )
        .map_err(Failure::usage)?;
        llama.trace.clone_from(&args.trace);
        Ok(Self { card, model_dir, llama, hang_timeout: Duration::from_secs(section.hang_timeout_s.into()) })
    }

    /// Which weights are asked.
    pub fn model(&self) -> ModelIdentity {
        ModelIdentity::of(&self.card)
    }

    /// The engine's part of the item key; a served model's engine is unknown.
    pub fn engine(&self) -> Option<EngineIdentity> {
        self.card.served.is_none().then(|| self.llama.identity())
    }

    /// Prompts that are before the engine at a time: enough that it sees which belong together.
    pub fn n_in_flight(&self) -> usize {
        match self.llama.numerics {
            Numerics::Exact => 2,
            Numerics::Fast => 64 + 4 * self.llama.slots as usize,
        }
    }
}
