//! Fast mode: several sequences decoded together; the part that waiting prompts have in common is computed once.
//!
//! Sequence 0 holds one shared prefix (the instructions and the report of the games at hand). A job copies the part of it that its
//! own prompt begins with and computes the rest beside the sequences that are already replying. All cells lie in one cache, so a
//! copy costs no memory. `plan` decides; it is pure.

mod plan;

use super::model::Loaded;
use super::reply::{Reply, Step};
use super::{LlamaSettings, UBATCH, exact};
use crate::engine::generate::{Finished, Generated, Job};
use crate::engine::stats::EngineStats;
use crate::store::{FinishReason, Origin, Timings, Usage};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use plan::{Move, common_prefix};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// The sequence that holds the shared prefix.
const SHARED: i32 = 0;

/// How long an idle judge waits for further jobs before it plans, so that it sees which prompts belong together.
const GATHER: Duration = Duration::from_millis(5);

struct Waiting {
    job: Job,
    tokens: Vec<LlamaToken>,
}

/// The shared prefix and how much of it is computed.
#[derive(Default)]
struct Shared {
    tokens: Vec<LlamaToken>,
    n_done: usize,
    /// Computed tokens that no job has been charged for yet.
    n_unclaimed: usize,
    generation: u64,
}

/// A sequence at work.
struct Slot<'a> {
    sequence: i32,
    job: Job,
    tokens: Vec<LlamaToken>,
    n_past: usize,
    /// Tokens copied from the shared prefix, of which generation.
    n_copied: usize,
    generation: u64,
    n_reused: usize,
    reply: Reply<'a>,
    next: Option<LlamaToken>,
    started: Instant,
    prompt_ms: f64,
}

struct Loop<'a, 'c> {
    loaded: &'a Loaded,
    settings: &'c LlamaSettings,
    context: LlamaContext<'a>,
    n_cells: usize,
    can_share: bool,
    waiting: VecDeque<Waiting>,
    shared: Shared,
    slots: Vec<Slot<'a>>,
    free_sequences: Vec<i32>,
}

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
    let n_cells = settings.context_tokens.saturating_mul(2);
    let context = loaded.context(settings, n_cells, settings.slots + 1)?;
    let can_share = !loaded.model.is_recurrent() && !loaded.model.is_hybrid();
    if !can_share {
        tracing::warn!("this model keeps a recurrent state: prompt parts are not shared between games");
    }
    let mut work = Loop {
        loaded,
        settings,
        context,
        n_cells: n_cells as usize,
        can_share,
        waiting: VecDeque::new(),
        shared: Shared::default(),
        slots: Vec::new(),
        free_sequences: (1..=i32::try_from(settings.slots).unwrap_or(i32::MAX)).rev().collect(),
    };
    let mut batch = LlamaBatch::new(UBATCH as usize, 1);
    loop {
        let open = work.take_jobs(jobs);
        if stop.load(Ordering::Relaxed) {
            work.turn_away();
        }
        work.admit();
        if work.is_idle() {
            if open {
                continue;
            }
            return Ok(());
        }
        if let Err(reason) = work.pass(&mut batch, stats) {
            work.give_up(&reason);
        }
    }
}

impl Loop<'_, '_> {
    fn is_idle(&self) -> bool {
        self.slots.is_empty() && self.waiting.is_empty()
    }

