//! Games: two sources on one case, blinded, sides drawn by seed.

use crate::data::{CaseId, Report, SourceName, Study, Timeline};
use sha2::{Digest, Sha256};

/// Everything that is before the court: cases with their reports, and each source's timeline of each case.
#[derive(Debug, Clone)]
pub struct Docket {
    pub sources: Vec<SourceName>,
    pub reports: Vec<Report>,
    /// `timelines[case][source]`; `None` where a source has none.
    pub timelines: Vec<Vec<Option<Timeline>>>,
}

impl Docket {
    /// Moves reports and timelines out of `study`, so that no text is held twice.
    #[must_use]
    pub fn take_from(study: &mut Study) -> Self {
        let mut timelines: Vec<Vec<Option<Timeline>>> = Vec::with_capacity(study.cases.len());
        for case in &study.cases {
            timelines.push(study.sources.iter_mut().map(|source| source.timelines.remove(case)).collect());
        }
        Self {
            sources: study.sources.iter().map(|source| source.name.clone()).collect(),
            reports: std::mem::take(&mut study.reports).into_values().collect(),
            timelines,
        }
    }
}

/// Two sources on one case. Indices into a [`Docket`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Game {
    pub case: usize,
    /// Shown to the judge as timeline A.
    pub a: usize,
    /// Shown to the judge as timeline B.
    pub b: usize,
}

/// Every unordered pair of sources on every case for which both have a timeline, case by case.
///
/// Who is A depends on the seed, the case and the two names alone: adding a source or a case changes no other game, so its stored
/// reply stays good.
#[must_use]
pub fn games(docket: &Docket, seed: u64) -> Vec<Game> {
    let mut games = Vec::new();
    for (case, timelines) in docket.timelines.iter().enumerate() {
        for first in 0..timelines.len() {
            for second in first + 1..timelines.len() {
                if timelines[first].is_none() || timelines[second].is_none() {
                    continue;
                }
                let (x, y) = (&docket.sources[first], &docket.sources[second]);
                let first_is_a = first_name_is_a(seed, &docket.reports[case].case, x, y) == (x < y);
                let (a, b) = if first_is_a { (first, second) } else { (second, first) };
                games.push(Game { case, a, b });
            }
        }
    }
    games
}

/// Whether the name that sorts first is A.
fn first_name_is_a(seed: u64, case: &CaseId, x: &SourceName, y: &SourceName) -> bool {
    let (low, high) = if x < y { (x, y) } else { (y, x) };
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    for name in [case.as_str(), low.as_str(), high.as_str()] {
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    hasher.finalize()[0] & 1 == 0
}
