//! `mm_share`: see [`crate::measure::pooled_share`].

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::pooled_share::{CasePoints, PooledShare, PooledShareDraws};
use super::input::{Fields, ends, refused};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Game {
    #[serde(rename = "case")]
    _case: IgnoredAny,
    points_mm: f64,
    points_um: f64,
    n_decisive: u64,
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["games", "indices"])?;
    let games: Vec<Game> = fields.list("games")?;
    let points = |g: &Game| CasePoints { own: g.points_mm, other: g.points_um, empty: g.n_decisive == 0 };
    let cases: Vec<_> = games.iter().map(points).collect();
    let result = PooledShare::from_cases(&cases).map_err(refused)?;
    let mut output = json!({
        "cases": result.n_cases,
        "empty": result.n_empty,
        "points": result.points,
        "mm_share": result.share,
        "wins": result.wins,
        "losses": result.losses,
        "ties": result.ties,
        "mean_case_share": result.mean_case_share,
    });
    if fields.has("indices") {
        let indices: Vec<Vec<usize>> = fields.lists("indices")?;
        let draws = PooledShareDraws::from_indices(&cases, &indices).map_err(|e| format!("field \"indices\": {e}"))?;
        output["ci95"] = json!(ends(draws.interval(0.95).map_err(refused)?));
    }
    Ok(output)
}
