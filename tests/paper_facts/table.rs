//! Reading the transcribed tables.

use serde_json::Value;

/// The transcribed table of this name.
macro_rules! table {
    ($name:literal) => {
        serde_json::from_str::<serde_json::Value>(include_str!(concat!("../paper_tables/", $name, ".json"))).unwrap()
    };
}
pub(crate) use table;

/// A figure.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number in a transcribed table, got {value}"))
}

/// A count.
pub fn count(value: &Value) -> u32 {
    value
        .as_u64()
        .and_then(|n| n.try_into().ok())
        .unwrap_or_else(|| panic!("expected a count in a transcribed table, got {value}"))
}

/// A row of figures.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("expected a row in a transcribed table, got {value}")).iter().map(number).collect()
}

/// A row, or the values of a map in their order, of counts.
pub fn counts(value: &Value) -> Vec<u32> {
    match value {
        Value::Object(map) => map.values().map(count).collect(),
        row => row
            .as_array()
            .unwrap_or_else(|| panic!("expected a row in a transcribed table, got {value}"))
            .iter()
            .map(count)
            .collect(),
    }
}

/// One column of a table whose rows are keyed by name.
pub fn column(rows: &Value, place: usize) -> Vec<f64> {
    rows.as_object().unwrap().values().map(|row| number(&row[place])).collect()
}

/// The names of a table's rows.
pub fn row_names(rows: &Value) -> Vec<&str> {
    rows.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Half a unit in the last of `decimals` places: what a printed number leaves open.
pub fn half_unit(decimals: i32) -> f64 {
    0.5 * 10f64.powi(-decimals)
}

/// Whether `value` prints as `printed` at this many decimals; a tie may be rounded either way.
pub fn prints_as(value: f64, printed: f64, decimals: i32) -> bool {
    (value - printed).abs() <= half_unit(decimals) + 1e-9
}

/// `part` in percent of `whole`.
pub fn percent(part: u32, whole: u32) -> f64 {
    100.0 * f64::from(part) / f64::from(whole)
}
