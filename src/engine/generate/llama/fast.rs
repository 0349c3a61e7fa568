//! Fast mode: several sequences decoded together, common beginnings of prompts computed once, copied passages drafted.
//!
//! `schedule` decides, without knowing llama.cpp, which prompt runs next and what it shares; this file does it. Every pass computes
//! either the next tokens of all replies (the model's last choice and a draft looked up in the prompt) or a part of one prompt. A draft
//! token stays only when it is the model's own choice.

use super::model::Loaded;
use super::reply::{Reply, Step};
use super::{LlamaSettings, UBATCH, exact};
use crate::engine::generate::draft::{DraftLength, LONGEST_DRAFT, PromptLookup, StagePrior};
use crate::engine::generate::prefix_tree::{SequenceId, Token};
use crate::engine::generate::schedule::{Admitted, CacheChange, Chunk, JobId, Limits, Schedule};
use crate::engine::generate::{Finished, Generated, Job};
use crate::engine::stats::EngineStats;
use crate::store::{Origin, Timings, Usage};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// How long an idle judge waits for further jobs before it plans, so that it sees which prompts belong together.
const GATHER: Duration = Duration::from_millis(5);

/// Sequences of the cache beyond the slots: finished prompts that another may begin with.
const RESTING_SEQUENCES: u32 = 8;

/// Cells that finished prompts may keep beyond what the next prompt needs. On a CPU every cell in use costs a look at its mask.
const IDLE_CELLS: usize = 2_048;

/// What one further token costs in a pass of a few, as a part of a pass of one, until it has been measured.
const MARGINAL_COST: f32 = 0.3;

/// Most draft tokens of a sequence in a pass.
const MOST_DRAFTED: usize = if LONGEST_DRAFT < 16 { LONGEST_DRAFT } else { 16 };

/// A sequence at work.
struct Slot<'a> {
    sequence: SequenceId,
    job: Job,
    prompt: Arc<[Token]>,
    /// Cells of the sequence that hold prompt and reply.
    n_past: usize,
    n_reused: usize,
    reply: Reply<'a>,
    /// The reply token that is chosen and not yet computed.
    next: Option<LlamaToken>,
    draft: Vec<LlamaToken>,
    lookup: PromptLookup,
    draft_length: DraftLength,
    started: Instant,
    prompt_ms: f64,
    /// Most sequences that a pass of this one replied for.
    width: u32,
}

struct Loop<'a, 'c> {
    loaded: &'a Loaded,
    settings: &'c LlamaSettings,
    context: LlamaContext<'a>,
    limits: Limits,
    schedule: Schedule,
    /// Jobs that wait for a sequence.
    waiting: HashMap<JobId, Job>,
    n_jobs: JobId,
    slots: Vec<Slot<'a>>,
    prior: StagePrior,
    /// Whether the last pass computed prompt parts.
    prompts_had_turn: bool,
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
    let share = !loaded.model.is_recurrent() && !loaded.model.is_hybrid();
    if !share {
        tracing::warn!("this model keeps a recurrent state: prompt parts are not shared between games");
    }
    let n_cells = settings.context_tokens.saturating_mul(2);
    let n_sequences = if share { settings.slots + RESTING_SEQUENCES } else { settings.slots };
    let limits = Limits {
        slots: settings.slots as usize,
        sequences: n_sequences as usize,
        cells: n_cells as usize,
        idle_cells: IDLE_CELLS,
        share,
    };
    let mut work = Loop {
        loaded,
        settings,
        context: loaded.context(settings, n_cells, n_sequences)?,
        limits,
        schedule: Schedule::new(limits),
        waiting: HashMap::new(),
        n_jobs: 0,
        slots: Vec::new(),
        prior: StagePrior::default(),
        prompts_had_turn: false,
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

impl<'a> Loop<'a, '_> {
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
        for (id, job) in self.waiting.drain() {
            self.schedule.withdraw(id);
            let _ = job.done.send(Generated::Interrupted);
        }
        for i in (0..self.slots.len()).rev().filter(|i| self.slots[*i].reply.n_tokens() == 0).collect::<Vec<_>>() {
            let slot = self.remove(i);
            let _ = slot.job.done.send(Generated::Interrupted);
        }
    }

