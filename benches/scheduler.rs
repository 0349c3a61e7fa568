//! What the batching loop costs beside the model: prompts of a study of round robins on a backend that computes nothing.
//!
//! `cargo bench --bench scheduler` prints, for 64 slots, the time a pass takes the loop itself with 10,000 items queued at once, and
//! how much memory a million items take that are generated as room comes up.

use assize::engine::EngineStats;
use assize::engine::generate::batching::{Backend, Batching, Growing, Input, Step, run};
use assize::engine::generate::prefix_tree::Token;
use assize::engine::generate::schedule::{CacheChange, Limits};
use assize::engine::generate::{Generated, Job, Message, ReplyLimit, Thoughts, Trace};
use assize::store::FinishReason;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Instant;

const SLOTS: usize = 64;

/// Games of a case: every pair of eight sources.
const PAIRS: usize = 28;

/// Tokens of the parts of a prompt: instructions, report, timeline A, timeline B.
const PARTS: [usize; 4] = [600, 1800, 500, 500];

const REPLY_TOKENS: u32 = 120;

/// A pass of 64 sequences is seldom faster than this, in milliseconds: an 8B judge reads 8 GB of weights at 4.8 TB/s in 1.7 ms, and
/// computes 64 tokens and their attention besides.
const FAST_PASS_MS: f64 = 4.0;

/// The prompt of item `i`.
fn prompt(i: usize) -> Vec<Token> {
    let (case, pair) = (i / PAIRS, i % PAIRS);
    let salts = [0, 1 + case, 1_000_003 + case * 8 + pair / 4, 2_000_003 + case * 8 + pair % 4 + pair / 4];
    let part = |(salt, n): (usize, usize)| (0..n).map(move |k| ((salt * 7919 + k * 31) % 49_000) as Token);
    salts.into_iter().zip(PARTS).flat_map(part).collect()
}

/// Computes nothing.
struct Null<'a> {
    n_passes: &'a Cell<u64>,
    n_tokens: &'a Cell<u64>,
}

struct Counted(u32);

impl Growing for Counted {
    fn begin(&mut self) -> Step {
        Step::Feed(Vec::new())
    }

    fn acceptable(&mut self, draft: &[Token]) -> usize {
        draft.len()
    }

    fn choose(&mut self, _logits: &[f32]) -> Step {
        self.0 += 1;
        // Tokens that repeat now and then, so that drafts are made and mostly refused.
        if self.0 >= REPLY_TOKENS { Step::Done(FinishReason::Stop) } else { Step::Feed(vec![(self.0 * self.0 % 97) as Token]) }
    }

    fn n_tokens(&self) -> u32 {
        self.0
    }

    fn into_parts(self) -> (String, Option<Thoughts>, Option<f32>) {
        (String::new(), None, None)
    }
}

impl Backend for Null<'_> {
    type Reply = Counted;

    fn tokenize(&self, job: &Job) -> Result<Vec<Token>, String> {
        job.messages[0].content.parse().map(prompt).map_err(|error| format!("{error}"))
    }

    fn reply(&self, _job: &Job) -> Result<Counted, String> {
        Ok(Counted(0))
    }

    fn change_cache(&mut self, _change: CacheChange) {}

    fn clear_cache(&mut self) {}

    fn pass(&mut self, inputs: &[Input]) -> Result<(), String> {
        self.n_passes.set(self.n_passes.get() + 1);
        self.n_tokens.set(self.n_tokens.get() + inputs.len() as u64);
        Ok(())
    }

    fn logits(&mut self, _place: usize) -> &[f32] {
        &[]
    }
}

fn job(i: usize) -> (Job, futures::channel::oneshot::Receiver<Generated>) {
    let (done, reply) = futures::channel::oneshot::channel();
    let job = Job {
        messages: vec![Message::user(i.to_string())],
        constraint: None,
        reply_limit: ReplyLimit::Fixed(REPLY_TOKENS),
        max_reasoning_tokens: None,
        began: Box::new(|| ()),
        done,
    };
    (job, reply)
}

/// Passes `n_items` through the loop, at most `window` of them queued; passes, tokens, seconds.
fn pass_through(n_items: usize, window: usize) -> (u64, u64, f64) {
    let limits = Limits { slots: SLOTS, sequences: SLOTS + 8, cells: 1 << 19, idle_cells: 2048, share: true };
    let settings = Batching { limits, context_tokens: 8192, pass_tokens: 512, drafts: true };
    let (n_passes, n_tokens) = (Cell::new(0), Cell::new(0));
    let (sender, jobs) = channel();
    let feeder = std::thread::spawn(move || {
        let mut waiting = VecDeque::new();
        for i in 0..n_items {
            if waiting.len() == window {
                let reply = waiting.pop_front().expect("a full window");
                futures::executor::block_on::<futures::channel::oneshot::Receiver<Generated>>(reply)
                    .expect("every job is answered");
            }
            let (job, reply) = job(i);
            sender.send(job).expect("the loop listens");
            waiting.push_back(reply);
        }
        drop(sender);
        waiting.into_iter().for_each(|reply| drop(futures::executor::block_on(reply)));
    });
    let started = Instant::now();
    let backend = Null { n_passes: &n_passes, n_tokens: &n_tokens };
    run(backend, settings, &jobs, &Arc::<EngineStats>::default(), &AtomicBool::new(false), Trace::start(None).expect("no file"));
    feeder.join().expect("every job was fed");
    (n_passes.get(), n_tokens.get(), started.elapsed().as_secs_f64())
}

/// Peak memory of this process, in MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

fn main() {
    let window = 64 + 4 * SLOTS;
    let before = peak_mb();
    for n in [10_000, 100_000, 1_000_000] {
        let (n_passes, _, seconds) = pass_through(n, window);
        println!(
            "{n} items, {window} at a time: {n_passes} passes, {seconds:.1} s; peak {:.0} MB, before {before:.0} MB",
            peak_mb()
        );
    }
    // Making the prompts is the caller's and the tokenizer's part, not the scheduler's.
    let started = Instant::now();
    let made: usize = (0..10_000).map(|i| prompt(i).len()).sum();
    let making = started.elapsed().as_secs_f64();
    let (n_passes, n_tokens, seconds) = pass_through(10_000, 10_000);
    let ms = (seconds - making) * 1e3 / n_passes as f64;
    println!("10,000 items queued at once, {SLOTS} slots, prompts of {} tokens, replies of {REPLY_TOKENS}:", made / 10_000);
    println!("  {n_passes} passes, {n_tokens} tokens computed ({made} prompt tokens submitted), peak {:.0} MB", peak_mb());
    println!("  {seconds:.2} s in all, {making:.2} s of it making prompts: {ms:.3} ms a pass of the loop itself");
    println!("  {:.2}% of the wall time where a pass takes {FAST_PASS_MS} ms", 100.0 * ms / (ms + FAST_PASS_MS));
}
