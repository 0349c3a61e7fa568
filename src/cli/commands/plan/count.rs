//! The items of a study and the tokens of those that are pending, case by case.

use crate::cli::commands::docket::{engine, judge_games};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::resolve::Plan;
use crate::engine::generate::llama::LlamaVocabulary;
use crate::engine::generate::{DryRun, PromptVolume, most_tokens};
use crate::error::ExitStatus;
use crate::store::Store;
use std::collections::HashSet;
use std::sync::Arc;

/// What is on record and what is pending.
#[derive(Default)]
pub struct Counts {
    pub games: usize,
    /// Items that the store answers, further tries included.
    pub on_record: usize,
    pub first_tries: usize,
    pub further_tries: usize,
    /// Text of all messages of the pending items.
    pub text_bytes: usize,
    /// `None` without the judge's vocabulary.
    pub tokens: Option<Tokens>,
}

/// Tokens of the pending prompts that fit.
#[derive(Default)]
pub struct Tokens {
    pub volume: PromptVolume,
    /// Tokens that the schedule of this numerics computes.
    pub expected: usize,
    /// Prompts that do not fit the context together with their reply.
    pub too_long: usize,
}

impl Counts {
    /// Passes every game through an engine without a judge. `n_reply`: passes supposed for a reply.
    pub fn of(
        plan: &Plan,
        store: &Arc<Store>,
        vocabulary: Option<&LlamaVocabulary>,
        n_reply: usize,
        remarks: Remarks,
    ) -> Result<Self, Failure> {
        let engine = engine(plan, store, None, Arc::default());
        let mut counts = Self { games: plan.games.len(), tokens: vocabulary.map(|_| Tokens::default()), ..Self::default() };
        let mut dry_run = vocabulary.and_then(|vocabulary| vocabulary.dry_run(plan.judged_by.n_in_flight(), n_reply));
        let mut seen = HashSet::new();
        let progress =
            Progress::start(Counted { doing: "planning", things: "games", total: plan.games.len(), judge: None }, remarks.quiet);
        for games in plan.games.chunk_by(|a, b| a.case == b.case) {
            judge_games(plan, &engine, games, &|| progress.one_done())?;
            let mut prompts = Vec::new();
            for item in engine.take_pending().into_iter().filter(|item| seen.insert(item.key)) {
                let first = item.request.attempt == 1;
                counts.first_tries += usize::from(first);
                counts.further_tries += usize::from(!first);
                counts.text_bytes += item.request.messages.iter().map(|message| message.content.len()).sum::<usize>();
                if let (Some(vocabulary), Some(tokens)) = (vocabulary, &mut counts.tokens) {
                    let prompt = vocabulary
                        .tokenize(&item.request.messages)
                        .map_err(|error| Failure::new(ExitStatus::Verification, error))?;
                    let n_before = prompt.len() + most_tokens(0, item.request.max_reasoning_tokens) as usize;
                    let n_left = (plan.judged_by.llama.context_tokens as usize).checked_sub(n_before);
                    let Some(max_reply) = n_left.and_then(|n_left| item.request.reply_limit.within(n_left)) else {
                        tokens.too_long += 1;
                        continue;
                    };
                    let max_reply = most_tokens(max_reply, item.request.max_reasoning_tokens);
                    if let Some(dry_run) = &mut dry_run {
                        dry_run.submit(Arc::clone(&prompt), vocabulary.reserve(prompt.len(), max_reply));
                    }
                    prompts.push(prompt);
                }
            }
            if let Some(tokens) = &mut counts.tokens {
                tokens.volume.add_case(&prompts);
            }
        }
        if let Some(tokens) = &mut counts.tokens {
            tokens.expected = dry_run.map_or_else(|| tokens.volume.n_submitted(), DryRun::finish);
        }
        counts.on_record = usize::try_from(engine.stats().snapshot().items_replayed).unwrap_or(usize::MAX);
        Ok(counts)
    }
}
