//! `bradley_terry`: see [`crate::measure::bradley_terry`].

use serde_json::{Value, json};

use super::super::bradley_terry::{BradleyTerry, Meeting, PairShares, fit, fit_totals};
use super::games::{entrant, entrants, games};
use super::input::{Fields, equal_lengths, refused};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["entrants", "games", "mean_share", "schedule"])?;
    if fields.has("schedule") || fields.has("mean_share") {
        return from_totals(&Fields::new(input, &["entrants", "mean_share", "schedule"])?);
    }
    let entrants = entrants(&fields)?;
    let games = games(&fields, &entrants, None)?;
    let answer = PairShares::from_games(entrants.len(), &games).and_then(|shares| fit(&shares)).map_err(refused)?;
    let named = |group: &Vec<usize>| group.iter().map(|&i| entrants[i].as_str()).collect::<Vec<_>>();
    Ok(json!({
        "mle_exists": answer.mle_exists(),
        "reason": answer.reason,
        "components": answer.components.iter().map(named).collect::<Vec<_>>(),
        "beta": answer.fit.as_ref().map(|fit| &fit.beta),
        "ratings": ratings(&answer),
    }))
}

fn from_totals(fields: &Fields<'_>) -> Result<Value, String> {
    let entrants = entrants(fields)?;
    let mean_shares: Vec<f64> = fields.list("mean_share")?;
    equal_lengths(("entrants", entrants.len()), ("mean_share", mean_shares.len()))?;
    let rows: Vec<(String, String, u32)> = fields.list("schedule")?;
    let meeting = |(i, (a, b, n_games)): (usize, (String, String, u32))| {
        let place = || format!("field \"schedule\"[{i}]");
        Ok(Meeting { a: entrant(&entrants, &a, place)?, b: entrant(&entrants, &b, place)?, n_games })
    };
    let schedule = rows.into_iter().enumerate().map(meeting).collect::<Result<Vec<_>, String>>()?;
    let answer = fit_totals(&mean_shares, &schedule).map_err(refused)?;
    Ok(json!({ "mle_exists": answer.mle_exists(), "ratings": ratings(&answer) }))
}

fn ratings(answer: &BradleyTerry) -> Option<&[f64]> {
    answer.fit.as_ref().map(|fit| fit.ratings.as_slice())
}
