//! Which waiting prompt comes next, on which cells of the cache, and which tokens of it are computed when: the pure half of fast
//! mode.
//!
//! It knows token ids and counts. It must not know the model library, the clock or what a reply says: the caller does to the cache
//! what [`CacheChange`] tells, in that order, and reports what was computed.
//!
//! # Order
//! The waiting prompts are kept in the order of their tokens. The next one is the neighbour of the last one admitted that has the
//! longest beginning in common with it, so the prompts are walked as a depth-first search of their token tree, in which every
//! shared beginning is computed once while the cache can hold one path and the running tails. A prompt that was passed over too
//! often comes next whatever it shares.

use super::prefix_tree::{PrefixTree, SequenceId, Token};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of a job, rising in the order of arrival.
pub type JobId = u64;

/// A waiting prompt yields to better ones at most this often.
const PATIENCE: u64 = 512;

/// A beginning that a running prompt is about to compute is waited for when it saves more tokens than this.
const WORTH_WAITING: usize = 32;

/// What the cache allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Prompts that are worked on together.
    pub slots: usize,
    /// Sequence ids of the cache: at least `slots`. The further ones hold what no running prompt needs any more.
    pub sequences: usize,
    /// Token positions that the cache holds.
    pub cells: usize,
    /// Cells that may stay with prompts that are done, beyond what the next prompt needs.
    pub idle_cells: usize,
    /// Whether beginnings may be shared at all.
    pub share: bool,
}

/// What must be done to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheChange {
    /// The first `n_tokens` cells of `from` become cells of `to` too.
    Copy { from: SequenceId, to: SequenceId, n_tokens: usize },
    /// `sequence` gives up its cells from position `keep` on.
    Cut { sequence: SequenceId, keep: usize },
}

/// A prompt that was given a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    pub job: JobId,
    pub sequence: SequenceId,
    pub prompt: Arc<[Token]>,
    /// Tokens that are resident already.
    pub n_reused: usize,
}

/// Prompt tokens to be computed: positions `from..to` of the prompt of `sequence`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub sequence: SequenceId,
    pub prompt: Arc<[Token]>,
    pub from: usize,
    pub to: usize,
}

impl Chunk {
    /// Whether the prompt is complete after this chunk, so that its last token needs logits.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.to == self.prompt.len()
    }
}

#[derive(Debug)]
struct Running {
    sequence: SequenceId,
    prompt: Arc<[Token]>,
    n_filled: usize,
    reserve: usize,
}

/// The queue, the running prompts and the map of the cache.
#[derive(Debug)]
pub struct Schedule {
    limits: Limits,
    tree: PrefixTree,
    /// Waiting prompts in the order of their tokens, with the cells that the reply may take.
    waiting: BTreeMap<(Arc<[Token]>, JobId), usize>,
    /// The same by arrival, with the number of admissions before it.
    arrivals: BTreeMap<JobId, (Arc<[Token]>, u64)>,
    running: Vec<Running>,
    free: Vec<SequenceId>,
    last: Option<Arc<[Token]>>,
    n_admitted: u64,
    /// Whether the last turn was a part of a prompt.
    prompts_had_turn: bool,
    clock: u64,
}

