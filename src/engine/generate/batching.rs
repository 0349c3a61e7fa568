//! The loop that answers jobs on a model: which tokens go into the next pass, what the replies choose, when a job ends.
//!
//! It serves both numerics. Exact mode is one slot on an empty cache without drafts, so that a reply depends on its own prompt and
//! on nothing else. Fast mode works on several sequences, computes common beginnings of prompts once and drafts copied passages.
//!
//! `schedule` decides which prompt runs next and what it shares. Every pass computes either the next tokens of all replies (those
//! that are certain, then a draft looked up in the prompt) or a part of one prompt. The two are not mixed: llama.cpp computes the
//! attention of prompts in tiles of rows, and a tile in which several sequences meet reads the cells of all of them.
//!
//! This file must not name a model library: what it needs of one is [`Backend`].

use super::draft::{DraftLength, LONGEST_DRAFT, PromptLookup, StagePrior};
use super::pass_cost::PassCost;
use super::prefix_tree::{SequenceId, Token};
use super::schedule::{Admitted, CacheChange, Chunk, JobId, Limits, Schedule};
use super::trace::Trace;
use super::{Finished, Generated, Job, ReplyLimit, Thoughts, most_tokens};
use crate::engine::stats::EngineStats;
use crate::store::{FinishReason, Origin, Timings, Usage};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// How long an idle engine waits for further jobs before it plans, so that it sees which prompts belong together.
const GATHER: Duration = Duration::from_millis(5);

/// Most draft tokens of a sequence in a pass.
const MOST_DRAFTED: usize = if LONGEST_DRAFT < 16 { LONGEST_DRAFT } else { 16 };

/// A token of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    pub token: Token,
    /// Cells of the sequence before it.
    pub position: usize,
    pub sequence: SequenceId,
    /// Whether the logits after it are wanted.
    pub logits: bool,
}

/// What a choice leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// These tokens follow: the model's choice, and after it those that the constraint forces.
    Feed(Vec<Token>),
    Done(FinishReason),
    Crashed(String),
}

/// A reply as it grows.
pub trait Growing {
    /// Tokens that the constraint forces before the model is asked, or how the reply ends at once. Asked once, first.
    fn begin(&mut self) -> Step;

    /// How many of `draft`'s first tokens could follow now.
    fn acceptable(&mut self, draft: &[Token]) -> usize;

    /// Chooses by the `logits` after the last token.
    fn choose(&mut self, logits: &[f32]) -> Step;

    /// Tokens so far.
    fn n_tokens(&self) -> u32;

    /// Reply, reasoning and the smallest lead of a chosen token over the next best.
    fn into_parts(self) -> (String, Option<Thoughts>, Option<f32>);
}

/// A model with a cache of cells.
pub trait Backend {
    type Reply: Growing;

    /// The conversation as tokens, ready for the model's turn.
    ///
    /// # Errors
    /// Why it cannot be laid out.
    fn tokenize(&self, job: &Job) -> Result<Vec<Token>, String>;

    /// An empty reply to `job`.
    ///
    /// # Errors
    /// Why its constraint cannot be used: the job is refused.
    fn reply(&self, job: &Job) -> Result<Self::Reply, String>;

    fn change_cache(&mut self, change: CacheChange);

    /// Empties the cache.
    fn clear_cache(&mut self);

    /// Computes `inputs` in one pass.
    ///
    /// # Errors
    /// Why that failed; the cache is then in no known state.
    fn pass(&mut self, inputs: &[Input]) -> Result<(), String>;

    /// The logits after input `place` of the last pass.
    fn logits(&mut self, place: usize) -> &[f32];
}

/// How the loop works.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    pub limits: Limits,
    /// Longest prompt with reply.
    pub context_tokens: usize,
    /// Most tokens of a pass.
    pub pass_tokens: usize,
    /// Whether copied passages are drafted.
    pub drafts: bool,
}

impl Batching {
    /// Most draft tokens of a sequence in a pass.
    fn most_drafted(&self) -> usize {
        if self.drafts { MOST_DRAFTED } else { 0 }
    }

