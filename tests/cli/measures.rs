//! `measure` and `evaluate`: numbers for other programs, and timelines against a reference.

use crate::program::{Folder, assert_same_tree};
use serde_json::{Value, json};

fn measure(folder: &Folder, name: &str, cases: &Value, status: i32) -> Value {
    folder.assize_with(&json!({"cases": cases}).to_string(), &["measure", name]).exits(status).json()
}

#[test]
fn a_measure_answers_each_case_and_refuses_what_does_not_fit() {
    let folder = Folder::new();
    let listed = folder.assize(&["measure", "--list", "--json"]).exits(0).json();
    assert!(listed.as_array().unwrap().iter().any(|row| row["name"] == "levenshtein"));
    let input = folder.assize(&["measure", "--list", "--json"]).json();
    assert_eq!(input, listed, "the list is the same each time");
    let fits = json!({"id": "tie", "input": {"floor_h": 24.0, "t_a": 0, "t_b": 24}});
    let unfit = json!({"id": "bad", "input": {"floor_h": 24.0}});
    let answers = measure(&folder, "gavel_tolerance", &json!([fits, unfit]), 4);
    assert_eq!((&answers["cases"][0]["id"], &answers["cases"][0]["output"]["differs"]), (&json!("tie"), &json!(true)));
    assert_eq!(answers["cases"][1]["id"], "bad");
    assert!(answers["cases"][1]["error"].as_str().unwrap().contains("t_a"), "{answers}");
    folder.assize(&["measure", "nothing"]).exits(2).says("gavel_tolerance");
    folder.assize_with("{}", &["measure", "wilson"]).exits(2).says("cases");
}

/// A reference of four events; `near` has three of them with one a day late, `far` none.
fn folders() -> Folder {
    let folder = Folder::new();
    for case in ["one", "two"] {
        folder
            .write(&format!("manual/{case}.csv"), "event,time\nfever,-48\ncough,-24\nrash,0\nwent home,96\n")
            .write(&format!("near/{case}.csv"), "event,time\nfever,-48\ncough,0\nwent home,96\n")
            .write(&format!("far/{case}.csv"), "event,time\nx,1\n");
    }
    folder
}

#[test]
fn sources_are_measured_against_the_reference() {
    let folder = folders();
    let evaluate = |more: &[&str]| {
        let mut args =
            vec!["evaluate", "--reference", "manual", "--prediction", "near", "--prediction", "far", "--distance", "exact"];
        args.extend(more);
        folder.assize(&args)
    };
    for matcher in ["greedy", "rounds"] {
        let result = evaluate(&["--matcher", matcher, "--json"]).exits(0).json();
        let near = &result["evaluation"][0];
        assert_eq!(
            (&near["source"], &near["match_rate"], &near["concordance_mean"]),
            (&json!("near"), &json!(0.75), &json!(1.0))
        );
        let far = &result["evaluation"][1];
        assert_eq!((&far["match_rate"], &far["aultc"]), (&json!(0.0), &Value::Null));
    }
    evaluate(&["--out", "again", "--pairs", "pairs.csv"]).exits(0);
    assert_eq!(folder.read("pairs.csv").lines().count(), 1 + 2 * (3 + 1), "every pair, those beyond the threshold too");
    evaluate(&["--out", "twice"]).exits(0);
    assert_same_tree(&folder.join("again"), &folder.join("twice"));
    assert!(folder.join("again/sweep_match_rate.svg").exists() && folder.join("again/sweep_match_rate.png").exists());
}

#[test]
fn what_is_missing_is_refused_or_said() {
    let folder = folders();
    std::fs::remove_file(folder.join("far/two.csv")).unwrap();
    let args = ["evaluate", "--reference", "manual", "--prediction", "far"];
    folder.assize(&args).exits(2).says("far: no timeline of case two").says("--allow-missing");
    folder.assize(&[&args[..], &["--allow-missing"]].concat()).exits(0).says("1 missing timelines count as empty");
    folder
        .assize(&["evaluate", "--reference", "manual", "--prediction", "far", "--distance", "embedding"])
        .exits(2)
        .says("--vectors");
    folder.assize(&["evaluate", "--reference", "nowhere", "--prediction", "far"]).exits(2).says("nowhere");
}

#[test]
fn a_matcher_audit_goes_from_pairs_to_rates() {
    let folder = folders();
    folder
        .assize(&["evaluate", "--reference", "manual", "--prediction", "near", "--distance", "exact", "--pairs", "pairs.csv"])
        .exits(0);
    folder.assize(&["audit", "matcher", "sample", "--pairs", "pairs.csv", "--out", "audit"]).exits(0);
    let sheet = folder.read("audit/sheet.csv");
    assert!(!sheet.contains("near"), "the sheet is blind to the source: {sheet}");
    folder.assize(&["audit", "matcher", "rates", "--key", "audit/key.csv", "--sheet", "audit/sheet.csv"]).exits(4);
}

#[test]
fn an_evaluation_never_writes_among_its_input() {
    let folder = folders();
    let before = folder.read("manual/one.csv");
    let evaluate = |more: &[&str]| {
        let mut args = vec!["evaluate", "--reference", "manual", "--prediction", "near"];
        args.extend(more);
        folder.assize(&args)
    };
    evaluate(&["--pairs", "manual/one.csv"]).exits(2).says("--pairs").says("manual");
    evaluate(&["--out", "near"]).exits(2).says("--out");
    assert_eq!(folder.read("manual/one.csv"), before);
    evaluate(&["--out", "near/below", "--pairs", "pairs.csv"]).exits(0);
}

#[test]
fn a_bad_row_names_the_way_out() {
    let folder = folders();
    folder.write("near/one.csv", "event,time\nfever,soon\n");
    folder
        .assize(&["evaluate", "--reference", "manual", "--prediction", "near"])
        .exits(2)
        .says("one.csv:2")
        .says("--on-bad-row skip");
}

#[test]
fn one_unfit_case_leaves_the_others_and_their_ids_alone() {
    let folder = Folder::new();
    let huge = "12345678901234567890123";
    let input = format!(
        "\u{feff}{{\"cases\": [{{\"id\": {huge}, \"input\": {{\"k\": 1.0, \"n\": 2.0, \"conf\": 0.95}}}}, \
         {{\"id\": \"far\", \"input\": {{\"k\": 1e999, \"n\": 2, \"conf\": 0.95}}}}, {{\"id\": 3}}]}}"
    );
    let ran = folder.assize_with(&input, &["measure", "wilson"]).exits(4);
    ran.says("2 of 3 inputs");
    let answers = ran.json();
    assert!(answers["cases"][0]["output"]["lo"].is_number(), "whole numbers written as 1.0 are whole: {answers}");
    assert!(answers["cases"][1]["error"].as_str().unwrap().contains("out of range"), "{answers}");
    assert!(ran.stdout.contains(&format!("\"id\": {huge},")), "an id comes back as it was written");
    folder.assize_with("{\"cases\": [{\"input\": NaN}]}", &["measure", "wilson"]).exits(2).says("null");
    let endless =
        json!([{"id": 1, "input": {"strata": [{"name": "a", "n": 9e15, "upheld": 1, "corpus_share": 1}], "B": 9, "seed": 1}}]);
    assert!(measure(&folder, "standardised_rate", &endless, 4)["cases"][0]["error"].as_str().unwrap().contains("draws"));
    let listed = folder.assize(&["measure", "wilson", "--list"]).exits(0);
    assert!(listed.stdout.starts_with("wilson: ") && !listed.stdout.contains("levenshtein"));
}
