//! llama.cpp as the batching loop sees it: one context, its cache, and passes over it.

use super::model::Loaded;
use super::reply::Reply;
use crate::engine::generate::Job;
use crate::engine::generate::batching::{Backend, Input};
use crate::engine::generate::prefix_tree::Token;
use crate::engine::generate::schedule::CacheChange;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

/// A context over a loaded judge.
pub(super) struct LlamaBackend<'a> {
    loaded: &'a Loaded,
    context: LlamaContext<'a>,
    batch: LlamaBatch<'static>,
}

impl<'a> LlamaBackend<'a> {
    /// Passes hold at most `pass_tokens`.
    pub fn new(loaded: &'a Loaded, context: LlamaContext<'a>, pass_tokens: usize) -> Self {
        Self { loaded, context, batch: LlamaBatch::new(pass_tokens, 1) }
    }
}

impl<'a> Backend for LlamaBackend<'a> {
    type Reply = Reply<'a>;

    fn tokenize(&self, job: &Job) -> Result<Vec<Token>, String> {
        let tokens = self.loaded.tokenize(&job.messages).map_err(|error| error.to_string())?;
        Ok(tokens.into_iter().map(|token| token.0).collect())
    }

    fn reply(&self, job: &Job) -> Result<Reply<'a>, String> {
        Reply::new(self.loaded, job)
    }

    fn change_cache(&mut self, change: CacheChange) {
        // A position that llama.cpp cannot count is never reached: a context is shorter.
        let position = |n: usize| Some(u32::try_from(n).unwrap_or(u32::MAX));
        let _ = match change {
            CacheChange::Copy { from, to, n_tokens } => self.context.kv_cache_seq_cp(from, to, Some(0), position(n_tokens)),
            CacheChange::Cut { sequence, keep } => self.context.kv_cache_seq_rm(sequence, position(keep), None),
        };
    }

    fn clear_cache(&mut self) {
        self.context.clear_kv_cache();
    }

    fn pass(&mut self, inputs: &[Input]) -> Result<(), String> {
        self.batch.clear();
        for input in inputs {
            let position =
                i32::try_from(input.position).map_err(|_| "the sequence is longer than llama.cpp can count".to_string())?;
            self.batch
                .add(LlamaToken(input.token), position, &[input.sequence], input.logits)
                .map_err(|error| error.to_string())?;
        }
        self.context
            .decode(&mut self.batch)
            .map_err(|error| format!("llama.cpp could not compute {} tokens: {error}", inputs.len()))
    }

    fn logits(&mut self, place: usize) -> &[f32] {
        self.context.get_logits_ith(i32::try_from(place).unwrap_or(i32::MAX))
    }
}