    /// Cells kept free for what may follow a prompt of `n_prompt` tokens.
    #[must_use]
    pub fn reserve(&self, n_prompt: usize, most_tokens: u32) -> usize {
        (most_tokens as usize + self.most_drafted()).min(self.limits.cells - n_prompt)
    }
}

/// Sequences at work, the jobs behind them, and what is known of the model's speed.
struct Loop<'a, B: Backend> {
    backend: B,
    settings: Batching,
    stats: &'a EngineStats,
    trace: Trace,
    schedule: Schedule,
    /// Jobs that wait for a sequence, since when.
    waiting: HashMap<JobId, (Job, Instant)>,
    n_jobs: JobId,
    slots: Vec<Slot<B::Reply>>,
    prior: StagePrior,
    cost: PassCost,
    inputs: Vec<Input>,
}

/// A sequence at work.
struct Slot<R> {
    id: JobId,
    sequence: SequenceId,
    job: Job,
    prompt: Arc<[Token]>,
    /// Cells of the sequence that hold prompt and reply.
    n_past: usize,
    n_reused: usize,
    reply: R,
    /// Reply tokens that are certain and not yet computed.
    certain: Vec<Token>,
    draft: Vec<Token>,
    lookup: PromptLookup,
    draft_length: DraftLength,
    queued: Instant,
    started: Instant,
    prompt_done: Option<Instant>,
    /// Most sequences that a pass of this one replied for.
    width: u32,
}

/// A slot that chooses after a pass: its index, and the place of the logits after the last token that is certain.
struct Chooser {
    slot: usize,
    place: usize,
}

/// Answers jobs until the channel closes. Setting `stop` lets begun replies end and answers every other job with
/// [`Generated::Interrupted`].
pub fn run<B: Backend>(
    backend: B,
    settings: Batching,
    jobs: &Receiver<Job>,
    stats: &EngineStats,
    stop: &AtomicBool,
    trace: Trace,
) {
    let mut work = Loop {
        backend,
        settings,
        stats,
        trace,
        schedule: Schedule::new(settings.limits),
        waiting: HashMap::new(),
        n_jobs: 0,
        slots: Vec::new(),
        prior: StagePrior::default(),
        cost: PassCost::default(),
        inputs: Vec::new(),
    };
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
            return;
        }
        if let Err(reason) = work.pass() {
            work.give_up(&reason);
        }
    }
}

/// The limit of the reply to a prompt of `n_prompt` tokens. Prompt and reserve must fit; otherwise the sizes are named.
fn check_fit(n_prompt: usize, job: &Job, context_tokens: usize) -> Result<u32, String> {
    let n_before = n_prompt + most_tokens(0, job.max_reasoning_tokens) as usize;
    let least = job.reply_limit.least();
    if let Some(limit) = context_tokens.checked_sub(n_before).and_then(|n_left| job.reply_limit.within(n_left)) {
        return Ok(limit);
    }
    let needed = n_before + least as usize;
    Err(format!(
        "the prompt has {n_prompt} tokens and the reply may have {least}{}: {needed} together, the context holds {context_tokens}; raise \
         context_tokens if the model allows it, lower max_reply_tokens{}, or leave the case out",
        job.max_reasoning_tokens.map(|n| format!(" after {n} of reasoning")).unwrap_or_default(),
        if job.max_reasoning_tokens.is_some() { " or max_reasoning_tokens" } else { "" },
    ))
}

