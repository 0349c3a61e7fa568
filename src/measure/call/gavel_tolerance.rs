//! `gavel_tolerance`: see [`crate::measure::tolerance`].

use serde_json::{Value, json};

use super::super::tolerance::{DistanceReading, ToleranceRule, times_differ};
use super::input::{Fields, refused};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["floor_h", "t_a", "t_b"])?;
    let floor_hours: f64 = fields.get("floor_h")?;
    let (t_a, t_b): (Option<f64>, Option<f64>) = (fields.get("t_a")?, fields.get("t_b")?);
    let differs = |distance| {
        let rule = ToleranceRule::new(floor_hours, distance).map_err(refused)?;
        Ok::<_, String>(times_differ(t_a, t_b, &rule))
    };
    Ok(json!({ "differs": differs(DistanceReading::MaxAbs)?, "differs_min_abs": differs(DistanceReading::MinAbs)? }))
}
