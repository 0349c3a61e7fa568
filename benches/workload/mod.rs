//! Inputs of the benches: made from a fixed seed, so that every run measures the same work.

// Each bench is a crate of its own and takes what it needs.
#![expect(dead_code, reason = "no bench uses every workload")]

use assize::data::{BadRowPolicy, TimelineFormat, read_timeline};
use assize::measure::game::Game;
use assize::measure::levenshtein::LevenshteinPattern;
use assize::measure::timed_pair::TimedPair;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fs;
use std::path::Path;

/// A named generator.
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Below `n`, which is small enough for the bias not to matter.
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The event texts of the sample study, each once.
pub fn event_texts() -> Vec<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample/sources");
    let mut texts = Vec::new();
    for (source, format) in [("careful", TimelineFormat::Csv), ("hasty", TimelineFormat::Bsv), ("terse", TimelineFormat::Jsonl)] {
        for entry in fs::read_dir(sources.join(source)).expect("the sample study") {
            let path = entry.expect("a file").path();
            let bytes = fs::read(&path).expect("a timeline");
            texts.extend(read_timeline(&bytes, &path, format, BadRowPolicy::Refuse).events.into_iter().map(|event| event.text));
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// `n` texts, each of two parts of `texts`, so that there are enough different ones.
pub fn composed(texts: &[String], n: usize, random: &mut Random) -> Vec<String> {
    (0..n).map(|_| format!("{} {}", texts[random.below(texts.len())], texts[random.below(texts.len())])).collect()
}

/// Shapes of a square distance matrix.
pub const SHAPES: [&str; 4] = ["uniform", "levenshtein", "twenty_levels", "rows_alike"];

/// A matrix of `n` references and `n` predictions.
pub fn distances(shape: &str, n: usize) -> Vec<f64> {
    let mut random = Random::new(1);
    match shape {
        "uniform" => (0..n * n).map(|_| random.unit()).collect(),
        "twenty_levels" => (0..n * n).map(|_| random.below(20) as f64 / 20.0).collect(),
        // Every reference has the same order of predictions: the most that greedy and rounds can be made to look twice.
        "rows_alike" => (0..n * n).map(|i| (i % n) as f64 / n as f64).collect(),
        _ => {
            let texts = event_texts();
            let (references, predictions) = (composed(&texts, n, &mut random), composed(&texts, n, &mut random));
            let row = |reference: &String| {
                let pattern = LevenshteinPattern::new(reference);
                predictions.iter().map(|prediction| pattern.normalised(prediction)).collect::<Vec<_>>()
            };
            references.iter().flat_map(row).collect()
        }
    }
}

/// Hours of one event: a tenth has none.
pub fn hours(random: &mut Random) -> Option<f64> {
    (random.below(10) > 0).then(|| (random.below(2_000) as f64 - 1_000.0) * 6.0)
}

/// Matched pairs with times near each other.
pub fn timed(distances: impl IntoIterator<Item = f64>) -> Vec<TimedPair> {
    let mut random = Random::new(2);
    let pair = |distance| {
        let t_ref = hours(&mut random);
        let t_pred = t_ref.map(|t| t + (random.below(9) as f64 - 4.0) * 12.0);
        TimedPair::new(distance, t_ref, t_pred).expect("finite numbers")
    };
    distances.into_iter().map(pair).collect()
}

/// Ten cases of 28 games between 8 entrants: 280 games.
pub fn games() -> (usize, usize, Vec<Game>) {
    let (n_entrants, n_cases) = (8, 10);
    let mut random = Random::new(3);
    let mut games = Vec::new();
    for case in 0..n_cases {
        for a in 0..n_entrants {
            for b in a + 1..n_entrants {
                let edge = 0.5 + 0.04 * (b as f64 - a as f64);
                let share_a = (edge + 0.8 * (random.unit() - 0.5)).clamp(0.0, 1.0);
                games.push(Game { case, a, b, share_a });
            }
        }
    }
    (n_entrants, n_cases, games)
}

/// `n` threads.
pub fn threads(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).build().expect("a thread pool")
}