impl<B: Backend> Loop<'_, B> {
    fn is_idle(&self) -> bool {
        self.slots.is_empty() && self.waiting.is_empty()
    }

    /// Takes what has come in; blocks only when there is nothing to do. Returns whether more can come.
    fn take_jobs(&mut self, jobs: &Receiver<Job>) -> bool {
        if self.is_idle() {
            let from = Instant::now();
            self.trace.settle();
            let first = jobs.recv();
            self.trace.engine("idle: no job", from, || json!({}));
            match first {
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
        for (id, (job, _)) in self.waiting.drain() {
            self.schedule.withdraw(id);
            let _ = job.done.send(Generated::Interrupted);
        }
        for i in (0..self.slots.len()).rev().filter(|i| self.slots[*i].reply.n_tokens() == 0).collect::<Vec<_>>() {
            let slot = self.remove(i);
            let _ = slot.job.done.send(Generated::Interrupted);
        }
    }

    /// Takes a slot out and gives its sequence back.
    fn remove(&mut self, index: usize) -> Slot<B::Reply> {
        let sequence = self.slots[index].sequence;
        let mut changes = Vec::new();
        self.schedule.finish(sequence, &mut changes);
        self.change_cache(&changes);
        self.slots.swap_remove(index)
    }

    fn change_cache(&mut self, changes: &[CacheChange]) {
        for change in changes {
            self.backend.change_cache(*change);
        }
    }

    fn queue(&mut self, mut job: Job) {
        let from = Instant::now();
        let tokens = match self.backend.tokenize(&job) {
            Ok(tokens) if tokens.is_empty() => Err("the chat template lays these messages out as nothing".into()),
            other => other,
        };
        let tokens = match tokens {
            Ok(tokens) => tokens,
            Err(reason) => {
                let _ = job.done.send(Generated::Refused { reason });
                return;
            }
        };
        self.trace.engine("tokenise", from, || json!({"tokens": tokens.len()}));
        match check_fit(tokens.len(), &job, self.settings.context_tokens) {
            Ok(limit) => job.reply_limit = ReplyLimit::Fixed(limit),
            Err(reason) => {
                let _ = job.done.send(Generated::TooLong { reason });
                return;
            }
        }
        self.submit(tokens.into(), job);
    }

    fn submit(&mut self, prompt: Arc<[Token]>, job: Job) {
        let reserve = self.settings.reserve(prompt.len(), job.most_tokens());
        self.n_jobs += 1;
        self.schedule.submit(self.n_jobs, prompt, reserve);
        self.waiting.insert(self.n_jobs, (job, Instant::now()));
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
        let Some((job, queued)) = self.waiting.remove(&admitted.job) else { return };
        (job.began)();
        if self.slots.is_empty() && admitted.n_reused == 0 && !self.settings.limits.share {
            // Not even the place of the cells depends on what was there before.
            self.backend.clear_cache();
        }
        let reply = match self.backend.reply(&job) {
            Ok(reply) => reply,
            Err(reason) => {
                let mut changes = Vec::new();
                self.schedule.finish(admitted.sequence, &mut changes);
                self.change_cache(&changes);
                let _ = job.done.send(Generated::Refused { reason });
                return;
            }
        };
        self.slots.push(Slot {
            id: admitted.job,
            sequence: admitted.sequence,
            lookup: PromptLookup::new(if self.settings.drafts { &admitted.prompt } else { &[] }),
            draft_length: DraftLength::new(
                &self.prior,
                self.cost.marginal(self.settings.limits.slots),
                self.settings.most_drafted(),
            ),
            prompt: Arc::clone(&admitted.prompt),
            job,
            n_past: admitted.n_reused,
            n_reused: admitted.n_reused,
            reply,
            certain: Vec::new(),
            draft: Vec::new(),
            queued,
            started: Instant::now(),
            prompt_done: None,
            width: 0,
        });
    }

    /// One pass, and the choices after it.
    fn pass(&mut self) -> Result<(), String> {
        let from = Instant::now();
        let mut inputs = std::mem::take(&mut self.inputs);
        inputs.clear();
        let n_replying = self.slots.iter().filter(|slot| !slot.certain.is_empty()).count();
        let chunk = self.schedule.next_turn(n_replying, self.settings.pass_tokens);
        let choosers = match &chunk {
            Some(chunk) => self.add_prompt(chunk, &mut inputs),
            None => self.add_replies(n_replying, &mut inputs),
        };
        if inputs.is_empty() {
            self.inputs = inputs;
            return Ok(());
        }
        self.trace.engine("draft", from, || json!({}));
        let from = Instant::now();
        let computed = self.backend.pass(&inputs);
        let ms = from.elapsed().as_secs_f64() * 1e3;
        let kind = if chunk.is_some() { "prompt pass" } else { "reply pass" };
        self.trace.engine(kind, from, || json!({"tokens": inputs.len(), "sequences": n_replying.max(1), "ms": ms}));
        self.inputs = inputs;
        computed?;
        self.stats.add_passed(self.inputs.len() as u64);
        match &chunk {
            Some(chunk) => {
                self.schedule.computed(chunk);
                if let Some(slot) = self.slots.iter_mut().find(|slot| slot.sequence == chunk.sequence) {
                    slot.n_past = chunk.to;
                }
            }
            None => self.cost.observe(self.inputs.len(), ms),
        }
        self.choose(&choosers);
        Ok(())
    }

    /// A part of one prompt; the prompt's last token tells how the reply starts.
    fn add_prompt(&self, chunk: &Chunk, inputs: &mut Vec<Input>) -> Vec<Chooser> {
        for position in chunk.from..chunk.to {
            let logits = chunk.is_last() && position + 1 == chunk.to;
            inputs.push(Input { token: chunk.prompt[position], position, sequence: chunk.sequence, logits });
        }
        let slot = self.slots.iter().position(|slot| chunk.is_last() && slot.sequence == chunk.sequence);
        slot.map(|slot| Chooser { slot, place: inputs.len() - 1 }).into_iter().collect()
    }

    /// The next tokens of every reply. A long forced run goes in parts, so that it does not stall the others.
    fn add_replies(&mut self, n_replying: usize, inputs: &mut Vec<Input>) -> Vec<Chooser> {
        // Slots are fewer than the tokens of a pass, so each has room for its next token.
        let room = self.settings.pass_tokens / n_replying.max(1);
        let marginal = self.cost.marginal(n_replying);
        let mut choosers = Vec::new();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            let n_certain = slot.certain.len().min(room);
            if n_certain == 0 {
                continue;
            }
            let is_all = n_certain == slot.certain.len();
            for (k, token) in slot.certain[..n_certain].iter().enumerate() {
                let logits = is_all && k + 1 == n_certain;
                inputs.push(Input { token: *token, position: slot.n_past + k, sequence: slot.sequence, logits });
            }
            slot.n_past += n_certain;
            slot.certain.drain(..n_certain);
            if is_all {
                choosers.push(Chooser { slot: i, place: inputs.len() - 1 });
                slot.make_draft(room - n_certain, marginal);
                for (k, token) in slot.draft.iter().enumerate() {
                    inputs.push(Input { token: *token, position: slot.n_past + k, sequence: slot.sequence, logits: true });
                }
            }
        }
        choosers
    }

    /// Lets every slot of `choosers` choose along its computed tokens, and answers those that end.
    fn choose(&mut self, choosers: &[Chooser]) {
        let from = Instant::now();
        let width = u32::try_from(choosers.len()).unwrap_or(u32::MAX);
        self.stats.add_reply_passes(u64::from(width));
        let mut ended: Vec<(usize, Step)> = Vec::new();
        for chooser in choosers {
            let slot = &mut self.slots[chooser.slot];
            slot.width = slot.width.max(width);
            if slot.prompt_done.is_none() {
                slot.prompt_done = Some(Instant::now());
            }
            if let Some(step) = slot.choose(&mut self.backend, chooser.place) {
                ended.push((chooser.slot, step));
            }
        }
        self.trace.engine("choose", from, || json!({"sequences": choosers.len()}));
        ended.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
        let ended: Vec<(Slot<B::Reply>, Step)> = ended
            .into_iter()
            .map(|(i, step)| {
                self.prior.absorb(self.slots[i].draft_length.clone());
                let slot = self.remove(i);
                slot.trace(&mut self.trace);
                (slot, step)
            })
            .collect();
        if self.is_idle() {
            // Whoever gets the last answer may end this process.
            self.trace.settle();
        }
        for (slot, step) in ended {
            slot.answer(step);
        }
    }

    /// After a failed pass: every running job fails, the cache is emptied, waiting jobs go on.
    fn give_up(&mut self, reason: &str) {
        self.backend.clear_cache();
        let waiting = self.schedule.take_waiting();
        self.schedule = Schedule::new(self.settings.limits);
        let mut jobs = std::mem::take(&mut self.waiting);
        let mut spare = self.slots.is_empty();
        for slot in self.slots.drain(..) {
            let _ = slot.job.done.send(Generated::Crashed { reason: reason.to_string() });
        }
        for (id, prompt) in waiting {
            let Some((job, _)) = jobs.remove(&id) else { continue };
            if std::mem::take(&mut spare) {
                let _ = job.done.send(Generated::Crashed { reason: reason.to_string() });
            } else {
                self.submit(prompt, job);
            }
        }
    }
}

