//! `concordance`: see [`crate::measure::concordance`].

use serde_json::{Value, json};

use super::super::concordance::OrderCounts;
use super::input::{Fields, paired_times};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let counts = OrderCounts::from_times(&paired_times(&Fields::new(input, &["t_ref", "t_pred"])?)?);
    let mut output = json!(counts);
    output["c_paper"] = json!(counts.strict());
    output["c_harrell"] = json!(counts.with_half_ties());
    Ok(output)
}
