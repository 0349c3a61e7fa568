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
    pairs: Box<[TimedPair]>,
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
        Self::from_distances(reference, prediction, &distance.matrix(&references, &predictions)?, matcher)
    }

    /// The same given the distances, `[N_ref, N_pred]` row-major.
    ///
    /// # Errors
    /// Another number of distances.
    pub fn from_distances(
        reference: &[Event],
        prediction: &[Event],
        distances: &[f64],
        matcher: Matcher,
    ) -> Result<Self, MatchError> {
        let mut pairs = matcher.pairs(DistanceMatrix::new(reference.len(), prediction.len(), distances)?);
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
    n_pred: u64,
    /// References and pairs of each case; 24 bytes a pair are all that is kept of a finished case.
    cases: Vec<(u32, Box<[TimedPair]>)>,
}

impl SourceMatches {
    /// A source without cases.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a case; cases of all sources come in the same order.
    pub fn push(&mut self, case: MatchedCase) {
        self.n_pred += u64::from(case.n_pred);
        self.cases.push((case.n_ref, case.pairs));
    }

    /// Number of cases.
    #[must_use]
    pub fn n_cases(&self) -> usize {
        self.cases.len()
    }

    /// Reference events and predicted events over all cases.
    #[must_use]
    pub fn n_events(&self) -> (u64, u64) {
        (self.cases.iter().map(|(n_ref, _)| u64::from(*n_ref)).sum(), self.n_pred)
    }

    /// The cases as the measures take them.
    ///
    /// # Errors
    /// Never for cases made by [`MatchedCase::new`].
    pub fn cases(&self) -> Result<Vec<CaseMatches<'_>>, MeasureError> {
        self.cases.iter().map(|(n_ref, pairs)| CaseMatches::new((*n_ref).into(), pairs)).collect()
    }

    /// The pairs of all cases with a distance strictly below the threshold.
    pub fn kept(&self, threshold: f64) -> impl Iterator<Item = &TimedPair> {
        self.cases.iter().flat_map(move |(_, pairs)| pairs.iter().take_while(move |pair| pair.distance() < threshold))
    }
}