impl<R: Growing> Slot<R> {
    /// Looks up what may follow, at most `room` tokens.
    fn make_draft(&mut self, room: usize, marginal: f32) {
        self.draft_length.set_marginal(marginal);
        self.draft.clear();
        let most = self.draft_length.length().min(room);
        if most > 0 {
            self.lookup.draft(most, &mut self.draft);
            let n = self.reply.acceptable(&self.draft);
            self.draft.truncate(n);
        }
    }

    /// Chooses along the computed tokens for as long as the draft is what follows. `place` has the logits after the last token
    /// that is certain. Returns how the reply ends, if it does.
    fn choose<B: Backend<Reply = R>>(&mut self, backend: &mut B, place: usize) -> Option<Step> {
        let draft = std::mem::take(&mut self.draft);
        let mut n_kept = 0;
        let mut step = if self.reply.n_tokens() == 0 { self.reply.begin() } else { Step::Feed(Vec::new()) };
        let ended = loop {
            let Step::Feed(tokens) = step else { break Some(step) };
            for token in &tokens {
                self.lookup.push(*token);
            }
            let n_same = tokens.iter().zip(&draft[n_kept..]).take_while(|(a, b)| a == b).count();
            n_kept += n_same;
            if n_same < tokens.len() {
                self.certain.extend_from_slice(&tokens[n_same..]);
                break None;
            }
            step = self.reply.choose(backend.logits(place + n_kept));
        };
        self.n_past += n_kept;
        self.draft_length.observe(draft.len(), n_kept);
        if n_kept < draft.len() {
            backend.change_cache(CacheChange::Cut { sequence: self.sequence, keep: self.n_past });
        }
        ended
    }

