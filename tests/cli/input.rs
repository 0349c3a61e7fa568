//! `check`: every fault of a study at once, and every treatment of its input counted.

use crate::program::{Folder, assert_unchanged, tree};
use crate::study::{requests, row, two_sources};
use serde_json::Value;
use std::collections::BTreeSet;

/// A manifest with the given sources, and more text behind.
fn manifest(sources: &[(&str, &str, &str)], more: &str) -> String {
    let mut text =
        String::from("[study]\nname = \"inputs\"\n[reports]\ndir = \"reports\"\n[judge]\ncard = \"written-replies\"\n");
    for (name, dir, format) in sources {
        text += &format!("[[source]]\nname = {name:?}\ndir = {dir:?}\nformat = {format:?}\n");
    }
    text + more
}

/// The line of the `n`th occurrence of `needle`, both from one.
fn line_of(text: &str, needle: &str, n: usize) -> usize {
    let found = text.lines().enumerate().filter(|(_, line)| line.contains(needle)).nth(n - 1);
    1 + found.unwrap_or_else(|| panic!("no {needle:?} in\n{text}")).0
}

/// Path, line and words of a fault.
type Fault = (String, Option<usize>, &'static str);

/// A study with one fault of each kind, and every fault.
fn faulty() -> (Folder, Vec<Fault>) {
    let sources = [("alpha", "alpha", "csv"), ("alpha", "beta", "csv"), ("gamma", "gamma", "bsv"), ("delta", "delta", "jsonl")];
    let text = manifest(&sources, "[scoring]\nbootstrap_resamples = \"many\"\ncolour = \"red\"\n[colours]\n");
    let folder = Folder::new();
    folder
        .write("study.toml", &text)
        .write("reports/case-1.txt", "A patient.\n")
        .write("reports/case-2.txt", " \n")
        .write("alpha/case-1.csv", "event,time\nfever,yesterday\nrash,NaN\nstone,26,280\nwell,0\n")
        .write("alpha/case-2.csv", "event,time\nfever,0\n")
        .write("beta/case-1.csv", "event,time\nfever,0\n")
        .write("delta/case-1.jsonl", "{\"event\": \"fever\", \"time\": 0}\n{\"event\": \"rash\"\n");
    let manifest_fault = |line, words| ("study.toml".to_string(), Some(line), words);
    let faults = vec![
        manifest_fault(line_of(&text, "colour =", 1), "colour"),
        manifest_fault(line_of(&text, "[colours]", 1), "colours"),
        manifest_fault(line_of(&text, "bootstrap_resamples", 1), "bootstrap_resamples"),
        manifest_fault(line_of(&text, "name = \"alpha\"", 2), "every source name once"),
        manifest_fault(line_of(&text, "dir = \"gamma\"", 1), "gamma"),
        ("reports/case-2.txt".into(), None, "empty"),
        ("alpha/case-1.csv".into(), Some(2), "number of hours"),
        ("alpha/case-1.csv".into(), Some(3), "finite"),
        ("alpha/case-1.csv".into(), Some(4), "fields"),
        ("delta".into(), None, "case-2"),
        ("delta/case-1.jsonl".into(), Some(2), "JSON object"),
    ];
    (folder, faults)
}

#[test]
fn every_fault_is_reported_at_once() {
    let (folder, faults) = faulty();
    let before = tree(folder.path());
    let ran = folder.assize(&["check", "."]).exits(2);
    assert_eq!(ran.stdout, "");
    for (path, line, words) in &faults {
        let place = line.map_or(format!("error: ./{path}: "), |line| format!("error: ./{path}:{line}: "));
        let said = ran.line(&place);
        assert!(said.contains(words), "{said}");
        assert!(said.contains("; "), "no remedy: {said}");
    }
    assert_eq!(ran.stderr.lines().count(), faults.len(), "{}", ran.stderr);
    // A row may come from a case: its text is not for a log.
    ran.hides("yesterday").hides("rash");
    assert_unchanged(&before, folder.path());
}

#[test]
fn every_fault_is_in_the_json_list() {
    let (folder, faults) = faulty();
    let before = tree(folder.path());
    let ran = folder.assize(&["check", ".", "--json"]).exits(2);
    ran.is_silent();
    let out = ran.json();
    assert_eq!(out["ok"], false);
    let problems = out["problems"].as_array().unwrap();
    let mut places = BTreeSet::new();
    for problem in problems {
        let keys: Vec<&String> = problem.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["path", "line", "severity", "what", "remedy"]);
        assert_eq!(problem["severity"], "error");
        assert!(!problem["what"].as_str().unwrap().is_empty() && !problem["remedy"].as_str().unwrap().is_empty());
        places.insert((problem["path"].as_str().unwrap().to_string(), problem["line"].as_u64()));
    }
    let expected = faults.iter().map(|(path, line, _)| (format!("./{path}"), line.map(|line| line as u64)));
    assert_eq!(places, expected.collect());
    // The list and the lines for people say the same.
    let said = folder.assize(&["check", "."]).exits(2).stderr;
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let line = problem["line"].as_u64().map_or(String::new(), |line| format!("{line}:"));
            let text = |name: &str| problem[name].as_str().unwrap();
            format!("error: {}:{line} {}; {}", text("path"), text("what"), text("remedy"))
        })
        .collect();
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    assert_unchanged(&before, folder.path());
}

