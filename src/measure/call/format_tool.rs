//! `format_tool`: see [`crate::measure::craft::format_tool`].

use serde_json::{Value, json};

use super::super::craft::format_tool::{PlacedSymptom, format_reply};
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["symptoms", "raw"])?;
    let symptoms: Vec<String> = fields.list("symptoms")?;
    let formatted = format_reply(&symptoms, &fields.get::<String>("raw")?);
    let names = |bucket: &Vec<PlacedSymptom>| bucket.iter().map(|placed| placed.name.clone()).collect::<Vec<_>>();
    Ok(json!({
        "buckets": formatted.buckets.iter().map(names).collect::<Vec<_>>(),
        "valid_json": formatted.valid_json,
        "missing": formatted.missing,
        "invented": formatted.invented,
    }))
}
