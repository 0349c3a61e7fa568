//! Time errors by how large they are and by how far from presentation the reference lies. It knows times only.

use super::error::MeasureError;
use super::resample::{CaseResampler, Interval, percentile_interval};
use rayon::prelude::*;

/// Edges of both tables: presentation, an hour, a day, a week and a year of 365.25 days.
///
/// # Units
/// Hours.
pub const EDGES_HOURS: [f64; 5] = [0.0, 1.0, 24.0, 168.0, 8_766.0];

/// Names of the bins of |reference time|; the last has no upper edge.
pub const BIN_NAMES: [&str; 6] = ["presentation", "1 hour", "1 day", "1 week", "1 year", "ever"];

/// The errors of one bin; None where it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ErrorBin {
    /// Matched events with both times.
    pub n: usize,
    /// Median absolute error, in hours.
    pub median_hours: Option<f64>,
    /// Part without any error.
    pub exact: Option<f64>,
    /// Part with an error of a day or less.
    pub within_day: Option<f64>,
}

/// Both tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorStrata {
    /// Part of the events with an error at or below each edge; None without events.
    pub within_edges: [Option<f64>; 5],
    /// The bins (-inf, 0], (0, 1], ... of |reference time|.
    pub by_reference_distance: [ErrorBin; 6],
}

impl ErrorStrata {
    /// Sorts matched events, given as (reference, predicted) hours, into the tables.
    ///
    /// # Errors
    /// A time difference that is not finite.
    ///
    /// # Source
    /// uid.txt, Appendix E.3.
    pub fn from_times(times: impl IntoIterator<Item = (f64, f64)>) -> Result<Self, MeasureError> {
        let mut bins: [Vec<f64>; 6] = Default::default();
        let mut within = [0_usize; 5];
        let mut n_times = 0;
        for (t_ref, t_pred) in times {
            n_times += 1;
            let error = (t_pred - t_ref).abs();
            if !error.is_finite() {
                return Err(MeasureError::NumberOutOfRange { what: "a time error", expected: "finite", got: error });
            }
            for (n, edge) in within.iter_mut().zip(EDGES_HOURS) {
                *n += usize::from(error <= edge);
            }
            bins[EDGES_HOURS.partition_point(|&edge| edge < t_ref.abs())].push(error);
        }
        Ok(Self { within_edges: within.map(|n| part(n, n_times)), by_reference_distance: bins.map(bin) })
    }
}

/// The matched events of one case by the size of their error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    n: u32,
    within: [u32; 5],
}

impl EdgeCounts {
    /// Counts matched events, given as (reference, predicted) hours.
    pub fn from_times(times: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut counts = Self::default();
        for (t_ref, t_pred) in times {
            let error = (t_pred - t_ref).abs();
            counts.n += 1;
            for (n, edge) in counts.within.iter_mut().zip(EDGES_HOURS) {
                *n += u32::from(error <= edge);
            }
        }
        counts
    }
}

/// Percentile intervals of [`ErrorStrata::within_edges`] over resamples of the cases; None where no resample has an event.
///
/// # Errors
/// A level outside (0, 1).
///
/// # Numerics
/// Resample r depends on the seed and r alone and draws the same cases as [`super::case_bootstrap`].
pub fn within_edges_intervals(
    cases: &[EdgeCounts],
    n_resamples: usize,
    seed: u64,
    level: f64,
) -> Result<[Option<Interval>; 5], MeasureError> {
    let sampler = CaseResampler { seed, n_cases: cases.len() };
    let shares = |resample: usize| {
        let (mut n, mut within) = (0, [0; 5]);
        for case in sampler.indices(resample as u64) {
            n += cases[case].n as usize;
            within.iter_mut().zip(cases[case].within).for_each(|(sum, count)| *sum += count as usize);
        }
        within.map(|count| part(count, n))
    };
    let resampled: Vec<[Option<f64>; 5]> = (0..n_resamples).into_par_iter().map(shares).collect();
    let mut intervals = [None; 5];
    for (edge, interval) in intervals.iter_mut().enumerate() {
        let values: Vec<f64> = resampled.iter().filter_map(|shares| shares[edge]).collect();
        *interval = percentile_interval(&values, level)?;
    }
    Ok(intervals)
}

