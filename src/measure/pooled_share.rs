//! One source against one other over many cases: the share of all weighted points together.

use serde::{Deserialize, Serialize};

use super::error::MeasureError;
use super::points::GamePoints;
use super::resample::{CaseResampler, Interval, check_indices, percentile_interval};

/// The points the two sources earned on one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CasePoints {
    /// Points of the source in question.
    pub own: f64,
    /// Points of the other.
    pub other: f64,
    /// No decisive finding: outside wins, losses and ties.
    pub empty: bool,
}

impl CasePoints {
    /// The points of a game in which the source in question was timeline A.
    pub const fn of_side_a(game: &GamePoints) -> Self {
        Self { own: game.charged.b, other: game.charged.a, empty: game.empty }
    }

    /// The own share of this case, one half without points.
    fn share(&self) -> f64 {
        pooled(std::iter::once(self)).unwrap_or(0.5)
    }
}

/// The comparison of two sources.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PooledShare {
    /// Cases judged.
    pub n_cases: usize,
    /// Cases without a decisive finding.
    pub n_empty: usize,
    /// Points of both sources on all cases.
    pub points: f64,
    /// Own points over all points; None without points.
    pub share: Option<f64>,
    /// Cases won, of those not empty.
    pub wins: usize,
    /// Cases lost.
    pub losses: usize,
    /// Cases with equal points.
    pub ties: usize,
    /// Plain mean of the cases' shares, empty cases at one half; None without cases.
    pub mean_case_share: Option<f64>,
}

impl PooledShare {
    /// Adds up the cases.
    ///
    /// # Errors
    /// Points that are negative or not finite.
    ///
    /// # Source
    /// uid.txt, table of multimodal against text-only reconstructions.
    pub fn from_cases(cases: &[CasePoints]) -> Result<Self, MeasureError> {
        for points in cases.iter().flat_map(|case| [case.own, case.other]) {
            if !(points.is_finite() && points >= 0.0) {
                return Err(MeasureError::NumberOutOfRange {
                    what: "a game's points",
                    expected: "finite and not negative",
                    got: points,
                });
            }
        }
        let mut result = Self {
            n_cases: cases.len(),
            n_empty: cases.iter().filter(|case| case.empty).count(),
            points: cases.iter().map(|case| case.own + case.other).sum(),
            share: pooled(cases.iter()),
            wins: 0,
            losses: 0,
            ties: 0,
            mean_case_share: (!cases.is_empty()).then(|| cases.iter().map(CasePoints::share).sum::<f64>() / cases.len() as f64),
        };
        for case in cases.iter().filter(|case| !case.empty) {
            if case.own > case.other {
                result.wins += 1;
            } else if case.own < case.other {
                result.losses += 1;
            } else {
                result.ties += 1;
            }
        }
        Ok(result)
    }
}

/// A resampled pooled share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledShareDraws {
    /// The share of each resample that had points, in order.
    pub values: Vec<f64>,
    /// Resamples without a point.
    pub n_undefined: usize,
}

impl PooledShareDraws {
    /// Resamples the cases with the generator of [`super::resample`].
    pub fn bootstrap(cases: &[CasePoints], n_resamples: usize, seed: u64) -> Self {
        let sampler = CaseResampler { seed, n_cases: cases.len() };
        Self::collect((0..n_resamples).map(|r| pooled(sampler.indices(r as u64).map(|case| &cases[case]))))
    }

    /// The same for resamples given by their case indices.
    ///
    /// # Errors
    /// A case index out of range.
    pub fn from_indices(cases: &[CasePoints], resamples: &[Vec<usize>]) -> Result<Self, MeasureError> {
        check_indices(resamples, cases.len())?;
        Ok(Self::collect(resamples.iter().map(|resample| pooled(resample.iter().map(|&case| &cases[case])))))
    }

    fn collect(shares: impl Iterator<Item = Option<f64>>) -> Self {
        let mut draws = Self { values: Vec::new(), n_undefined: 0 };
        for share in shares {
            match share {
                Some(share) => draws.values.push(share),
                None => draws.n_undefined += 1,
            }
        }
        draws
    }

    /// Percentile interval; None when no resample had points.
    ///
    /// # Errors
    /// A level outside (0, 1).
    pub fn interval(&self, level: f64) -> Result<Option<Interval>, MeasureError> {
        percentile_interval(&self.values, level)
    }
}

/// Whether an interval of a share leaves out one half.
pub const fn is_separated(interval: &Interval) -> bool {
    interval.lo > 0.5 || interval.hi < 0.5
}

fn pooled<'a>(cases: impl Iterator<Item = &'a CasePoints>) -> Option<f64> {
    let (own, all) = cases.fold((0.0, 0.0), |(own, all), case| (own + case.own, all + case.own + case.other));
    (all > 0.0).then(|| own / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn case(own: f64, other: f64) -> CasePoints {
        CasePoints { own, other, empty: own + other == 0.0 }
    }

    #[test]
    fn the_share_is_pooled_and_empty_cases_are_apart() {
        let cases = [case(3.0, 0.0), case(1.0, 8.0), case(0.0, 0.0), case(2.0, 2.0)];
        let result = PooledShare::from_cases(&cases).unwrap();
        assert_eq!((result.wins, result.losses, result.ties, result.n_empty), (1, 1, 1, 1));
        assert_eq!(result.share, Some(6.0 / 16.0));
        let mean = (1.0 + 1.0 / 9.0 + 0.5 + 0.5) / 4.0;
        assert_eq!(result.mean_case_share, Some(mean));
        let draws = PooledShareDraws::from_indices(&cases, &[vec![2; 4], vec![0; 4]]).unwrap();
        assert_eq!((draws.values.as_slice(), draws.n_undefined), ([1.0].as_slice(), 1));
        assert!(PooledShareDraws::from_indices(&cases, &[vec![4]]).is_err());
        let draws = PooledShareDraws::bootstrap(&cases, 100, 1);
        assert_eq!(draws.values.len() + draws.n_undefined, 100);
        assert_eq!(draws, PooledShareDraws::bootstrap(&cases, 100, 1));
    }

    #[test]
    fn nothing_is_undefined_and_bad_points_are_refused() {
        let none = PooledShare::from_cases(&[]).unwrap();
        assert_eq!((none.share, none.mean_case_share), (None, None));
        assert_eq!(PooledShareDraws::bootstrap(&[], 3, 1).n_undefined, 3);
        assert!(PooledShare::from_cases(&[case(f64::NAN, 1.0)]).is_err());
        assert!(PooledShare::from_cases(&[case(-1.0, 1.0)]).is_err());
        assert!(is_separated(&Interval { lo: 0.51, hi: 0.9 }));
        assert!(!is_separated(&Interval { lo: 0.5, hi: 0.9 }));
    }
}
