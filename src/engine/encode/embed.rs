//! Vectors of texts.

use super::bert::Bert;
use super::error::{EncodeError, read};
use super::folder::{Architecture, ModelFolder, Pooling, SpecialText, TextTokenizer};
use super::packed::{Packed, batches};
use super::qwen3::{Beginning, Qwen3};
use super::settings::{Device, EncoderIdentity, EncoderSettings};
use crate::models::sha256_of;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The code behind a vector. A change that can move a vector by more than rounding changes this.
const ENGINE: &str = "encode 1";

/// What a text is to the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Document,
    /// Qwen3 reads `Instruct: {task}\nQuery:{text}`.
    Query { task: String },
}

/// A text as tokens, and what was cut from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub tokens: Box<[u32]>,
    pub n_tokens_cut: u32,
    pub n_chars_cut: u32,
}

enum Network {
    Bert(Bert),
    Qwen3(Qwen3),
}

/// An embedding model.
pub struct Embedder {
    network: Network,
    tokenizer: TextTokenizer,
    query_prompt: Option<String>,
    identity: EncoderIdentity,
    batch_tokens: usize,
    width: usize,
    pool: rayon::ThreadPool,
}

/// Threads of its own, so that computing and other work do not wait for each other.
pub(super) fn pool(settings: &EncoderSettings) -> Result<rayon::ThreadPool, EncodeError> {
    let setting = |reason: String| EncodeError::Setting { setting: "threads", reason };
    if settings.threads == 0 {
        return Err(setting("0 threads compute nothing; give 1 or more".into()));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads).thread_name(|i| format!("encode-{i}")).build();
    pool.map_err(|error| setting(error.to_string()))
}

pub(super) fn check_device(settings: &EncoderSettings) -> Result<(), EncodeError> {
    match settings.device {
        Device::Cpu => Ok(()),
        Device::Cuda(index) => Err(EncodeError::Setting {
            setting: "device",
            reason: format!("cuda:{index} asked for, and this build computes encoders on the CPU only; use --device cpu"),
        }),
    }
}

/// Hashes of a folder's files and the settings of `settings`, with what the folder decides where they are silent.
pub(super) fn identity(folder: &ModelFolder, settings: &EncoderSettings, pooling: Option<Pooling>) -> Result<EncoderIdentity, EncodeError> {
    let weights = folder.weights.files().iter().map(|file| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        sha256_of(file).map(|hash| (name, hash)).map_err(|error| EncodeError::invalid(file, error))
    });
    let config = Sha256::digest(read(&folder.path.join("config.json"))?);
    let n_positions = folder.architecture.n_positions();
    let max_tokens = settings.max_tokens.or(folder.pooling.max_tokens).unwrap_or(n_positions);
    let (before, after) = folder.tokenizer.ends();
    let least = before.len() + after.len() + 1;
    if max_tokens > n_positions || max_tokens < least {
        return Err(EncodeError::Setting {
            setting: "max_tokens",
            reason: format!("{max_tokens} given; {least} to {n_positions} are possible with this model"),
        });
    }
    let width = folder.architecture.width();
    let dims = settings.dims.unwrap_or(width);
    if dims == 0 || dims > width {
        return Err(EncodeError::Setting { setting: "dims", reason: format!("{dims} given; 1 to {width} are possible with this model") });
    }
    Ok(EncoderIdentity {
        engine: ENGINE,
        weights: weights.collect::<Result<_, _>>()?,
        config: config.iter().map(|byte| format!("{byte:02x}")).collect(),
        tokenizer: folder.tokenizer.sha256().to_string(),
        pooling,
        dims,
        normalise: settings.normalise.or(folder.pooling.normalise).unwrap_or(true),
        max_tokens,
        max_chars: settings.max_chars,
        special_text: settings.special_text,
        weight_dtype: folder.weights.dtype(),
        device: "cpu",
    })
}

/// The text's first `most` characters, and how many were cut.
fn cut_chars(text: &str, most: Option<usize>) -> (&str, usize) {
    match most.and_then(|most| text.char_indices().nth(most)) {
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
        None => (text, 0),
    }
}

impl Embedder {
    /// Loads the model of a folder.
    ///
    /// # Errors
    /// [`EncodeError`] naming file, finding and remedy.
    pub fn load(folder: &Path, settings: &EncoderSettings) -> Result<Self, EncodeError> {
        check_device(settings)?;
        let folder = ModelFolder::open(folder)?;
        let pooling = settings.pooling.or(folder.pooling.pooling).ok_or_else(|| EncodeError::Setting {
            setting: "pooling",
            reason: format!("{} has no 1_Pooling/config.json; choose mean, cls or last_token", folder.path.display()),
        })?;
        let identity = identity(&folder, settings, Some(pooling))?;
        let network = match &folder.architecture {
            Architecture::Bert(_) if pooling == Pooling::LastToken => {
                let reason = "last_token is for models that read from left to right; BERT takes mean or cls".into();
                return Err(EncodeError::Setting { setting: "pooling", reason });
            }
            Architecture::Qwen3(_) if pooling != Pooling::LastToken => {
                let reason = format!("{pooling}; Qwen3 is trained with the last token, which alone has seen the whole text");
                return Err(EncodeError::Setting { setting: "pooling", reason });
            }
            Architecture::Bert(config) => Network::Bert(Bert::load(config, &folder.weights)?),
            Architecture::Qwen3(config) => Network::Qwen3(Qwen3::load(config, &folder.weights)?),
        };
        Ok(Self {
            network,
            query_prompt: folder.pooling.query_prompt,
            width: folder.architecture.width(),
            tokenizer: folder.tokenizer,
            identity,
            batch_tokens: settings.batch_tokens,
            pool: pool(settings)?,
        })
    }

