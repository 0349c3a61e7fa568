//! The settings of a judge on this machine, resolved and checked before any weights are loaded, and the part of them that can change a
//! reply. It must not know the model.

use super::UBATCH;
use super::device::{Gpu, Placement};
use crate::data::Numerics;
use crate::data::study::{EngineSection, GpuLayers, KvType, SplitMode};
use crate::engine::{ENGINE_VERSION, EngineIdentity};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

/// Why settings cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    #[error(
        "kv_cells: expected at least the context of {context_tokens} tokens, got {asked}; raise kv_cells or lower context_tokens"
    )]
    KvCells { asked: u32, context_tokens: u32 },
    #[error(
        "kv_type = \"{kv_type}\" needs flash_attention = true, got false; llama.cpp keeps quantised values for fused attention only"
    )]
    Quantised { kv_type: KvType },
    #[error("{asked} needs a GPU, this build finds none; leave it out, or build with a GPU backend on a machine that has one")]
    NoGpu { asked: String },
    #[error("devices: expected numbers below {found}, got {asked}; this build finds {found} GPU(s), counted from 0")]
    NoSuchGpu { asked: u32, found: usize },
    #[error("devices: expected every GPU once, got {asked} again; remove one")]
    Twice { asked: u32 },
    #[error("split_mode = \"none\" takes one GPU, got {named} devices; name one, or write split_mode = \"layer\" or \"row\"")]
    OneGpu { named: usize },
    #[error("gpu_layers = 0 leaves no layer for {asked}; raise gpu_layers or leave that out")]
    NoLayers { asked: String },
}

/// Settings of a judge on this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LlamaSettings {
    pub numerics: Numerics,
    /// Longest prompt with reply, in tokens; at most the card's.
    pub context_tokens: u32,
    /// Sequences decoded together in fast mode.
    pub slots: u32,
    pub threads: u32,
    /// Tokens that the cache holds, of all sequences together; at least `context_tokens`.
    pub kv_cells: u32,
    pub kv_type: KvType,
    /// Whether attention is computed in one fused step.
    pub flash_attention: bool,
    /// Keeps the experts of a mixture of experts off the GPUs.
    pub moe_on_cpu: bool,
    pub split_mode: SplitMode,
    pub placement: Placement,
    /// Whether fast mode drafts copied passages.
    pub drafts: bool,
    /// Whether fast mode computes a beginning that prompts share once.
    pub sharing: bool,
    /// Where to keep what was computed when, if anywhere.
    pub trace: Option<PathBuf>,
}

/// Cells of fast numerics: twice the context, or with a short context what all slots can use.
fn default_kv_cells(context_tokens: u32, slots: u32) -> u32 {
    const SHORT: u32 = 32_768;
    context_tokens.saturating_mul(2).max(context_tokens.saturating_mul(slots).min(SHORT))
}

impl LlamaSettings {
    /// The settings that `section` asks for on a machine with `gpus`.
    ///
    /// # Errors
    /// [`SettingsError`] for what does not go together or is not there.
    pub fn new(
        numerics: Numerics,
        context_tokens: u32,
        slots: u32,
        threads: u32,
        section: &EngineSection,
        gpus: &[Gpu],
    ) -> Result<Self, SettingsError> {
        let kv_cells = section.kv_cells.unwrap_or(match numerics {
            Numerics::Exact => context_tokens,
            Numerics::Fast => default_kv_cells(context_tokens, slots),
        });
        if kv_cells < context_tokens {
            return Err(SettingsError::KvCells { asked: kv_cells, context_tokens });
        }
        if matches!(section.kv_type, KvType::Q8_0 | KvType::Q4_0) && !section.flash_attention {
            return Err(SettingsError::Quantised { kv_type: section.kv_type });
        }
        Ok(Self {
            numerics,
            context_tokens,
            slots,
            threads,
            kv_cells,
            kv_type: section.kv_type,
            flash_attention: section.flash_attention,
            moe_on_cpu: section.moe_on_cpu,
            split_mode: section.split_mode,
            placement: Placement::of(section, gpus)?,
            drafts: section.drafts,
            sharing: section.sharing,
            trace: None,
        })
    }

