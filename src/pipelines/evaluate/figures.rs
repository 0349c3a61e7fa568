//! The evaluation as figures, each with the table that it draws.

use super::evaluation::Evaluation;
use super::matches::SourceMatches;
use crate::measure::sweep::SweepPoint as Measured;
use crate::measure::timed_pair::TimedPair;
use crate::report::ReportError;
use crate::report::figure::{DrawnFigure, ErrorCdfFigure, ErrorCdfSeries, SweepFigure, SweepForm, SweepPoint, SweepSeries};

/// Every figure that an evaluation may draw.
pub const FIGURES: [&str; 6] =
    ["sweep_rate_concordance", "sweep_rate_aultc", "sweep_match_rate", "sweep_concordance", "sweep_aultc", "error_cdf"];

/// Match rate against concordance and AULTC, each over the threshold, and the distribution of time errors. A figure with nothing to
/// draw is left out.
///
/// # Errors
/// A number that cannot be drawn.
pub fn figures(
    sources: &[SourceMatches],
    evaluation: &Evaluation,
    threshold: f64,
    distance: &str,
) -> Result<Vec<DrawnFigure>, ReportError> {
    let point = |point: &Measured| SweepPoint {
        threshold: point.threshold,
        match_rate: point.match_rate,
        concordance: point.concordance_mean,
        // The published script's area may exceed 1, which no axis of shares can show.
        aultc: point.aultc.filter(|aultc| (0.0..=1.0).contains(aultc)),
    };
    let series: Vec<SweepSeries> = sources
        .iter()
        .zip(&evaluation.sweep.curves)
        .map(|(source, curve)| SweepSeries { source: source.name.clone(), points: curve.iter().map(point).collect() })
        .collect();
    let mut drawn = Vec::new();
    let has = |value: fn(&SweepPoint) -> Option<f64>| series.iter().flat_map(|s| &s.points).any(|point| value(point).is_some());
    let forms = [
        (SweepForm::RateConcordance, has(|point| point.concordance)),
        (SweepForm::RateAultc, has(|point| point.aultc)),
        (SweepForm::ThresholdRate, has(|point| point.match_rate)),
        (SweepForm::ThresholdConcordance, has(|point| point.concordance)),
        (SweepForm::ThresholdAultc, has(|point| point.aultc)),
    ];
    for (form, _) in forms.into_iter().filter(|(_, drawable)| *drawable) {
        let figure = SweepFigure { form, distance: distance.to_string(), series: series.clone() };
        drawn.push(DrawnFigure { svg: figure.draw()?, data: figure.data()? });
    }
    let series: Vec<ErrorCdfSeries> = sources
        .iter()
        .map(|source| (source, source.kept(threshold).filter_map(TimedPair::error_hours).collect::<Vec<_>>()))
        .filter(|(_, errors)| !errors.is_empty())
        .map(|(source, errors)| ErrorCdfSeries::new(&source.name, errors))
        .collect::<Result<_, _>>()?;
    if !series.is_empty() {
        let figure = ErrorCdfFigure { series };
        drawn.push(DrawnFigure { svg: figure.draw()?, data: figure.data()? });
    }
    Ok(drawn)
}