    pub fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    /// Elements of a vector.
    pub fn n_dims(&self) -> usize {
        self.identity.dims
    }

    /// The text as the model reads it.
    fn written(&self, text: &str, role: &Role) -> String {
        match (role, &self.network, &self.query_prompt) {
            (Role::Query { task }, Network::Qwen3(_), _) => format!("Instruct: {task}\nQuery:{text}"),
            (Role::Query { .. }, Network::Bert(_), Some(prompt)) => format!("{prompt}{text}"),
            _ => text.to_string(),
        }
    }

    /// Texts as tokens: cut to the most characters, written for their role, tokenised, cut to the most tokens, ends attached.
    ///
    /// # Errors
    /// [`EncodeError`] when the tokenizer cannot take a text.
    pub fn prepare<T: AsRef<str> + Sync>(&self, texts: &[T], role: &Role) -> Result<Vec<Prepared>, EncodeError> {
        self.pool.install(|| texts.par_iter().map(|text| self.prepare_one(text.as_ref(), role)).collect())
    }

    fn prepare_one(&self, text: &str, role: &Role) -> Result<Prepared, EncodeError> {
        let (text, n_chars_cut) = cut_chars(text, self.identity.max_chars);
        let body = self.tokenizer.encode(&self.written(text, role), self.identity.special_text)?;
        let (before, after) = self.tokenizer.ends();
        let kept = body.len().min(self.identity.max_tokens - before.len() - after.len());
        Ok(Prepared {
            tokens: [before, &body[..kept], after].concat().into(),
            n_tokens_cut: (body.len() - kept) as u32,
            n_chars_cut: n_chars_cut as u32,
        })
    }

    /// Vectors in the order of `texts`; `done` hears of each batch how many texts it had.
    ///
    /// # Shapes
    /// `[N, dims]`, row-major.
    ///
    /// # Errors
    /// [`EncodeError::NotFinite`].
    pub fn embed(&self, texts: &[Prepared], done: impl Fn(usize) + Sync) -> Result<Vec<f32>, EncodeError> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.tokens.len()).collect();
        let batches = batches(&lengths, self.batch_tokens);
        let computed: Vec<Vec<f32>> = self.pool.install(|| {
            let compute = |batch: &Vec<usize>| {
                let vectors = self.vectors(&Packed::new(batch.iter().map(|text| &*texts[*text].tokens)));
                done(batch.len());
                vectors
            };
            // One batch at a time a thread: the longest come first.
            batches.par_iter().with_max_len(1).map(compute).collect()
        });
        let dims = self.identity.dims;
        let mut out = vec![0.0; texts.len() * dims];
        for (batch, vectors) in batches.iter().zip(&computed) {
            for (text, vector) in batch.iter().zip(vectors.chunks_exact(self.width)) {
                let to = &mut out[text * dims..][..dims];
                to.copy_from_slice(&vector[..dims]);
                if self.identity.normalise {
                    scale_to_one(to);
                }
                if to.iter().any(|x| !x.is_finite()) {
                    return Err(EncodeError::NotFinite { index: *text, n_tokens: lengths[*text], what: "vector" });
                }
            }
        }
        Ok(out)
    }

    /// Pooled vectors of whole width, not scaled.
    fn vectors(&self, packed: &Packed) -> Vec<f32> {
        match &self.network {
            Network::Qwen3(network) => network.last_hidden(packed, &Beginning::default()),
            Network::Bert(network) => {
                let hidden = network.hidden(packed);
                let mut out = Vec::with_capacity(packed.texts.len() * self.width);
                for text in &packed.texts {
                    let rows = &hidden[text.start * self.width..text.end * self.width];
                    match self.identity.pooling {
                        Some(Pooling::Mean) => out.extend(mean(rows, self.width)),
                        _ => out.extend_from_slice(&rows[..self.width]),
                    }
                }
                out
            }
        }
    }

    /// Whether special-token text is a part of texts as such here.
    pub fn special_text(&self) -> SpecialText {
        self.identity.special_text
    }
}

fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f32; width];
    for row in rows.chunks_exact(width) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    let by = (rows.len() / width) as f32;
    sum.iter_mut().for_each(|x| *x /= by);
    sum
}

/// Length 1; a vector of length 0 stays.
fn scale_to_one(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
}