    /// Takes a slot out and gives its sequence back.
    fn remove(&mut self, index: usize) -> Slot<'a> {
        let sequence = self.slots[index].sequence;
        let mut changes = Vec::new();
        self.schedule.finish(sequence, &mut changes);
        self.change_cache(&changes);
        self.slots.remove(index)
    }

    fn change_cache(&mut self, changes: &[CacheChange]) {
        let position = |n: usize| Some(u32::try_from(n).unwrap_or(u32::MAX));
        for change in changes {
            let _ = match *change {
                CacheChange::Copy { from, to, n_tokens } => self.context.kv_cache_seq_cp(from, to, Some(0), position(n_tokens)),
                CacheChange::Cut { sequence, keep } => self.context.kv_cache_seq_rm(sequence, position(keep), None),
            };
        }
    }

    fn queue(&mut self, job: Job) {
        let tokens = match self.loaded.tokenize(&job.messages) {
            Ok(tokens) => tokens,
            Err(error) => {
                let _ = job.done.send(Generated::Crashed { reason: error.to_string() });
                return;
            }
        };
        if let Err(generated) = exact::check_fit(tokens.len(), &job, self.settings) {
            let _ = job.done.send(generated);
            return;
        }
        let prompt: Arc<[Token]> = tokens.iter().map(|token| token.0).collect();
        self.submit(prompt, job);
    }

    fn submit(&mut self, prompt: Arc<[Token]>, job: Job) {
        let reserve = (job.most_tokens() as usize + MOST_DRAFTED).min(self.limits.cells - prompt.len());
        self.n_jobs += 1;
        self.schedule.submit(self.n_jobs, prompt, reserve);
        self.waiting.insert(self.n_jobs, job);
    }

    /// Gives free sequences to waiting jobs.
    fn admit(&mut self) {
        let mut changes = Vec::new();
        while let Some(admitted) = self.schedule.admit(&mut changes) {
            self.change_cache(&changes);
            changes.clear();
            self.start(&admitted);
        }
        self.change_cache(&changes);
    }

    fn start(&mut self, admitted: &Admitted) {
        let Some(job) = self.waiting.remove(&admitted.job) else { return };
        let reply = match Reply::new(self.loaded, &job) {
            Ok(reply) => reply,
            Err(reason) => {
                let mut changes = Vec::new();
                self.schedule.finish(admitted.sequence, &mut changes);
                self.change_cache(&changes);
                let _ = job.done.send(Generated::Crashed { reason });
                return;
            }
        };
        self.slots.push(Slot {
            sequence: admitted.sequence,
            lookup: PromptLookup::new(&admitted.prompt),
            draft_length: DraftLength::new(&self.prior, MARGINAL_COST, MOST_DRAFTED),
            prompt: Arc::clone(&admitted.prompt),
            job,
            n_past: admitted.n_reused,
            n_reused: admitted.n_reused,
            reply,
            next: None,
            draft: Vec::new(),
            started: Instant::now(),
            prompt_ms: 0.0,
            width: 0,
        });
    }

    /// One pass: the next tokens of every reply, or a part of one prompt, in turn where there is both. Not mixed: llama.cpp computes
    /// the attention of prompts in tiles of rows, and a tile in which several sequences meet reads the cells of all of them.
    fn pass(&mut self, batch: &mut LlamaBatch<'_>, stats: &EngineStats) -> Result<(), String> {
        batch.clear();
        // Slots that choose in this pass, with the place in the batch of their first logits.
        let mut choosing: Vec<(usize, i32)> = Vec::new();
        let n_replying = self.slots.iter().filter(|slot| slot.next.is_some()).count();
        let prompts_turn = n_replying == 0 || !self.prompts_had_turn;
        let chunk = if prompts_turn { self.schedule.next_chunk(UBATCH as usize) } else { None };
        self.prompts_had_turn = chunk.is_some();
        // Slots are fewer than the tokens of a batch, so each has room for its next token.
        let room = if chunk.is_none() { UBATCH as usize / n_replying.max(1) } else { 0 };
        for (i, slot) in self.slots.iter_mut().enumerate().filter(|_| room > 0) {
            let Some(next) = slot.next else { continue };
            slot.make_draft(room - 1);
            choosing.push((i, batch.n_tokens()));
            for (k, token) in std::iter::once(&next).chain(&slot.draft).enumerate() {
                add(batch, *token, slot.n_past + k, slot.sequence, true)?;
            }
        }
        if let Some(chunk) = &chunk {
            for at in chunk.from..chunk.to {
                let is_last = chunk.is_last() && at + 1 == chunk.to;
                add(batch, LlamaToken(chunk.prompt[at]), at, chunk.sequence, is_last)?;
            }
            if chunk.is_last() {
                let slot = self.slots.iter().position(|slot| slot.sequence == chunk.sequence);
                choosing.extend(slot.map(|i| (i, batch.n_tokens() - 1)));
            }
        }
        if batch.n_tokens() == 0 {
            return Ok(());
        }
        self.context
            .decode(batch)
            .map_err(|error| format!("llama.cpp could not compute {} tokens: {error}", batch.n_tokens()))?;
        stats.add_passed(u64::from(batch.n_tokens().unsigned_abs()));
        self.note_computed(chunk.as_ref());
        let width = u32::try_from(choosing.len()).unwrap_or(u32::MAX);
        stats.add_reply_passes(u64::from(width));
        let mut ended: Vec<(usize, Step)> = Vec::new();
        for (i, at) in choosing {
            let slot = &mut self.slots[i];
            slot.width = slot.width.max(width);
            if slot.prompt_ms == 0.0 {
                slot.prompt_ms = slot.started.elapsed().as_secs_f64() * 1e3;
            }
            if let Some(step) = slot.choose(&mut self.context, at) {
                ended.push((i, step));
            }
        }
        ended.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
        for (i, step) in ended {
            self.finish(i, step);
        }
        Ok(())
    }

    fn note_computed(&mut self, chunk: Option<&Chunk>) {
        if let Some(chunk) = chunk {
            self.schedule.computed(chunk);
            if let Some(slot) = self.slots.iter_mut().find(|slot| slot.sequence == chunk.sequence) {
                slot.n_past = chunk.to;
            }
        }
    }

    fn finish(&mut self, index: usize, step: Step) {
        self.prior.absorb(self.slots[index].draft_length.clone());
        self.remove(index).answer(step);
    }

    /// After a failed pass: every running job fails, the cache is emptied, waiting jobs go on.
    fn give_up(&mut self, reason: &str) {
        self.context.clear_kv_cache();
        let waiting = self.schedule.take_waiting();
        self.schedule = Schedule::new(self.limits);
        let mut jobs = std::mem::take(&mut self.waiting);
        let mut spare = self.slots.is_empty();
        for slot in self.slots.drain(..) {
            let _ = slot.job.done.send(Generated::Crashed { reason: reason.to_string() });
        }
        for (id, prompt) in waiting {
            let Some(job) = jobs.remove(&id) else { continue };
            if std::mem::take(&mut spare) {
                let _ = job.done.send(Generated::Crashed { reason: reason.to_string() });
            } else {
                self.submit(prompt, job);
            }
        }
    }
}

