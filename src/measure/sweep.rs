//! Match rate, concordance and AULTC of several systems over a range of match thresholds.
//!
//! It takes finished matchings with their times; it must not know how they were matched.

use rayon::prelude::*;

use super::aultc::{LogErrors, MissingErrors};
use super::concordance::{ConcordanceRule, OrderCounts};
use super::error::MeasureError;
use super::error_strata::median;
use super::matching::match_rate;
use super::timed_pair::TimedPair;

/// The thresholds .01, .02, ... .50, each computed on its own so that none accumulates rounding.
///
/// # Source
/// uid.txt, section 4 and Figure 2.
pub fn thresholds() -> [f64; 50] {
    std::array::from_fn(|k| (k + 1) as f64 / 100.0)
}

/// How times enter the measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRules {
    /// Ties and missing times in concordance.
    pub concordance: ConcordanceRule,
    /// Missing times in AULTC.
    pub missing_errors: MissingErrors,
}

impl TimeRules {
    /// uid.txt, Appendix E.
    pub const PAPER: Self = Self { concordance: ConcordanceRule::PAPER, missing_errors: MissingErrors::Outside };
    /// The authors' published script.
    pub const PUBLISHED_SCRIPT: Self =
        Self { concordance: ConcordanceRule::PUBLISHED_SCRIPT, missing_errors: MissingErrors::LargestPlusOne };
}

/// The matched pairs of one case, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct CaseMatches<'p> {
    n_ref: u64,
    pairs: &'p [TimedPair],
}

/// One case at one threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseSummary {
    /// Reference events.
    pub n_ref: u64,
    /// Pairs kept.
    pub n_kept: u64,
    /// Time errors of the kept pairs.
    pub errors: LogErrors,
    /// Concordance of the kept pairs; None without a comparable pair.
    pub concordance: Option<f64>,
}

impl<'p> CaseMatches<'p> {
    /// Wraps pairs in ascending order of distance, as [`super::matching::greedy`] yields them.
    ///
    /// # Errors
    /// More pairs than references, or pairs out of order.
    pub fn new(n_ref: u64, pairs: &'p [TimedPair]) -> Result<Self, MeasureError> {
        if pairs.len() as u64 > n_ref {
            return Err(MeasureError::NumberOutOfRange {
                what: "the number of matched pairs",
                expected: "no more than the number of references",
                got: pairs.len() as f64,
            });
        }
        if let Some(two) = pairs.windows(2).find(|two| two[0].distance() > two[1].distance()) {
            return Err(MeasureError::NumberOutOfRange {
                what: "the distance of a matched pair",
                expected: "at least that of the pair before it",
                got: two[1].distance(),
            });
        }
        Ok(Self { n_ref, pairs })
    }

    /// Reference events.
    pub const fn n_ref(&self) -> u64 {
        self.n_ref
    }

    /// All pairs, in ascending order of distance.
    pub const fn pairs(&self) -> &'p [TimedPair] {
        self.pairs
    }

    /// The pairs with a distance strictly below the threshold.
    pub fn kept(&self, threshold: f64) -> &'p [TimedPair] {
        &self.pairs[..self.pairs.partition_point(|pair| pair.distance() < threshold)]
    }

    /// The case at one threshold.
    ///
    /// # Errors
    /// None for pairs made by [`TimedPair::new`].
    pub fn summary(&self, threshold: f64, rule: ConcordanceRule) -> Result<CaseSummary, MeasureError> {
        let kept = self.kept(threshold);
        Ok(CaseSummary {
            n_ref: self.n_ref,
            n_kept: kept.len() as u64,
            errors: LogErrors::from_hours(kept.iter().map(TimedPair::error_hours))?,
            concordance: rule.concordance(kept),
        })
    }

    /// Calls `each` with the case at every threshold. They must ascend: pairs are then added to what the threshold
    /// before has counted, and none is compared twice.
    ///
    /// # Errors
    /// None for pairs made by [`TimedPair::new`].
    fn curve(
        &self,
        ascending: &[f64],
        rule: ConcordanceRule,
        mut each: impl FnMut(usize, CaseSummary),
    ) -> Result<(), MeasureError> {
        let mut errors = LogErrors::default();
        let mut counts = OrderCounts::default();
        let mut times = Vec::with_capacity(self.pairs.len());
        let mut n_kept = 0;
        for (position, &threshold) in ascending.iter().enumerate() {
            while let Some(pair) = self.pairs.get(n_kept).filter(|pair| pair.distance() < threshold) {
                errors.add(pair.error_hours())?;
                if let Some(event) = rule.times(pair) {
                    counts.add_event(event, &times);
                    times.push(event);
                }
                n_kept += 1;
            }
            let concordance = rule.value(&counts);
            each(position, CaseSummary { n_ref: self.n_ref, n_kept: n_kept as u64, errors, concordance });
        }
        Ok(())
    }
}

