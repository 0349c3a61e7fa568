//! Scores of a list of query and document pairs, in its order.

use super::{EncodingError, WINDOW};
use crate::engine::encode::{Pair, Reranker, Score};
use crate::store::{VectorKey, VectorStore};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// A pair as it was read.
#[derive(Debug, Clone)]
pub struct TextPair {
    pub instruction: String,
    pub query: String,
    pub document: String,
    /// What the input calls it.
    pub id: Option<serde_json::Value>,
}

/// A pair's score, with what the input calls it.
#[derive(Debug, Clone)]
pub struct ScoredPair {
    pub id: Option<serde_json::Value>,
    pub probability: f32,
    pub logit_yes: f32,
    pub logit_no: f32,
    pub n_tokens: u32,
    pub n_tokens_cut: u32,
}

/// What a list of pairs was like, and what it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RerankSummary {
    pub n_pairs: usize,
    pub n_computed: usize,
    /// Tokens of the pairs computed, and those of them that one computation served several pairs for.
    pub n_tokens: usize,
    pub n_tokens_shared: usize,
    pub n_cut: usize,
    pub n_tokens_cut: usize,
}

/// A run over a list of pairs.
pub struct Reranking<'a> {
    pub reranker: &'a Reranker,
    /// Of width [`Reranking::WIDTH`].
    pub store: &'a mut VectorStore,
    pub stop: &'a AtomicBool,
}

impl Reranking<'_> {
    /// Probability and two logits.
    pub const WIDTH: usize = 3;

    /// Gives every pair's score to `sink`, in order; `done` hears how many pairs are through.
    ///
    /// # Errors
    /// [`EncodingError`]; scores computed before are on record.
    pub fn run(
        self,
        pairs: &mut (dyn Iterator<Item = Result<TextPair, String>> + '_),
        done: impl Fn(usize) + Sync,
        mut sink: impl FnMut(ScoredPair) -> Result<(), String>,
    ) -> Result<RerankSummary, EncodingError> {
        let mut summary = RerankSummary::default();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(EncodingError::Interrupted);
            }
            let window: Vec<TextPair> = pairs.by_ref().take(WINDOW).collect::<Result<_, _>>().map_err(EncodingError::Outside)?;
            if window.is_empty() {
                return Ok(summary);
            }
            let keys: Vec<VectorKey> = window.iter().map(key).collect();
            let mut known = HashSet::new();
            let new: Vec<usize> = (0..window.len()).filter(|i| !self.store.contains(&keys[*i]) && known.insert(keys[*i])).collect();
            let asked: Vec<Pair<'_>> = new.iter().map(|i| of(&window[*i])).collect();
            let scores = self.reranker.score(&asked, &done)?;
            let new_keys: Vec<VectorKey> = new.iter().map(|i| keys[*i]).collect();
            let counts: Vec<_> = scores.iter().map(|score| [score.n_tokens, score.n_tokens_cut, score.n_tokens_shared]).collect();
            let values: Vec<f32> = scores.iter().flat_map(|score| [score.probability, score.logit_yes, score.logit_no]).collect();
            self.store.append(&new_keys, &counts, &values)?;
            summary.add(&scores);
            summary.n_pairs += window.len();
            done(window.len() - new.len());
            for (pair, key) in window.into_iter().zip(&keys) {
                let mut row = [0.0; Self::WIDTH];
                let [n_tokens, n_tokens_cut, _] = self.store.get(key, &mut row)?.expect("every pair is on record by now");
                summary.n_cut += usize::from(n_tokens_cut > 0);
                summary.n_tokens_cut += n_tokens_cut as usize;
                let [probability, logit_yes, logit_no] = row;
                sink(ScoredPair { id: pair.id, probability, logit_yes, logit_no, n_tokens, n_tokens_cut })
                    .map_err(EncodingError::Outside)?;
            }
        }
    }
}

impl RerankSummary {
    fn add(&mut self, scores: &[Score]) {
        self.n_computed += scores.len();
        self.n_tokens += scores.iter().map(|score| score.n_tokens as usize).sum::<usize>();
        self.n_tokens_shared += scores.iter().map(|score| score.n_tokens_shared as usize).sum::<usize>();
    }
}

fn of(pair: &TextPair) -> Pair<'_> {
    Pair { instruction: &pair.instruction, query: &pair.query, document: &pair.document }
}

fn key(pair: &TextPair) -> VectorKey {
    // Lengths in front, so that no other split of the same text has this key.
    VectorKey::of(&format!("pair: {} {} {}{}", pair.instruction.len(), pair.query.len(), pair.instruction, pair.query), &pair.document)
}
