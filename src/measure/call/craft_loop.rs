//! `craft_loop`: see [`crate::measure::craft::refinement`].

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::craft::agreement::MeanAgreement;
use super::super::craft::refinement::{LoopEnd, LoopRule, mean_iterations};
use super::input::Fields;
use super::stages::{Buckets, agreement, scores_percent};

/// Most iterations answered: every budget up to it is a field of the output.
const MOST_ITERATIONS: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopRecord {
    gold: Buckets,
    trace: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Null for a reply without a score; not to be left out.
    #[serde(deserialize_with = "Option::deserialize")]
    score: Option<f64>,
    pred: Buckets,
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["records", "theta", "t_max"])?;
    let records: Vec<LoopRecord> = fields.list("records")?;
    let rule = LoopRule { theta: fields.get("theta")?, t_max: fields.get("t_max")? };
    if !(1..=MOST_ITERATIONS).contains(&rule.t_max) {
        return Err(format!("field \"t_max\": expected 1 to {MOST_ITERATIONS}, got {}", rule.t_max));
    }
    let mut ends = Vec::with_capacity(records.len());
    for (i, record) in records.iter().enumerate() {
        let scores: Vec<_> = record.trace.iter().map(|step| step.score).collect();
        ends.push(LoopEnd::find(&scores, &rule).map_err(|e| format!("field \"records\"[{i}].trace: {e}"))?);
    }
    let mut output = json!({
        "theta": fields.value("theta")?,
        "t_max": rule.t_max,
        "iterations": ends.iter().map(|end| end.iterations).collect::<Vec<_>>(),
        "accepted": ends.iter().map(|end| end.accepted).collect::<Vec<_>>(),
        "avg_iters": mean_iterations(&ends),
    });
    // The candidates that any budget may return, compared once.
    let compared: Vec<Vec<_>> = records
        .iter()
        .zip(&ends)
        .map(|(record, end)| record.trace[..end.iterations].iter().map(|step| agreement(&record.gold, &step.pred)).collect())
        .collect();
    for t in 1..=rule.t_max {
        let returned = compared.iter().zip(&ends).map(|(tried, end)| &tried[end.returned_at(t)]);
        output[format!("at_{t}")] = scores_percent(&MeanAgreement::of(returned));
    }
    Ok(output)
}
