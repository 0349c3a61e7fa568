//! Stage timelines in JSON: lists of buckets of names.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::craft::agreement::{MeanAgreement, StageAgreement, StageSequence};

/// Buckets from earliest to latest.
pub(super) type Buckets = Vec<Vec<String>>;

/// A gold timeline with its prediction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    gold: Buckets,
    pred: Buckets,
}

impl Report {
    pub(super) fn agreement(&self) -> StageAgreement {
        agreement(&self.gold, &self.pred)
    }
}

pub(super) fn agreement(gold: &Buckets, pred: &Buckets) -> StageAgreement {
    StageAgreement::between(&StageSequence::new(gold), &StageSequence::new(pred))
}

/// The three scores of a table, in percent.
pub(super) fn scores_percent(mean: &MeanAgreement) -> Value {
    json!({
        "em_pct": percent(mean.exact),
        "lccs_pct": percent(mean.lccs_over_gold),
        "tau_pct": percent(mean.tau_b),
    })
}

pub(super) fn percent(part: Option<f64>) -> Option<f64> {
    part.map(|part| 100.0 * part)
}
