//! `quotes`: see [`crate::measure::quotes`].

use serde_json::{Value, json};

use super::super::quotes::{QuoteIndex, QuoteTally};
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["report", "quote", "quotes"])?;
    let report: String = fields.get("report")?;
    let index = QuoteIndex::new(&report);
    if !fields.has("quotes") {
        let quote: Option<String> = fields.get("quote")?;
        return Ok(json!(index.locate(quote.as_deref()).check()));
    }
    let fields = Fields::new(input, &["report", "quotes"])?;
    let quotes: Vec<Option<String>> = fields.list("quotes")?;
    let located: Vec<_> = quotes.iter().map(|quote| index.locate(quote.as_deref())).collect();
    let tally: QuoteTally = located.iter().collect();
    Ok(json!({
        "n_quoted": tally.n_quoted,
        "byte_exact_rate": tally.byte_exact_rate(),
        "normalised_rate": tally.normalised_rate(),
    }))
}
