//! Resampling of the cases of matched timelines: intervals of match rate, concordance and AULTC for every system,
//! and of the differences between systems.
//!
//! Every system is evaluated on the same resamples, so that differences are paired. It takes cases at one threshold;
//! it must not know texts or distances.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::aultc::{LogErrors, MissingErrors, PublishedArea};
use super::error::MeasureError;
use super::finding::vocabulary;
use super::matching::match_rate;
use super::resample::{CaseResampler, Interval, check_indices, percentile_interval};
use super::sweep::CaseSummary;

vocabulary! {
    /// What is resampled.
    Statistic, "a statistic", "match_rate, concordance_mean, concordance_median, aultc", {
        /// Kept pairs over reference events, all cases together.
        MatchRate = "match_rate",
        /// Mean concordance of the cases that have one.
        ConcordanceMean = "concordance_mean",
        /// Median of the same.
        ConcordanceMedian = "concordance_median",
        /// Area under the log-time distribution, all cases together.
        Aultc = "aultc",
    }
}

const N_STATISTICS: usize = Statistic::ALL.len();

/// The cases of one system at one threshold.
#[derive(Debug, Clone)]
pub struct SystemCases {
    cases: Vec<CaseSummary>,
    /// Cases that have a concordance, in ascending order of it.
    by_concordance: Vec<(u32, f64)>,
    s_max: f64,
    missing_errors: MissingErrors,
    /// Takes the place of the paper's area: with the threshold of the cases.
    published_area: Option<(PublishedArea, f64)>,
}

impl SystemCases {
    /// Prepares a system. `s_max` is held in every resample, in hours; None takes the system's own largest error.
    /// All systems that are compared have the same cases in the same order.
    ///
    /// # Errors
    /// An `s_max` below the system's largest error.
    ///
    /// # Source
    /// uid.txt, Appendix E, with S_max held at that of the full sample, so that a resample without the largest error
    /// is measured on the same scale.
    pub fn new(cases: Vec<CaseSummary>, s_max: Option<f64>, missing_errors: MissingErrors) -> Result<Self, MeasureError> {
        let mut by_concordance: Vec<(u32, f64)> =
            (0..).zip(&cases).filter_map(|(case, summary)| summary.concordance.map(|c| (case, c))).collect();
        by_concordance.sort_by(|x, y| x.1.total_cmp(&y.1));
        let mut all = LogErrors::default();
        cases.iter().for_each(|case| all.merge(&case.errors, 1));
        let all = all.with_missing(missing_errors);
        let s_max = s_max.or(all.max_hours()).unwrap_or(0.0);
        all.aultc(Some(s_max))?;
        Ok(Self { cases, by_concordance, s_max, missing_errors, published_area: None })
    }

    /// Measures the published script's area at `threshold` in the place of AULTC.
    #[must_use]
    pub fn with_published_area(mut self, area: PublishedArea, threshold: f64) -> Self {
        self.published_area = Some((area, threshold));
        self
    }

    /// The statistics when case i is drawn `drawn[i]` times; NaN where undefined.
    fn statistics(&self, drawn: &[u32]) -> [f64; N_STATISTICS] {
        let (mut n_kept, mut n_ref, mut n_defined, mut sum) = (0, 0, 0_u64, 0.0);
        let mut errors = LogErrors::default();
        for (case, &times) in self.cases.iter().zip(drawn) {
            n_kept += case.n_kept * u64::from(times);
            n_ref += case.n_ref * u64::from(times);
            errors.merge(&case.errors, times);
            if let Some(concordance) = case.concordance {
                n_defined += u64::from(times);
                sum += concordance * f64::from(times);
            }
        }
        // No resample has a larger error than the full sample, whose S_max was checked; undefined otherwise.
        let aultc = match &self.published_area {
            Some((area, threshold)) => area.resampled(*threshold, drawn),
            None => errors.with_missing(self.missing_errors).aultc(Some(self.s_max)).ok().flatten(),
        };
        let defined = |value: f64| (n_defined > 0).then_some(value);
        let statistics =
            [match_rate(n_kept, n_ref), defined(sum / n_defined as f64), defined(self.median(n_defined, drawn)), aultc];
        statistics.map(|value| value.unwrap_or(f64::NAN))
    }

