//! `threshold_sweep`: see [`crate::measure::sweep`].

use serde_json::{Map, Value, json};

use super::super::sweep::{CaseMatches, Sweep, SweepPoint, TimeRules};
use super::input::{Fields, refused};
use super::matched_cases::{MatchedCase, read_cases};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["systems", "thresholds"])?;
    let named: Map<String, Value> = fields.get("systems")?;
    let thresholds: Vec<f64> = fields.list("thresholds")?;
    let read = |(name, cases): (&String, &Value)| read_cases(cases, || format!("field \"systems\".{name}"));
    let store = named.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let systems = store.iter().map(|cases| borrowed(cases)).collect::<Result<Vec<_>, _>>()?;
    let sweep = Sweep::new(&systems, &thresholds, TimeRules::PAPER).map_err(refused)?;
    let curve = |(name, points): (&String, &Vec<_>)| (name.clone(), points.iter().map(point).collect::<Value>());
    Ok(json!({
        "curves": named.keys().zip(&sweep.curves).map(curve).collect::<Map<_, _>>(),
        "s_max_shared": sweep.s_max_hours,
    }))
}

fn borrowed(cases: &[MatchedCase]) -> Result<Vec<CaseMatches<'_>>, String> {
    cases.iter().map(MatchedCase::matches).collect()
}

fn point(point: &SweepPoint) -> Value {
    json!({
        "threshold": point.threshold,
        "match_rate": point.match_rate,
        "n_matched": point.n_kept,
        "concordance_mean": point.concordance_mean,
        "concordance_median": point.concordance_median,
        "n_cases_c": point.n_cases_with_concordance,
        "aultc": point.aultc,
        "aultc_own": point.aultc_own,
    })
}
