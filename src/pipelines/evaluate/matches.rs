//! The matched pairs of one source over all cases. Texts and distances live only while a case is matched.

use super::distance::{DistanceError, TextDistance};
use crate::data::{Event, Hours};
use crate::measure::MeasureError;
use crate::measure::matching::{DistanceMatrix, Matcher};
use crate::measure::sweep::CaseMatches;
use crate::measure::timed_pair::TimedPair;
use thiserror::Error;

/// Why a case cannot be matched.
#[derive(Debug, Error)]
pub enum MatchError {
    #[error(transparent)]
    Distance(#[from] DistanceError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// A pair with its rows, for a review of the matcher. Borrowed for as long as the case is at hand.
#[derive(Debug, Clone, Copy)]
pub struct MatchedText<'t> {
    pub reference: &'t str,
    pub prediction: &'t str,
    pub distance: f64,
}

/// One case of one source, matched.
#[derive(Debug)]
pub struct MatchedCase {
    n_ref: u32,
    n_pred: u32,
    /// In ascending order of distance.
    pairs: Vec<TimedPair>,
    /// Rows of reference and prediction, in the order of `pairs`.
    rows: Vec<(u32, u32)>,
}

impl MatchedCase {
    /// Matches the events of a case.
    ///
    /// # Errors
    /// [`MatchError`].
    pub fn new(reference: &[Event], prediction: &[Event], distance: &TextDistance, matcher: Matcher) -> Result<Self, MatchError> {
        let references: Vec<&str> = reference.iter().map(|event| event.text.as_str()).collect();
        let predictions: Vec<&str> = prediction.iter().map(|event| event.text.as_str()).collect();
        let values = distance.matrix(&references, &predictions)?;
        let mut pairs = matcher.pairs(DistanceMatrix::new(references.len(), predictions.len(), &values)?);
        // Rounds yields pairs by round; a threshold cuts by distance. A stable sort keeps equal distances in order.
        pairs.sort_by(|x, y| x.distance.total_cmp(&y.distance));
        let hours = |event: &Event| event.time.hours().map(Hours::get);
        let timed = |pair: &crate::measure::matching::Pair| {
            let (r, p) = (&reference[pair.reference as usize], &prediction[pair.prediction as usize]);
            TimedPair::new(pair.distance, hours(r), hours(p))
        };
        Ok(Self {
            n_ref: u32::try_from(reference.len()).unwrap_or(u32::MAX),
            n_pred: u32::try_from(prediction.len()).unwrap_or(u32::MAX),
            rows: pairs.iter().map(|pair| (pair.reference, pair.prediction)).collect(),
            pairs: pairs.iter().map(timed).collect::<Result<_, _>>()?,
        })
    }

    /// The pairs with their texts.
    pub fn texts<'t>(&'t self, reference: &'t [Event], prediction: &'t [Event]) -> impl Iterator<Item = MatchedText<'t>> {
        self.rows.iter().zip(&self.pairs).map(|((r, p), pair)| MatchedText {
            reference: &reference[*r as usize].text,
            prediction: &prediction[*p as usize].text,
            distance: pair.distance(),
        })
    }
}

/// All cases of one source.
#[derive(Debug, Default)]
pub struct SourceMatches {
    pub name: String,
    n_ref: Vec<u32>,
    n_pred: u64,
    /// Where each case's pairs end.
    ends: Vec<usize>,
    pairs: Vec<TimedPair>,
}

impl SourceMatches {
    /// A source without cases.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a case; cases of all sources come in the same order.
    pub fn push(&mut self, case: MatchedCase) {
        self.n_ref.push(case.n_ref);
        self.n_pred += u64::from(case.n_pred);
        self.pairs.extend(case.pairs);
        self.ends.push(self.pairs.len());
    }

    /// Number of cases.
    #[must_use]
    pub fn n_cases(&self) -> usize {
        self.ends.len()
    }

    /// Reference events and predicted events over all cases.
    #[must_use]
    pub fn n_events(&self) -> (u64, u64) {
        (self.n_ref.iter().map(|n| u64::from(*n)).sum(), self.n_pred)
    }

    /// The cases as the measures take them.
    ///
    /// # Errors
    /// Never for cases made by [`MatchedCase::new`].
    pub fn cases(&self) -> Result<Vec<CaseMatches<'_>>, MeasureError> {
        let mut start = 0;
        let mut cases = Vec::with_capacity(self.ends.len());
        for (n_ref, end) in self.n_ref.iter().zip(&self.ends) {
            cases.push(CaseMatches::new((*n_ref).into(), &self.pairs[start..*end])?);
            start = *end;
        }
        Ok(cases)
    }
}
