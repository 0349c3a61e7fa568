//! Counters of a run, read by progress displays while it goes on.

use crate::store::{Outcome, Record};
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared counters. Units: items and tokens.
#[derive(Debug, Default)]
pub struct EngineStats {
    replayed: AtomicU64,
    computed: AtomicU64,
    not_ok: AtomicU64,
    prompt_tokens: AtomicU64,
    reused_tokens: AtomicU64,
    reply_tokens: AtomicU64,
    /// Tokens passed through the model so far, also for items that are not finished.
    tokens_passed: AtomicU64,
    /// Passes in which a sequence chose reply tokens, summed over the sequences.
    reply_passes: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct StatsSnapshot {
    pub items_replayed: u64,
    pub items_computed: u64,
    pub items_not_ok: u64,
    pub prompt_tokens: u64,
    pub reused_tokens: u64,
    pub reply_tokens: u64,
    pub tokens_passed: u64,
    pub reply_passes: u64,
}

impl EngineStats {
    pub(super) fn add_replayed(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_computed(&self, record: &Record) {
        self.computed.fetch_add(1, Ordering::Relaxed);
        self.not_ok.fetch_add(u64::from(record.outcome != Outcome::Ok), Ordering::Relaxed);
        self.prompt_tokens.fetch_add(record.usage.prompt_tokens.into(), Ordering::Relaxed);
        self.reused_tokens.fetch_add(record.usage.reused_tokens.into(), Ordering::Relaxed);
        self.reply_tokens.fetch_add(record.usage.reply_tokens.into(), Ordering::Relaxed);
    }

    pub(super) fn add_passed(&self, n_tokens: u64) {
        self.tokens_passed.fetch_add(n_tokens, Ordering::Relaxed);
    }

    pub(super) fn add_reply_passes(&self, n_sequences: u64) {
        self.reply_passes.fetch_add(n_sequences, Ordering::Relaxed);
    }

    /// The counters now.
    #[must_use]
    pub fn snapshot(&self) -> StatsSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StatsSnapshot {
            items_replayed: get(&self.replayed),
            items_computed: get(&self.computed),
            items_not_ok: get(&self.not_ok),
            prompt_tokens: get(&self.prompt_tokens),
            reused_tokens: get(&self.reused_tokens),
            reply_tokens: get(&self.reply_tokens),
            tokens_passed: get(&self.tokens_passed),
            reply_passes: get(&self.reply_passes),
        }
    }
}
