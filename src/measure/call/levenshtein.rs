//! `levenshtein`: see [`crate::measure::levenshtein`].

use serde_json::{Value, json};

use super::super::levenshtein::LevenshteinPattern;
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["a", "b"])?;
    let (a, b): (String, String) = (fields.get("a")?, fields.get("b")?);
    let pattern = LevenshteinPattern::new(&a);
    Ok(json!({ "distance": pattern.distance(&b), "normalised": pattern.normalised(&b) }))
}
