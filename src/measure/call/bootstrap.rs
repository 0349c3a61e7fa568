//! `bootstrap`: see [`crate::measure::case_bootstrap`] and [`crate::measure::resample`].

use serde_json::{Map, Value, json};

use super::super::aultc::MissingErrors;
use super::super::case_bootstrap::{CaseBootstrap, Statistic, SystemCases};
use super::super::concordance::ConcordanceRule;
use super::super::resample::percentile;
use super::input::{Fields, ends, refused};
use super::matched_cases::{MatchedCase, read_cases};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["cases", "indices", "s_max", "threshold", "probs", "values"])?;
    if fields.has("values") || fields.has("probs") {
        return percentiles(&Fields::new(input, &["probs", "values"])?);
    }
    let cases = read_cases(fields.value("cases")?, || "field \"cases\"".to_owned())?;
    let threshold: f64 = fields.get("threshold")?;
    let s_max: Option<f64> = fields.get("s_max")?;
    let indices: Vec<Vec<usize>> = fields.lists("indices")?;
    let summary = |case: &MatchedCase| case.matches()?.summary(threshold, ConcordanceRule::PAPER).map_err(refused);
    let summaries = cases.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
    let system = SystemCases::new(summaries, s_max, MissingErrors::Outside).map_err(refused)?;
    let bootstrap = CaseBootstrap::from_indices(&[system], &indices).map_err(|e| format!("field \"indices\": {e}"))?;
    let mut output = Map::new();
    for statistic in Statistic::ALL {
        let estimate = bootstrap.estimate(0, statistic, 0.95).map_err(refused)?;
        let entry = json!({
            "point": estimate.point,
            "ci95": ends(estimate.interval),
            "mean": estimate.mean,
            "n_undefined": estimate.n_undefined,
        });
        output.insert(statistic.to_string(), entry);
    }
    Ok(Value::Object(output))
}

fn percentiles(fields: &Fields<'_>) -> Result<Value, String> {
    let mut values: Vec<f64> = fields.list("values")?;
    let percents: Vec<f64> = fields.list("probs")?;
    if let Some((i, percent)) = percents.iter().enumerate().find(|(_, percent)| !(0.0..=100.0).contains(*percent)) {
        return Err(format!("field \"probs\"[{i}]: expected a percentage in [0, 100], got {percent}"));
    }
    values.sort_unstable_by(f64::total_cmp);
    let quantiles: Vec<_> = percents.iter().map(|&percent| percentile(&values, percent)).collect();
    Ok(json!({ "quantiles": quantiles }))
}
