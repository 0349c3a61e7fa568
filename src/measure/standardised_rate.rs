//! The rate of a stratified sample, weighted to the strata's shares of the corpus, with a bootstrap interval.
//!
//! It knows counts and shares; the caller keeps the strata's names.

use rayon::prelude::*;
use serde::Serialize;

use super::error::MeasureError;
use super::resample::{CaseResampler, Interval, percentile_interval};

/// What was sampled and found in one stratum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stratum {
    /// Findings reviewed.
    pub n: usize,
    /// Of these, how many were upheld.
    pub n_upheld: usize,
    /// Share of the corpus that falls in the stratum, in any unit common to all strata.
    pub corpus_share: f64,
}

/// Rates of a stratified sample; None where undefined.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StandardisedRate {
    /// The rate of each stratum; None for one without a review.
    pub rates: Vec<Option<f64>>,
    /// All upheld over all reviewed.
    pub raw: Option<f64>,
    /// Mean of the rates, weighted by corpus share. Undefined when a stratum that has a share was not reviewed.
    pub standardised: Option<f64>,
}

impl StandardisedRate {
    /// Weighs the strata; the shares are divided by their sum.
    ///
    /// # Errors
    /// More upheld than reviewed, or a share that is negative or not finite.
    ///
    /// # Source
    /// uid.txt, corpus-standardised confirmation rate.
    pub fn from_strata(strata: &[Stratum]) -> Result<Self, MeasureError> {
        let weights = weights(strata)?;
        let rate = |n_upheld: usize, n: usize| (n > 0).then(|| n_upheld as f64 / n as f64);
        let n = strata.iter().map(|s| s.n).sum();
        Ok(Self {
            rates: strata.iter().map(|s| rate(s.n_upheld, s.n)).collect(),
            raw: rate(strata.iter().map(|s| s.n_upheld).sum(), n),
            standardised: weights.map(|w| weighted(&w, strata, strata.iter().map(|s| s.n_upheld))),
        })
    }
}

/// Percentile interval of the standardised rate: each resample draws every stratum anew at its own size.
///
/// None where the rate is undefined or no resample is asked for.
///
/// # Errors
/// As [`StandardisedRate::from_strata`], or a level outside (0, 1).
///
/// # Numerics
/// Stratum s of S in resample r draws from stream r S + s of the generator of [`super::resample`], so the result
/// does not depend on threads.
///
/// # Source
/// uid.txt: 20,000 stratified resamples.
pub fn standardised_interval(
    strata: &[Stratum],
    n_resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Option<Interval>, MeasureError> {
    let Some(weights) = weights(strata)? else {
        return percentile_interval(&[], level);
    };
    let draw = |resample: usize| {
        let upheld = strata.iter().enumerate().map(|(position, stratum)| {
            let stream = (resample * strata.len() + position) as u64;
            let sampler = CaseResampler { seed, n_cases: stratum.n };
            sampler.indices(stream).filter(|&item| item < stratum.n_upheld).count()
        });
        weighted(&weights, strata, upheld)
    };
    let values: Vec<f64> = (0..n_resamples).into_par_iter().map(draw).collect();
    percentile_interval(&values, level)
}

/// The weights, which sum to one; None when they are undefined or put weight where there is no rate.
fn weights(strata: &[Stratum]) -> Result<Option<Vec<f64>>, MeasureError> {
    for stratum in strata {
        if stratum.n_upheld > stratum.n {
            return Err(MeasureError::NumberOutOfRange {
                what: "the number upheld",
                expected: "no more than the number reviewed",
                got: stratum.n_upheld as f64,
            });
        }
        if !(stratum.corpus_share.is_finite() && stratum.corpus_share >= 0.0) {
            return Err(MeasureError::NumberOutOfRange {
                what: "a corpus share",
                expected: "finite and not negative",
                got: stratum.corpus_share,
            });
        }
    }
    let total: f64 = strata.iter().map(|s| s.corpus_share).sum();
    let unknown = strata.iter().any(|s| s.n == 0 && s.corpus_share > 0.0);
    Ok((total > 0.0 && !unknown).then(|| strata.iter().map(|s| s.corpus_share / total).collect()))
}

fn weighted(weights: &[f64], strata: &[Stratum], upheld: impl Iterator<Item = usize>) -> f64 {
    // A stratum without reviews has no weight here, and must not turn the sum into NaN.
    let terms = weights.iter().zip(strata).zip(upheld);
    terms.map(|((weight, stratum), n)| weight * (n as f64 / stratum.n.max(1) as f64)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stratum(n: usize, n_upheld: usize, corpus_share: f64) -> Stratum {
        Stratum { n, n_upheld, corpus_share }
    }

    #[test]
    fn shares_may_be_in_any_unit_and_strata_in_any_order() {
        let strata = [stratum(10, 5, 30.0), stratum(4, 4, 10.0)];
        let rate = StandardisedRate::from_strata(&strata).unwrap();
        assert_eq!(rate.standardised, Some(0.625));
        assert_eq!(rate.raw, Some(9.0 / 14.0));
        let other = StandardisedRate::from_strata(&[stratum(4, 4, 0.25), stratum(10, 5, 0.75)]).unwrap();
        assert_eq!(other.standardised, rate.standardised);
        let interval = standardised_interval(&strata, 2_000, 1, 0.95).unwrap().unwrap();
        assert!(interval.lo < 0.625 && 0.625 < interval.hi && interval.hi <= 1.0);
        assert_eq!(standardised_interval(&strata, 2_000, 1, 0.95).unwrap(), Some(interval));
    }

    #[test]
    fn a_stratum_without_reviews_matters_only_if_it_has_a_share() {
        let rate = StandardisedRate::from_strata(&[stratum(2, 1, 1.0), stratum(0, 0, 0.0)]).unwrap();
        assert_eq!((rate.rates, rate.standardised), (vec![Some(0.5), None], Some(0.5)));
        let rate = StandardisedRate::from_strata(&[stratum(2, 1, 1.0), stratum(0, 0, 0.1)]).unwrap();
        assert_eq!((rate.raw, rate.standardised), (Some(0.5), None));
        assert_eq!(standardised_interval(&[stratum(0, 0, 0.1)], 5, 1, 0.95).unwrap(), None);
    }

    #[test]
    fn zero_variance_and_nothing_and_bad_counts() {
        let sure = standardised_interval(&[stratum(3, 3, 1.0), stratum(1, 0, 1.0)], 50, 1, 0.95).unwrap();
        assert_eq!(sure, Some(Interval { lo: 0.5, hi: 0.5 }));
        assert_eq!(standardised_interval(&[stratum(3, 3, 1.0)], 0, 1, 0.95).unwrap(), None);
        let none = StandardisedRate::from_strata(&[]).unwrap();
        assert_eq!((none.raw, none.standardised), (None, None));
        assert_eq!(StandardisedRate::from_strata(&[stratum(3, 3, 0.0)]).unwrap().standardised, None);
        assert!(StandardisedRate::from_strata(&[stratum(3, 4, 1.0)]).is_err());
        assert!(StandardisedRate::from_strata(&[stratum(3, 1, -1.0)]).is_err());
        assert!(StandardisedRate::from_strata(&[stratum(3, 1, f64::NAN)]).is_err());
        assert!(standardised_interval(&[stratum(3, 1, 1.0)], 9, 1, 0.0).is_err());
    }
}