    /// Takes what has come in; blocks only when there is nothing to do. Returns whether more can come.
    fn take_jobs(&mut self, jobs: &Receiver<Job>) -> bool {
        if self.is_idle() {
            match jobs.recv() {
                Ok(job) => self.queue(job),
                Err(_) => return false,
            }
            loop {
                match jobs.recv_timeout(GATHER) {
                    Ok(job) => self.queue(job),
                    Err(RecvTimeoutError::Timeout) => return true,
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            }
        }
        loop {
            match jobs.try_recv() {
                Ok(job) => self.queue(job),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Answers every job that has no reply token yet with [`Generated::Interrupted`]; begun replies go on.
    fn turn_away(&mut self) {
        for waiting in self.waiting.drain(..) {
            let _ = waiting.job.done.send(Generated::Interrupted);
        }
        for i in (0..self.slots.len()).rev().filter(|i| self.slots[*i].reply.n_tokens() == 0).collect::<Vec<_>>() {
            let slot = self.slots.remove(i);
            self.release(slot.sequence);
            let _ = slot.job.done.send(Generated::Interrupted);
        }
        // A prefix that is still being computed has nobody left to read it.
        self.shared.tokens.truncate(self.shared.n_done);
    }

    /// Empties a sequence's cells and makes it free.
    fn release(&mut self, sequence: i32) {
        let _ = self.context.kv_cache_seq_rm(sequence, None, None);
        self.free_sequences.push(sequence);
    }

    fn queue(&mut self, job: Job) {
        let tokens = match self.loaded.tokenize(&job.messages) {
            Ok(tokens) => tokens,
            Err(error) => {
                let _ = job.done.send(Generated::Crashed { reason: error.to_string() });
                return;
            }
        };
        match exact::check_fit(tokens.len(), &job, self.settings) {
            Ok(()) => self.waiting.push_back(Waiting { job, tokens }),
            Err(generated) => {
                let _ = job.done.send(generated);
            }
        }
    }

    /// Gives free sequences to waiting jobs and chooses the shared prefix.
    fn admit(&mut self) {
        while self.shared.n_done == self.shared.tokens.len() && !self.waiting.is_empty() && !self.free_sequences.is_empty() {
            let prompts: Vec<&[LlamaToken]> = self.waiting.iter().map(|waiting| waiting.tokens.as_slice()).collect();
            let n_siblings = self.settings.slots as usize - 1;
            let chosen = if self.can_share { plan::choose(&prompts, &self.shared.tokens, n_siblings) } else { Move::alone() };
            let fits = |extra: usize| self.cells_in_use() + extra <= self.n_cells;
            match chosen {
                Move::Share { index, n_tokens } => {
                    let kept = common_prefix(&self.waiting[index].tokens, &self.shared.tokens);
                    // The old prefix stays in the cache while a sequence still reads it.
                    if !self.slots.is_empty() && !fits(n_tokens - kept + self.shared.tokens.len() - kept) {
                        return;
                    }
                    let target = self.waiting[index].tokens[..n_tokens].to_vec();
                    self.share(target, kept);
                }
                Move::Admit { index, n_copied } => {
                    let waiting = &self.waiting[index];
                    let own = waiting.tokens.len() - n_copied + waiting.job.max_reply_tokens as usize;
                    if fits(own) {
                        self.start(index, n_copied);
                    } else if self.slots.is_empty() {
                        // Only the shared prefix is in the way: keep what this job reads of it.
                        let target = self.waiting[index].tokens[..n_copied].to_vec();
                        self.share(target, n_copied);
                    } else {
                        return;
                    }
                }
            }
        }
    }

    /// Cells that are or may come to be occupied by what runs now.
    fn cells_in_use(&self) -> usize {
        let own: usize =
            self.slots.iter().map(|slot| slot.tokens.len() - slot.n_copied + slot.job.max_reply_tokens as usize).sum();
        let mut old: Vec<(u64, usize)> = Vec::new();
        for slot in self.slots.iter().filter(|slot| slot.generation != self.shared.generation) {
            match old.iter_mut().find(|(generation, _)| *generation == slot.generation) {
                Some((_, n_tokens)) => *n_tokens = slot.n_copied.max(*n_tokens),
                None => old.push((slot.generation, slot.n_copied)),
            }
        }
        self.shared.tokens.len() + own + old.iter().map(|(_, n_tokens)| n_tokens).sum::<usize>()
    }

    /// Makes `target` the shared prefix; its first `kept` tokens are computed already.
    fn share(&mut self, target: Vec<LlamaToken>, kept: usize) {
        let kept_u32 = u32::try_from(kept).unwrap_or(u32::MAX);
        let _ = self.context.kv_cache_seq_rm(SHARED, Some(kept_u32), None);
        if kept < self.shared.tokens.len() {
            self.shared.generation += 1;
        }
        self.shared.n_done = kept;
        self.shared.n_unclaimed = self.shared.n_unclaimed.min(kept);
        self.shared.tokens = target;
    }

    fn start(&mut self, index: usize, n_copied: usize) {
        let Some(Waiting { job, tokens }) = self.waiting.remove(index) else { return };
        let reply = match Reply::new(self.loaded, job.constraint.as_deref(), job.max_reply_tokens) {
            Ok(reply) => reply,
            Err(reason) => {
                let _ = job.done.send(Generated::Crashed { reason });
                return;
            }
        };
        let Some(sequence) = self.free_sequences.pop() else { return };
        if n_copied > 0 {
            let end = u32::try_from(n_copied).unwrap_or(u32::MAX);
            let _ = self.context.kv_cache_seq_cp(SHARED, sequence, Some(0), Some(end));
        }
        let claimed = self.shared.n_unclaimed.min(n_copied);
        self.shared.n_unclaimed -= claimed;
        self.slots.push(Slot {
            sequence,
            job,
            tokens,
            n_past: n_copied,
            n_copied,
            generation: self.shared.generation,
            n_reused: n_copied - claimed,
            reply,
            next: None,
            started: Instant::now(),
            prompt_ms: 0.0,
        });
    }

    /// One pass: the next token of every replying sequence, then prompt parts up to the batch size.
    fn pass(&mut self, batch: &mut LlamaBatch<'_>, stats: &EngineStats) -> Result<(), String> {
        batch.clear();
        let text = |error: llama_cpp_2::llama_batch::BatchAddError| error.to_string();
        let position = |n: usize| i32::try_from(n).map_err(|_| "the sequence is longer than llama.cpp can count".to_string());
        // Where in the batch each slot's logits will be.
        let mut choices: Vec<(usize, i32)> = Vec::new();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            if let Some(token) = slot.next.take() {
                choices.push((i, batch.n_tokens()));
                batch.add(token, position(slot.n_past)?, &[slot.sequence], true).map_err(text)?;
                slot.n_past += 1;
            }
        }
        let mut room = UBATCH as usize - batch.n_tokens() as usize;
        let n_base = room.min(self.shared.tokens.len() - self.shared.n_done);
        for _ in 0..n_base {
            let at = self.shared.n_done;
            batch.add(self.shared.tokens[at], position(at)?, &[SHARED], false).map_err(text)?;
            self.shared.n_done += 1;
        }
        self.shared.n_unclaimed += n_base;
        room -= n_base;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            let n = room.min(slot.tokens.len().saturating_sub(slot.n_past));
            for _ in 0..n {
                let last = slot.n_past + 1 == slot.tokens.len();
                if last {
                    choices.push((i, batch.n_tokens()));
                }
                batch.add(slot.tokens[slot.n_past], position(slot.n_past)?, &[slot.sequence], last).map_err(text)?;
                slot.n_past += 1;
            }
            room -= n;
        }
        if batch.n_tokens() == 0 {
            return Ok(());
        }
        self.context
            .decode(batch)
            .map_err(|error| format!("llama.cpp could not compute {} tokens: {error}", batch.n_tokens()))?;
        stats.add_passed(u64::from(batch.n_tokens().unsigned_abs()));
        let width = u32::try_from(choices.len()).unwrap_or(u32::MAX);
        let mut ended: Vec<(usize, Step)> = Vec::new();
        for (i, at) in choices {
            let slot = &mut self.slots[i];
            if slot.prompt_ms == 0.0 {
                slot.prompt_ms = slot.started.elapsed().as_secs_f64() * 1e3;
            }
            match slot.reply.choose(self.context.get_logits_ith(at)) {
                Step::Feed(token) => slot.next = Some(token),
                step => ended.push((i, step)),
            }
        }
        ended.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
        for (i, step) in ended {
            self.finish(i, step, width);
        }
        Ok(())
    }

    fn finish(&mut self, index: usize, step: Step, width: u32) {
        let slot = self.slots.remove(index);
        self.release(slot.sequence);
        let _ = slot.job.done.send(match step {
            Step::Done(finish) => {
                let usage = Usage {
                    prompt_tokens: u32::try_from(slot.tokens.len()).unwrap_or(u32::MAX),
                    reused_tokens: u32::try_from(slot.n_reused).unwrap_or(u32::MAX),
                    reply_tokens: slot.reply.n_tokens(),
                };
                finished(slot.reply, finish, usage, width, slot.prompt_ms, slot.started)
            }
            Step::Crashed(reason) => Generated::Crashed { reason },
            Step::Feed(_) => Generated::Crashed { reason: "a sequence was ended that had not finished".into() },
        });
    }

    /// After a failed pass: every running job fails, the cache is emptied, waiting jobs go on.
    fn give_up(&mut self, reason: &str) {
        self.context.clear_kv_cache();
        self.shared = Shared { generation: self.shared.generation + 1, ..Shared::default() };
        if self.slots.is_empty()
            && let Some(waiting) = self.waiting.pop_front()
        {
            let _ = waiting.job.done.send(Generated::Crashed { reason: reason.to_string() });
        }
        for slot in self.slots.drain(..) {
            self.free_sequences.push(slot.sequence);
            let _ = slot.job.done.send(Generated::Crashed { reason: reason.to_string() });
        }
    }
}

fn finished(
    reply: Reply<'_>,
    finish: FinishReason,
    usage: Usage,
    batch_width: u32,
    prompt_ms: f64,
    started: Instant,
) -> Generated {
    let reply_ms = started.elapsed().as_secs_f64() * 1e3 - prompt_ms;
    let (reply, reasoning, min_margin) = reply.into_parts();
    Generated::Finished(Finished {
        reply,
        reasoning,
        finish,
        usage,
        batch_width,
        min_margin,
        timings: Timings { prompt_ms, reply_ms },
        origin: Origin::Engine,
    })
}
