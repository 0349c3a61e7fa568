//! `error_strata`: see [`crate::measure::error_strata`].

use serde_json::{Map, Value, json};

use super::super::error_strata::{BIN_NAMES, ErrorStrata};
use super::input::{Fields, paired_times, refused};

/// Names of the cumulative shares, in the order of the edges.
const EDGE_NAMES: [&str; 5] = ["le_0h", "le_1h", "le_1d", "le_1w", "le_1y"];

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let times = paired_times(&Fields::new(input, &["t_ref", "t_pred"])?)?;
    let strata = ErrorStrata::from_times(times).map_err(refused)?;
    let within = EDGE_NAMES.iter().zip(strata.within_edges).map(|(name, part)| ((*name).to_owned(), json!(part)));
    let bins = BIN_NAMES.iter().zip(strata.by_reference_distance).map(|(name, bin)| {
        let entry = json!({
            "n": bin.n,
            "median_err": bin.median_hours,
            "frac_exact": bin.exact,
            "frac_le_1d": bin.within_day,
        });
        ((*name).to_owned(), entry)
    });
    Ok(json!({ "cumulative": within.collect::<Map<_, _>>(), "by_reference_distance": bins.collect::<Map<_, _>>() }))
}
