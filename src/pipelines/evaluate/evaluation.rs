//! Every measure of every source from its matched pairs.

use super::matches::SourceMatches;
use crate::measure::MeasureError;
use crate::measure::aultc::PublishedArea;
use crate::measure::case_bootstrap::{CaseBootstrap, Difference, Estimate, Statistic, SystemCases};
use crate::measure::error_strata::ErrorStrata;
use crate::measure::holm::holm;
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
    pub strata: Vec<ErrorStrata>,
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
    let areas = match settings.compat {
        Compat::Paper => Vec::new(),
        Compat::Authors => systems.iter().map(|system| script_area(system)).collect::<Result<_, _>>()?,
    };
    use_script_area(&mut sweep, &areas);
    let mut cases = Vec::with_capacity(systems.len());
    for system in &systems {
        let summaries =
            system.iter().map(|case| case.summary(settings.threshold, rules.concordance)).collect::<Result<Vec<_>, _>>()?;
        cases.push(SystemCases::new(summaries, at.s_max_hours[0], rules.missing_errors)?);
    }
    let bootstrap = CaseBootstrap::new(&cases, settings.n_resamples, settings.seed)?;
    let mut estimates = Vec::with_capacity(systems.len());
    for i in 0..systems.len() {
        let mut row = Statistic::ALL.iter().map(|s| bootstrap.estimate(i, *s, LEVEL)).collect::<Result<Vec<_>, _>>()?;
        if let Some(area) = areas.get(i) {
            // Resampling the script's area is not defined by the paper: its point stands without an interval.
            let point = area.below(settings.threshold);
            row[Statistic::Aultc as usize] = Estimate { point, interval: None, mean: None, n_undefined: 0 };
        }
        estimates.push(row);
    }
    let kept_times = |system: &[CaseMatches<'_>]| {
        ErrorStrata::from_times(system.iter().flat_map(|case| case.kept(settings.threshold)).filter_map(TimedPair::times))
    };
    let strata = systems.iter().map(|system| kept_times(system)).collect::<Result<_, _>>()?;
    let comparisons = compare(&bootstrap, systems.len(), settings.compat)?;
    Ok(Evaluation { thresholds: all_thresholds, sweep, estimates, strata, comparisons })
}

fn compare(bootstrap: &CaseBootstrap, n_systems: usize, compat: Compat) -> Result<Vec<Comparison>, MeasureError> {
    let mut comparisons = Vec::new();
    for statistic in Statistic::ALL.into_iter().filter(|s| compat == Compat::Paper || *s != Statistic::Aultc) {
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
    PublishedArea::new(system.iter().flat_map(CaseMatches::pairs).map(|pair| (pair.distance(), pair.error_hours())))
}

fn use_script_area(sweep: &mut Sweep, areas: &[PublishedArea]) {
    for (curve, area) in sweep.curves.iter_mut().zip(areas) {
        for point in curve {
            point.aultc = area.below(point.threshold);
            point.aultc_own = None;
        }
    }
}
