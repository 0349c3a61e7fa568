//! The schedule of fast mode without a model: how many prompt tokens it would compute for the prompts of a study.
//!
//! It follows the passes of fast mode (a part of one prompt and the next tokens of all replies, in turn) and supposes a length for every
//! reply. It holds the prompts in flight and what the schedule holds, so a study can be passed through it case by case.

use super::prefix_tree::{SequenceId, Token};
use super::schedule::{JobId, Limits, Schedule};
use std::sync::Arc;

/// A schedule at work on prompts that nobody computes.
pub struct DryRun {
    schedule: Schedule,
    /// Prompt tokens of a pass.
    budget: usize,
    /// Prompts in flight at the same time.
    window: usize,
    /// Passes that a reply takes.
    n_reply: usize,
    n_jobs: JobId,
    n_in_flight: usize,
    /// Sequences that reply, with the passes left.
    replying: Vec<(SequenceId, usize)>,
    n_computed: usize,
}

impl DryRun {
    pub(super) fn new(limits: Limits, budget: usize, window: usize, n_reply: usize) -> Self {
        Self {
            schedule: Schedule::new(limits),
            budget,
            window: window.max(1),
            n_reply: n_reply.max(1),
            n_jobs: 0,
            n_in_flight: 0,
            replying: Vec::new(),
            n_computed: 0,
        }
    }

    /// Queues one more prompt whose reply may take `reserve` cells, after as many passes as make room for it.
    pub fn submit(&mut self, prompt: Arc<[Token]>, reserve: usize) {
        while self.n_in_flight >= self.window {
            self.pass();
        }
        self.n_jobs += 1;
        self.n_in_flight += 1;
        self.schedule.submit(self.n_jobs, prompt, reserve);
    }

    /// Works off what is in flight; prompt tokens computed in all.
    #[must_use]
    pub fn finish(mut self) -> usize {
        while self.n_in_flight > 0 {
            self.pass();
        }
        self.n_computed
    }

    fn pass(&mut self) {
        let mut changes = Vec::new();
        while self.schedule.admit(&mut changes).is_some() {}
        if let Some(chunk) = self.schedule.next_turn(self.replying.len(), self.budget) {
            self.n_computed += chunk.to - chunk.from;
            self.schedule.computed(&chunk);
            if chunk.is_last() {
                self.replying.push((chunk.sequence, self.n_reply));
            }
            return;
        }
        // While no prompt waits for its turn, nothing changes before the first reply ends.
        let is_alone = !self.schedule.has_prompts_to_compute();
        let n_passes = if is_alone { self.replying.iter().map(|(_, left)| *left).min().unwrap_or(1) } else { 1 };
        for (_, left) in &mut self.replying {
            *left -= n_passes;
        }
        let ended: Vec<SequenceId> = self.replying.iter().filter(|(_, left)| *left == 0).map(|(sequence, _)| *sequence).collect();
        self.replying.retain(|(_, left)| *left > 0);
        for sequence in ended {
            self.schedule.finish(sequence, &mut changes);
            self.n_in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { slots: 4, sequences: 12, cells: 20_000, idle_cells: 2_048, share: true };

    /// Two cases of three sources: 100 tokens of instructions, 400 of report, 50 of each timeline.
    fn prompts() -> Vec<Arc<[Token]>> {
        let part = |salt: i32, n: i32| (0..n).map(move |i| salt * 1_000 + i);
        let game = |case: i32, a: i32, b: i32| {
            part(0, 100)
                .chain(part(1 + case, 400))
                .chain(part(10 + 5 * case + a, 50))
                .chain(part(10 + 5 * case + b, 50))
                .collect()
        };
        (0..2).flat_map(|case| [(0, 1), (0, 2), (1, 2)].map(|(a, b)| game(case, a, b))).collect()
    }

    fn computed(limits: Limits, n_reply: usize) -> usize {
        let mut dry = DryRun::new(limits, 512, 80, n_reply);
        for prompt in prompts() {
            dry.submit(prompt, 300);
        }
        dry.finish()
    }

    #[test]
    fn a_roomy_cache_computes_the_tree_and_an_unshared_one_everything() {
        // Per case: report, A, B and C after A, B, C after B; instructions once.
        assert_eq!(computed(LIMITS, 20), 100 + 2 * (400 + 5 * 50));
        assert_eq!(computed(Limits { share: false, sequences: 4, ..LIMITS }, 20), 6 * 600);
    }

    #[test]
    fn a_tight_cache_and_a_narrow_window_still_end() {
        for window in [1, 2] {
            let mut dry = DryRun::new(Limits { cells: 950, idle_cells: 0, slots: 1, sequences: 2, share: true }, 64, window, 5);
            for prompt in prompts() {
                dry.submit(prompt, 300);
            }
            let n = dry.finish();
            assert!((1_400..=3_600).contains(&n), "{n}");
        }
    }
}
