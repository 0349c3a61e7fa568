//! Golden values of every measure, called by name as other programs do: every case and every output field of each file; and what
//! is refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod golden_compare;

use assize::measure::call::{CATALOGUE, find};
use golden_compare::Golden;
use serde_json::{Value, json};

fn call(name: &str, input: &Value) -> Result<Value, String> {
    (find(name).unwrap_or_else(|| panic!("{name} is not in the catalogue")).call)(input)
}

/// Answers every case of a file through the catalogue; says so where the file is not there.
fn check(name: &str, tolerance: impl Fn(&Golden, &str) -> f64) {
    let Some(golden) = Golden::load(name) else { return };
    golden.check(|path| tolerance(&golden, path), |input| call(name, input).unwrap_or_else(|error| panic!("{name}: {error}")));
}

macro_rules! golden_tests {
    ($($name:ident)+) => {
        const WITH_ONE_TOLERANCE: &[&str] = &[$(stringify!($name)),+];
        $(#[test] fn $name() { check(stringify!($name), |golden, _| golden.allowed("abs")); })+
    };
}

golden_tests! {
    agreement aultc bootstrap concordance craft_descriptives craft_loop craft_metrics error_profile error_strata
    finding_validation format_tool gavel_scoring gavel_tolerance levenshtein matcher_bands matching mm_share quotes row_filter
    series_summary threshold_sweep timeline_lev timeline_minilm uid_validation vaers_filter wilson
}

#[test]
fn every_computation_has_a_golden_test() {
    for computation in CATALOGUE {
        let own = ["bradley_terry", "bt_bootstrap", "standardised_rate"].contains(&computation.name);
        assert!(own || WITH_ONE_TOLERANCE.contains(&computation.name), "{}", computation.name);
    }
}

#[test]
fn bradley_terry() {
    check("bradley_terry", |golden, path| golden.allowed(if path.contains(".beta[") { "abs_beta" } else { "abs_rating" }));
}

#[test]
fn bt_bootstrap() {
    check("bt_bootstrap", |golden, _| golden.allowed("abs_rating"));
}

/// The interval depends on the generator: it lies in the range that many seeds give, and the rest is exact.
#[test]
fn standardised_rate() {
    let golden = Golden::load("standardised_rate").expect("a file of this project");
    let computation = find("standardised_rate").unwrap();
    golden.check(
        |_| golden.allowed("point"),
        |input| {
            let mut output = (computation.call)(input).unwrap();
            output.as_object_mut().unwrap().remove("ci95").expect("the interval");
            output
        },
    );
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/standardised_rate.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let output = (computation.call)(&case["input"]).unwrap();
        for (end, range) in ["ci95_lo_range", "ci95_hi_range"].into_iter().enumerate() {
            let got = output["ci95"][end].as_f64().unwrap();
            let (lo, hi) = (case["expected"][range][0].as_f64().unwrap(), case["expected"][range][1].as_f64().unwrap());
            assert!((lo - 0.003..=hi + 0.003).contains(&got), "{}: {range} [{lo}, {hi}], got {got}", case["id"]);
        }
    }
}

#[test]
fn a_refusal_names_the_field_what_was_expected_and_what_came() {
    let trace = |n: usize| json!({"gold": [["a"]], "trace": vec![json!({"score": 1, "pred": []}); n]});
    for (name, input, parts) in [
        ("craft_descriptives", json!({"timelines": [[["a"]], [["a"], "b"]]}), ["\"timelines\"[1][1]", "\"b\"", "expected"]),
        ("craft_metrics", json!({"gold": [["a"]]}), ["\"pred\"", "expected", "nothing"]),
        ("craft_metrics", json!({"records": [], "gold": []}), ["gold", "records", "unknown"]),
        ("craft_metrics", json!({"records": [{"gold": [], "pred": [], "x": 1}]}), ["\"records\"[0]", "`x`", "expected"]),
        ("craft_loop", json!({"records": [trace(4), trace(3)], "theta": 3, "t_max": 4}), ["\"records\"[1].trace", "t_max", "3"]),
        ("craft_loop", json!({"records": [], "theta": 3, "t_max": 0}), ["\"t_max\"", "expected", "0"]),
        (
            "craft_loop",
            json!({"records": [{"gold": [], "trace": [{"pred": []}]}], "theta": 3, "t_max": 1}),
            ["\"records\"[0]", "score", "missing"],
        ),
        ("format_tool", json!({"symptoms": ["a"], "raw": null}), ["\"raw\"", "expected", "null"]),
        ("vaers_filter", json!({"symptoms": ["a", 1], "text": "", "excluded": []}), ["\"symptoms\"[1]", "expected", "1"]),
        ("row_filter", json!({"discharge_h": null, "candidates": []}), ["\"discharge_h\"", "expected", "null"]),
        ("series_summary", json!({"rows": [["1", "K"]]}), ["\"rows\"[0]", "expected", "2"]),
        ("series_summary", json!({"rows": [["1", "K", true]]}), ["\"rows\"[0]", "a text, a number or null", "true"]),
        (
            "uid_validation",
            json!({"inventory": [{"uid4": "A", "mention": "m"}, {"uid4": "A", "mention": "m"}], "rows": []}),
            ["\"inventory\"", "expected", "\"A\""],
        ),
        ("finding_validation", json!({"note": "", "a": [], "b": [], "finding": []}), ["\"finding\"", "expected", "[]"]),
    ] {
        let error = call(name, &input).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
    }
}

#[test]
fn nothing_gives_null_not_an_error() {
    assert_eq!(call("craft_metrics", &json!({"records": []})).unwrap()["em_pct"], Value::Null);
    let answer = call("craft_loop", &json!({"records": [], "theta": 3, "t_max": 2})).unwrap();
    assert_eq!((&answer["avg_iters"], &answer["at_2"]["tau_pct"]), (&Value::Null, &Value::Null));
    let answer = call("craft_descriptives", &json!({"timelines": []})).unwrap();
    assert_eq!((&answer["stage_pct"]["6+"], &answer["matrix"]), (&Value::Null, &json!([])));
}

#[test]
fn numbers_are_cells_too_and_series_are_checked_when_given() {
    let text = call("series_summary", &json!({"rows": [["1", "K", "4.5"], ["2", "K", "5"]]})).unwrap();
    assert_eq!(call("series_summary", &json!({"rows": [[1, "K", 4.5], [2, "K", 5]]})).unwrap(), text);
    let mut input = json!({"note": "x", "a": [{"mention": "m", "time": 1}], "b": [], "finding": {
        "type": "A_ONLY", "verdict": "A", "a_event": "m", "a_time": 1.0, "b_event": null, "b_time": null, "note_evidence": null,
        "table_evidence": "Lab 1 at 2h", "grounding": "TABLE", "polarity": "present", "relation": "novel_event", "reason": "r"}});
    assert_eq!(call("finding_validation", &input).unwrap(), json!({"valid": true, "errors": []}));
    input["series"] = json!([{"event": "Lab 1", "t_min": 3, "t_max": 4}]);
    assert_eq!(call("finding_validation", &input).unwrap()["errors"], json!(["table_not_found"]));
}
