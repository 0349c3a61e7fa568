//! `error_profile`: see [`crate::measure::error_profile`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::error_profile::{ErrorProfile, JudgedGame};
use super::super::finding::Discrepancy;
use super::games::{Finding, entrant, entrants};
use super::input::{Fields, position, refused, unique};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedGame {
    case: String,
    a: String,
    b: String,
    findings: Vec<Finding>,
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["entrants", "reports", "games"])?;
    let entrants = entrants(&fields)?;
    let reports: Vec<String> = fields.list("reports")?;
    unique(&reports, "reports")?;
    let games: Vec<NamedGame> = fields.list("games")?;
    let mut sides = Vec::with_capacity(games.len());
    let mut findings: Vec<Vec<Discrepancy>> = Vec::with_capacity(games.len());
    for (i, game) in games.into_iter().enumerate() {
        let at = |field: &'static str| move || format!("field \"games\"[{i}].{field}");
        position(&reports, &game.case, at("case"), "reports")?;
        sides.push((entrant(&entrants, &game.a, at("a"))?, entrant(&entrants, &game.b, at("b"))?));
        findings.push(game.findings.into_iter().map(Discrepancy::from).collect());
    }
    let judged: Vec<_> = sides.iter().zip(&findings).map(|(&(a, b), findings)| JudgedGame { a, b, findings }).collect();
    let n_reports = u32::try_from(reports.len()).map_err(refused)?;
    let profile = ErrorProfile::from_games(entrants.len(), n_reports, &judged).map_err(refused)?;
    Ok(json!({
        "counts": keyed(&entrants, |i| profile.counts[i]),
        "games": keyed(&entrants, |i| profile.n_games[i]),
        "per_matchup": keyed(&entrants, |i| profile.per_matchup(i)),
        "per_report": keyed(&entrants, |i| profile.per_report(i)),
        "total_raw": profile.total(),
        "share_pct": profile.share_percent(),
        "average_pooled_per_matchup": profile.pooled_per_matchup(),
        "mean_of_entrants_per_report": profile.mean_per_report(),
        "n_findings": profile.n_findings,
        "n_decisive": profile.n_decisive,
    }))
}

/// One entry a name, in order.
fn keyed<T: Serialize>(names: &[String], value: impl Fn(usize) -> T) -> Value {
    let entries = names.iter().enumerate().map(|(i, name)| (name.clone(), json!(value(i))));
    Value::Object(entries.collect::<Map<_, _>>())
}
