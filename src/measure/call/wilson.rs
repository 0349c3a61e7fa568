//! `wilson`: see [`crate::measure::wilson`].

use serde_json::{Value, json};

use super::super::wilson::wilson;
use super::input::{Fields, refused};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["k", "n", "conf"])?;
    let found = wilson(fields.get("k")?, fields.get("n")?, fields.get("conf")?).map_err(refused)?;
    Ok(json!({
        "p": found.map(|p| p.share),
        "lo": found.map(|p| p.interval.lo),
        "hi": found.map(|p| p.interval.hi),
    }))
}
