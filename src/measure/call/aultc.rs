//! `aultc`: see [`crate::measure::aultc`].

use serde_json::{Value, json};

use super::super::aultc::{LogErrors, PublishedArea};
use super::input::{Fields, refused};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["abs_errors", "s_max"])?;
    let hours: Vec<f64> = fields.list("abs_errors")?;
    let s_max: Option<f64> = fields.get("s_max")?;
    let errors = LogErrors::from_hours(hours.iter().copied().map(Some)).map_err(refused)?;
    let published = PublishedArea::new(hours.iter().map(|&error| (0, 0.0, Some(error)))).map_err(refused)?;
    Ok(json!({
        "k": errors.n(),
        "s_max": s_max.or(errors.max_hours()),
        "aultc_paper": errors.aultc(s_max).map_err(refused)?,
        "aultc_exact_step": errors.exact_step(s_max).map_err(refused)?,
        "author_ecdf_auc2": published.below(f64::INFINITY),
    }))
}
