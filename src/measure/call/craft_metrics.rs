//! `craft_metrics`: see [`crate::measure::craft::agreement`].

use serde_json::{Value, json};

use super::super::craft::agreement::{MeanAgreement, StageAgreement};
use super::input::Fields;
use super::stages::{Report, agreement, percent, scores_percent};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["gold", "pred", "records"])?;
    if !fields.has("records") {
        return Ok(one(&agreement(&fields.lists("gold")?, &fields.lists("pred")?)));
    }
    let fields = Fields::new(input, &["records"])?;
    let reports: Vec<Report> = fields.list("records")?;
    let agreements: Vec<_> = reports.iter().map(Report::agreement).collect();
    let mean = MeanAgreement::of(&agreements);
    let mut output = scores_percent(&mean);
    output["lccs_over_max_pct"] = json!(percent(mean.lccs_over_max));
    output["tau_pct_skip_undefined"] = json!(percent(mean.tau_b_defined));
    Ok(output)
}

fn one(found: &StageAgreement) -> Value {
    let tau_b = found.pairs.tau_b();
    json!({
        "em": u8::from(found.exact),
        "lccs": found.lccs,
        "lccs_over_gold": found.lccs_over_gold(),
        "lccs_over_max": found.lccs_over_max(),
        "n_common": found.n_common,
        "concordant": found.pairs.concordant,
        "discordant": found.pairs.discordant,
        "tied_gold_only": found.pairs.tied_gold_only,
        "tied_pred_only": found.pairs.tied_pred_only,
        "tied_both": found.pairs.tied_both,
        "tau_b": tau_b,
        "tau_b_for_mean": tau_b.unwrap_or(0.0),
    })
}
