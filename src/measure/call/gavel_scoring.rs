//! `gavel_scoring`: see [`crate::measure::points`].

use serde_json::{Map, Value, json};

use super::super::finding::Discrepancy;
use super::super::points::{GamePoints, charge};
use super::super::rubric::Scheme;
use super::games::Finding;
use super::input::Fields;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let findings: Vec<Finding> = Fields::new(input, &["findings"])?.list("findings")?;
    let findings: Vec<Discrepancy> = findings.into_iter().map(Discrepancy::from).collect();
    let charges: Vec<_> = findings.iter().map(charge).collect();
    let points = |scheme: Scheme| (scheme.to_string(), json!(GamePoints::score(&findings, &scheme.into())));
    Ok(json!({
        "category": charges.iter().map(|c| c.map(|c| c.category)).collect::<Vec<_>>(),
        "charged": charges.iter().map(|c| c.map(|c| c.side)).collect::<Vec<_>>(),
        "schemes": Scheme::ALL.into_iter().map(points).collect::<Map<_, _>>(),
    }))
}