fn part(n: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| n as f64 / of as f64)
}

fn bin(mut errors: Vec<f64>) -> ErrorBin {
    errors.sort_unstable_by(f64::total_cmp);
    let up_to = |edge: f64| part(errors.partition_point(|&e| e <= edge), errors.len());
    ErrorBin { n: errors.len(), median_hours: median(&errors), exact: up_to(0.0), within_day: up_to(24.0) }
}

/// The middle of ascending values, or the mean of the middle two; None without values.
pub(super) fn median(ascending: &[f64]) -> Option<f64> {
    let upper = *ascending.get(ascending.len() / 2)?;
    let lower = ascending[(ascending.len() - 1) / 2];
    Some(if lower == upper { upper } else { (lower + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_below() {
        let times: Vec<_> = EDGES_HOURS.iter().flat_map(|&e| [(e, 0.0), (-e, 0.0)]).collect();
        let strata = ErrorStrata::from_times(times.iter().copied()).unwrap();
        assert_eq!(strata.by_reference_distance.map(|b| b.n), [2, 2, 2, 2, 2, 0]);
        assert_eq!(strata.within_edges, [Some(0.2), Some(0.4), Some(0.6), Some(0.8), Some(1.0)]);
        let beyond = ErrorStrata::from_times([(8_766.0_f64.next_up(), 0.0)]).unwrap();
        assert_eq!(beyond.by_reference_distance[5].n, 1);
        assert_eq!(beyond.within_edges[4], Some(0.0));
    }

    #[test]
    fn bins_describe_their_errors_in_any_order() {
        let times = [(10.0, 10.0), (10.0, 50.0), (-10.0, -12.0), (10.0, 14.0)];
        let strata = ErrorStrata::from_times(times.iter().copied()).unwrap();
        let bin = strata.by_reference_distance[2];
        assert_eq!(bin, ErrorBin { n: 4, median_hours: Some(3.0), exact: Some(0.25), within_day: Some(0.75) });
        let mut reversed = times;
        reversed.reverse();
        assert_eq!(ErrorStrata::from_times(reversed).unwrap(), strata);
    }

    #[test]
    fn intervals_resample_whole_cases() {
        let near = EdgeCounts::from_times([(0.0, 0.0), (10.0, 10.5)]);
        let far = EdgeCounts::from_times([(0.0, 500.0), (0.0, 500.0)]);
        let alike = within_edges_intervals(&[near; 7], 50, 1, 0.95).unwrap();
        assert_eq!(alike.map(|i| i.map(|i| (i.lo, i.hi))), [0.5, 1.0, 1.0, 1.0, 1.0].map(|share| Some((share, share))));
        // Two cases: a quarter of the resamples hold one of them twice.
        let mixed = within_edges_intervals(&[near, far], 400, 1, 0.95).unwrap();
        assert_eq!(mixed[1].map(|i| (i.lo, i.hi)), Some((0.0, 1.0)));
        assert_eq!(mixed[4].map(|i| (i.lo, i.hi)), Some((1.0, 1.0)), "500 h are within a year");
        assert_eq!(within_edges_intervals(&[EdgeCounts::default(); 3], 20, 1, 0.95).unwrap(), [None; 5]);
        assert!(within_edges_intervals(&[near], 20, 1, 1.0).is_err());
    }

    #[test]
    fn nothing_and_too_much() {
        let none = ErrorStrata::from_times([]).unwrap();
        assert_eq!(none.within_edges, [None; 5]);
        assert_eq!(none.by_reference_distance, [ErrorBin::default(); 6]);
        assert!(ErrorStrata::from_times([(f64::MAX, -f64::MAX)]).is_err());
        assert!(ErrorStrata::from_times([(f64::NAN, 0.0)]).is_err());
    }
}