    /// Median of `n_defined` drawn concordances; of no account when there are none.
    fn median(&self, n_defined: u64, drawn: &[u32]) -> f64 {
        let (lower_rank, upper_rank) = (n_defined.saturating_sub(1) / 2, n_defined / 2);
        let mut n_up_to = 0;
        let mut lower = None;
        for &(case, concordance) in &self.by_concordance {
            n_up_to += u64::from(drawn[case as usize]);
            if lower.is_none() && n_up_to > lower_rank {
                lower = Some(concordance);
            }
            if let Some(lower) = lower
                && n_up_to > upper_rank
            {
                return if lower == concordance { lower } else { (lower + concordance) / 2.0 };
            }
        }
        f64::NAN
    }
}

/// Resampled statistics of all systems.
///
/// # Shapes
/// `draws` is [R, S, 4] row-major, NaN where undefined; `points` is [S, 4].
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBootstrap {
    n_systems: usize,
    draws: Vec<f64>,
    points: Vec<f64>,
}

impl CaseBootstrap {
    /// Draws n of n cases, `n_resamples` times.
    ///
    /// # Errors
    /// Systems with different numbers of cases.
    ///
    /// # Numerics
    /// Resample r depends on the seed and r alone: equal bytes for any number of threads.
    ///
    /// # Source
    /// uid.txt: 200 resamples.
    pub fn new(systems: &[SystemCases], n_resamples: usize, seed: u64) -> Result<Self, MeasureError> {
        let n_cases = n_cases(systems)?;
        let sampler = CaseResampler { seed, n_cases };
        Ok(Self::run(systems, n_cases, n_resamples, |resample, drawn| {
            sampler.indices(resample as u64).for_each(|case| drawn[case] += 1);
        }))
    }

    /// The same for resamples given by their case indices.
    ///
    /// # Errors
    /// Systems with different numbers of cases, or a case index out of range.
    pub fn from_indices(systems: &[SystemCases], resamples: &[Vec<usize>]) -> Result<Self, MeasureError> {
        let n_cases = n_cases(systems)?;
        check_indices(resamples, n_cases)?;
        Ok(Self::run(systems, n_cases, resamples.len(), |resample, drawn| {
            resamples[resample].iter().for_each(|&case| drawn[case] += 1);
        }))
    }

    fn run(systems: &[SystemCases], n_cases: usize, n_resamples: usize, draw: impl Fn(usize, &mut [u32]) + Sync) -> Self {
        let width = systems.len() * N_STATISTICS;
        let evaluate = |drawn: &[u32], row: &mut [f64]| {
            for (system, out) in systems.iter().zip(row.chunks_exact_mut(N_STATISTICS)) {
                out.copy_from_slice(&system.statistics(drawn));
            }
        };
        let mut draws = vec![f64::NAN; n_resamples * width];
        draws.par_chunks_mut(width.max(1)).enumerate().for_each_init(
            || vec![0_u32; n_cases],
            |drawn, (resample, row)| {
                drawn.fill(0);
                draw(resample, drawn);
                evaluate(drawn, row);
            },
        );
        let mut points = vec![f64::NAN; width];
        evaluate(&vec![1; n_cases], &mut points);
        Self { n_systems: systems.len(), draws, points }
    }

    /// The statistic on the full sample; None where undefined, or for a system out of range.
    pub fn point(&self, system: usize, statistic: Statistic) -> Option<f64> {
        (system < self.n_systems).then(|| self.points[system * N_STATISTICS + statistic as usize]).filter(|v| !v.is_nan())
    }

    /// The statistic in each resample, in order; None where undefined.
    ///
    /// # Panics
    /// For a system out of range.
    pub fn draws(&self, system: usize, statistic: Statistic) -> impl Iterator<Item = Option<f64>> {
        assert!(system < self.n_systems, "expected a system below {}, got {system}", self.n_systems);
        let rows = self.draws.chunks_exact(self.n_systems * N_STATISTICS);
        rows.map(move |row| Some(row[system * N_STATISTICS + statistic as usize]).filter(|v| !v.is_nan()))
    }

    /// A system's statistic with its interval.
    ///
    /// # Errors
    /// A level outside (0, 1).
    ///
    /// # Panics
    /// For a system out of range.
    pub fn estimate(&self, system: usize, statistic: Statistic, level: f64) -> Result<Estimate, MeasureError> {
        Estimate::from_draws(self.point(system, statistic), self.draws(system, statistic), level)
    }

