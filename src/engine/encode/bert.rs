//! BERT: token, position and type embeddings, then layers of attention and a feed-forward part, each followed by a sum and a norm.
//!
//! Ours and not candle-transformers': that one wants padded batches and a mask (event texts padded to the longest of 128 are computed
//! six times over) and its mask is not a number in bf16.
//!
//! # Source
//! Devlin et al., arXiv:1810.04805, as in Hugging Face's `BertModel` without the pooler.

use super::error::EncodeError;
use super::folder::{Activation, BertConfig, Weights};
use super::kernels::attention::{Head, Rows};
use super::kernels::linear::Linear;
use super::kernels::norm::LayerNorm;
use super::packed::Packed;

pub(super) struct Bert {
    width: usize,
    n_heads: usize,
    activation: Activation,
    words: Vec<f32>,
    /// Position and first type together: a text here is one segment.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values beside each other.
    attention: Linear,
    attention_out: Linear,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    norm: LayerNorm,
}

impl Bert {
    pub fn load(config: &BertConfig, weights: &Weights) -> Result<Self, EncodeError> {
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let norm = |name: &str| -> Result<LayerNorm, EncodeError> {
            // Old checkpoints call the two gamma and beta.
            let [gain, bias] = if weights.has(&format!("{name}.weight")) { ["weight", "bias"] } else { ["gamma", "beta"] };
            Ok(LayerNorm {
                gain: weights.tensor(&format!("{name}.{gain}"), &[width])?,
                bias: weights.tensor(&format!("{name}.{bias}"), &[width])?,
                eps: config.layer_norm_eps,
            })
        };
        let linear = |n_inputs: usize, n_outputs: usize, names: &[String]| -> Result<Linear, EncodeError> {
            let part = |name: &String| -> Result<_, EncodeError> {
                let bias = weights.tensor(&format!("{name}.bias"), &[n_outputs])?;
                Ok((weights.tensor(&format!("{name}.weight"), &[n_outputs, n_inputs])?, Some(bias)))
            };
            Ok(Linear::new(n_inputs, &names.iter().map(part).collect::<Result<Vec<_>, _>>()?))
        };
        let mut positions = weights.tensor("embeddings.position_embeddings.weight", &[config.max_position_embeddings, width])?;
        let types = weights.tensor("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, width])?;
        for row in positions.chunks_exact_mut(width) {
            row.iter_mut().zip(&types[..width]).for_each(|(x, of_type)| *x += of_type);
        }
        let layer = |i: usize| -> Result<Layer, EncodeError> {
            let at = |name: &str| format!("encoder.layer.{i}.{name}");
            let projections = ["query", "key", "value"].map(|name| at(&format!("attention.self.{name}")));
            Ok(Layer {
                attention: linear(width, width, &projections)?,
                attention_out: linear(width, width, &[at("attention.output.dense")])?,
                attention_norm: norm(&at("attention.output.LayerNorm"))?,
                up: linear(width, inner, &[at("intermediate.dense")])?,
                down: linear(inner, width, &[at("output.dense")])?,
                norm: norm(&at("output.LayerNorm"))?,
            })
        };
        Ok(Self {
            width,
            n_heads: config.num_attention_heads,
            activation: config.hidden_act,
            words: weights.tensor("embeddings.word_embeddings.weight", &[config.vocab_size, width])?,
            positions,
            norm: norm("embeddings.LayerNorm")?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()?,
        })
    }

    /// The last hidden state of every token.
    ///
    /// # Shapes
    /// `[rows, D]`.
    pub fn hidden(&self, packed: &Packed) -> Vec<f32> {
        let width = self.width;
        let mut x = Vec::with_capacity(packed.n_rows() * width);
        for text in &packed.texts {
            for (position, token) in packed.tokens[text.clone()].iter().enumerate() {
                let word = &self.words[*token as usize * width..][..width];
                let place = &self.positions[position * width..][..width];
                x.extend(word.iter().zip(place).map(|(x, y)| x + y));
            }
        }
        self.norm.apply(&mut x);
        for layer in &self.layers {
            let attended = layer.attention_out.apply(&self.attend(&layer.attention.apply(&x), packed));
            add(&mut x, &attended);
            layer.attention_norm.apply(&mut x);
            let mut inner = layer.up.apply(&x);
            self.activation.apply(&mut inner);
            add(&mut x, &layer.down.apply(&inner));
            layer.norm.apply(&mut x);
        }
        x
    }

    fn attend(&self, projected: &[f32], packed: &Packed) -> Vec<f32> {
        let (width, head_width) = (self.width, self.width / self.n_heads);
        let mut out = vec![0.0; packed.n_rows() * width];
        for text in &packed.texts {
            for head in 0..self.n_heads {
                let rows = |part: usize| Rows {
                    values: projected,
                    step: 3 * width,
                    from: text.start * 3 * width + part * width + head * head_width,
                };
                let parts = [(rows(1), rows(2), text.len())];
                let head_of = Head { queries: rows(0), n_queries: text.len(), parts: &parts, width: head_width, causal: false };
                head_of.attend(&mut out[text.start * width + head * head_width..], width);
            }
        }
        out
    }
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}
