//! `vaers_filter`: see [`crate::measure::craft::report_filter`].

use serde_json::{Value, json};

use super::super::craft::report_filter::{ExcludedTerms, removal};
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["symptoms", "text", "excluded"])?;
    let symptoms: Vec<String> = fields.list("symptoms")?;
    let excluded = ExcludedTerms::new(fields.list::<String>("excluded")?);
    let reason = removal(symptoms, &fields.get::<String>("text")?, &excluded);
    Ok(json!({ "keep": reason.is_none(), "reason": reason }))
}
