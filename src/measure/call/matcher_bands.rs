//! `matcher_bands`: see [`crate::measure::matcher_bands`].

use serde_json::{Value, json};

use super::super::matcher_bands::{DistanceBands, pooled_pairs};
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["pairs", "edges"])?;
    let pairs: Vec<(String, String, Option<f64>)> = fields.list("pairs")?;
    let bands = DistanceBands::new(fields.list("edges")?).map_err(|e| format!("field \"edges\": {e}"))?;
    let distance = |d: Option<f64>| d.unwrap_or(f64::NAN);
    let pooled = pooled_pairs(pairs.iter().map(|(r, p, d)| (r.as_str(), p.as_str(), distance(*d))));
    let counts = bands.counts(pooled.iter().map(|&i| distance(pairs[i].2)));
    Ok(json!({ "n_unique": pooled.len(), "band_counts": counts.bands, "out_of_range": counts.out_of_range }))
}
