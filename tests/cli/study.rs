//! Studies to run on, and replies written by hand.

use crate::program::{Folder, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Manifest of the sample study that is judged by hand, as seen from its folder.
pub const WRITTEN: &str = "written.toml";
/// Its replies.
pub const REPLIES: &str = "written/replies.jsonl";
/// Games of the sample study.
pub const N_GAMES: usize = 36;
/// Leaderboard of the sample study, computed apart from this program.
pub const RATINGS: [(&str, f64); 4] = [("careful", 1592.5), ("terse", 1497.3), ("eager", 1473.3), ("hasty", 1437.0)];

/// The sample study of the repository.
pub fn sample_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample")
}

/// A copy of the sample study without stores and results.
pub fn sample() -> Folder {
    let folder = Folder::new();
    for name in ["reports", "sources", "written"] {
        copy(&sample_path().join(name), &folder.join(name));
    }
    folder.write(WRITTEN, fs::read(sample_path().join(WRITTEN)).unwrap());
    folder
}

/// The sample study with every reply on record.
pub fn judged_sample() -> Folder {
    let folder = sample();
    folder.assize(&["replies", WRITTEN, "--input", REPLIES]).exits(0);
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The committed replies, one line each.
pub fn reply_lines(folder: &Folder) -> Vec<String> {
    folder.read(REPLIES).lines().map(String::from).collect()
}

/// A study of two sources, `alpha` and `beta`, who give four events other times in each case.
pub fn two_sources(cases: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write(
        "study.toml",
        r#"[study]
name = "two sources"
[reports]
dir = "reports"
[[source]]
name = "alpha"
dir = "alpha"
format = "csv"
[[source]]
name = "beta"
dir = "beta"
format = "bsv"
[judge]
card = "written-replies"
"#,
    );
    for case in cases {
        folder
            // Games with equal prompts share a reply, so every report is its own.
            .write(&format!("reports/{case}.txt"), format!("The patient of {case} had fever, cough, rash and discharge.\n"))
            .write(&format!("alpha/{case}.csv"), "event,time\nfever,-72\ncough,-48\nrash,0\ndischarge,240\n")
            .write(&format!("beta/{case}.bsv"), "fever | 72\ncough | 96\nrash | 144\ndischarge | 480\n");
    }
    folder
}

/// A pending request.
#[derive(Debug, Clone)]
pub struct Pending {
    pub custom_id: String,
    pub case: String,
    pub a: String,
    pub b: String,
    pub attempt: String,
    /// The messages of its body.
    pub messages: Vec<Value>,
}

impl Pending {
    /// The verdict for the source of this name.
    pub fn verdict_for(&self, source: &str) -> &'static str {
        if self.a == source { "A" } else { "B" }
    }

    /// The text of the last message.
    pub fn last_message(&self) -> &str {
        self.messages.last().unwrap()["content"].as_str().unwrap()
    }
}

/// What `assize requests` prints and indexes for a study; `study` as given on the command line.
pub fn requests(folder: &Folder, study: &str) -> Vec<Pending> {
    let ran = folder.assize(&["requests", study, "--index", "index.csv"]).exits(0);
    let mut index = csv::Reader::from_path(folder.join("index.csv")).unwrap();
    assert_eq!(index.headers().unwrap(), vec!["custom_id", "case", "source_a", "source_b", "attempt"]);
    let rows: Vec<csv::StringRecord> = index.records().map(Result::unwrap).collect();
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), lines.len());
    let pending = |(row, line): (&csv::StringRecord, &Value)| {
        assert_eq!(row[0], line["custom_id"]);
        Pending {
            custom_id: row[0].into(),
            case: row[1].into(),
            a: row[2].into(),
            b: row[3].into(),
            attempt: row[4].into(),
            messages: line["body"]["messages"].as_array().unwrap().clone(),
        }
    };
    rows.iter().zip(&lines).map(pending).collect()
}

/// A TIMING finding about row `row` of both sides.
pub fn timing(row: usize, verdict: &str) -> Value {
    json!({"type": "TIMING", "a_row": row, "b_row": row, "polarity": "present", "evidence": "none found",
        "rationale": "One time follows from the report.", "verdict": verdict})
}

/// The line of a batch result whose reply holds `findings`.
pub fn result_line(custom_id: &str, findings: &[Value]) -> String {
    result_with(custom_id, &json!(json!({"findings": findings}).to_string()), "stop")
}

/// The line of a batch result with any content and finish reason.
pub fn result_with(custom_id: &str, content: &Value, finish: &str) -> String {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish});
    let response = json!({"status_code": 200, "request_id": "r", "body": {"object": "chat.completion", "choices": [choice]}});
    json!({"id": "r", "custom_id": custom_id, "response": response, "error": null}).to_string()
}

/// Takes replies in and returns what the program counted.
pub fn replies(folder: &Folder, study: &str, lines: &[String]) -> Ran {
    folder.write("results.jsonl", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    folder.assize(&["replies", study, "--input", "results.jsonl", "--json"])
}

/// The number beside `what` in a table of counts.
pub fn count(table: &Value, what: &str) -> u64 {
    let row = table.as_array().unwrap().iter().find(|row| row["what"] == what);
    row.unwrap_or_else(|| panic!("no row {what:?} in {table:#}"))["n"].as_u64().unwrap()
}

/// The row of a table whose `column` is `value`.
pub fn row<'t>(table: &'t Value, column: &str, value: &str) -> &'t Value {
    let row = table.as_array().unwrap().iter().find(|row| row[column] == value);
    row.unwrap_or_else(|| panic!("no row with {column} {value:?} in {table:#}"))
}

/// Requires two finite numbers to be within `tolerance`.
pub fn assert_near(value: &Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("expected {expected}, got {value}"));
    assert!((value - expected).abs() <= tolerance, "expected {expected}, got {value}");
}

/// Requires the leaderboard of the sample study.
pub fn assert_sample_leaderboard(leaderboard: &Value) {
    let rows = leaderboard.as_array().unwrap();
    assert_eq!(rows.len(), RATINGS.len());
    for (i, (row, (source, rating))) in rows.iter().zip(RATINGS).enumerate() {
        assert_eq!((row["rank"].as_u64().unwrap(), row["source"].as_str().unwrap()), (i as u64 + 1, source));
        assert_near(&row["rating"], rating, 0.1);
    }
}