impl Schedule {
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        assert!(limits.slots >= 1 && limits.sequences >= limits.slots, "every slot needs a sequence");
        let ids = i32::try_from(limits.sequences).expect("a cache has few sequences");
        Self {
            limits,
            tree: PrefixTree::new(),
            waiting: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            running: Vec::new(),
            free: (0..ids).rev().collect(),
            last: None,
            n_admitted: 0,
            prompts_had_turn: false,
            clock: 0,
        }
    }

    /// Queues a prompt whose reply may take `reserve` cells.
    ///
    /// # Panics
    /// For an empty prompt, one that could never be admitted, or a job that waits already.
    pub fn submit(&mut self, job: JobId, prompt: Arc<[Token]>, reserve: usize) {
        assert!(!prompt.is_empty() && prompt.len() + reserve <= self.limits.cells, "a prompt that fits");
        let before = self.arrivals.insert(job, (Arc::clone(&prompt), self.n_admitted));
        assert!(before.is_none(), "job {job} waits already");
        self.waiting.insert((prompt, job), reserve);
    }

    /// Takes a job out of the queue.
    pub fn withdraw(&mut self, job: JobId) {
        if let Some((prompt, _)) = self.arrivals.remove(&job) {
            self.waiting.remove(&(prompt, job));
        }
    }

    /// Empties the queue: every waiting job with its prompt, in the order of arrival.
    pub fn take_waiting(&mut self) -> Vec<(JobId, Arc<[Token]>)> {
        self.waiting.clear();
        std::mem::take(&mut self.arrivals).into_iter().map(|(job, (prompt, _))| (job, prompt)).collect()
    }

    /// Gives the next prompt a sequence, if there is one, it fits, and nothing that it could share is still being computed.
    pub fn admit(&mut self, changes: &mut Vec<CacheChange>) -> Option<Admitted> {
        if self.running.len() == self.limits.slots {
            return None;
        }
        let (prompt, job) = self.next()?;
        let resident = if self.limits.share { self.tree.longest(&prompt) } else { Default::default() };
        let coming = self.running.iter().filter(|running| running.n_filled < running.prompt.len());
        let coming = coming.map(|running| common(&running.prompt, &prompt).min(prompt.len() - 1)).max().unwrap_or(0);
        if self.limits.share && coming > resident.n_tokens + WORTH_WAITING {
            return None;
        }
        let reserve = *self.waiting.get(&(Arc::clone(&prompt), job)).expect("the next prompt waits");
        let protected = resident.sequence.map(|sequence| (sequence, resident.n_tokens));
        let needed = self.n_promised() + prompt.len() - resident.n_tokens + reserve;
        if needed > self.limits.cells {
            self.evict(needed - self.limits.cells, protected, changes);
            if self.n_promised() + prompt.len() - resident.n_tokens + reserve > self.limits.cells {
                return None;
            }
        }
        let sequence = self.free_sequence(resident.sequence, changes)?;
        self.clock += 1;
        self.tree.fork(resident.sequence, resident.n_tokens, sequence, self.clock);
        if let Some(from) = resident.sequence {
            changes.push(CacheChange::Copy { from, to: sequence, n_tokens: resident.n_tokens });
        }
        self.withdraw(job);
        self.n_admitted += 1;
        self.last = Some(Arc::clone(&prompt));
        self.running.push(Running { sequence, prompt: Arc::clone(&prompt), n_filled: resident.n_tokens, reserve });
        Some(Admitted { job, sequence, prompt, n_reused: resident.n_tokens })
    }

    /// The next part of a prompt to be computed, at most `budget` tokens; first come, first served.
    #[must_use]
    fn next_chunk(&self, budget: usize) -> Option<Chunk> {
        let running = self.running.iter().find(|running| running.n_filled < running.prompt.len())?;
        let (from, to) = (running.n_filled, running.prompt.len().min(running.n_filled + budget));
        Some(Chunk { sequence: running.sequence, prompt: Arc::clone(&running.prompt), from, to })
    }

    /// What the next pass computes while `n_replying` sequences reply: a part of a prompt, at most `budget` tokens, or with `None` the
    /// next tokens of all replies. Where there is both they take turns.
    pub fn next_turn(&mut self, n_replying: usize, budget: usize) -> Option<Chunk> {
        let is_prompts_turn = n_replying == 0 || !self.prompts_had_turn;
        let chunk = if is_prompts_turn { self.next_chunk(budget) } else { None };
        self.prompts_had_turn = chunk.is_some();
        chunk
    }

    /// Whether a running prompt is not computed as a whole.
    #[must_use]
    pub fn has_prompts_to_compute(&self) -> bool {
        self.next_chunk(1).is_some()
    }

    /// Notes that a chunk was computed.
    pub fn computed(&mut self, chunk: &Chunk) {
        self.clock += 1;
        self.tree.extend(chunk.sequence, &chunk.prompt[chunk.from..chunk.to], self.clock);
        self.running_mut(chunk.sequence).n_filled = chunk.to;
    }

    /// Ends a running job: its reply goes, its prompt stays while there is room.
    pub fn finish(&mut self, sequence: SequenceId, changes: &mut Vec<CacheChange>) {
        let at = self.running.iter().position(|running| running.sequence == sequence).expect("a running sequence");
        let running = self.running.remove(at);
        let keep = if self.limits.share { running.n_filled } else { 0 };
        changes.push(CacheChange::Cut { sequence, keep });
        if keep == 0 {
            self.tree.truncate(sequence, 0);
            self.free.push(sequence);
        }
        self.tidy(changes);
    }

    /// Gives up the oldest cells of finished prompts beyond those allowed, sparing what the next prompt begins with.
    fn tidy(&mut self, changes: &mut Vec<CacheChange>) {
        let protected = self.next().and_then(|(prompt, _)| {
            let resident = self.tree.longest(&prompt);
            resident.sequence.map(|sequence| (sequence, resident.n_tokens))
        });
        // Without anything that waits nobody knows what will be asked next.
        if protected.is_none() && self.arrivals.is_empty() {
            return;
        }
        let busy = busy(&self.running);
        let idle = self.tree.evictable(busy, protected);
        if idle > self.limits.idle_cells {
            self.evict(idle - self.limits.idle_cells, protected, changes);
        }
    }

    /// Cells that are or may come to be taken by what runs and rests now.
    fn n_promised(&self) -> usize {
        let coming: usize = self.running.iter().map(|running| running.prompt.len() - running.n_filled + running.reserve).sum();
        self.tree.n_cells() + coming
    }

    fn evict(&mut self, n_cells: usize, protected: Option<(SequenceId, usize)>, changes: &mut Vec<CacheChange>) {
        for eviction in self.tree.evict(n_cells, busy(&self.running), protected) {
            changes.push(CacheChange::Cut { sequence: eviction.sequence, keep: eviction.keep_tokens });
            if eviction.is_release() {
                self.free.push(eviction.sequence);
            }
        }
    }

    fn free_sequence(&mut self, source: Option<SequenceId>, changes: &mut Vec<CacheChange>) -> Option<SequenceId> {
        if let Some(free) = self.free.pop() {
            return Some(free);
        }
        let running = busy(&self.running);
        let eviction = self.tree.evict_sequence(|sequence| running(sequence) || Some(sequence) == source)?;
        changes.push(CacheChange::Cut { sequence: eviction.sequence, keep: 0 });
        Some(eviction.sequence)
    }

    /// The waiting prompt that is to run next.
    fn next(&self) -> Option<(Arc<[Token]>, JobId)> {
        let (&oldest, (oldest_prompt, admitted_before)) = self.arrivals.first_key_value()?;
        let oldest = (Arc::clone(oldest_prompt), oldest);
        let Some(last) = self.last.as_ref().filter(|_| self.limits.share && self.n_admitted - admitted_before < PATIENCE) else {
            return Some(oldest);
        };
        let here = (Arc::clone(last), JobId::MAX);
        let neighbours = [self.waiting.range(..&here).next_back(), self.waiting.range(&here..).next()];
        let nearest = neighbours.into_iter().flatten().map(|(key, _)| (common(&key.0, last), key)).max_by_key(|(n, _)| *n)?;
        if common(&oldest.0, last) >= nearest.0 { Some(oldest) } else { Some(nearest.1.clone()) }
    }

    fn running_mut(&mut self, sequence: SequenceId) -> &mut Running {
        self.running.iter_mut().find(|running| running.sequence == sequence).expect("a running sequence")
    }
}

