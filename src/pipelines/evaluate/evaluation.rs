//! Every measure of every source from its matched pairs.

use super::matches::SourceMatches;
use crate::measure::MeasureError;
use crate::measure::aultc::PublishedArea;
use crate::measure::case_bootstrap::{CaseBootstrap, Difference, Estimate, Statistic, SystemCases};
use crate::measure::error_strata::{EdgeCounts, ErrorStrata, within_edges_intervals};
use crate::measure::holm::holm;
use crate::measure::resample::Interval;
use crate::measure::sweep::{CaseMatches, Sweep, TimeRules, thresholds};
use crate::measure::timed_pair::TimedPair;

/// Level of every interval.
pub const LEVEL: f64 = 0.95;

/// Which definition of the temporal measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// As the paper prints them.
    Paper,
    /// As the authors' published script computes them: tied predictions count one half in concordance, N/A is 1e8 h there and the
    /// largest error plus one hour in AULTC, and the area is the script's own (errors of sixty years out, divided by the range).
    Authors,
}

impl Compat {
    fn rules(self) -> TimeRules {
        match self {
            Self::Paper => TimeRules::PAPER,
            Self::Authors => TimeRules::PUBLISHED_SCRIPT,
        }
    }
}

/// Settings of an evaluation.
#[derive(Debug, Clone)]
pub struct EvaluationSettings {
    /// Pairs strictly below this distance are kept for the main table.
    pub threshold: f64,
    pub compat: Compat,
    pub n_resamples: usize,
    pub seed: u64,
}

/// Two sources compared on the same resamples.
#[derive(Debug)]
pub struct Comparison {
    pub first: usize,
    pub second: usize,
    pub statistic: Statistic,
    pub difference: Difference,
    /// p value adjusted by Holm over all pairs of sources of this statistic.
    pub holm_p: Option<f64>,
}

/// The results.
#[derive(Debug)]
pub struct Evaluation {
    pub thresholds: Vec<f64>,
    /// Measures over the thresholds; AULTC by the script's area with [`Compat::Authors`].
    pub sweep: Sweep,
    /// For each source its statistics at the main threshold, in the order of [`Statistic::ALL`].
    pub estimates: Vec<Vec<Estimate>>,
    /// Cases of each source with a concordance at the main threshold.
    pub n_cases_with_concordance: Vec<usize>,
    pub strata: Vec<ErrorStrata>,
    /// Intervals of the cumulative strata, per source.
    pub within_edges: Vec<[Option<Interval>; 5]>,
    pub comparisons: Vec<Comparison>,
}

/// Evaluates all `sources`.
///
/// # Errors
/// [`MeasureError`] for sources with different numbers of cases or a threshold that is not finite.
pub fn evaluate(sources: &[SourceMatches], settings: &EvaluationSettings) -> Result<Evaluation, MeasureError> {
    let systems = sources.iter().map(SourceMatches::cases).collect::<Result<Vec<_>, _>>()?;
    let rules = settings.compat.rules();
    let all_thresholds = thresholds().to_vec();
    let mut sweep = Sweep::new(&systems, &all_thresholds, rules)?;
    let at = Sweep::new(&systems, &[settings.threshold], rules)?;
    let mut cases = Vec::with_capacity(systems.len());
    for (system, curve) in systems.iter().zip(&mut sweep.curves) {
        let summaries =
            system.iter().map(|case| case.summary(settings.threshold, rules.concordance)).collect::<Result<Vec<_>, _>>()?;
        let summaries = SystemCases::new(summaries, at.s_max_hours[0], rules.missing_errors)?;
        cases.push(match settings.compat {
            Compat::Paper => summaries,
            Compat::Authors => {
                let area = script_area(system)?;
                for point in curve {
                    point.aultc = area.below(point.threshold);
                    point.aultc_own = None;
                }
                summaries.with_published_area(area, settings.threshold)
            }
        });
    }
    let bootstrap = CaseBootstrap::new(&cases, settings.n_resamples, settings.seed)?;
    let estimates = |i: usize| Statistic::ALL.iter().map(|s| bootstrap.estimate(i, *s, LEVEL)).collect::<Result<Vec<_>, _>>();
    let estimates = (0..systems.len()).map(estimates).collect::<Result<Vec<_>, _>>()?;
    let n_cases_with_concordance = at.curves.iter().map(|curve| curve[0].n_cases_with_concordance).collect();
    let kept_times = |system: &[CaseMatches<'_>]| {
        ErrorStrata::from_times(system.iter().flat_map(|case| case.kept(settings.threshold)).filter_map(TimedPair::times))
    };
    let within_edges = systems.iter().map(|system| {
        let times =
            |case: &CaseMatches<'_>| EdgeCounts::from_times(case.kept(settings.threshold).iter().filter_map(TimedPair::times));
        let counts: Vec<EdgeCounts> = system.iter().map(times).collect();
        within_edges_intervals(&counts, settings.n_resamples, settings.seed, LEVEL)
    });
    let within_edges = within_edges.collect::<Result<_, _>>()?;
    let strata = systems.iter().map(|system| kept_times(system)).collect::<Result<_, _>>()?;
    let comparisons = compare(&bootstrap, systems.len())?;
    Ok(Evaluation { thresholds: all_thresholds, sweep, estimates, n_cases_with_concordance, strata, within_edges, comparisons })
}

fn compare(bootstrap: &CaseBootstrap, n_systems: usize) -> Result<Vec<Comparison>, MeasureError> {
    let mut comparisons = Vec::new();
    for statistic in Statistic::ALL {
        let start = comparisons.len();
        for first in 0..n_systems {
            for second in first + 1..n_systems {
                let difference = bootstrap.difference((first, second), statistic, LEVEL)?;
                comparisons.push(Comparison { first, second, statistic, difference, holm_p: None });
            }
        }
        let defined: Vec<usize> = (start..comparisons.len()).filter(|i| comparisons[*i].difference.p_value.is_some()).collect();
        let p_values: Vec<f64> = defined.iter().filter_map(|i| comparisons[*i].difference.p_value).collect();
        for (i, p) in defined.into_iter().zip(holm(&p_values)?) {
            comparisons[i].holm_p = Some(p);
        }
    }
    Ok(comparisons)
}

/// The published script's area of the pairs of a system.
fn script_area(system: &[CaseMatches<'_>]) -> Result<PublishedArea, MeasureError> {
    let pairs = (0_u32..)
        .zip(system)
        .flat_map(|(case, matches)| matches.pairs().iter().map(move |pair| (case, pair.distance(), pair.error_hours())));
    PublishedArea::new(pairs)
}
