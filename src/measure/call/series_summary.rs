//! `series_summary`: see [`crate::measure::series_summary`].

use serde::Serialize;
use serde_json::{Value, json};

use super::super::series_summary::{Observation, SeriesKind, SeriesRow, SeriesSummary, cell_number, summarise};
use super::cell::Cell;
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let rows: Vec<(Cell, String, Cell)> = Fields::new(input, &["rows"])?.list("rows")?;
    let rows: Vec<_> = rows
        .iter()
        .map(|(t, event, value)| SeriesRow { t_hours: cell_number(&t.0).unwrap_or(f64::NAN), event, value: &value.0 })
        .collect();
    Ok(json!({ "series": summarise(&rows).iter().map(series).collect::<Vec<_>>() }))
}

fn series(summary: &SeriesSummary<'_>) -> Value {
    let mut output = json!({
        "event": summary.event,
        "count": summary.rows.len(),
        "t_min": summary.t_min,
        "t_max": summary.t_max,
        "rows": summary.rows,
    });
    match &summary.kind {
        SeriesKind::Numeric(numeric) => {
            output["kind"] = json!("numeric");
            output["n_numeric"] = json!(numeric.n_numeric);
            output["mean"] = json!(numeric.mean);
            output["std_sample"] = json!(numeric.std_sample);
            output["std_pop"] = json!(numeric.std_pop);
            output["min"] = json!(numeric.min.value);
            output["max"] = json!(numeric.max.value);
            for (name, seen) in
                [("first", numeric.first), ("last", numeric.last), ("min_obs", numeric.min), ("max_obs", numeric.max)]
            {
                output[name] = pair(&seen);
            }
        }
        SeriesKind::Categorical(categorical) => {
            output["kind"] = json!("categorical");
            output["top"] = json!(categorical.top);
            output["n_other_unique"] = json!(categorical.n_other_unique);
        }
    }
    output["all_observations"] = json!(summary.all.as_ref().map(|all| all.iter().map(pair).collect::<Vec<_>>()));
    output
}

fn pair<V: Serialize>(seen: &Observation<V>) -> Value {
    json!([seen.t_hours, seen.value])
}
