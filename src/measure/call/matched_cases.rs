//! Cases of matched pairs with their times, as several computations take them.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::sweep::CaseMatches;
use super::super::timed_pair::TimedPair;
use super::input::{list, refused};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "case")]
    _case: IgnoredAny,
    n_ref: u64,
    matches: Vec<(f64, Option<f64>, Option<f64>)>,
}

/// One case, its pairs in ascending order of distance.
pub(super) struct MatchedCase {
    n_ref: u64,
    pairs: Vec<TimedPair>,
}

/// Reads the cases of one system; `place` names them in messages.
pub(super) fn read_cases(value: &Value, place: impl Fn() -> String) -> Result<Vec<MatchedCase>, String> {
    let cases: Vec<Case> = list(value, &place)?;
    let read = |(i, case): (usize, Case)| {
        let refused_at = |error| format!("{}[{i}]: {}", place(), refused(error));
        let pairs = case.matches.into_iter().map(|(distance, t_ref, t_pred)| TimedPair::new(distance, t_ref, t_pred));
        let mut pairs = pairs.collect::<Result<Vec<_>, _>>().map_err(refused_at)?;
        pairs.sort_by(|x, y| x.distance().total_cmp(&y.distance()));
        CaseMatches::new(case.n_ref, &pairs).map_err(refused_at)?;
        Ok(MatchedCase { n_ref: case.n_ref, pairs })
    };
    cases.into_iter().enumerate().map(read).collect()
}

impl MatchedCase {
    /// The case as the measures take it.
    pub(super) fn matches(&self) -> Result<CaseMatches<'_>, String> {
        CaseMatches::new(self.n_ref, &self.pairs).map_err(refused)
    }
}