impl Slot<'_> {
    /// Looks up what may follow the next token, at most `room` tokens.
    fn make_draft(&mut self, room: usize) {
        let mut found = Vec::new();
        let most = self.draft_length.length().min(room);
        if most > 0 {
            self.lookup.draft(most, &mut found);
        }
        self.draft.clear();
        self.draft.extend(found.into_iter().map(LlamaToken));
        let n = self.reply.acceptable(&self.draft);
        self.draft.truncate(n);
    }

    /// Chooses along the computed tokens for as long as the draft is what the model chooses. `at` is the place of the logits after
    /// the last token that is certain. Returns how the reply ends, if it does.
    fn choose(&mut self, context: &mut LlamaContext<'_>, at: i32) -> Option<Step> {
        let draft = std::mem::take(&mut self.draft);
        self.n_past += usize::from(self.next.take().is_some());
        let mut n_kept = 0;
        let ended = loop {
            let place = at + i32::try_from(n_kept).unwrap_or(i32::MAX);
            match self.reply.choose(context.get_logits_ith(place)) {
                Step::Feed(token) => {
                    self.lookup.push(token.0);
                    if draft.get(n_kept) != Some(&token) {
                        self.next = Some(token);
                        break None;
                    }
                    n_kept += 1;
                }
                step => break Some(step),
            }
        };
        self.n_past += n_kept;
        self.draft_length.observe(draft.len(), n_kept);
        if n_kept < draft.len() {
            let _ = context.kv_cache_seq_rm(self.sequence, u32::try_from(self.n_past).ok(), None);
        }
        ended
    }

    /// Answers the job.
    fn answer(self, step: Step) {
        let generated = match step {
            Step::Done(finish) => {
                let usage = Usage {
                    prompt_tokens: u32::try_from(self.prompt.len()).unwrap_or(u32::MAX),
                    reused_tokens: u32::try_from(self.n_reused).unwrap_or(u32::MAX),
                    reply_tokens: self.reply.n_tokens(),
                };
                let reply_ms = self.started.elapsed().as_secs_f64() * 1e3 - self.prompt_ms;
                let (reply, reasoning, min_margin) = self.reply.into_parts();
                Generated::Finished(Finished {
                    reply,
                    reasoning,
                    finish,
                    usage,
                    batch_width: self.width,
                    min_margin,
                    timings: Timings { prompt_ms: self.prompt_ms, reply_ms },
                    origin: Origin::Engine,
                })
            }
            Step::Crashed(reason) => Generated::Crashed { reason },
            Step::Feed(_) => Generated::Crashed { reason: "a sequence was ended that had not finished".into() },
        };
        let _ = self.job.done.send(generated);
    }
}

fn add(batch: &mut LlamaBatch<'_>, token: LlamaToken, at: usize, sequence: SequenceId, logits: bool) -> Result<(), String> {
    let position = i32::try_from(at).map_err(|_| "the sequence is longer than llama.cpp can count".to_string())?;
    batch.add(token, position, &[sequence], logits).map_err(|error| error.to_string())
}