/// One system at one threshold; None where undefined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// The threshold.
    pub threshold: f64,
    /// Pairs kept, all cases together.
    pub n_kept: u64,
    /// Kept pairs over reference events, all cases together.
    pub match_rate: Option<f64>,
    /// Mean over the cases that have a concordance.
    pub concordance_mean: Option<f64>,
    /// Median over the same cases.
    pub concordance_median: Option<f64>,
    /// How many cases have one.
    pub n_cases_with_concordance: usize,
    /// Largest time error, in hours.
    pub max_error_hours: Option<f64>,
    /// AULTC with S_max over all systems at this threshold.
    pub aultc: Option<f64>,
    /// AULTC with the system's own S_max.
    pub aultc_own: Option<f64>,
}

/// The curves of all systems.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// For each system its points, in the order of the thresholds.
    pub curves: Vec<Vec<SweepPoint>>,
    /// The largest time error over all systems at each threshold, in hours; None without errors.
    pub s_max_hours: Vec<Option<f64>>,
}

impl Sweep {
    /// Evaluates every system, given as its cases, at every threshold.
    ///
    /// # Errors
    /// A threshold that is not finite.
    ///
    /// # Numerics
    /// Cases are added in their order, whatever the number of threads.
    pub fn new(systems: &[Vec<CaseMatches<'_>>], thresholds: &[f64], rules: TimeRules) -> Result<Self, MeasureError> {
        if let Some(&got) = thresholds.iter().find(|threshold| !threshold.is_finite()) {
            return Err(MeasureError::NumberOutOfRange { what: "a match threshold", expected: "finite", got });
        }
        let mut order: Vec<usize> = (0..thresholds.len()).collect();
        order.sort_by(|&x, &y| thresholds[x].total_cmp(&thresholds[y]));
        let ascending: Vec<f64> = order.iter().map(|&i| thresholds[i]).collect();
        let pools: Vec<Vec<Pool>> = systems.par_iter().map(|cases| pools(cases, &ascending, rules)).collect::<Result<_, _>>()?;
        let mut sweep =
            Self { curves: vec![Vec::with_capacity(thresholds.len()); systems.len()], s_max_hours: vec![None; thresholds.len()] };
        let mut place = vec![0; thresholds.len()];
        order.iter().enumerate().for_each(|(rank, &position)| place[position] = rank);
        for (position, &rank) in place.iter().enumerate() {
            let largest = pools.iter().filter_map(|pools| pools[rank].errors.max_hours());
            sweep.s_max_hours[position] = largest.max_by(f64::total_cmp);
            for (curve, pools) in sweep.curves.iter_mut().zip(&pools) {
                curve.push(pools[rank].point(thresholds[position], sweep.s_max_hours[position])?);
            }
        }
        Ok(sweep)
    }
}

/// All cases of a system at one threshold.
#[derive(Debug, Clone, Default)]
struct Pool {
    n_ref: u64,
    n_kept: u64,
    errors: LogErrors,
    concordances: Vec<f64>,
}

fn pools(cases: &[CaseMatches<'_>], ascending: &[f64], rules: TimeRules) -> Result<Vec<Pool>, MeasureError> {
    let empty = || Pool { concordances: Vec::with_capacity(cases.len()), ..Pool::default() };
    let mut pools: Vec<Pool> = std::iter::repeat_with(empty).take(ascending.len()).collect();
    for case in cases {
        case.curve(ascending, rules.concordance, |rank, summary| {
            let pool = &mut pools[rank];
            pool.n_ref += summary.n_ref;
            pool.n_kept += summary.n_kept;
            pool.errors.merge(&summary.errors, 1);
            pool.concordances.extend(summary.concordance);
        })?;
    }
    pools.iter_mut().for_each(|pool| pool.errors = pool.errors.with_missing(rules.missing_errors));
    Ok(pools)
}

impl Pool {
    fn point(&self, threshold: f64, s_max: Option<f64>) -> Result<SweepPoint, MeasureError> {
        let n = self.concordances.len();
        let mut ascending = self.concordances.clone();
        ascending.sort_unstable_by(f64::total_cmp);
        Ok(SweepPoint {
            threshold,
            n_kept: self.n_kept,
            match_rate: match_rate(self.n_kept, self.n_ref),
            concordance_mean: (n > 0).then(|| self.concordances.iter().sum::<f64>() / n as f64),
            concordance_median: median(&ascending),
            n_cases_with_concordance: n,
            max_error_hours: self.errors.max_hours(),
            aultc: self.errors.aultc(s_max)?,
            aultc_own: self.errors.aultc(None)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize, salt: usize) -> Vec<TimedPair> {
        let time = |x: usize| (!x.is_multiple_of(7)).then_some((x % 40) as f64 * 12.0);
        let mut pairs: Vec<_> = (0..n)
            .map(|i| TimedPair::new((i * 31 + salt) as f64 % 60.0 / 100.0, time(i * 13 + salt), time(i * 17 + salt * 5)).unwrap())
            .collect();
        pairs.sort_by(|x, y| x.distance().total_cmp(&y.distance()));
        pairs
    }

    fn systems(pairs: &[Vec<TimedPair>]) -> Vec<CaseMatches<'_>> {
        pairs.iter().map(|p| CaseMatches::new(p.len() as u64 + 2, p).unwrap()).collect()
    }

    #[test]
    fn thresholds_are_hundredths() {
        let all = thresholds();
        assert_eq!((all[0], all[2], all[28], all[49]), (0.01, 0.03, 0.29, 0.5));
    }

    #[test]
    fn the_curve_equals_each_threshold_alone() {
        let store: Vec<_> = (0..6).map(|case| pairs(case * 9, case)).collect();
        for rules in [TimeRules::PAPER, TimeRules::PUBLISHED_SCRIPT] {
            for case in systems(&store) {
                let all = thresholds();
                case.curve(&all, rules.concordance, |k, got| {
                    assert_eq!(got, case.summary(all[k], rules.concordance).unwrap());
                })
                .unwrap();
            }
        }
    }

    #[test]
    fn order_of_thresholds_cases_and_systems_does_not_matter() {
        let store: Vec<_> = (0..6).map(|case| pairs(case * 9, case)).collect();
        let other: Vec<_> = (0..4).map(|case| pairs(case * 5 + 3, case + 50)).collect();
        let (first, second) = (systems(&store), systems(&other));
        let all = thresholds();
        let base = Sweep::new(&[first.clone(), second.clone()], &all, TimeRules::PAPER).unwrap();
        let backwards: Vec<f64> = all.iter().rev().copied().collect();
        let turned = Sweep::new(&[second, first.into_iter().rev().collect()], &backwards, TimeRules::PAPER).unwrap();
        assert!(base.s_max_hours.iter().eq(turned.s_max_hours.iter().rev()));
        for (here, there) in base.curves.iter().zip(turned.curves.iter().rev()) {
            for (x, y) in here.iter().zip(there.iter().rev()) {
                assert_eq!((x.threshold, x.n_kept, x.match_rate), (y.threshold, y.n_kept, y.match_rate));
                assert_eq!(x.concordance_median, y.concordance_median);
                for (x, y) in [(x.aultc, y.aultc), (x.concordance_mean, y.concordance_mean), (x.aultc_own, y.aultc_own)] {
                    assert!(x == y || (x.unwrap() - y.unwrap()).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn nothing_is_undefined_and_disorder_refused() {
        let sweep = Sweep::new(&[vec![], vec![CaseMatches::new(3, &[]).unwrap()]], &[0.1], TimeRules::PAPER).unwrap();
        let (none, unmatched) = (&sweep.curves[0][0], &sweep.curves[1][0]);
        assert_eq!((none.match_rate, unmatched.match_rate), (None, Some(0.0)));
        assert_eq!((unmatched.concordance_mean, unmatched.concordance_median, unmatched.aultc), (None, None, None));
        assert_eq!(sweep.s_max_hours, vec![None]);
        assert!(Sweep::new(&[], &[f64::NAN], TimeRules::PAPER).is_err());
        let two = [TimedPair::new(0.2, None, None).unwrap(), TimedPair::new(0.1, None, None).unwrap()];
        assert!(CaseMatches::new(2, &two).is_err());
        assert!(CaseMatches::new(0, &two[..1]).is_err());
    }

    #[test]
    fn equal_to_the_threshold_is_not_kept() {
        let at = [TimedPair::new(0.29, Some(0.0), Some(1.0)).unwrap()];
        let case = CaseMatches::new(1, &at).unwrap();
        assert_eq!(case.kept(thresholds()[28]).len(), 0);
        assert_eq!(case.kept(thresholds()[29]).len(), 1);
    }
}
