//! The evaluation of the real timelines next to the repository, against numbers recomputed apart from this program.
//!
//! The data are not part of the repository; without them the test says so and returns.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/amia2025");

/// Evaluates three sources against the manual timelines and returns the main table.
fn evaluate(out: &Path, matcher: &str, compat: &str) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
    command.args(["evaluate", "--on-bad-row", "skip", "--matcher", matcher, "--compat", compat, "--json", "--quiet"]);
    command.arg("--out").arg(out).arg("--reference").arg(Path::new(DATA).join("manual"));
    for source in ["GPT-4", "GPT-4-feedback", "O1-preview"] {
        command.arg("--prediction").arg(Path::new(DATA).join(source));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["evaluation"].as_array().unwrap().clone()
}

#[test]
fn manual_timelines_against_three_sources() {
    if !Path::new(DATA).is_dir() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no data set amia2025");
        return;
    }
    let out = std::env::temp_dir().join(format!("assize-amia2025-{}", std::process::id()));
    let near = |value: &Value, expected: f64| {
        let got = value.as_f64().unwrap();
        assert!((got - expected).abs() < 5e-4, "{got}, expected {expected}");
    };
    // At distances below .1 both matchers keep the same pairs.
    for matcher in ["greedy", "rounds"] {
        let paper = evaluate(&out, matcher, "paper");
        for (row, [rate, aultc, concordance]) in
            paper.iter().zip([[0.0444, 0.6017, 1.0], [0.0762, 0.6986, 1.0], [0.1556, 0.8728, 1.0]])
        {
            near(&row["match_rate"], rate);
            near(&row["aultc"], aultc);
            near(&row["concordance_mean"], concordance);
            assert!(row["aultc_lo"].as_f64() < row["aultc"].as_f64() && row["aultc"].as_f64() < row["aultc_hi"].as_f64());
        }
        let authors = evaluate(&out, matcher, "authors");
        for (row, [rate, area, concordance]) in
            authors.iter().zip([[0.0444, 0.593, 0.917], [0.0762, 0.699, 0.958], [0.1556, 0.792, 1.0]])
        {
            near(&row["match_rate"], rate);
            near(&row["aultc"], area);
            near(&row["concordance_mean"], concordance);
            assert!(row["aultc_lo"].as_f64() < row["aultc_hi"].as_f64(), "the script's area has an interval too");
        }
    }
    std::fs::remove_dir_all(&out).unwrap();
}