    /// `first` minus `second`, on the same resamples.
    ///
    /// # Errors
    /// A level outside (0, 1).
    ///
    /// # Panics
    /// For a system out of range.
    pub fn difference(
        &self,
        (first, second): (usize, usize),
        statistic: Statistic,
        level: f64,
    ) -> Result<Difference, MeasureError> {
        let minus = |(x, y): (Option<f64>, Option<f64>)| x.zip(y).map(|(x, y)| x - y);
        let draws: Vec<_> = self.draws(first, statistic).zip(self.draws(second, statistic)).map(minus).collect();
        let point = minus((self.point(first, statistic), self.point(second, statistic)));
        Ok(Difference {
            estimate: Estimate::from_draws(point, draws.iter().copied(), level)?,
            p_value: two_sided_p(draws.into_iter().flatten()),
        })
    }
}

fn n_cases(systems: &[SystemCases]) -> Result<usize, MeasureError> {
    let n_cases = systems.first().map_or(0, |system| system.cases.len());
    match systems.iter().find(|system| system.cases.len() != n_cases) {
        None => Ok(n_cases),
        Some(system) => Err(MeasureError::NumberOutOfRange {
            what: "the number of cases of a system",
            expected: "that of the first system",
            got: system.cases.len() as f64,
        }),
    }
}

/// A statistic with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Value on the full sample; None where undefined.
    pub point: Option<f64>,
    /// Percentile interval; None when no resample defines the statistic.
    pub interval: Option<Interval>,
    /// Mean over the resamples that define it.
    pub mean: Option<f64>,
    /// Resamples that do not.
    pub n_undefined: usize,
}

impl Estimate {
    fn from_draws(point: Option<f64>, draws: impl Iterator<Item = Option<f64>>, level: f64) -> Result<Self, MeasureError> {
        let mut values = Vec::new();
        let mut n_undefined = 0;
        for draw in draws {
            match draw {
                Some(value) => values.push(value),
                None => n_undefined += 1,
            }
        }
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        Ok(Self { point, interval: percentile_interval(&values, level)?, mean, n_undefined })
    }
}

/// The difference of two systems in one statistic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// First minus second.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Two-sided bootstrap p value of no difference; None when no resample defines the difference. For several
    /// comparisons see [`super::holm::holm`].
    pub p_value: Option<f64>,
}

