//! Loading a judge: weights, chat template, vocabulary, checked against the card.

use super::{LlamaSettings, UBATCH};
use crate::data::study::{GpuLayers, KvType, SplitMode};
use crate::engine::generate::{ChatError, ChatTemplate, Message};
use crate::models::{LocalModel, ModelCard, Reasoning};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::{LlamaModelParams, LlamaSplitMode};
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;
use llguidance::ParserFactory;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Why a judge cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("llama.cpp cannot be started: {reason}")]
    Backend { reason: String },
    #[error("{path}: expected a GGUF, got {what}")]
    NotGguf { path: PathBuf, what: &'static str },
    #[error("{path}: its tensors need {expected} bytes, the file has {found}; the download is not complete, fetch it again")]
    Truncated { path: PathBuf, expected: u64, found: u64 },
    #[error("{path}: llama.cpp cannot load it: {reason}; is it a GGUF of an architecture that this version knows?")]
    Weights { path: PathBuf, reason: String },
    #[error("{path}: the file has no chat template; a judge needs one (an instruct model, not a base model)")]
    NoTemplate { path: PathBuf },
    #[error(
        "{path}: expected the chat template with sha256 {expected}, got {found}; put the new hash into the card if the change is meant"
    )]
    Template { path: PathBuf, expected: String, found: String },
    #[error("{path}: the card promises a context of {card} tokens, the model was trained with {trained}; lower context_tokens")]
    Context { path: PathBuf, card: u32, trained: u32 },
    #[error("context_tokens = {asked} is more than the card's {card}")]
    ContextSetting { asked: u32, card: u32 },
    #[error("{path}: {reason}")]
    Layers { path: PathBuf, reason: String },
    #[error("the GPUs cannot be used: {reason}")]
    Gpus { reason: String },
    #[error("{path}: {source}")]
    Chat { path: PathBuf, source: ChatError },
    #[error("the output constraint cannot be prepared: {reason}")]
    Constraint { reason: String },
    #[error("the trace {path} cannot be written: {reason}")]
    Trace { path: PathBuf, reason: String },
    #[error("the judge's thread cannot be started: {reason}")]
    Thread { reason: String },
}

/// A loaded judge.
pub(super) struct Loaded {
    pub model: Arc<LlamaModel>,
    pub template: ChatTemplate,
    pub constraints: ParserFactory,
    pub reasoning: Option<Reasoning>,
    specials: Vec<String>,
    bos_text: String,
    path: PathBuf,
}

/// llama.cpp's process-wide state; its log lines go to `tracing`.
pub(super) fn backend() -> Result<&'static LlamaBackend, LoadError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        llama_cpp_2::send_logs_to_tracing(llama_cpp_2::LogOptions::default());
        LlamaBackend::init().map_err(|error| error.to_string())
    });
    backend.as_ref().map_err(|reason| LoadError::Backend { reason: reason.clone() })
}

/// Opens a GGUF for its metadata and vocabulary, without weights.
pub(super) fn open(path: &Path) -> Result<LlamaModel, LoadError> {
    open_with(path, &LlamaModelParams::default().with_vocab_only(true))
}

fn open_with(path: &Path, params: &LlamaModelParams) -> Result<LlamaModel, LoadError> {
    super::gguf_file::check(path)?;
    LlamaModel::load_from_file(backend()?, path, params)
        .map_err(|error| LoadError::Weights { path: path.to_path_buf(), reason: error.to_string() })
}

/// Opens a GGUF with its weights, placed as `settings` say.
fn open_weights(path: &Path, settings: &LlamaSettings) -> Result<LlamaModel, LoadError> {
    let placement = &settings.placement;
    let mut params = LlamaModelParams::default().with_split_mode(match settings.split_mode {
        SplitMode::None => LlamaSplitMode::None,
        SplitMode::Layer => LlamaSplitMode::Layer,
        SplitMode::Row => LlamaSplitMode::Row,
    });
    if let GpuLayers::Count(n) = placement.layers {
        params = params.with_n_gpu_layers(n);
    }
    // An empty list keeps llama.cpp from computing large batches on a GPU that holds no layer.
    if placement.others {
        let devices: Vec<usize> = placement.gpus.iter().map(|gpu| gpu.index).collect();
        params = params.with_devices(&devices).map_err(|error| LoadError::Gpus { reason: error.to_string() })?;
    }
    let mut params = pin!(params);
    if settings.moe_on_cpu {
        params.as_mut().add_cpu_moe_override();
    }
    let model = open_with(path, &params)?;
    settings.check_layers(model.n_layer()).map_err(|reason| LoadError::Layers { path: path.to_path_buf(), reason })?;
    Ok(model)
}

/// Text of a token, special tokens spelled out.
pub(super) fn token_text(model: &LlamaModel, token: LlamaToken) -> String {
    if token.0 < 0 {
        return String::new();
    }
    String::from_utf8_lossy(&model.vocab().token_to_piece(token, true, None)).into_owned()
}

/// Loads the judge of `card`.
pub(super) fn load(card: &ModelCard, files: &LocalModel, settings: &LlamaSettings) -> Result<Loaded, LoadError> {
    #[cfg(own_cpu_kernels)]
    super::cpu::link();
    let path = &files.files[0].path;
    prepare(open_weights(path, settings)?, card, path, settings)
}

