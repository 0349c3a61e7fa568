//! Stage timelines described: how many stages they have, and which symptoms follow which.

use crate::measure::craft::progression::{
    StageFrequencies, StageHistogram, TransitionReading, most_frequent, transition_matrix, transitions,
};
use crate::report::figure::{DrawnFigure, MapCells, StageSeries, StageUnit};
use crate::report::{ReportError, StageHistogramFigure, TransitionMapFigure};

/// The timelines of one series: each a list of stages, earliest first, and each stage a list of symptoms.
#[derive(Debug)]
pub struct StageCorpus {
    pub name: String,
    pub timelines: Vec<Vec<Vec<String>>>,
}

/// The stages of all series beside each other: shares where there are several series, numbers of timelines for one.
///
/// # Errors
/// No timeline with a stage; too many or repeated names.
///
/// # Source
/// craft.txt, Figure 6.2.
pub fn stage_histogram(series: &[StageCorpus]) -> Result<DrawnFigure, ReportError> {
    let bars = series.iter().map(|corpus| StageSeries {
        name: corpus.name.clone(),
        counts: StageHistogram::from_lengths(corpus.timelines.iter().map(Vec::len)).counts,
    });
    let unit = if series.len() == 1 { StageUnit::Timelines } else { StageUnit::Share };
    let figure = StageHistogramFigure { unit, series: bars.collect() };
    Ok(DrawnFigure { svg: figure.draw()?, data: figure.data()? })
}

/// How many timelines of a series have one of the `top` most frequent earlier symptoms before one of the `top` most frequent later
/// ones. None where no timeline has two stages.
///
/// # Errors
/// More than 20 columns.
///
/// # Source
/// craft.txt, Figure 6.1: from the first stage to any later one, once a report.
pub fn transition_map(corpus: &StageCorpus, reading: TransitionReading, top: usize) -> Result<Option<DrawnFigure>, ReportError> {
    let each = || corpus.timelines.iter().map(Vec::as_slice);
    let counts = transitions(each(), reading);
    if counts.is_empty() {
        return Ok(None);
    }
    let frequencies = StageFrequencies::of(each());
    let (row_axis, rows) = match reading {
        TransitionReading::FirstToLater => ("in the first stage", most_frequent(&frequencies.first, top)),
        // A symptom of a later stage may be the earlier one of a pair.
        TransitionReading::EarlierToLater => ("in any stage", most_frequent(&all_frequencies(&frequencies), top)),
    };
    let columns = most_frequent(&frequencies.later, top);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
    let figure = TransitionMapFigure {
        row_axis: row_axis.into(),
        column_axis: "in a later stage".into(),
        value_axis: "timelines".into(),
        cells: MapCells::Counts(transition_matrix(&counts, &rows, &columns)),
        rows: owned(&rows),
        columns: owned(&columns),
    };
    Ok(Some(DrawnFigure { svg: figure.draw()?, data: figure.data()? }))
}

/// How often each symptom stands in the first or in a later stage.
fn all_frequencies<'a>(frequencies: &StageFrequencies<'a>) -> std::collections::BTreeMap<&'a str, u64> {
    let mut all = frequencies.first.clone();
    for (name, n) in &frequencies.later {
        *all.entry(name).or_insert(0) += n;
    }
    all
}