/// Twice the smaller part of the resamples on either side of zero, those at zero on both sides, with one added to
/// counts and total so that it is never zero.
///
/// # Source
/// Davison and Hinkley 1997, Bootstrap Methods and their Application, section 4.2.
fn two_sided_p(differences: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut n, mut n_low, mut n_high) = (0_usize, 0_usize, 0_usize);
    for difference in differences {
        n += 1;
        n_low += usize::from(difference <= 0.0);
        n_high += usize::from(difference >= 0.0);
    }
    (n > 0).then(|| (2.0 * (n_low.min(n_high) + 1) as f64 / (n + 1) as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::concordance::ConcordanceRule;
    use super::super::sweep::{CaseMatches, Sweep, TimeRules};
    use super::super::timed_pair::TimedPair;
    use super::*;

    fn pairs(n: usize, salt: usize) -> Vec<TimedPair> {
        let time = |x: usize| (!x.is_multiple_of(7)).then_some((x % 40) as f64 * 12.0);
        let distance = |i: usize| i as f64 / 100.0;
        (0..n).map(|i| TimedPair::new(distance(i), time(i * 13 + salt), time(i * 17 + salt * 5)).unwrap()).collect()
    }

    fn summaries(store: &[Vec<TimedPair>]) -> Vec<CaseSummary> {
        let case = |p: &Vec<TimedPair>| {
            let matches = CaseMatches::new(p.len() as u64 + 1, p).unwrap();
            matches.summary(0.1, ConcordanceRule::PAPER).unwrap()
        };
        store.iter().map(case).collect()
    }

    fn systems() -> Vec<SystemCases> {
        let make = |salt: usize| {
            let store: Vec<_> = (0..9).map(|case| pairs(case % 5 * 4, case + salt)).collect();
            SystemCases::new(summaries(&store), Some(1e4), MissingErrors::Outside).unwrap()
        };
        vec![make(0), make(100)]
    }

    #[test]
    fn a_resample_equals_the_sweep_of_its_cases() {
        let store: Vec<_> = (0..7).map(|case| pairs(case * 3, case)).collect();
        for rules in [TimeRules::PAPER, TimeRules { missing_errors: MissingErrors::LargestPlusOne, ..TimeRules::PAPER }] {
            let system = SystemCases::new(summaries(&store), Some(1e4), rules.missing_errors).unwrap();
            let resamples = [vec![0, 1, 2, 3, 4, 5, 6], vec![2, 2, 5, 6, 6, 6, 0], vec![0; 7], vec![4; 6]];
            let boot = CaseBootstrap::from_indices(&[system], &resamples).unwrap();
            for (r, resample) in resamples.iter().enumerate() {
                let drawn = resample.iter().map(|&i| CaseMatches::new(store[i].len() as u64 + 1, &store[i]).unwrap());
                // A system that does nothing but hold S_max.
                let far = [TimedPair::new(0.0, Some(0.0), Some(1e4)).unwrap()];
                let holder = vec![CaseMatches::new(1, &far).unwrap()];
                let sweep = Sweep::new(&[drawn.collect(), holder], &[0.1], rules).unwrap();
                let want = &sweep.curves[0][0];
                let wants = [want.match_rate, want.concordance_mean, want.concordance_median, want.aultc];
                for (statistic, want) in Statistic::ALL.into_iter().zip(wants) {
                    let got = boot.draws(0, statistic).nth(r).unwrap();
                    assert!(got == want || (got.unwrap() - want.unwrap()).abs() < 1e-13, "{statistic} {got:?} {want:?}");
                }
            }
            let (first, point) = (boot.draws(0, Statistic::Aultc).next().unwrap(), boot.point(0, Statistic::Aultc));
            assert_eq!(first, point);
        }
    }

    #[test]
    fn any_number_of_threads_gives_equal_bytes() {
        let systems = systems();
        let with = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            let boot = pool.install(|| CaseBootstrap::new(&systems, 200, 20_260_904)).unwrap();
            boot.draws.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(5));
    }

    #[test]
    fn differences_are_paired_and_change_sign() {
        let boot = CaseBootstrap::new(&systems(), 500, 3).unwrap();
        for statistic in Statistic::ALL {
            let here = boot.difference((0, 1), statistic, 0.95).unwrap();
            let there = boot.difference((1, 0), statistic, 0.95).unwrap();
            assert_eq!((here.p_value, here.estimate.n_undefined), (there.p_value, there.estimate.n_undefined));
            assert_eq!(here.estimate.point, there.estimate.point.map(|d| -d));
            let same = boot.difference((0, 0), statistic, 0.95).unwrap();
            assert_eq!((same.estimate.interval, same.p_value), (Some(Interval { lo: 0.0, hi: 0.0 }), Some(1.0)));
        }
        assert_eq!(two_sided_p([1.0, 2.0, 3.0].into_iter()), Some(0.5));
        assert_eq!(two_sided_p([1.0; 999].into_iter()), Some(0.002));
        assert_eq!(two_sided_p(std::iter::empty()), None);
    }

    #[test]
    fn undefined_resamples_are_counted() {
        let store = [pairs(0, 0), pairs(1, 1), pairs(9, 2)];
        let system = SystemCases::new(summaries(&store), None, MissingErrors::Outside).unwrap();
        let boot = CaseBootstrap::from_indices(&[system], &[vec![0; 3], vec![1; 3], vec![0, 1, 2], vec![]]).unwrap();
        let n_undefined = |statistic| boot.estimate(0, statistic, 0.95).unwrap().n_undefined;
        assert_eq!(Statistic::ALL.map(n_undefined), [1, 3, 3, 2]);
        let none = CaseBootstrap::from_indices(&[], &[vec![], vec![]]).unwrap();
        assert_eq!(none.point(0, Statistic::MatchRate), None);
        let no_cases = SystemCases::new(vec![], None, MissingErrors::Outside).unwrap();
        let boot = CaseBootstrap::new(&[no_cases], 4, 1).unwrap();
        assert_eq!(boot.estimate(0, Statistic::MatchRate, 0.95).unwrap().n_undefined, 4);
    }

    #[test]
    fn unequal_systems_and_bad_settings_are_refused() {
        let store = [pairs(9, 2)];
        assert!(SystemCases::new(summaries(&store), Some(0.0), MissingErrors::Outside).is_err());
        let mut systems = systems();
        systems.push(SystemCases::new(summaries(&store), None, MissingErrors::Outside).unwrap());
        assert!(CaseBootstrap::new(&systems, 1, 1).is_err());
        assert!(CaseBootstrap::from_indices(&systems[2..], &[vec![1]]).is_err());
        let boot = CaseBootstrap::new(&systems[2..], 3, 1).unwrap();
        assert!(boot.estimate(0, Statistic::Aultc, 1.0).is_err());
    }
}