/// The judge of `card` without its weights: it can lay out and count tokens, and cannot compute.
pub(super) fn load_vocabulary(card: &ModelCard, files: &LocalModel, settings: &LlamaSettings) -> Result<Loaded, LoadError> {
    let path = &files.files[0].path;
    prepare(open(path)?, card, path, settings)
}

/// Checks `model` against `card` and makes ready what goes with it.
fn prepare(model: LlamaModel, card: &ModelCard, path: &Path, settings: &LlamaSettings) -> Result<Loaded, LoadError> {
    let model = Arc::new(model);
    let facts = super::inspect::facts(&model);
    let card_context = card.context_tokens.unwrap_or(facts.trained_context);
    facts.check(card, path)?;
    if settings.context_tokens > card_context {
        return Err(LoadError::ContextSetting { asked: settings.context_tokens, card: card_context });
    }
    let text = facts.template.ok_or_else(|| LoadError::NoTemplate { path: path.to_path_buf() })?;
    let vocab = model.vocab();
    let bos_text = token_text(&model, vocab.bos());
    let switches = card.template.as_ref().map(|template| template.switches.clone()).unwrap_or_default();
    let template = ChatTemplate::new(&text, &bos_text, &token_text(&model, vocab.eos()), &switches)
        .and_then(|template| template.check().map(|()| template))
        .map_err(|source| LoadError::Chat { path: path.to_path_buf(), source })?;
    // A message must not speak control tokens, nor the marks that the template or the reasoning is made of where a vocabulary lists
    // them as plain additions. Other additions (runs of line ends, say) are how the model reads plain text.
    let marks = card.reasoning.iter().flat_map(|reasoning| reasoning.marks.texts());
    let layout: Vec<&str> = marks.chain([text.as_str()]).collect();
    let is_layout = |token: &str| !token.trim().is_empty() && layout.iter().any(|part| part.contains(token));
    let specials = vocab
        .tokens()
        .map(|token| (vocab.attr(token), token_text(&model, token)))
        .filter(|(attr, text)| {
            attr.contains(LlamaTokenAttr::Control) || attr.contains(LlamaTokenAttr::UserDefined) && is_layout(text)
        })
        .map(|(_, text)| text)
        .filter(|text| text.chars().count() > 1)
        .collect();
    let mut constraints = ParserFactory::new_simple(&super::token_trie::token_trie(&model))
        .map_err(|error| LoadError::Constraint { reason: error.to_string() })?;
    constraints.quiet();
    Ok(Loaded { template, constraints, reasoning: card.reasoning.clone(), specials, bos_text, path: path.to_path_buf(), model })
}

impl Loaded {
    /// Whether a beginning can be forked: a recurrent state cannot be cut.
    pub fn can_share(&self) -> bool {
        !self.model.is_recurrent() && !self.model.is_hybrid()
    }

    /// A context over `n_sequences` sequences that share `n_cells` cache cells.
    pub fn context(&self, settings: &LlamaSettings, n_cells: u32, n_sequences: u32) -> Result<LlamaContext<'_>, String> {
        let backend = backend().map_err(|error| error.to_string())?;
        let threads = i32::try_from(settings.threads).unwrap_or(i32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(n_cells))
            .with_n_batch(UBATCH)
            .with_n_ubatch(UBATCH)
            .with_n_seq_max(n_sequences)
            .with_kv_unified(true)
            // A beginning can be forked only while all of its cells are there, in sliding-window layers too.
            .with_swa_full(true)
            .with_flash_attention_policy(i32::from(settings.flash_attention))
            .with_type_k(cache_type(settings.kv_type))
            .with_type_v(cache_type(settings.kv_type))
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        self.model.new_context(backend, params).map_err(|error| {
            let (path, kv_type) = (self.path.display(), settings.kv_type);
            format!("{path}: no cache of {n_cells} tokens as {kv_type}: {error}; lower context_tokens, kv_cells or slots")
        })
    }

    /// The conversation as text, ready for the model's turn.
    pub fn prompt_text(&self, messages: &[Message]) -> Result<String, ChatError> {
        Ok(self.template.render(messages, &self.specials)?.concat())
    }

    /// The conversation as tokens, ready for the model's turn.
    pub fn tokenize(&self, messages: &[Message]) -> Result<Vec<LlamaToken>, ChatError> {
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        for (i, piece) in self.template.render(messages, &self.specials)?.iter().enumerate() {
            let has_bos = !self.bos_text.is_empty() && piece.starts_with(&self.bos_text);
            let add_bos = i == 0 && vocab.should_add_bos() && !has_bos;
            vocab.tokenize_into(piece.as_bytes(), &mut tokens, add_bos, true);
        }
        Ok(tokens)
    }
}

fn cache_type(kv_type: KvType) -> KvCacheType {
    match kv_type {
        KvType::F32 => KvCacheType::F32,
        KvType::F16 => KvCacheType::F16,
        KvType::Bf16 => KvCacheType::BF16,
        KvType::Q8_0 => KvCacheType::Q8_0,
        KvType::Q4_0 => KvCacheType::Q4_0,
    }
}
