//! Qwen3 without a head: grouped-query attention with norms of queries and keys and rotary positions, gated feed-forward parts.
//!
//! Ours and not candle-transformers': that one has no mask for padding, wants `model.` before every name, and cannot begin several
//! texts with the keys and values of a shared beginning.
//!
//! # Source
//! Qwen3 Technical Report, arXiv:2505.09388, as in Hugging Face's `Qwen3Model`.

use super::error::EncodeError;
use super::folder::{Activation, Qwen3Config, Weights};
use super::kernels::attention::{Head, Rows};
use super::kernels::linear::Linear;
use super::kernels::norm::RmsNorm;
use super::packed::Packed;

pub(super) struct Qwen3 {
    config: Qwen3Config,
    words: Vec<f32>,
    /// Radians a position, for each pair of a head's elements.
    frequencies: Vec<f32>,
    layers: Vec<Layer>,
    norm: RmsNorm,
}

struct Layer {
    attention_norm: RmsNorm,
    /// Queries, keys and values beside each other.
    attention: Linear,
    query_norm: RmsNorm,
    key_norm: RmsNorm,
    attention_out: Linear,
    norm: RmsNorm,
    /// Gate and up beside each other.
    gate_up: Linear,
    down: Linear,
}

/// Keys and values of a beginning, of every layer.
///
/// # Shapes
/// Each `[T, key heads * head width]`.
#[derive(Default)]
pub(super) struct Beginning {
    n_tokens: usize,
    layers: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Beginning {
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }
}

