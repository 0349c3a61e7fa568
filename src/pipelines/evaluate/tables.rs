//! The evaluation as tables.

use super::evaluation::{Compat, Evaluation, EvaluationSettings};
use super::matches::SourceMatches;
use crate::measure::case_bootstrap::{Estimate, Statistic};
use crate::measure::error_strata::{BIN_NAMES, EDGES_HOURS};
use crate::measure::resample::Interval;
use crate::report::{Cell, Column, ReportError, Table};

/// The tables of an evaluation, the main one first.
///
/// # Errors
/// A number that is not finite.
pub fn tables(
    sources: &[SourceMatches],
    evaluation: &Evaluation,
    settings: &EvaluationSettings,
) -> Result<Vec<Table>, ReportError> {
    Ok(vec![
        summary(sources, evaluation, settings)?,
        sweep(sources, evaluation)?,
        within_edges(sources, evaluation)?,
        by_distance(sources, evaluation)?,
        comparisons(sources, evaluation)?,
        estimates(sources, evaluation, settings)?,
    ])
}

fn label(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::MatchRate => "match rate",
        Statistic::ConcordanceMean => "mean concordance",
        Statistic::ConcordanceMedian => "median concordance",
        Statistic::Aultc => "AULTC",
    }
}

fn with_interval(estimate: &Estimate) -> [Cell; 3] {
    let end = |end: fn(&Interval) -> f64| Cell::maybe(estimate.interval.as_ref().map(end), 3);
    [Cell::maybe(estimate.point, 3), end(|interval| interval.lo), end(|interval| interval.hi)]
}

fn summary(sources: &[SourceMatches], evaluation: &Evaluation, settings: &EvaluationSettings) -> Result<Table, ReportError> {
    let mut columns = vec![
        Column::text("source", "Source"),
        Column::number("cases", "Cases"),
        Column::number("reference_events", "Reference events"),
        Column::number("predicted_events", "Predicted events"),
        Column::number("cases_with_concordance", "Cases with concordance"),
    ];
    for statistic in Statistic::ALL {
        columns.push(Column::number(statistic.as_str(), label(statistic)));
        columns.push(Column::number(format!("{statistic}_lo"), "95% low"));
        columns.push(Column::number(format!("{statistic}_hi"), "95% high"));
    }
    let mut table = Table::new("evaluation", format!("Evaluation at distance below {}", settings.threshold), columns)?;
    for ((source, estimates), n_with) in sources.iter().zip(&evaluation.estimates).zip(&evaluation.n_cases_with_concordance) {
        let (n_ref, n_pred) = source.n_events();
        let mut row =
            vec![source.name.as_str().into(), Cell::count(source.n_cases()), count(n_ref), count(n_pred), Cell::count(*n_with)];
        row.extend(estimates.iter().flat_map(with_interval));
        table.push(row)?;
    }
    let compat = match settings.compat {
        Compat::Paper => String::new(),
        Compat::Authors => " Compatible with the authors' script: tied predictions count one half and N/A is 1e8 h in concordance; \
            in AULTC N/A is the largest error + 1 h, errors of sixty years and more are out, and the area is divided by its own range."
            .to_string(),
    };
    let undefined = evaluation.estimates.iter().flatten().filter(|estimate| estimate.n_undefined > 0).count();
    let undefined = match undefined {
        0 => String::new(),
        n => format!(" {n} of the intervals leave out resamples in which the measure is undefined: `estimates` counts them."),
    };
    Ok(table.with_note(format!(
        "Intervals: {} case resamples, seed {}, percentile; S_max held at the full sample's.{undefined}{compat}",
        settings.n_resamples, settings.seed
    )))
}

/// One row a source and measure, with the resamples in which the measure is undefined.
fn estimates(sources: &[SourceMatches], evaluation: &Evaluation, settings: &EvaluationSettings) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("source", "Source"),
        Column::text("statistic", "Measure"),
        Column::number("value", "Value"),
        Column::number("lo", "95% low"),
        Column::number("hi", "95% high"),
        Column::number("resamples", "Resamples"),
        Column::number("undefined_resamples", "of these undefined"),
    ];
    let mut table = Table::new("estimates", "Estimates with their intervals", columns)?;
    for (source, estimates) in sources.iter().zip(&evaluation.estimates) {
        for (statistic, estimate) in Statistic::ALL.into_iter().zip(estimates) {
            let mut row = vec![source.name.as_str().into(), label(statistic).into()];
            row.extend(with_interval(estimate));
            row.extend([Cell::count(settings.n_resamples), Cell::count(estimate.n_undefined)]);
            table.push(row)?;
        }
    }
    Ok(table)
}

