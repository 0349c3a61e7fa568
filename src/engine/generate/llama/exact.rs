//! Exact mode: one sequence at a time on an empty cache. A reply depends on its own prompt and on nothing else.

use super::model::Loaded;
use super::reply::{Reply, Step};
use super::{LlamaSettings, UBATCH};
use crate::engine::generate::{Finished, Generated, Job};
use crate::engine::stats::EngineStats;
use crate::store::{Origin, Timings, Usage};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// Answers jobs until the channel closes.
///
/// # Errors
/// Why no context can be made.
pub(super) fn run(
    loaded: &Loaded,
    settings: &LlamaSettings,
    jobs: &Receiver<Job>,
    stats: &EngineStats,
    stop: &AtomicBool,
) -> Result<(), String> {
    let mut context = loaded.context(settings, settings.context_tokens, 1)?;
    let mut batch = LlamaBatch::new(UBATCH as usize, 1);
    while let Ok(job) = jobs.recv() {
        let generated = if stop.load(Ordering::Relaxed) {
            Generated::Interrupted
        } else {
            context.clear_kv_cache();
            answer(loaded, settings, &mut context, &mut batch, stats, &job).unwrap_or_else(|generated| generated)
        };
        let _ = job.done.send(generated);
    }
    Ok(())
}

/// Prompt and reserve must fit; otherwise the sizes are named.
pub(super) fn check_fit(n_prompt: usize, job: &Job, settings: &LlamaSettings) -> Result<(), Generated> {
    let needed = n_prompt + job.most_tokens() as usize;
    if needed <= settings.context_tokens as usize {
        return Ok(());
    }
    Err(Generated::TooLong {
        reason: format!(
            "the prompt has {n_prompt} tokens and the reply may have {}{}: {needed} together, the context holds {}; \
             raise context_tokens if the model allows it, lower max_reply_tokens{}, or leave the case out",
            job.max_reply_tokens,
            job.max_reasoning_tokens.map(|n| format!(" after {n} of reasoning")).unwrap_or_default(),
            settings.context_tokens,
            if job.max_reasoning_tokens.is_some() { " or max_reasoning_tokens" } else { "" },
        ),
    })
}

fn answer(
    loaded: &Loaded,
    settings: &LlamaSettings,
    context: &mut LlamaContext<'_>,
    batch: &mut LlamaBatch<'_>,
    stats: &EngineStats,
    job: &Job,
) -> Result<Generated, Generated> {
    let crashed = |reason: String| Generated::Crashed { reason };
    let started = Instant::now();
    let prompt = loaded.tokenize(&job.messages).map_err(|error| crashed(error.to_string()))?;
    check_fit(prompt.len(), job, settings)?;
    let mut reply = Reply::new(loaded, job).map_err(crashed)?;
    let mut n_past = 0;
    for chunk in prompt.chunks(UBATCH as usize) {
        pass(context, batch, chunk, n_past, n_past + chunk.len() == prompt.len()).map_err(crashed)?;
        n_past += chunk.len();
        stats.add_passed(chunk.len() as u64);
    }
    let prompt_ms = started.elapsed().as_secs_f64() * 1e3;
    let finish = loop {
        stats.add_reply_passes(1);
        match reply.choose(context.get_logits_ith(batch.n_tokens() - 1)) {
            Step::Done(finish) => break finish,
            Step::Crashed(reason) => return Err(crashed(reason)),
            Step::Feed(token) => {
                pass(context, batch, &[token], n_past, true).map_err(crashed)?;
                n_past += 1;
                stats.add_passed(1);
            }
        }
    };
    let reply_ms = started.elapsed().as_secs_f64() * 1e3 - prompt_ms;
    let usage = Usage {
        prompt_tokens: u32::try_from(prompt.len()).unwrap_or(u32::MAX),
        reused_tokens: 0,
        reply_tokens: reply.n_tokens(),
    };
    let (text, reasoning, min_margin) = reply.into_parts();
    Ok(Generated::Finished(Finished {
        reply: text,
        reasoning,
        finish,
        usage,
        batch_width: 1,
        min_margin,
        timings: Timings { prompt_ms, reply_ms },
        origin: Origin::Engine,
    }))
}

/// One pass of `tokens` from position `n_past`, with logits for the last when asked.
fn pass(
    context: &mut LlamaContext<'_>,
    batch: &mut LlamaBatch<'_>,
    tokens: &[LlamaToken],
    n_past: usize,
    last_logits: bool,
) -> Result<(), String> {
    batch.clear();
    for (i, token) in tokens.iter().enumerate() {
        let position = i32::try_from(n_past + i).map_err(|_| "the sequence is longer than llama.cpp can count".to_string())?;
        batch.add(*token, position, &[0], last_logits && i + 1 == tokens.len()).map_err(|error| error.to_string())?;
    }
    context.decode(batch).map_err(|error| format!("llama.cpp could not compute {} tokens at {n_past}: {error}", tokens.len()))
}