fn busy(running: &[Running]) -> impl Fn(SequenceId) -> bool + '_ {
    |sequence| running.iter().any(|running| running.sequence == sequence)
}

/// Length of the common beginning.
pub(super) fn common(a: &[Token], b: &[Token]) -> usize {
    // Blocks first: comparing slices is many times faster than comparing tokens.
    const BLOCK: usize = 64;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(x, y)| x == y).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap};

    const LIMITS: Limits = Limits { slots: 4, sequences: 12, cells: 1 << 20, idle_cells: 1 << 20, share: true };

    /// A prompt of blocks: each letter stands for 50 tokens of its own.
    fn prompt(blocks: &str) -> Arc<[Token]> {
        blocks.chars().flat_map(|block| (0..50).map(move |i| block as Token * 1000 + i)).collect()
    }

    /// Every pair of sources of every case, in the order of a study: instructions, report, timelines A and B.
    fn round_robin(n_cases: usize, n_sources: usize) -> Vec<Arc<[Token]>> {
        let tokens = |salt: usize, n: usize| (0..n).map(move |i| (salt * 5003 + i * 7) as Token);
        let mut prompts = Vec::new();
        for case in 0..n_cases {
            for a in 0..n_sources {
                for b in a + 1..n_sources {
                    let (a, b) = if (a + b + case).is_multiple_of(2) { (a, b) } else { (b, a) };
                    let timeline = |source: usize| tokens(100 + case * 50 + source, 300 + source * 11);
                    let parts = tokens(1, 400).chain(tokens(2 + case, 900)).chain(timeline(a)).chain(timeline(b));
                    prompts.push(parts.collect());
                }
            }
        }
        prompts
    }

    /// Nodes of the token tree of all prompts: what any order must compute at least.
    fn least(prompts: &[Arc<[Token]>]) -> usize {
        let sorted: BTreeSet<&Arc<[Token]>> = prompts.iter().collect();
        let sorted: Vec<_> = sorted.into_iter().collect();
        let first = sorted.first().map_or(0, |p| p.len());
        first + sorted.windows(2).map(|two| two[1].len() - common(two[0], two[1])).sum::<usize>()
    }

    /// A cache of single cells: what llama.cpp holds.
    #[derive(Default)]
    struct Cells {
        of: HashMap<SequenceId, Vec<(usize, Token)>>,
        n_made: usize,
    }

    impl Cells {
        fn apply(&mut self, changes: &mut Vec<CacheChange>) {
            for change in changes.drain(..) {
                match change {
                    CacheChange::Copy { from, to, n_tokens } => {
                        let cells = self.of[&from][..n_tokens].to_vec();
                        assert!(self.of.insert(to, cells).is_none_or(|old| old.is_empty()), "a copy into a used sequence");
                    }
                    CacheChange::Cut { sequence, keep } => self.of.entry(sequence).or_default().truncate(keep),
                }
            }
        }

        fn add(&mut self, sequence: SequenceId, tokens: &[Token]) {
            for token in tokens {
                self.of.entry(sequence).or_default().push((self.n_made, *token));
                self.n_made += 1;
            }
        }

        fn n_used(&self) -> usize {
            self.of.values().flatten().map(|(cell, _)| *cell).collect::<BTreeSet<_>>().len()
        }
    }

    /// Runs all prompts, each with a reply of `n_reply` tokens; returns prompt tokens computed and the order of admission.
    fn run(limits: Limits, prompts: &[Arc<[Token]>], n_reply: usize, budget: usize, window: usize) -> (usize, Vec<JobId>) {
        let mut schedule = Schedule::new(limits);
        let mut cells = Cells::default();
        let mut changes = Vec::new();
        let mut replies: HashMap<SequenceId, usize> = HashMap::new();
        let (mut n_computed, mut order, mut coming) = (0, Vec::new(), prompts.iter().enumerate());
        for pass in 0.. {
            assert!(pass < 1_000_000, "it ends");
            while schedule.arrivals.len() < window {
                let Some((job, prompt)) = coming.next() else { break };
                schedule.submit(job as JobId, Arc::clone(prompt), n_reply);
            }
            while let Some(admitted) = schedule.admit(&mut changes) {
                cells.apply(&mut changes);
                let prompt = &prompts[admitted.job as usize];
                let held: Vec<Token> = cells.of.get(&admitted.sequence).into_iter().flatten().map(|(_, token)| *token).collect();
                assert_eq!(held, prompt[..admitted.n_reused], "exactly the beginning of its prompt");
                order.push(admitted.job);
            }
            if schedule.running.is_empty() {
                assert_eq!(schedule.arrivals.len(), 0, "nothing waits for ever");
                return (n_computed, order);
            }
            if let Some(chunk) = schedule.next_chunk(budget) {
                cells.add(chunk.sequence, &chunk.prompt[chunk.from..chunk.to]);
                n_computed += chunk.to - chunk.from;
                schedule.computed(&chunk);
                if chunk.is_last() {
                    replies.insert(chunk.sequence, 0);
                }
            }
            assert!(cells.n_used() <= limits.cells);
            for (sequence, n) in replies.clone() {
                if n == n_reply {
                    replies.remove(&sequence);
                    schedule.finish(sequence, &mut changes);
                    cells.apply(&mut changes);
                } else {
                    cells.add(sequence, &[-1]);
                    replies.insert(sequence, n + 1);
                }
            }
        }
        unreachable!()
    }

    #[test]
    fn a_round_robin_computes_its_token_tree_once() {
        for (n_sources, slots) in [(4, 1), (5, 4), (8, 4), (8, 16)] {
            let prompts = round_robin(3, n_sources);
            let limits = Limits { slots, sequences: slots * 2 + 4, ..LIMITS };
            let (n, order) = run(limits, &prompts, 20, 512, 64);
            assert_eq!(order.len(), prompts.len());
            let submitted: usize = prompts.iter().map(|p| p.len()).sum();
            assert!(
                n as f64 <= 1.05 * least(&prompts) as f64,
                "{n} computed, {} at least, {submitted} submitted",
                least(&prompts)
            );
        }
    }

    #[test]
    fn a_small_cache_is_never_exceeded_and_all_prompts_run() {
        let prompts = round_robin(3, 5);
        let longest = prompts.iter().map(|p| p.len()).max().unwrap();
        for cells in [longest + 20, longest + 700, 2 * longest, 4 * longest] {
            for idle_cells in [0, 500, cells] {
                let (n, order) = run(Limits { cells, idle_cells, ..LIMITS }, &prompts, 20, 300, 40);
                assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), prompts.len());
                assert!(n >= least(&prompts));
            }
        }
    }

    #[test]
    fn few_sequences_suffice_and_without_sharing_everything_is_computed() {
        let prompts = round_robin(2, 5);
        let submitted: usize = prompts.iter().map(|p| p.len()).sum();
        let (n, _) = run(Limits { sequences: 4, ..LIMITS }, &prompts, 20, 512, 64);
        assert!(n < submitted);
        let (n, order) = run(Limits { share: false, ..LIMITS }, &prompts, 20, 512, 64);
        assert_eq!((n, order), (submitted, (0..prompts.len() as JobId).collect()));
    }

    #[test]
    fn a_prompt_waits_for_what_another_is_computing() {
        let mut schedule = Schedule::new(LIMITS);
        let mut changes = Vec::new();
        for (job, blocks) in ["irab", "irac", "xyz"].into_iter().enumerate() {
            schedule.submit(job as JobId, prompt(blocks), 5);
        }
        assert_eq!(schedule.admit(&mut changes).map(|a| (a.job, a.n_reused)), Some((0, 0)));
        assert_eq!(schedule.admit(&mut changes), None, "instructions, report and A are on their way");
        schedule.computed(&schedule.next_chunk(150).unwrap());
        assert_eq!(schedule.admit(&mut changes).map(|a| (a.job, a.n_reused)), Some((1, 150)));
        assert_eq!(schedule.admit(&mut changes).map(|a| (a.job, a.n_reused)), Some((2, 0)));
        for expected in [(150, 200), (150, 200), (0, 60), (60, 120)] {
            let chunk = schedule.next_chunk(60).unwrap();
            assert_eq!((chunk.from, chunk.to), expected);
            schedule.computed(&chunk);
        }
    }

    #[test]
    fn nobody_is_passed_over_for_ever() {
        let mut schedule = Schedule::new(Limits { slots: 1, ..LIMITS });
        let mut changes = Vec::new();
        schedule.submit(0, prompt("ia"), 1);
        schedule.admit(&mut changes).unwrap();
        schedule.submit(1, prompt("zz"), 1);
        for job in 2..2 + 2 * PATIENCE {
            schedule.submit(job, prompt("ib"), 1);
            while let Some(chunk) = schedule.next_chunk(1_000) {
                schedule.computed(&chunk);
            }
            schedule.finish(schedule.running[0].sequence, &mut changes);
            if schedule.admit(&mut changes).unwrap().job == 1 {
                assert!(job >= PATIENCE);
                return;
            }
        }
        panic!("job 1 still waits");
    }

    #[test]
    fn a_repeated_prompt_computes_one_token() {
        let mut schedule = Schedule::new(LIMITS);
        let mut changes = Vec::new();
        for job in 0..2 {
            schedule.submit(job, prompt("ab"), 5);
            let admitted = schedule.admit(&mut changes).unwrap();
            assert_eq!(admitted.n_reused, if job == 0 { 0 } else { 99 });
            while let Some(chunk) = schedule.next_chunk(1_000) {
                schedule.computed(&chunk);
            }
        }
        assert_eq!(schedule.tree.n_cells(), 101);
    }
}
