//! `matching`: see [`crate::measure::matching`].

use serde_json::{Number, Value, json};

use super::super::matching::{DistanceMatrix, Pair, greedy, kept_below, match_rate, rounds};
use super::input::{Fields, refused};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["distance", "n_ref", "n_pred", "thresholds"])?;
    let (n_ref, n_pred): (usize, usize) = (fields.get("n_ref")?, fields.get("n_pred")?);
    let thresholds: Vec<Number> = fields.list("thresholds")?;
    let distances = read_distances(&fields, n_ref, n_pred)?;
    let matrix = DistanceMatrix::new(n_ref, n_pred, &distances).map_err(refused)?;
    let pairs = greedy(matrix);
    let mut output = json!({ "pairs": pairs.iter().map(row).collect::<Vec<_>>() });
    for threshold in &thresholds {
        let kept: Vec<_> = kept_below(&pairs, as_f64(threshold)?).map(|p| [p.reference, p.prediction]).collect();
        output[format!("match_rate_lt_{threshold}")] = json!(match_rate(kept.len() as u64, n_ref as u64));
        output[format!("kept_lt_{threshold}")] = json!(kept);
    }
    // The published script has no answer where a side is empty or a distance missing.
    if n_ref > 0 && n_pred > 0 && !distances.iter().any(|d| d.is_nan()) {
        output["author_rounds"] = json!(rounds_with_unmatched(matrix));
    }
    Ok(output)
}

/// The matrix as a flat list, null as NaN; `distance` has one row a reference.
pub(super) fn read_distances(fields: &Fields<'_>, n_ref: usize, n_pred: usize) -> Result<Vec<f64>, String> {
    let rows: Vec<Vec<Option<f64>>> = fields.lists("distance")?;
    if rows.len() != n_ref {
        return Err(format!("field \"distance\": expected {n_ref} rows, one a reference, got {}", rows.len()));
    }
    if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != n_pred) {
        return Err(format!("field \"distance\"[{i}]: expected {n_pred} distances, one a prediction, got {}", row.len()));
    }
    Ok(rows.into_iter().flatten().map(|d| d.unwrap_or(f64::NAN)).collect())
}

/// A threshold as the number that it is.
pub(super) fn as_f64(threshold: &Number) -> Result<f64, String> {
    threshold.as_f64().ok_or_else(|| format!("field \"thresholds\": expected numbers, got {threshold}"))
}

/// A pair as [reference, prediction, distance].
pub(super) fn row(pair: &Pair) -> Value {
    json!([pair.reference, pair.prediction, pair.distance])
}

/// The pairs by (round, reference), then the references left over with nulls.
fn rounds_with_unmatched(matrix: DistanceMatrix<'_, f64>) -> Vec<Value> {
    let pairs = rounds(matrix);
    let mut matched = vec![false; matrix.n_ref()];
    pairs.iter().for_each(|(_, pair)| matched[pair.reference as usize] = true);
    let unmatched = matched.iter().enumerate().filter(|(_, matched)| !**matched);
    pairs.iter().map(|(_, pair)| row(pair)).chain(unmatched.map(|(reference, _)| json!([reference, null, null]))).collect()
}
