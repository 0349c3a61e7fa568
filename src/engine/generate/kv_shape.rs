//! What the attention cache of a judge takes in memory, from the sizes that its file states, and how many games fit.
//!
//! Arithmetic alone: it must not know how a file is read or where the memory is.

use crate::data::study::KvType;

/// The sizes that decide how much a token takes in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvShape {
    pub n_layers: u64,
    /// Heads of keys and values in each layer.
    pub n_heads: u64,
    pub key_length: u64,
    /// 0 where values are read out of the keys (multi-head latent attention).
    pub value_length: u64,
    /// Whether the file states the number of heads for keys and values; where it does not, that of the queries is taken, which is the
    /// most it can be.
    pub heads_stated: bool,
    /// Tokens that some layers look back on at most.
    pub sliding_window: Option<u64>,
    /// Whether some layers keep a recurrent state, whose size is not counted here.
    pub recurrent: bool,
}

impl KvShape {
    /// The shape by the metadata of a file: `number` gives the value of a key that is a single number. `recurrent` is what the
    /// architecture says.
    ///
    /// # Errors
    /// The first key that is needed and absent.
    pub fn of(architecture: &str, recurrent: bool, number: impl Fn(&str) -> Option<u64>) -> Result<Self, String> {
        let key = |name: &str| format!("{architecture}.{name}");
        let optional = |name: &str| number(&key(name));
        let needed = |name: &str| optional(name).ok_or_else(|| key(name));
        let n_query_heads = needed("attention.head_count")?;
        let n_heads = optional("attention.head_count_kv");
        let head = |name: &str| match optional(name) {
            Some(length) => Ok(length),
            None => Ok::<u64, String>(needed("embedding_length")? / n_query_heads.max(1)),
        };
        let is_latent = optional("attention.key_length_mla").is_some();
        Ok(Self {
            // Layers that predict further tokens are not used.
            n_layers: needed("block_count")?.saturating_sub(optional("nextn_predict_layers").unwrap_or(0)),
            n_heads: n_heads.unwrap_or(n_query_heads),
            key_length: head("attention.key_length")?,
            value_length: if is_latent { 0 } else { head("attention.value_length")? },
            heads_stated: n_heads.is_some(),
            sliding_window: optional("attention.sliding_window").filter(|n| *n > 0),
            recurrent,
        })
    }

    /// Bytes that a token takes, keys and values in every layer: also where a layer looks back on a window only, since a beginning can
    /// be forked while all of its cells are there.
    #[must_use]
    pub fn bytes_a_token(&self, kv_type: KvType) -> u64 {
        let numbers = self.n_layers * self.n_heads * (self.key_length + self.value_length);
        // Bytes of 32 numbers: quantised blocks carry a scale of 16 bits.
        let of_32 = match kv_type {
            KvType::F32 => 128,
            KvType::F16 | KvType::Bf16 => 64,
            KvType::Q8_0 => 34,
            KvType::Q4_0 => 18,
        };
        numbers * of_32 / 32
    }
}

/// How many sequences of `bytes_a_sequence` fit beside `model_bytes`.
#[must_use]
pub fn slots_that_fit(memory_bytes: u64, model_bytes: u64, bytes_a_sequence: u64) -> u64 {
    memory_bytes.saturating_sub(model_bytes) / bytes_a_sequence.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(architecture: &str, numbers: &[(&str, u64)]) -> Result<KvShape, String> {
        KvShape::of(architecture, false, |key| {
            numbers.iter().find(|(name, _)| format!("{architecture}.{name}") == key).map(|(_, n)| *n)
        })
    }

    const SMOLLM2_135M: [(&str, u64); 4] =
        [("block_count", 30), ("embedding_length", 576), ("attention.head_count", 9), ("attention.head_count_kv", 3)];

    #[test]
    fn smollm2_takes_23040_bytes_a_token() {
        let shape = shape("llama", &SMOLLM2_135M).expect("a shape");
        assert_eq!((shape.key_length, shape.value_length), (64, 64));
        // 30 layers x 3 heads x (64 + 64) numbers = 11,520.
        for (kv_type, bytes) in
            [(KvType::F32, 46_080), (KvType::F16, 23_040), (KvType::Bf16, 23_040), (KvType::Q8_0, 12_240), (KvType::Q4_0, 6_480)]
        {
            assert_eq!(shape.bytes_a_token(kv_type), bytes, "{kv_type}");
        }
    }

    #[test]
    fn stated_lengths_windows_and_latent_attention() {
        let mut numbers = SMOLLM2_135M.to_vec();
        numbers.extend([("attention.key_length", 192), ("attention.value_length", 128), ("attention.sliding_window", 4096)]);
        let uneven = shape("x", &numbers).expect("a shape");
        assert_eq!((uneven.sliding_window, uneven.bytes_a_token(KvType::F16)), (Some(4096), 30 * 3 * 320 * 2));
        numbers.extend([("attention.key_length_mla", 192), ("nextn_predict_layers", 1)]);
        assert_eq!(shape("x", &numbers).expect("a shape").bytes_a_token(KvType::F16), 29 * 3 * 192 * 2);
    }

    #[test]
    fn an_absent_size_is_named_and_absent_heads_count_as_most() {
        assert_eq!(shape("llama", &SMOLLM2_135M[1..]), Err("llama.block_count".into()));
        let most = shape("llama", &SMOLLM2_135M[..3]).expect("a shape");
        assert_eq!((most.n_heads, most.heads_stated), (9, false));
    }

    #[test]
    fn slots_are_what_is_left_beside_the_weights() {
        assert_eq!(slots_that_fit(1_000, 400, 250), 2);
        assert_eq!(slots_that_fit(300, 400, 250), 0);
    }
}