fn count(n: u64) -> Cell {
    Cell::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn sweep(sources: &[SourceMatches], evaluation: &Evaluation) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("source", "Source"),
        Column::number("threshold", "Threshold"),
        Column::number("matched", "Matched"),
        Column::number("match_rate", "Match rate"),
        Column::number("concordance_mean", "Mean concordance"),
        Column::number("concordance_median", "Median concordance"),
        Column::number("cases_with_concordance", "Cases with concordance"),
        Column::number("aultc", "AULTC"),
        Column::number("aultc_own", "AULTC, own S_max"),
        Column::number("max_error_hours", "Largest error").with_unit("h"),
        Column::number("s_max_hours", "S_max").with_unit("h"),
    ];
    let mut table = Table::new("sweep", "Measures over the match threshold", columns)?;
    for (source, curve) in sources.iter().zip(&evaluation.sweep.curves) {
        for (point, s_max) in curve.iter().zip(&evaluation.sweep.s_max_hours) {
            table.push(vec![
                source.name.as_str().into(),
                Cell::number(point.threshold, 2),
                count(point.n_kept),
                Cell::maybe(point.match_rate, 4),
                Cell::maybe(point.concordance_mean, 4),
                Cell::maybe(point.concordance_median, 4),
                Cell::count(point.n_cases_with_concordance),
                Cell::maybe(point.aultc, 4),
                Cell::maybe(point.aultc_own, 4),
                Cell::maybe(point.max_error_hours, 1),
                Cell::maybe(*s_max, 1),
            ])?;
        }
    }
    Ok(table)
}

fn within_edges(sources: &[SourceMatches], evaluation: &Evaluation) -> Result<Table, ReportError> {
    let mut columns = vec![Column::text("source", "Source")];
    for edge in EDGES_HOURS {
        columns.push(Column::number(format!("within_{edge}h"), format!("within {edge} h")).with_unit("%"));
        columns.push(Column::number(format!("within_{edge}h_lo"), "95% low"));
        columns.push(Column::number(format!("within_{edge}h_hi"), "95% high"));
    }
    let mut table = Table::new("errors_within", "Matched events with a time error up to", columns)?;
    let percent = |share: Option<f64>| Cell::maybe(share.map(|share| 100.0 * share), 1);
    for ((source, strata), intervals) in sources.iter().zip(&evaluation.strata).zip(&evaluation.within_edges) {
        let mut row = vec![source.name.as_str().into()];
        for (share, interval) in strata.within_edges.iter().zip(intervals) {
            row.extend([percent(*share), percent(interval.map(|i| i.lo)), percent(interval.map(|i| i.hi))]);
        }
        table.push(row)?;
    }
    Ok(table)
}

fn by_distance(sources: &[SourceMatches], evaluation: &Evaluation) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("source", "Source"),
        Column::text("reference_time", "Reference time within"),
        Column::number("matched", "Matched"),
        Column::number("median_error_hours", "Median error").with_unit("h"),
        Column::number("exact", "Exact").with_unit("%"),
        Column::number("within_day", "Within a day").with_unit("%"),
    ];
    let mut table =
        Table::new("errors_by_reference_time", "Time errors by distance of the reference from presentation", columns)?;
    let percent = |share: Option<f64>| Cell::maybe(share.map(|share| 100.0 * share), 1);
    for (source, strata) in sources.iter().zip(&evaluation.strata) {
        for (name, bin) in BIN_NAMES.iter().zip(&strata.by_reference_distance) {
            table.push(vec![
                source.name.as_str().into(),
                (*name).into(),
                Cell::count(bin.n),
                Cell::maybe(bin.median_hours, 1),
                percent(bin.exact),
                percent(bin.within_day),
            ])?;
        }
    }
    Ok(table)
}

fn comparisons(sources: &[SourceMatches], evaluation: &Evaluation) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("statistic", "Measure"),
        Column::text("first", "First"),
        Column::text("second", "Second"),
        Column::number("difference", "First - second"),
        Column::number("lo", "95% low"),
        Column::number("hi", "95% high"),
        Column::number("p", "p"),
        Column::number("p_holm", "p, Holm"),
    ];
    let mut table = Table::new("comparisons", "Sources compared on the same resamples", columns)?;
    for comparison in &evaluation.comparisons {
        let [point, lo, hi] = with_interval(&comparison.difference.estimate);
        table.push(vec![
            label(comparison.statistic).into(),
            sources[comparison.first].name.as_str().into(),
            sources[comparison.second].name.as_str().into(),
            point,
            lo,
            hi,
            Cell::maybe(comparison.difference.p_value, 4),
            Cell::maybe(comparison.holm_p, 4),
        ])?;
    }
    Ok(table.with_note("Two-sided bootstrap p of no difference, adjusted by Holm over all pairs of sources of a measure."))
}
