//! Golden values of the game statistics: every case and every output field of each file.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod golden_compare;

use assize::measure::bootstrap::{CaseShares, bootstrap_indices};
use assize::measure::bradley_terry::{BradleyTerry, Meeting, PairShares, fit, fit_totals};
use assize::measure::error_profile::{ErrorProfile, JudgedGame};
use assize::measure::finding::Discrepancy;
use assize::measure::game::Game;
use assize::measure::points::{GamePoints, charge};
use assize::measure::pooled_share::{CasePoints, PooledShare, PooledShareDraws};
use assize::measure::quotes::{QuoteIndex, QuoteTally};
use assize::measure::rubric::Scheme;
use assize::measure::tolerance::{DistanceReading, ToleranceRule, times_differ};
use golden_compare::{Golden, assert_matches};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// The place of a name in a list of names.
fn index(names: &[String], name: &Value) -> usize {
    let name = name.as_str().unwrap();
    names.iter().position(|n| n == name).unwrap()
}

/// One entry a name, in order.
fn keyed<T: serde::Serialize>(names: &[String], value: impl Fn(usize) -> T) -> Value {
    let entries = names.iter().enumerate().map(|(i, name)| (name.clone(), json!(value(i))));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// The games of an input; `cases` is empty where the case plays no part.
fn games(input: &Value, entrants: &[String], cases: &[String]) -> Vec<Game> {
    let list = input["games"].as_array().unwrap();
    list.iter()
        .map(|game| Game {
            case: if cases.is_empty() { 0 } else { index(cases, &game["case"]) },
            a: index(entrants, &game["a"]),
            b: index(entrants, &game["b"]),
            share_a: game["share_a"].as_f64().unwrap(),
        })
        .collect()
}

#[test]
fn gavel_tolerance() {
    let golden = Golden::load("gavel_tolerance");
    golden.check(
        |_| golden.allowed("abs"),
        |input| {
            let differs = |distance| {
                let rule = ToleranceRule::new(input["floor_h"].as_f64().unwrap(), distance).unwrap();
                times_differ(input["t_a"].as_f64(), input["t_b"].as_f64(), &rule)
            };
            json!({
                "differs": differs(DistanceReading::MaxAbs),
                "differs_min_abs": differs(DistanceReading::MinAbs),
            })
        },
    );
}

#[test]
fn gavel_scoring() {
    let golden = Golden::load("gavel_scoring");
    golden.check(
        |_| golden.allowed("abs"),
        |input| {
            let findings: Vec<Discrepancy> = read(&input["findings"]);
            let charges: Vec<_> = findings.iter().map(charge).collect();
            let mut schemes = Map::new();
            for scheme in Scheme::ALL {
                let points = GamePoints::score(&findings, &scheme.into());
                schemes.insert(scheme.to_string(), json!(points));
            }
            json!({
                "category": charges.iter().map(|c| c.map(|c| c.category)).collect::<Vec<_>>(),
                "charged": charges.iter().map(|c| c.map(|c| c.side)).collect::<Vec<_>>(),
                "schemes": schemes,
            })
        },
    );
}

#[test]
fn bradley_terry() {
    let golden = Golden::load("bradley_terry");
    let tolerance = |path: &str| golden.allowed(if path.contains(".beta[") { "abs_beta" } else { "abs_rating" });
    golden.check(tolerance, |input| {
        let entrants: Vec<String> = read(&input["entrants"]);
        let ratings = |answer: &BradleyTerry| json!(answer.fit.as_ref().map(|fit| &fit.ratings));
        if let Some(schedule) = input.get("schedule") {
            let schedule: Vec<_> = schedule
                .as_array()
                .unwrap()
                .iter()
                .map(|row| Meeting { a: index(&entrants, &row[0]), b: index(&entrants, &row[1]), n_games: read(&row[2]) })
                .collect();
            let answer = fit_totals(&read::<Vec<f64>>(&input["mean_share"]), &schedule).unwrap();
            return json!({"mle_exists": answer.mle_exists(), "ratings": ratings(&answer)});
        }
        let games = games(input, &entrants, &[]);
        let answer = fit(&PairShares::from_games(entrants.len(), &games).unwrap()).unwrap();
        let named = |group: &Vec<usize>| group.iter().map(|&i| &entrants[i]).collect::<Vec<_>>();
        json!({
            "mle_exists": answer.mle_exists(),
            "reason": answer.reason,
            "components": answer.components.iter().map(named).collect::<Vec<_>>(),
            "beta": answer.fit.as_ref().map(|fit| &fit.beta),
            "ratings": ratings(&answer),
        })
    });
}

#[test]
fn bt_bootstrap() {
    let golden = Golden::load("bt_bootstrap");
    golden.check(
        |_| golden.allowed("abs_rating"),
        |input| {
            let entrants: Vec<String> = read(&input["entrants"]);
            let cases: Vec<String> = read(&input["cases"]);
            let games = games(input, &entrants, &cases);
            let point = fit(&PairShares::from_games(entrants.len(), &games).unwrap()).unwrap();
            let shares = CaseShares::from_games(entrants.len(), cases.len(), &games).unwrap();
            let boot = bootstrap_indices(&shares, &read::<Vec<Vec<usize>>>(&input["indices"])).unwrap();
            let intervals = boot.ratings.intervals(0.95).unwrap();
            json!({
                "ratings": point.fit.map(|fit| fit.ratings),
                "n_failed": boot.n_failed,
                "ci95": intervals.iter().map(|i| i.map(|i| [i.lo, i.hi])).collect::<Vec<_>>(),
            })
        },
    );
}

#[test]
fn error_profile() {
    let golden = Golden::load("error_profile");
    golden.check(
        |_| golden.allowed("abs"),
        |input| {
            let entrants: Vec<String> = read(&input["entrants"]);
            let list = input["games"].as_array().unwrap();
            let findings: Vec<Vec<Discrepancy>> = list.iter().map(|g| read(&g["findings"])).collect();
            let games: Vec<_> = list
                .iter()
                .zip(&findings)
                .map(|(game, findings)| JudgedGame { a: index(&entrants, &game["a"]), b: index(&entrants, &game["b"]), findings })
                .collect();
            let n_reports = input["reports"].as_array().unwrap().len() as u32;
            let profile = ErrorProfile::from_games(entrants.len(), n_reports, &games).unwrap();
            json!({
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
            })
        },
    );
}

#[test]
fn quotes() {
    let golden = Golden::load("quotes");
    golden.check(
        |_| golden.allowed("abs"),
        |input| {
            let index = QuoteIndex::new(input["report"].as_str().unwrap());
            match input.get("quotes") {
                None => json!(index.locate(input["quote"].as_str()).check()),
                Some(quotes) => {
                    let quotes = quotes.as_array().unwrap().iter();
                    let located: Vec<_> = quotes.map(|quote| index.locate(quote.as_str())).collect();
                    let tally: QuoteTally = located.iter().collect();
                    json!({
                        "n_quoted": tally.n_quoted,
                        "byte_exact_rate": tally.byte_exact_rate(),
                        "normalised_rate": tally.normalised_rate(),
                    })
                }
            }
        },
    );
}

#[test]
fn mm_share() {
    let golden = Golden::load("mm_share");
    golden.check(
        |_| golden.allowed("abs"),
        |input| {
            let cases: Vec<_> = input["games"]
                .as_array()
                .unwrap()
                .iter()
                .map(|game| CasePoints {
                    own: game["points_mm"].as_f64().unwrap(),
                    other: game["points_um"].as_f64().unwrap(),
                    empty: game["n_decisive"] == 0,
                })
                .collect();
            let result = PooledShare::from_cases(&cases).unwrap();
            let mut answer = json!({
                "cases": result.n_cases,
                "empty": result.n_empty,
                "points": result.points,
                "mm_share": result.share,
                "wins": result.wins,
                "losses": result.losses,
                "ties": result.ties,
                "mean_case_share": result.mean_case_share,
            });
            if let Some(indices) = input.get("indices") {
                let draws = PooledShareDraws::from_indices(&cases, &read::<Vec<Vec<usize>>>(indices));
                let interval = draws.unwrap().interval(0.95).unwrap();
                answer["ci95"] = json!(interval.map(|i| [i.lo, i.hi]));
            }
            answer
        },
    );
}

#[test]
#[should_panic(expected = "worst at x.b[1]")]
fn the_comparison_names_the_worst_number() {
    let (got, want) = (json!({"a": 1.1, "b": [0, 3.0]}), json!({"a": 1.0, "b": [0, 2.0]}));
    assert_matches("x", &got, &want, |_| 0.01);
}

#[test]
#[should_panic(expected = "x.a")]
fn the_comparison_refuses_what_is_not_finite() {
    assert_matches("x", &json!({"a": f64::NAN}), &json!({"a": 1.0}), |_| f64::INFINITY);
}

#[test]
#[should_panic(expected = "key \"b\"")]
fn the_comparison_refuses_a_missing_field() {
    assert_matches("x", &json!({"a": 1}), &json!({"a": 1, "b": null}), |_| 0.0);
}
