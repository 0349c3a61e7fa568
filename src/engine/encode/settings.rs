//! How an encoder is held and what of its vectors is kept; what can change a vector is part of its identity.

use super::folder::{Dtype, Pooling, SpecialText};
use serde::Serialize;

/// Where an encoder is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    #[default]
    Cpu,
    Cuda(usize),
}

#[derive(Debug, Clone)]
pub struct EncoderSettings {
    /// As the folder says when left out.
    pub pooling: Option<Pooling>,
    /// First elements of a vector that are kept, scaled to length 1 anew (Matryoshka); all when left out.
    pub dims: Option<usize>,
    /// As the folder says when left out, else yes.
    pub normalise: Option<bool>,
    /// Most tokens of a text, the ends included; as the folder says when left out.
    pub max_tokens: Option<usize>,
    /// Most characters of a text before it is tokenised.
    pub max_chars: Option<usize>,
    pub special_text: SpecialText,
    pub threads: usize,
    /// Token rows computed together by a thread.
    pub batch_tokens: usize,
    pub device: Device,
}

impl Default for EncoderSettings {
    fn default() -> Self {
        Self {
            pooling: None,
            dims: None,
            normalise: None,
            max_tokens: None,
            max_chars: None,
            special_text: SpecialText::Plain,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            batch_tokens: 512,
            device: Device::Cpu,
        }
    }
}

/// What a vector depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EncoderIdentity {
    pub engine: &'static str,
    /// Hash of each weight file by name.
    pub weights: Vec<(String, String)>,
    pub config: String,
    pub tokenizer: String,
    pub pooling: Option<Pooling>,
    pub dims: usize,
    pub normalise: bool,
    pub max_tokens: usize,
    pub max_chars: Option<usize>,
    pub special_text: SpecialText,
    /// Numbers of the stored weights; everything is computed in f32.
    pub weight_dtype: Dtype,
    pub device: &'static str,
}
