//! `stages`: stage timelines in numbers and figures.

use crate::program::Folder;
use serde_json::json;

/// Two series: one with three timelines, one with a timeline of a single stage.
fn files() -> Folder {
    let folder = Folder::new();
    folder
        .write(
            "accepted.jsonl",
            "{\"id\": 1, \"stages\": [[\"fever\", \"chills\"], [\"rash\"]]}\n\n\
             {\"id\": 2, \"stages\": [[\"fever\"], [\"cough\"], [\"rash\", \"rash\"]], \"note\": \"kept\"}\n\
             {\"id\": 3, \"stages\": [[\"a\"], [\"b\"], [\"c\"], [\"d\"], [\"e\"], [\"f\"], [\"g\"]]}\n",
        )
        .write("single.jsonl", "{\"stages\": [[\"fever\"]]}\n");
    folder
}

#[test]
fn stages_and_transitions_are_counted_once_a_timeline() {
    let folder = files();
    let one = folder.assize(&["stages", "accepted.jsonl", "--top", "3", "--json"]).exits(0).json();
    let bars: Vec<_> =
        one["stage_histogram"].as_array().unwrap().iter().map(|row| (&row["stages"], &row["n_timelines"])).collect();
    assert_eq!(bars[1], (&json!("2"), &json!(1)), "{bars:?}");
    assert_eq!((bars[2], bars[5]), ((&json!("3"), &json!(1)), (&json!("6+"), &json!(1))));
    let cells = one["transitions_accepted"].as_array().unwrap();
    let count =
        |row: &str, column: &str| cells.iter().find(|cell| cell["row"] == row && cell["column"] == column).map(|c| &c["count"]);
    assert_eq!(count("fever", "rash"), Some(&json!(2)), "the same symptom twice in a stage counts once");
    assert_eq!(count("chills", "rash"), Some(&json!(1)));
    assert_eq!(count("cough", "rash"), None, "cough is in no first stage");
    let all = folder.assize(&["stages", "accepted.jsonl", "--all-pairs", "--top", "20", "--json"]).exits(0).json();
    let cells = all["transitions_accepted"].as_array().unwrap();
    assert!(cells.iter().any(|cell| cell["row"] == "cough" && cell["column"] == "rash" && cell["count"] == 1), "{cells:?}");
}

#[test]
fn figures_come_as_svg_and_png_with_their_data() {
    let folder = files();
    folder.assize(&["stages", "accepted.jsonl", "single.jsonl", "--out", "out"]).exits(0).says("no timeline of single");
    for name in ["stage_histogram", "transitions_accepted"] {
        assert!(folder.read(&format!("out/{name}.svg")).starts_with("<svg "));
        assert_eq!(std::fs::read(folder.path().join(format!("out/{name}.png"))).unwrap()[..4], *b"\x89PNG");
        assert!(folder.read(&format!("out/{name}.csv")).lines().count() > 2);
    }
    assert!(!folder.path().join("out/transitions_single.svg").exists());
}

#[test]
fn what_is_no_stage_timeline_is_named_by_line() {
    let folder = files();
    folder.write("bad.jsonl", "{\"stages\": [[\"fever\"]]}\n{\"stages\": [\"fever\"]}\n").write("empty.jsonl", "");
    folder.assize(&["stages", "bad.jsonl"]).exits(2).says("bad.jsonl:2").says("expected {\"stages\"");
    folder.assize(&["stages", "empty.jsonl"]).exits(2).says("empty.jsonl").says("got none");
    folder.write("hole.jsonl", "{\"stages\": [[\"fever\"], []]}\n");
    folder.assize(&["stages", "hole.jsonl"]).exits(2).says("hole.jsonl:1: stage 2");
    folder.assize(&["stages", "absent.jsonl"]).exits(2).says("absent.jsonl");
    assert!(!folder.path().join("stages").exists(), "nothing is written before the input is read");
}
