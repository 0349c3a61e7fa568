//! `craft_descriptives`: see [`crate::measure::craft::progression`].

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::craft::progression::{
    StageFrequencies, StageHistogram, TransitionReading, most_frequent, transition_matrix, transitions,
};
use super::input::Fields;
use super::stages::Buckets;

/// Names on each side of the matrix.
const N_NAMES: usize = 5;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let timelines: Vec<Buckets> = Fields::new(input, &["timelines"])?.lists("timelines")?;
    let each = || timelines.iter().map(Vec::as_slice);
    let histogram = StageHistogram::from_lengths(timelines.iter().map(Vec::len));
    let percent = StageHistogram::LABELS.iter().zip(histogram.percent());
    let stage_pct: Map<String, Value> = percent.map(|(label, percent)| (label.to_string(), json!(percent))).collect();
    let first_to_later = transitions(each(), TransitionReading::FirstToLater);
    let frequencies = StageFrequencies::of(each());
    let top_first = most_frequent(&frequencies.first, N_NAMES);
    let top_later = most_frequent(&frequencies.later, N_NAMES);
    Ok(json!({
        "stage_pct": stage_pct,
        "first_to_later": rows(&first_to_later),
        "all_earlier_later": rows(&transitions(each(), TransitionReading::EarlierToLater)),
        "matrix": transition_matrix(&first_to_later, &top_first, &top_later),
        "top_first": top_first,
        "top_later": top_later,
    }))
}

fn rows<'a>(counts: &BTreeMap<(&'a str, &'a str), u64>) -> Vec<(&'a str, &'a str, u64)> {
    counts.iter().map(|(&(earlier, later), &n)| (earlier, later, n)).collect()
}
