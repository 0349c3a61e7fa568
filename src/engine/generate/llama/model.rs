//! Loading a judge: weights, chat template, vocabulary, checked against the card.

use super::{FLASH_ATTENTION, LlamaSettings, UBATCH};
use crate::engine::generate::{ChatError, ChatTemplate, Message};
use crate::models::{LocalModel, ModelCard, Reasoning};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;
use llguidance::ParserFactory;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thiserror::Error;

/// Why a judge cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("llama.cpp cannot be started: {reason}")]
    Backend { reason: String },
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
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error("the output constraint cannot be prepared: {reason}")]
    Constraint { reason: String },
    #[error("the judge's thread cannot be started: {reason}")]
    Thread { reason: String },
}

/// A loaded judge.
pub(super) struct Loaded {
    pub model: LlamaModel,
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

/// Opens a GGUF; `vocab_only` reads metadata and vocabulary without weights.
pub(super) fn open(path: &Path, vocab_only: bool) -> Result<LlamaModel, LoadError> {
    let backend = backend()?;
    let params = LlamaModelParams::default().with_vocab_only(vocab_only);
    LlamaModel::load_from_file(backend, path, &params)
        .map_err(|error| LoadError::Weights { path: path.to_path_buf(), reason: error.to_string() })
}

/// Text of a token, special tokens spelled out.
pub(super) fn token_text(model: &LlamaModel, token: LlamaToken) -> String {
    if token.0 < 0 {
        return String::new();
    }
    String::from_utf8_lossy(&model.vocab().token_to_piece(token, true, None)).into_owned()
}

pub(super) fn load(card: &ModelCard, files: &LocalModel, settings: &LlamaSettings) -> Result<Loaded, LoadError> {
    let path = files.files[0].path.clone();
    let model = open(&path, false)?;
    let facts = super::inspect::facts(&model);
    let card_context = card.context_tokens.unwrap_or(facts.trained_context);
    facts.check(card, &path)?;
    if settings.context_tokens > card_context {
        return Err(LoadError::ContextSetting { asked: settings.context_tokens, card: card_context });
    }
    let text = facts.template.ok_or_else(|| LoadError::NoTemplate { path: path.clone() })?;
    let vocab = model.vocab();
    let bos_text = token_text(&model, vocab.bos());
    let switches = card.template.as_ref().map(|template| template.switches.clone()).unwrap_or_default();
    let template = ChatTemplate::new(&text, &bos_text, &token_text(&model, vocab.eos()), &switches)?;
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
    let token_environment = llama_cpp_2::sampling::LlamaSampler::llguidance_tok_env(&model);
    let mut constraints =
        ParserFactory::new_simple(&token_environment).map_err(|error| LoadError::Constraint { reason: error.to_string() })?;
    constraints.quiet();
    Ok(Loaded { template, constraints, reasoning: card.reasoning.clone(), specials, bos_text, path, model })
}

impl Loaded {
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
            .with_flash_attention_policy(i32::from(FLASH_ATTENTION))
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        self.model.new_context(backend, params).map_err(|error| {
            format!("{}: no context of {n_cells} tokens: {error}; lower context_tokens or slots", self.path.display())
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