#[test]
fn a_missing_report_folder_does_not_hide_other_faults() {
    let folder = two_sources(&["case-1"]);
    let text = folder.read("study.toml").replace("\"reports\"", "\"texts\"").replace("\"beta\"\nformat", "\"gone\"\nformat");
    folder.write("study.toml", format!("{text}slotz = 3\n"));
    let ran = folder.assize(&["check", "."]).exits(2);
    let said = ran.line(&format!("error: ./study.toml:{}: ", line_of(&text, "\"texts\"", 1)));
    assert!(said.contains("texts"), "{said}");
    ran.line(&format!("error: ./study.toml:{}: ", line_of(&text, "\"gone\"", 1)));
    ran.line(&format!("error: ./study.toml:{}: ", text.lines().count() + 1));
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
}

#[test]
fn broken_toml_is_named_with_its_line() {
    let folder = two_sources(&["case-1"]);
    folder.write("study.toml", "[study]\nname = \"x\n[reports]\n");
    folder.assize(&["check", "."]).exits(2).says("./study.toml:2: ");
}

#[test]
fn other_commands_refuse_a_faulty_study_alike() {
    let (folder, faults) = faulty();
    let before = tree(folder.path());
    for command in ["run", "requests", "replies"] {
        let ran = folder.assize(&[command, "."]).exits(2);
        assert_eq!(ran.stderr.lines().count(), faults.len(), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert_unchanged(&before, folder.path());
}

#[test]
fn a_warning_among_errors_is_not_called_an_error() {
    let folder = two_sources(&["case-1"]);
    folder.write("alpha/notes.md", "to do").write("beta/case-1.bsv", "fever | soon\nrash | 0\n");
    let ran = folder.assize(&["check", "."]).exits(2);
    ran.line("error: ./beta/case-1.bsv:1: ");
    ran.line("warning: ./alpha: ");
}

#[test]
fn an_unknown_card_is_a_fault_among_the_others() {
    let folder = two_sources(&["case-1"]);
    folder.write("study.toml", folder.read("study.toml").replace("written-replies", "judge-of-nowhere"));
    let ran = folder.assize(&["check", ".", "--json"]);
    assert!(ran.stdout.contains("judge-of-nowhere"), "not in the list: {:?}, but on standard error: {}", ran.stdout, ran.stderr);
    assert_eq!(ran.json()["ok"], false);
    folder.write("beta/case-1.bsv", "fever | soon\nrash | 0\n");
    let ran = folder.assize(&["check", "."]).exits(2);
    ran.says("judge-of-nowhere").says("./beta/case-1.bsv:1: ");
}

#[test]
fn a_missing_timeline_can_be_left_out_and_is_listed() {
    let folder = two_sources(&["case-1", "case-2"]);
    std::fs::remove_file(folder.join("beta/case-2.bsv")).unwrap();
    folder.assize(&["check", "."]).exits(2).says("case-2");
    folder.write("study.toml", folder.read("study.toml") + "[cases]\non_missing_timeline = \"skip_games\"\n");
    let ran = folder.assize(&["check", "."]).exits(0);
    ran.says("left out: case-2: no timeline by beta");
    let out = folder.assize(&["check", ".", "--json"]).exits(0).json();
    assert_eq!((&out["games"], &out["cases"]), (&Value::from(1), &Value::from(2)));
    assert!(out["left_out"].as_array().unwrap().iter().any(|line| line == "case-2: no timeline by beta"), "{out:#}");
}

/// One source for each treatment, one case.
fn treated(on_bad_row: &str) -> Folder {
    let sources = [
        ("marks", "marks", "csv"),
        ("latin", "latin", "csv"),
        ("commas", "commas", "csv"),
        ("gaps", "gaps", "csv"),
        ("slashes", "slashes", "bsv"),
        ("boxed", "boxed", "bsv"),
    ];
    let folder = Folder::new();
    folder
        .write("study.toml", manifest(&sources, &format!("[input]\non_bad_row = {on_bad_row:?}\n")))
        .write("reports/case-1.txt", "\u{feff}A patient.\r\n")
        .write("marks/case-1.csv", "\u{feff}event,time\r\nfever,-72\r\n\r\nrash,+6\r\n")
        .write("latin/case-1.csv", b"event,time\nfever 38\xb0C,0\n")
        .write("commas/case-1.csv", "event,time\n\"kidney stone, left\",\"-26,280\"\nfall,\"1,672\"\n")
        .write("gaps/case-1.csv", "event,time\nallergy,N/A\nvaccines,\nfever,0\n")
        .write("slashes/case-1.bsv", "fever | -72\\\nrash | 0 \\\\\n")
        .write("boxed/case-1.bsv", BOXED);
    folder
}

/// What a model wrote around a table; lines 7 and 8 are no events.
const BOXED: &str = r"Let me go through the report.
```
\boxed{fever | -72
- rash | 0
| cough | 24 |
discharge | 240}
weight loss | 6 months
relapse | 24 to 48
```
That is all.
";

#[test]
fn every_treatment_of_input_is_counted() {
    let folder = treated("skip");
    let out = folder.assize(&["check", ".", "--json"]).exits(0).json();
    let input = &out["input"];
    let counts = |source: &str, names: &[&str]| -> Vec<u64> {
        names
            .iter()
            .map(|name| row(input, "source", source)[*name].as_u64().unwrap_or_else(|| panic!("no {name} of {source}")))
            .collect()
    };
    assert_eq!(counts("(reports)", &["files", "bom", "crlf"]), [1, 1, 1]);
    assert_eq!(
        counts("marks", &["bom", "crlf", "header_lines", "blank_lines", "rows_kept", "plus_signs", "lines_read"]),
        [1, 1, 1, 1, 2, 1, 4]
    );
    assert_eq!(counts("latin", &["windows_1252", "rows_kept", "bom", "crlf"]), [1, 1, 0, 0]);
    assert_eq!(counts("commas", &["times_with_thousands_comma", "rows_kept"]), [2, 2]);
    assert_eq!(counts("gaps", &["times_na", "empty_times", "rows_kept"]), [2, 1, 3]);
    assert_eq!(counts("slashes", &["stray_backslashes", "rows_kept"]), [2, 2]);
    let names =
        ["lines_read", "rows_kept", "prose_lines", "markup_lines", "list_bullets", "rejected.time_unit", "rejected.time_range"];
    assert_eq!(counts("boxed", &names), [10, 4, 2, 2, 1, 1, 1]);
    // What was passed over is said with its file and line.
    let problems = out["problems"].as_array().unwrap();
    let warned =
        |path: &str, line: u64| problems.iter().any(|p| p["path"] == path && p["line"] == line && p["severity"] == "warning");
    assert!(
        warned("./boxed/case-1.bsv", 7) && warned("./boxed/case-1.bsv", 1) && warned("./latin/case-1.csv", 2),
        "{problems:#?}"
    );
}

#[test]
fn the_judge_sees_the_treated_input() {
    let folder = treated("skip");
    let pending = requests(&folder, ".");
    assert_eq!(pending.len(), 15);
    let sees = |a: &str, b: &str, texts: &[&str]| {
        let game = pending.iter().find(|game| [(a, b), (b, a)].contains(&(&game.a, &game.b))).unwrap();
        for text in texts {
            assert!(game.last_message().contains(text), "{text:?} is not in\n{}", game.last_message());
        }
        assert!(!game.last_message().contains('\u{feff}'));
    };
    sees("marks", "latin", &["\n1. -72: fever\n2. 6: rash\n", "\n1. 0: fever 38°C"]);
    sees(
        "commas",
        "gaps",
        &["\n1. -26280: kidney stone, left\n2. 1672: fall\n", "\n1. N/A: allergy\n2. N/A: vaccines\n3. 0: fever"],
    );
    sees("slashes", "boxed", &["\n1. -72: fever\n2. 0: rash\n", "\n1. -72: fever\n2. 0: rash\n3. 24: cough\n4. 240: discharge"]);
}

#[test]
fn raw_output_is_refused_unless_skipping_is_asked_for() {
    let folder = treated("refuse");
    let ran = folder.assize(&["check", "."]).exits(2);
    for line in [1, 7, 8] {
        ran.line(&format!("error: ./boxed/case-1.bsv:{line}: "));
    }
    ran.says("on_bad_row = \"skip\"").hides("weight loss").hides("go through the report");
    let errors = ran.stderr.lines().filter(|line| line.starts_with("error: ./") && !line.contains("./latin/"));
    assert_eq!(errors.count(), 3, "{}", ran.stderr);
}
