//! `bt_bootstrap`: see [`crate::measure::bootstrap`].

use serde_json::{Value, json};

use super::super::bootstrap::{CaseShares, bootstrap_indices};
use super::super::bradley_terry::{PairShares, fit};
use super::games::{entrants, games};
use super::input::{Fields, ends, refused, unique};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["entrants", "cases", "games", "indices"])?;
    let entrants = entrants(&fields)?;
    let cases: Vec<String> = fields.list("cases")?;
    unique(&cases, "cases")?;
    let games = games(&fields, &entrants, Some(&cases))?;
    let indices: Vec<Vec<usize>> = fields.lists("indices")?;
    let point = PairShares::from_games(entrants.len(), &games).and_then(|shares| fit(&shares)).map_err(refused)?;
    let shares = CaseShares::from_games(entrants.len(), cases.len(), &games).map_err(refused)?;
    let bootstrap = bootstrap_indices(&shares, &indices).map_err(|e| format!("field \"indices\": {e}"))?;
    let intervals = bootstrap.ratings.intervals(0.95).map_err(refused)?;
    Ok(json!({
        "ratings": point.fit.map(|fit| fit.ratings),
        "n_failed": bootstrap.n_failed,
        "ci95": intervals.into_iter().map(ends).collect::<Vec<_>>(),
    }))
}
