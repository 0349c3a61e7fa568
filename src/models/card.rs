//! A model card: what a model is, which files it is made of, how it is spoken to.

use super::{DEFAULT_REASONING_TOKENS, Reasoning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The cards that come with the program, by name.
pub const BUILTIN_CARDS: [(&str, &str); 18] = [
    ("smollm2-135m-instruct", include_str!("../../models/smollm2-135m-instruct.toml")),
    ("qwen2.5-coder-0.5b-instruct", include_str!("../../models/qwen2.5-coder-0.5b-instruct.toml")),
    ("deepseek-v3.2", include_str!("../../models/deepseek-v3.2.toml")),
    ("gemma-3-27b-it", include_str!("../../models/gemma-3-27b-it.toml")),
    ("glm-5.2", include_str!("../../models/glm-5.2.toml")),
    ("gpt-oss-120b", include_str!("../../models/gpt-oss-120b.toml")),
    ("llama-3.3-70b-instruct", include_str!("../../models/llama-3.3-70b-instruct.toml")),
    ("medgemma-27b-text-it", include_str!("../../models/medgemma-27b-text-it.toml")),
    ("minimax-m2.7", include_str!("../../models/minimax-m2.7.toml")),
    ("mistral-medium-3.5", include_str!("../../models/mistral-medium-3.5.toml")),
    ("qwen3.5-397b-a17b", include_str!("../../models/qwen3.5-397b-a17b.toml")),
    ("all-minilm-l6-v2", include_str!("../../models/all-minilm-l6-v2.toml")),
    ("s-pubmedbert-ms-marco", include_str!("../../models/s-pubmedbert-ms-marco.toml")),
    ("qwen3-embedding-0.6b", include_str!("../../models/qwen3-embedding-0.6b.toml")),
    ("qwen3-embedding-8b", include_str!("../../models/qwen3-embedding-8b.toml")),
    ("qwen3-reranker-0.6b", include_str!("../../models/qwen3-reranker-0.6b.toml")),
    ("qwen3-reranker-8b", include_str!("../../models/qwen3-reranker-8b.toml")),
    ("written-replies", include_str!("../../models/written-replies.toml")),
];

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Generates replies.
    Judge,
    /// Embeds or reranks texts.
    Encoder,
}

/// A model card.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    pub name: String,
    pub kind: ModelKind,
    pub architecture: String,
    pub licence: String,
    pub source: String,
    /// Whether the card names its files; one that does not is completed by `assize models pin`.
    #[serde(default = "pinned")]
    pub pinned: bool,
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
    /// Where `assize models fetch` finds its files.
    #[serde(default)]
    pub hub: Option<Hub>,
}

/// A repository of a model hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// As `Qwen/Qwen3-Embedding-0.6B`.
    pub repo: String,
    /// A commit, or a branch that is resolved to one when it is first fetched.
    pub revision: String,
}

fn pinned() -> bool {
    true
}

/// One file of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Relative to the model folder.
    pub path: PathBuf,
    pub bytes: u64,
    /// 64 hexadecimal digits.
    pub sha256: String,
}

/// The chat template inside a judge's weight file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// SHA-256 of the template's text; only a card that leaves its files open has none.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Values that the template reads besides the messages, as `enable_thinking = false`.
    #[serde(default)]
    pub switches: BTreeMap<String, toml::Value>,
}

/// A model behind somebody's server; its replies come in with `assize replies`.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    #[error(
        "model card `{name}` leaves open which files it means; run `assize models pin {name} --model-dir DIR --out my-card.toml` on \
         the files that you have, then use card = \"my-card.toml\""
    )]
    Unpinned { name: String },
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
        let (text, path) = Self::text_of(name, base)?;
        Self::parse(&text, &path)
    }

    /// The text of a card and the name that messages give it.
    pub(super) fn text_of(name: &str, base: &Path) -> Result<(String, PathBuf), CardError> {
        if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            let path = base.join(name);
            let text = std::fs::read_to_string(&path).map_err(|source| CardError::Read { path: path.clone(), source })?;
            return Ok((text, path));
        }
        match BUILTIN_CARDS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok(((*text).to_string(), PathBuf::from(name))),
            None => {
                let known = BUILTIN_CARDS.map(|(name, _)| name).join(", ");
                Err(CardError::Unknown { name: name.to_string(), known })
            }
        }
    }

    /// A card must name its files before anything is judged or keyed by it.
    ///
    /// # Errors
    /// [`CardError::Unpinned`] with the command that completes the card.
    pub fn require_pinned(&self) -> Result<(), CardError> {
        if self.pinned { Ok(()) } else { Err(CardError::Unpinned { name: self.name.clone() }) }
    }

    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, CardError> {
        let invalid = |reason: String| CardError::Invalid { path: path.to_path_buf(), reason };
        let card: Self = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        card.check().map_err(invalid)?;
        Ok(card)
    }

    fn check(&self) -> Result<(), String> {
        if !self.pinned {
            let names_template = self.template.as_ref().is_some_and(|template| template.sha256.is_some());
            if self.served.is_some() || !self.files.is_empty() || names_template || self.kind != ModelKind::Judge {
                return Err(
                    "pinned = false is for a judge without [[file]], template.sha256 and [served]; remove it or them".into()
                );
            }
            return Ok(());
        }
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
            if self.template.as_ref().is_none_or(|template| template.sha256.is_none()) {
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
