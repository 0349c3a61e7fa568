//! `row_filter`: see [`crate::measure::row_filter`].

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::row_filter::{CandidateRow, RowLimits, filter_rows};
use super::input::Fields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Candidate {
    uid: String,
    query: String,
    summary: String,
    row: i64,
    t: f64,
    rho: f64,
    /// The occurrence's time as estimated from text.
    t_text: Option<f64>,
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["discharge_h", "candidates"])?;
    let candidates: Vec<Candidate> = fields.list("candidates")?;
    let rows: Vec<_> = candidates
        .iter()
        .map(|c| CandidateRow {
            uid: &c.uid,
            query: &c.query,
            summary: &c.summary,
            row: c.row,
            t_hours: c.t,
            score: c.rho,
            text_estimate_hours: c.t_text,
        })
        .collect();
    let filtered = filter_rows(&rows, fields.get("discharge_h")?, &RowLimits::UID);
    let filtered = filtered.map_err(|e| format!("field \"candidates\": {e}"))?;
    let ranked_rows: Vec<i64> = filtered.ranked.iter().map(|&i| rows[i].row).collect();
    let mut kept_rows = ranked_rows.clone();
    kept_rows.sort_unstable();
    Ok(json!({
        "kept_rows": kept_rows,
        "ranked_rows": ranked_rows,
        "n_after_time": filtered.n_after_time,
        "n_after_rho": filtered.n_after_score,
    }))
}