    /// The part of the settings that can change a reply.
    #[must_use]
    pub fn identity(&self) -> EngineIdentity {
        let fast = self.numerics == Numerics::Fast;
        EngineIdentity {
            numerics: self.numerics,
            backend: "llama.cpp".into(),
            device_class: self.placement.device_class(),
            gpu_layers: self.placement.layers.to_string(),
            moe_on_cpu: self.moe_on_cpu,
            kv_type: self.kv_type.name().into(),
            flash_attention: self.flash_attention,
            ubatch: UBATCH,
            split_mode: self.split_mode.name().into(),
            // Exact mode has neither, whatever the manifest says.
            drafts: fast && self.drafts,
            sharing: fast && self.sharing,
            version: ENGINE_VERSION.into(),
        }
    }

    /// A number of layers must be one that the judge has: `n_layers` and the output.
    pub(super) fn check_layers(&self, n_layers: u32) -> Result<(), String> {
        match self.placement.layers {
            GpuLayers::Count(asked) if asked > n_layers + 1 => Err(format!(
                "gpu_layers: expected at most {} ({n_layers} layers and the output), got {asked}; write \"all\" for every one",
                n_layers + 1
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(numerics: Numerics, section: &EngineSection) -> Result<LlamaSettings, SettingsError> {
        LlamaSettings::new(numerics, 8192, 4, 2, section, &[])
    }

    #[test]
    fn the_cache_holds_at_least_the_context() {
        let default = EngineSection::default();
        assert_eq!(settings(Numerics::Fast, &default).map(|s| s.kv_cells), Ok(32_768));
        assert_eq!((default_kv_cells(131_072, 4), default_kv_cells(8_192, 1)), (262_144, 16_384));
        assert_eq!(settings(Numerics::Exact, &default).map(|s| s.kv_cells), Ok(8_192));
        let with = |kv_cells| EngineSection { kv_cells: Some(kv_cells), ..EngineSection::default() };
        assert_eq!(settings(Numerics::Fast, &with(8_192)).map(|s| s.kv_cells), Ok(8_192));
        let refused = settings(Numerics::Fast, &with(8_191)).map(|s| s.kv_cells);
        assert_eq!(refused, Err(SettingsError::KvCells { asked: 8_191, context_tokens: 8_192 }));
    }

    #[test]
    fn quantised_values_need_fused_attention() {
        for (kv_type, fits) in
            [(KvType::F16, true), (KvType::Bf16, true), (KvType::F32, true), (KvType::Q8_0, false), (KvType::Q4_0, false)]
        {
            let section = EngineSection { kv_type, flash_attention: false, ..EngineSection::default() };
            assert_eq!(settings(Numerics::Exact, &section).is_ok(), fits, "{kv_type}");
            assert!(settings(Numerics::Exact, &EngineSection { flash_attention: true, ..section }).is_ok());
        }
    }

    #[test]
    fn what_can_change_a_reply_is_in_the_identity_and_nothing_else() {
        let of = |numerics, section: &EngineSection| settings(numerics, section).expect("settings").identity();
        let default = EngineSection::default();
        for changed in [
            EngineSection { kv_type: KvType::Bf16, ..default.clone() },
            EngineSection { flash_attention: false, ..default.clone() },
            EngineSection { moe_on_cpu: true, ..default.clone() },
        ] {
            assert_ne!(of(Numerics::Exact, &changed), of(Numerics::Exact, &default), "{changed:?}");
        }
        for changed in [EngineSection { drafts: false, ..default.clone() }, EngineSection { sharing: false, ..default.clone() }] {
            assert_ne!(of(Numerics::Fast, &changed), of(Numerics::Fast, &default), "{changed:?}");
            assert_eq!(of(Numerics::Exact, &changed), of(Numerics::Exact, &default), "exact mode has neither");
        }
        let larger = EngineSection { kv_cells: Some(50_000), ..default.clone() };
        assert_eq!(of(Numerics::Fast, &larger), of(Numerics::Fast, &default));
    }

    #[test]
    fn more_layers_than_the_judge_has_are_refused() {
        let mut settings = settings(Numerics::Exact, &EngineSection::default()).expect("settings");
        settings.placement.layers = GpuLayers::Count(31);
        assert_eq!(settings.check_layers(30), Ok(()));
        let error = settings.check_layers(29).expect_err("one too many");
        assert!(error.contains("expected at most 30") && error.contains("got 31"), "{error}");
    }
}