impl Qwen3 {
    pub fn load(config: &Qwen3Config, weights: &Weights) -> Result<Self, EncodeError> {
        let c = config;
        let (width, inner) = (c.hidden_size, c.intermediate_size);
        let (queries, keys) = (c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
        let norm = |name: &str, width: usize| -> Result<RmsNorm, EncodeError> {
            Ok(RmsNorm { gain: weights.tensor(&format!("{name}.weight"), &[width])?, eps: c.rms_norm_eps })
        };
        let linear = |n_inputs: usize, parts: &[(String, usize, bool)]| -> Result<Linear, EncodeError> {
            let part = |(name, n_outputs, bias): &(String, usize, bool)| -> Result<_, EncodeError> {
                let bias = bias.then(|| weights.tensor(&format!("{name}.bias"), &[*n_outputs])).transpose()?;
                Ok((weights.tensor(&format!("{name}.weight"), &[*n_outputs, n_inputs])?, bias))
            };
            Ok(Linear::new(n_inputs, &parts.iter().map(part).collect::<Result<Vec<_>, _>>()?))
        };
        let layer = |i: usize| -> Result<Layer, EncodeError> {
            let at = |name: &str| format!("layers.{i}.{name}");
            let projection = |name: &str, n: usize| (at(&format!("self_attn.{name}_proj")), n, c.attention_bias);
            Ok(Layer {
                attention_norm: norm(&at("input_layernorm"), width)?,
                attention: linear(width, &[projection("q", queries), projection("k", keys), projection("v", keys)])?,
                query_norm: norm(&at("self_attn.q_norm"), c.head_dim)?,
                key_norm: norm(&at("self_attn.k_norm"), c.head_dim)?,
                attention_out: linear(queries, &[projection("o", width)])?,
                norm: norm(&at("post_attention_layernorm"), width)?,
                gate_up: linear(width, &[(at("mlp.gate_proj"), inner, false), (at("mlp.up_proj"), inner, false)])?,
                down: linear(inner, &[(at("mlp.down_proj"), width, false)])?,
            })
        };
        let half = c.head_dim / 2;
        let frequency = |i: usize| (1.0 / c.rope_theta.powf(2.0 * i as f64 / c.head_dim as f64)) as f32;
        Ok(Self {
            words: weights.tensor("embed_tokens.weight", &[c.vocab_size, width])?,
            frequencies: (0..half).map(frequency).collect(),
            layers: (0..c.num_hidden_layers).map(layer).collect::<Result<_, _>>()?,
            norm: norm("norm", width)?,
            config: c.clone(),
        })
    }

    /// Keys and values of `tokens`, for texts that begin with them.
    pub fn begin(&self, tokens: &[u32]) -> Beginning {
        let mut beginning = Beginning { n_tokens: tokens.len(), layers: Vec::with_capacity(self.layers.len()) };
        let packed = Packed::new([tokens]);
        self.run(&packed, &Beginning::default(), |_, keys, values| beginning.layers.push((keys.to_vec(), values.to_vec())));
        beginning
    }

    /// The last hidden state of the last token of every text, each text going on where `beginning` ends.
    ///
    /// # Shapes
    /// `[texts, D]`.
    pub fn last_hidden(&self, packed: &Packed, beginning: &Beginning) -> Vec<f32> {
        self.run(packed, beginning, |_, _, _| ())
    }

    fn run(&self, packed: &Packed, beginning: &Beginning, mut keep: impl FnMut(usize, &[f32], &[f32])) -> Vec<f32> {
        let c = &self.config;
        let width = c.hidden_size;
        let (query_width, key_width) = (c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
        let mut x = Vec::with_capacity(packed.n_rows() * width);
        for token in &packed.tokens {
            x.extend_from_slice(&self.words[*token as usize * width..][..width]);
        }
        let rotations = self.rotations(packed, beginning.n_tokens);
        for (i, layer) in self.layers.iter().enumerate() {
            let projected = layer.attention.apply(&layer.attention_norm.applied(&x));
            let (mut queries, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for row in projected.chunks_exact(query_width + 2 * key_width) {
                queries.extend_from_slice(&row[..query_width]);
                keys.extend_from_slice(&row[query_width..query_width + key_width]);
                values.extend_from_slice(&row[query_width + key_width..]);
            }
            layer.query_norm.apply(&mut queries);
            layer.key_norm.apply(&mut keys);
            self.rotate(&mut queries, c.num_attention_heads, &rotations);
            self.rotate(&mut keys, c.num_key_value_heads, &rotations);
            keep(i, &keys, &values);
            let past = beginning.layers.get(i).map(|(keys, values)| (&keys[..], &values[..], beginning.n_tokens));
            let attended = self.attend(packed, &queries, &keys, &values, past);
            add(&mut x, &layer.attention_out.apply(&attended));
            let mut gate_up = layer.gate_up.apply(&layer.norm.applied(&x));
            let inner = gate(&mut gate_up, c.intermediate_size, c.hidden_act);
            add(&mut x, &layer.down.apply(&inner));
        }
        let mut last = Vec::with_capacity(packed.texts.len() * width);
        for text in &packed.texts {
            last.extend_from_slice(&x[(text.end - 1) * width..][..width]);
        }
        self.norm.apply(&mut last);
        last
    }

    /// Cosine and sine of every row's angles.
    ///
    /// # Shapes
    /// `[rows, head width / 2]` each.
    fn rotations(&self, packed: &Packed, first: usize) -> Vec<(f32, f32)> {
        let mut rotations = Vec::with_capacity(packed.n_rows() * self.frequencies.len());
        for text in &packed.texts {
            for position in 0..text.len() {
                // The angle is rounded to f32 as in the reference; far positions depend on it.
                let angle = |frequency: &f32| f64::from((first + position) as f32 * frequency);
                rotations.extend(self.frequencies.iter().map(|f| (angle(f).cos() as f32, angle(f).sin() as f32)));
            }
        }
        rotations
    }

    /// Turns the pairs (i, i + half) of every head.
    fn rotate(&self, rows: &mut [f32], n_heads: usize, rotations: &[(f32, f32)]) {
        let half = self.frequencies.len();
        for (row, angles) in rows.chunks_exact_mut(n_heads * 2 * half).zip(rotations.chunks_exact(half)) {
            for head in row.chunks_exact_mut(2 * half) {
                let (low, high) = head.split_at_mut(half);
                for ((x, y), (cos, sin)) in low.iter_mut().zip(high).zip(angles) {
                    (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
                }
            }
        }
    }

    fn attend(
        &self,
        packed: &Packed,
        queries: &[f32],
        keys: &[f32],
        values: &[f32],
        past: Option<(&[f32], &[f32], usize)>,
    ) -> Vec<f32> {
        let c = &self.config;
        let (query_width, key_width) = (c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
        let group = c.num_attention_heads / c.num_key_value_heads;
        let mut out = vec![0.0; packed.n_rows() * query_width];
        for text in &packed.texts {
            for head in 0..c.num_attention_heads {
                let rows = |values, step, first: usize, head: usize| Rows { values, step, from: first * step + head * c.head_dim };
                let key_head = head / group;
                let own = (rows(keys, key_width, text.start, key_head), rows(values, key_width, text.start, key_head), text.len());
                let before = past.map(|(keys, values, n)| (rows(keys, key_width, 0, key_head), rows(values, key_width, 0, key_head), n));
                let parts: Vec<_> = before.into_iter().filter(|(.., n)| *n > 0).chain([own]).collect();
                let queries = rows(queries, query_width, text.start, head);
                let head_of = Head { queries, n_queries: text.len(), parts: &parts, width: c.head_dim, causal: true };
                head_of.attend(&mut out[text.start * query_width + head * c.head_dim..], query_width);
            }
        }
        out
    }
}

/// `activation(gate) * up`, from rows of gate and up beside each other.
fn gate(gate_up: &mut [f32], inner: usize, activation: Activation) -> Vec<f32> {
    let mut out = Vec::with_capacity(gate_up.len() / 2);
    for row in gate_up.chunks_exact_mut(2 * inner) {
        let (gate, up) = row.split_at_mut(inner);
        activation.apply(gate);
        out.extend(gate.iter().zip(up).map(|(gate, up)| gate * *up));
    }
    out
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}
