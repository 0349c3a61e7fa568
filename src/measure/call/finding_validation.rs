//! `finding_validation`: see [`crate::measure::finding_validation`].

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::finding_validation::{Field, JudgedMaterial, RepliedFinding, SuppliedRow, SuppliedSeries, finding_faults};
use super::cell::Cell;
use super::input::Fields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(rename = "uid4")]
    _uid4: Option<String>,
    mention: String,
    time: Cell,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    event: String,
    t_min: f64,
    t_max: f64,
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["note", "a", "b", "finding", "series"])?;
    let note: String = fields.get("note")?;
    let (a, b): (Vec<Row>, Vec<Row>) = (fields.list("a")?, fields.list("b")?);
    let (a, b) = (supplied(&a), supplied(&b));
    let series: Vec<Series> = if fields.has("series") { fields.list("series")? } else { Vec::new() };
    let series: Vec<_> = series.iter().map(|s| SuppliedSeries { event: &s.event, t_min: s.t_min, t_max: s.t_max }).collect();
    let finding = replied(&fields.get("finding")?);
    let material = JudgedMaterial { note: &note, a: &a, b: &b, series: fields.has("series").then_some(&series) };
    let errors = finding_faults(&finding, &material);
    Ok(json!({ "valid": errors.is_empty(), "errors": errors }))
}

fn supplied(rows: &[Row]) -> Vec<SuppliedRow<'_>> {
    rows.iter().map(|row| SuppliedRow { mention: &row.mention, time: &row.time.0 }).collect()
}

/// The fields of a reply's object; others that it may hold play no part.
fn replied(object: &Map<String, Value>) -> RepliedFinding {
    let field = |name: &str| match object.get(name) {
        None => Field::Absent,
        Some(Value::Null) => Field::Null,
        Some(Value::String(text)) => Field::Text(text.clone()),
        Some(other) => Field::Text(other.to_string()),
    };
    RepliedFinding {
        kind: field("type"),
        verdict: field("verdict"),
        a_event: field("a_event"),
        a_time: field("a_time"),
        b_event: field("b_event"),
        b_time: field("b_time"),
        note_evidence: field("note_evidence"),
        table_evidence: field("table_evidence"),
        grounding: field("grounding"),
        polarity: field("polarity"),
        relation: field("relation"),
        reason: field("reason"),
    }
}
