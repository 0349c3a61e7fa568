//! How the vectors of a text's tokens become one: `modules.json`, `1_Pooling`, `sentence_bert_config.json` and
//! `config_sentence_transformers.json`, as sentence-transformers writes them.

use super::super::error::{EncodeError, read};
use super::config::Architecture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// Which tokens make the vector of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Mean over all tokens, the ends included.
    Mean,
    /// The first token.
    Cls,
    LastToken,
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::LastToken => "last token",
        })
    }
}

/// What a folder says about its vectors; `None` where it says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolingFacts {
    pub pooling: Option<Pooling>,
    /// Whether vectors are scaled to length 1; `None` without `modules.json`.
    pub normalise: Option<bool>,
    pub max_tokens: Option<usize>,
    /// What stands before a query.
    pub query_prompt: Option<String>,
}

/// Names of the pooling modes in `1_Pooling/config.json`.
const MODES: [(&str, Option<Pooling>); 6] = [
    ("pooling_mode_mean_tokens", Some(Pooling::Mean)),
    ("pooling_mode_cls_token", Some(Pooling::Cls)),
    ("pooling_mode_lasttoken", Some(Pooling::LastToken)),
    ("pooling_mode_max_tokens", None),
    ("pooling_mode_mean_sqrt_len_tokens", None),
    ("pooling_mode_weightedmean_tokens", None),
];

fn json(path: &Path) -> Result<Value, EncodeError> {
    serde_json::from_slice(&read(path)?).map_err(|error| EncodeError::invalid(path, error))
}

fn optional(path: &Path) -> Result<Option<Value>, EncodeError> {
    if path.exists() { json(path).map(Some) } else { Ok(None) }
}

impl PoolingFacts {
    /// Reads what is there.
    ///
    /// # Errors
    /// [`EncodeError`] for modules that are not computed here and for files that contradict each other.
    pub fn read(folder: &Path, architecture: &Architecture) -> Result<Self, EncodeError> {
        let mut facts = Self::default();
        let path = folder.join("modules.json");
        let mut pooling_folder = folder.join("1_Pooling");
        if let Some(modules) = optional(&path)? {
            let mut normalise = false;
            for module in modules.as_array().into_iter().flatten() {
                let kind = module["type"].as_str().unwrap_or_default().rsplit('.').next().unwrap_or_default();
                let place = module["path"].as_str().unwrap_or_default();
                match kind {
                    "Transformer" => {}
                    "Pooling" => pooling_folder = folder.join(place),
                    "Normalize" => normalise = true,
                    other => {
                        let reason = format!("a module of type `{other}`; Transformer, Pooling and Normalize are computed here");
                        return Err(EncodeError::invalid(&path, reason));
                    }
                }
            }
            facts.normalise = Some(normalise);
            if !pooling_folder.join("config.json").exists() {
                let reason = format!("names {}, which has no config.json", pooling_folder.display());
                return Err(EncodeError::invalid(&path, reason));
            }
        }
        let path = pooling_folder.join("config.json");
        if let Some(config) = optional(&path)? {
            facts.pooling = Some(mode(&path, &config)?);
            let width = config["word_embedding_dimension"].as_u64().or(config["embedding_dimension"].as_u64());
            if let Some(width) = width.filter(|width| *width != architecture.width() as u64) {
                return Err(EncodeError::Contradiction {
                    path: folder.to_path_buf(),
                    what: "the length of a vector",
                    one: "1_Pooling/config.json".into(),
                    one_says: width.to_string(),
                    other: "config.json".into(),
                    other_says: architecture.width().to_string(),
                    option: "another folder",
                });
            }
        }
        if let Some(config) = optional(&folder.join("sentence_bert_config.json"))? {
            facts.max_tokens = config["max_seq_length"].as_u64().map(|n| n as usize);
        }
        if let Some(most) = facts.max_tokens.filter(|most| *most > architecture.n_positions()) {
            return Err(EncodeError::Contradiction {
                path: folder.to_path_buf(),
                what: "the most tokens of a text",
                one: "sentence_bert_config.json".into(),
                one_says: most.to_string(),
                other: "max_position_embeddings of config.json".into(),
                other_says: architecture.n_positions().to_string(),
                option: "--max-tokens",
            });
        }
        if let Some(config) = optional(&folder.join("config_sentence_transformers.json"))? {
            facts.query_prompt = config["prompts"]["query"].as_str().map(str::to_string);
        }
        Ok(facts)
    }
}

fn mode(path: &Path, config: &Value) -> Result<Pooling, EncodeError> {
    // sentence-transformers 6 writes one name in the place of the flags.
    if let Some(name) = config["pooling_mode"].as_str() {
        return match name {
            "mean" => Ok(Pooling::Mean),
            "cls" => Ok(Pooling::Cls),
            "lasttoken" => Ok(Pooling::LastToken),
            other => Err(EncodeError::invalid(path, format!("pooling_mode `{other}`; mean, cls and lasttoken are computed here"))),
        };
    }
    let set: Vec<_> = MODES.iter().filter(|(name, _)| config[*name].as_bool() == Some(true)).collect();
    match set[..] {
        [(_, Some(pooling))] => Ok(*pooling),
        [(name, None)] => Err(EncodeError::invalid(path, format!("{name} is not computed here; mean, cls and last token are"))),
        [] => Err(EncodeError::invalid(path, "no pooling mode is true")),
        _ => {
            let names: Vec<_> = set.iter().map(|(name, _)| *name).collect();
            Err(EncodeError::invalid(path, format!("{} are all true; one is computed here", names.join(" and "))))
        }
    }
}
