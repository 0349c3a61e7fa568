//! `config.json`: the architecture and its numbers.
//!
//! Every number that the values depend on must be there; the few that Hugging Face leaves out of old files have its documented default,
//! listed at each. What is not computed here (other activations, sliding windows, scaled rotations) is refused by name.

use super::super::error::{EncodeError, read};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// What a folder's network is.
#[derive(Debug, Clone, PartialEq)]
pub enum Architecture {
    Bert(BertConfig),
    Qwen3(Qwen3Config),
}

/// # Source
/// Devlin et al., BERT, arXiv:1810.04805; field names of Hugging Face's `BertConfig`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BertConfig {
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    pub type_vocab_size: usize,
    pub layer_norm_eps: f32,
    pub hidden_act: Activation,
    pub pad_token_id: Option<u32>,
}

/// # Source
/// Qwen3 Technical Report, arXiv:2505.09388; field names of Hugging Face's `Qwen3Config`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Qwen3Config {
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub head_dim: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    pub rms_norm_eps: f32,
    #[serde(default)]
    pub rope_theta: f64,
    #[serde(default)]
    pub tie_word_embeddings: bool,
    #[serde(default)]
    pub attention_bias: bool,
    pub hidden_act: Activation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Activation {
    /// `x / 2 (1 + erf(x / sqrt 2))`.
    #[serde(rename = "gelu")]
    Gelu,
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    #[serde(rename = "relu")]
    Relu,
    /// `x sigmoid(x)`.
    #[serde(rename = "silu", alias = "swish")]
    Silu,
}

impl Architecture {
    /// Reads `config.json` of a folder.
    ///
    /// # Errors
    /// [`EncodeError`] naming the file, the key and what is computed here.
    pub fn read(folder: &Path) -> Result<Self, EncodeError> {
        let path = folder.join("config.json");
        let value: Value = serde_json::from_slice(&read(&path)?).map_err(|error| EncodeError::invalid(&path, error))?;
        let named = value["architectures"][0].as_str();
        let kind = value["model_type"].as_str().unwrap_or_default();
        let found = || named.unwrap_or(kind).to_string();
        let refuse = |reason: String| Err(EncodeError::invalid(&path, reason));
        match kind {
            "bert" if named.is_none_or(|name| name.starts_with("Bert")) => {
                let position = value["position_embedding_type"].as_str().unwrap_or("absolute");
                if position != "absolute" {
                    return refuse(format!("position_embedding_type = \"{position}\"; absolute ones are computed here"));
                }
                if value["is_decoder"].as_bool() == Some(true) {
                    return refuse("is_decoder = true; an encoder is needed".into());
                }
                let config: BertConfig = serde_json::from_value(value).map_err(|error| EncodeError::invalid(&path, error))?;
                if config.num_attention_heads == 0 || config.hidden_size % config.num_attention_heads != 0 {
                    return refuse(format!(
                        "hidden_size {} is not a multiple of num_attention_heads {}",
                        config.hidden_size, config.num_attention_heads
                    ));
                }
                Ok(Self::Bert(config))
            }
            "qwen3" if named.is_none_or(|name| name.starts_with("Qwen3")) => Self::qwen3(&path, value),
            _ => Err(EncodeError::Architecture { path, found: found() }),
        }
    }

    fn qwen3(path: &Path, value: Value) -> Result<Self, EncodeError> {
        let refuse = |reason: String| Err(EncodeError::invalid(path, reason));
        // transformers 5 writes the rotation as an object of its own.
        let rope = if value["rope_parameters"].is_object() { &value["rope_parameters"] } else { &value["rope_scaling"] };
        let rope_kind = rope["rope_type"].as_str().or(rope["type"].as_str());
        if let Some(kind) = rope_kind.filter(|kind| *kind != "default") {
            return refuse(format!("rotary positions of type `{kind}`; plain ones are computed here"));
        }
        if value["use_sliding_window"].as_bool() == Some(true) {
            return refuse("use_sliding_window = true; full attention is computed here".into());
        }
        if let Some(layers) = value["layer_types"].as_array()
            && let Some(other) = layers.iter().find(|layer| layer.as_str() != Some("full_attention"))
        {
            return refuse(format!("layer_types has {other}; full_attention is computed here"));
        }
        let theta = value["rope_theta"].as_f64().or(rope["rope_theta"].as_f64());
        let mut config: Qwen3Config = serde_json::from_value(value).map_err(|error| EncodeError::invalid(path, error))?;
        config.rope_theta = match theta {
            Some(theta) if theta > 0.0 => theta,
            _ => return refuse("rope_theta is missing".into()),
        };
        if config.num_key_value_heads == 0 || config.num_attention_heads % config.num_key_value_heads != 0 {
            return refuse(format!(
                "num_attention_heads {} is not a multiple of num_key_value_heads {}",
                config.num_attention_heads, config.num_key_value_heads
            ));
        }
        if config.head_dim == 0 || config.head_dim % 2 != 0 {
            return refuse(format!("head_dim {} is not an even number", config.head_dim));
        }
        Ok(Self::Qwen3(config))
    }

    /// Most tokens that have a position.
    #[must_use]
    pub fn n_positions(&self) -> usize {
        match self {
            Self::Bert(config) => config.max_position_embeddings,
            Self::Qwen3(config) => config.max_position_embeddings,
        }
    }

    #[must_use]
    pub fn vocab_size(&self) -> usize {
        match self {
            Self::Bert(config) => config.vocab_size,
            Self::Qwen3(config) => config.vocab_size,
        }
    }

    /// Length of a token's vector.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Bert(config) => config.hidden_size,
            Self::Qwen3(config) => config.hidden_size,
        }
    }
}