    fn trace(&self, trace: &mut Trace) {
        let ended = Instant::now();
        let prompt_done = self.prompt_done.unwrap_or(ended);
        let waited_ms = self.started.duration_since(self.queued).as_secs_f64() * 1e3;
        let (id, n_prompt, n_reused, n_reply) = (self.id, self.prompt.len(), self.n_reused, self.reply.n_tokens());
        trace.sequence(
            self.sequence,
            "prompt",
            (self.started, prompt_done),
            || json!({"job": id, "tokens": n_prompt, "reused": n_reused, "waited_ms": waited_ms}),
        );
        trace.sequence(self.sequence, "reply", (prompt_done, ended), || json!({"job": id, "tokens": n_reply}));
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
                let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
                let prompt_done = self.prompt_done.unwrap_or_else(Instant::now);
                let timings = Timings {
                    prompt_ms: millis(prompt_done.duration_since(self.started)),
                    reply_ms: millis(prompt_done.elapsed()),
                };
                let (reply, reasoning, min_margin) = self.reply.into_parts();
                Generated::Finished(Finished {
                    reply,
                    reasoning,
                    unnamed_mark: None,
                    finish,
                    usage,
                    batch_width: self.width,
                    min_margin,
                    timings,
                    origin: Origin::Engine,
                })
            }
            Step::Crashed(reason) => Generated::Crashed { reason },
            Step::Feed(_) => Generated::Crashed { reason: "a sequence was ended that had not finished".into() },
        };
        let _ = self.job.done.send(generated);
    }
}

#[cfg(test)]
mod tests;
