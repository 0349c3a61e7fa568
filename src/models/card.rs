//! A model card: what a model is, which files it is made of, how it is spoken to.

use super::{DEFAULT_REASONING_TOKENS, Reasoning};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The cards that come with the program, by name.
pub const BUILTIN_CARDS: [(&str, &str); 3] = [
    ("smollm2-135m-instruct", include_str!("../../models/smollm2-135m-instruct.toml")),
    ("all-minilm-l6-v2", include_str!("../../models/all-minilm-l6-v2.toml")),
    ("written-replies", include_str!("../../models/written-replies.toml")),
];

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Generates replies.
    Judge,
    /// Embeds or reranks texts.
    Encoder,
}

/// A model card.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    pub name: String,
    pub kind: ModelKind,
    pub architecture: String,
    pub licence: String,
    pub source: String,
    /// Longest prompt with reply, in tokens. Judges only.
    #[serde(default)]
    pub context_tokens: Option<u32>,
    /// Weight files in load order; a sharded GGUF lists every shard.
    #[serde(default, rename = "file")]
    pub files: Vec<ModelFile>,
    #[serde(default)]
    pub template: Option<Template>,
    #[serde(default)]
    pub reasoning: Option<Reasoning>,
    /// A model that runs elsewhere; it has no files here.
    #[serde(default)]
    pub served: Option<Served>,
}

/// One file of a model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Relative to the model folder.
    pub path: PathBuf,
    pub bytes: u64,
    /// 64 hexadecimal digits.
    pub sha256: String,
}

/// The chat template inside a judge's weight file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// SHA-256 of the template's text.
    pub sha256: String,
    /// Values that the template reads besides the messages, as `enable_thinking = false`.
    #[serde(default)]
    pub switches: BTreeMap<String, toml::Value>,
}

/// A model behind somebody's server; its replies come in with `assize replies`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// The name sent as `model` in requests.
    pub model: String,
    pub revision: String,
}

/// Why a card cannot be used.
#[derive(Debug, Error)]
pub enum CardError {
    #[error("unknown model card `{name}`; built-in cards: {known}; or give the path of a .toml card")]
    Unknown { name: String, known: String },
    #[error("cannot read model card {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("model card {path}: {reason}")]
    Invalid { path: PathBuf, reason: String },
}

impl ModelCard {
    /// Most tokens of reasoning: as `asked`, as the card says, or the default. `None` for a model that does not think aloud.
    ///
    /// # Errors
    /// A limit that is asked for where the card knows no reasoning.
    pub fn reasoning_tokens(&self, asked: Option<u32>) -> Result<Option<u32>, String> {
        match (&self.reasoning, asked) {
            (Some(reasoning), asked) => Ok(Some(asked.or(reasoning.budget).unwrap_or(DEFAULT_REASONING_TOKENS))),
            (None, None) => Ok(None),
            (None, Some(asked)) => Err(format!(
                "max_reasoning_tokens = {asked}, but model card `{}` has no [reasoning]; remove the key or describe the marks there",
                self.name
            )),
        }
    }

    /// Finds a card: a built-in name, or the path of a TOML file relative to `base`.
    ///
    /// # Errors
    /// [`CardError`] naming what is wrong and where.
    pub fn find(name: &str, base: &Path) -> Result<Self, CardError> {
        if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            let path = base.join(name);
            let text = std::fs::read_to_string(&path).map_err(|source| CardError::Read { path: path.clone(), source })?;
            return Self::parse(&text, &path);
        }
        match BUILTIN_CARDS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text, Path::new(name)),
            None => {
                let known = BUILTIN_CARDS.map(|(name, _)| name).join(", ");
                Err(CardError::Unknown { name: name.to_string(), known })
            }
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, CardError> {
        let invalid = |reason: String| CardError::Invalid { path: path.to_path_buf(), reason };
        let card: Self = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        card.check().map_err(invalid)?;
        Ok(card)
    }

    fn check(&self) -> Result<(), String> {
        if self.served.is_some() {
            if !self.files.is_empty() || self.template.is_some() {
                return Err("a served model has neither files nor a template here; remove them or [served]".into());
            }
            return Ok(());
        }
        if self.files.is_empty() {
            return Err(
                "expected a [[file]] table for every weight file, got none; a model that runs elsewhere has [served]".into()
            );
        }
        for file in &self.files {
            if file.sha256.len() != 64 || !file.sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(format!("file {}: expected sha256 as 64 lowercase hexadecimal digits", file.path.display()));
            }
        }
        if self.kind == ModelKind::Judge {
            if self.template.is_none() {
                return Err(
                    "a judge needs [template] with the sha256 of its chat template; `assize models verify` prints it".into()
                );
            }
            if self.context_tokens.is_none() {
                return Err("a judge needs context_tokens".into());
            }
        }
        Ok(())
    }
}
