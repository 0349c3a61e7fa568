//! Help, arguments, `init`, and which stream carries what.

use crate::program::{Folder, tree};
use crate::study::{REPLIES, WRITTEN, judged_sample, sample};
use std::collections::BTreeSet;
use std::fs;

/// The names under "Commands:" of a help text.
fn sub_commands(help: &str) -> Vec<String> {
    let mut lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.by_ref().take_while(|line| line.starts_with("  "));
    // A name stands at the third column; what is further in continues a description.
    let named = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    named.filter(|name| *name != "help").map(String::from).collect()
}

/// Every command by the names that lead to it, the program itself first.
fn every_command(folder: &Folder) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(names) = open.pop() {
        let args: Vec<&str> = names.iter().map(String::as_str).chain(["--help"]).collect();
        let help = folder.assize(&args).exits(0);
        help.is_silent();
        for name in sub_commands(&help.stdout) {
            open.push(names.iter().cloned().chain([name]).collect());
        }
        found.push((names, help.stdout));
    }
    found
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    let all = every_command(&folder);
    let names: Vec<String> = all.iter().map(|(names, _)| names.join(" ")).collect();
    for expected in [
        "",
        "init",
        "check",
        "plan",
        "run",
        "requests",
        "replies",
        "models",
        "models list",
        "models verify",
        "store",
        "store verify",
        "store merge",
        "store export",
    ] {
        assert!(names.iter().any(|name| name == expected), "no help for {expected:?} among {names:?}");
    }
    let bare: Vec<&str> =
        all.iter().zip(&names).filter(|((_, help), _)| !help.contains("Example")).map(|(_, name)| &**name).collect();
    assert!(bare.is_empty(), "no example in the help of {bare:?}");
    assert!(tree(folder.path()).is_empty(), "help wrote a file");
}

#[test]
fn the_help_names_every_exit_code() {
    let help = Folder::new().assize(&["--help"]).exits(0).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for code in ["0 done", "1 internal", "2 wrong usage", "3 a model", "4 finished", "5 interrupted"] {
        assert!(words.contains(code), "{code:?} is not in the help:\n{help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let ran = Folder::new().assize(&["--version"]).exits(0);
    ran.is_silent();
    assert_eq!(ran.stdout, format!("assize {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_arguments_exit_2_and_are_named() {
    let folder = Folder::new();
    for (args, named) in [
        (&["run", "trial", "--colour"][..], "--colour"),
        (&["judge", "trial"], "judge"),
        (&["store", "burn", "trial"], "burn"),
        (&["run", "trial", "--numerics", "loose"], "loose"),
        (&["run", "trial", "--slots", "four"], "four"),
        (&["store", "export", "trial", "--format", "xml", "--out", "x"], "xml"),
        (&["run"], "STUDY"),
        (&[], "Usage"),
    ] {
        let ran = folder.assize(args).exits(2);
        ran.says(named);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert!(tree(folder.path()).is_empty(), "a refused command wrote a file");
}

#[test]
fn settings_out_of_range_exit_2() {
    let folder = sample();
    for (setting, most) in [("--slots", "1 to 248"), ("--threads", "1 to 512")] {
        for value in ["0", "1000000"] {
            folder.assize(&["run", WRITTEN, setting, value]).exits(2).says(most).says(value);
        }
    }
    folder.assize(&["check", WRITTEN, "--card", "all-minilm-l6-v2"]).exits(2).says("a judge is needed");
}

#[test]
fn a_study_that_is_not_there_exits_2_and_is_named() {
    let folder = Folder::new();
    for command in ["check", "run", "requests", "replies"] {
        let ran = folder.assize(&[command, "nowhere"]).exits(2);
        ran.says("nowhere").says("assize init");
        assert_eq!(ran.stdout, "", "{command}");
    }
    assert!(tree(folder.path()).is_empty());
}

#[test]
fn init_writes_a_manifest_with_every_section_explained() {
    let folder = Folder::new();
    let ran = folder.assize(&["init", "trial"]).exits(0);
    assert_eq!(ran.stdout, "trial/study.toml\n");
    ran.says("assize check trial");
    let text = folder.read("trial/study.toml");
    for section in ["study", "reports", "source", "cases", "input", "judge", "scoring", "store", "results"] {
        let at = text.lines().position(|line| line.trim_matches(['[', ']']) == section && line.starts_with('['));
        assert!(at.is_some(), "no section {section}:\n{text}");
    }
    // The first time a key occurs, in use or commented out, an explanation stands above it or above the keys before it.
    let key = |line: &str| {
        let (key, _) = line.trim_start_matches("# ").split_once(" = ")?;
        key.chars().all(|c| c == '_' || c.is_ascii_lowercase()).then(|| key.to_string())
    };
    let (mut explained, mut known) = (false, BTreeSet::new());
    for line in text.lines() {
        match key(line) {
            Some(key) => assert!(!known.insert(key) || explained, "no explanation of {line:?}"),
            None => explained = line.starts_with('#'),
        }
    }
    assert!(known.len() >= 30, "{known:?}");
    let files: Vec<_> = tree(folder.path()).into_keys().collect();
    assert_eq!(files.len(), 2, "{files:?}");
}

#[test]
fn a_new_study_is_checked_and_what_is_missing_is_named() {
    let folder = Folder::new();
    folder.assize(&["init", "trial"]).exits(0);
    let text = folder.read("trial/study.toml");
    let ran = folder.assize(&["check", "trial"]).exits(2);
    assert_eq!(ran.stdout, "");
    for dir in ["reports", "sources/first", "sources/second"] {
        let line = 1 + text.lines().position(|line| line == format!("dir = {dir:?}")).unwrap();
        let said = ran.line(&format!("error: trial/study.toml:{line}: "));
        assert!(said.contains(&format!("trial/{dir}")), "{said}");
    }
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
}

#[test]
fn a_filled_new_study_passes() {
    let folder = Folder::new();
    folder.assize(&["init", "trial"]).exits(0);
    folder
        .write("trial/reports/case-01.txt", "Fever.\n")
        .write("trial/sources/first/case-01.csv", "event,time\nfever,0\n")
        .write("trial/sources/second/case-01.csv", "event,time\nfever,1\n");
    let ran = folder.assize(&["check", "trial"]).exits(0);
    assert!(ran.stdout.contains("1 cases, 2 sources, 1 games"), "{}", ran.stdout);
}

#[test]
fn init_refuses_to_overwrite() {
    let folder = Folder::new();
    folder.write("trial/study.toml", "mine\n").write("plain", "a file\n");
    let ran = folder.assize(&["init", "trial"]).exits(2);
    ran.says("trial/study.toml").says("left as it is");
    assert_eq!(ran.stdout, "");
    assert_eq!(folder.read("trial/study.toml"), "mine\n");
    folder.assize(&["init", "plain/trial"]).exits(2).says("plain/trial");
    assert_eq!(folder.read("plain"), "a file\n");
}

#[test]
fn quiet_leaves_standard_error_empty_on_success() {
    let folder = sample();
    folder.assize(&["init", "trial", "--quiet"]).exits(0).is_silent();
    folder.assize(&["check", WRITTEN, "--quiet"]).exits(0).is_silent();
    folder.assize(&["requests", WRITTEN, "--quiet"]).exits(0).is_silent();
    folder.assize(&["replies", WRITTEN, "--input", REPLIES, "--quiet"]).exits(0).is_silent();
    let run = folder.assize(&["run", WRITTEN, "-q"]).exits(0);
    run.is_silent();
    assert!(run.stdout.contains("careful"), "a quiet run still prints its tables: {}", run.stdout);
    let store = "store-written";
    folder.assize(&["store", "verify", store, "-q"]).exits(0).is_silent();
    folder.assize(&["store", "export", store, "--out", "records.csv", "-q"]).exits(0).is_silent();
    folder.assize(&["store", "merge", store, "-q"]).exits(0).is_silent();
    folder.assize(&["models", "list", "-q"]).exits(0).is_silent();
}

#[test]
fn json_makes_standard_output_one_value() {
    let folder = judged_sample();
    let run = folder.assize(&["run", WRITTEN, "--json"]).exits(0).json();
    for name in ["leaderboard", "rubrics", "head_to_head", "error_profile", "conformance", "games", "input"] {
        assert!(run[name].as_array().is_some_and(|rows| !rows.is_empty()), "no rows of {name}");
    }
    assert_eq!(run["study"], "sample, written replies");
    assert!(folder.join(run["report"].as_str().unwrap()).is_file());
    assert_eq!(folder.assize(&["check", WRITTEN, "--json"]).exits(0).json()["games"], 36);
    folder.assize(&["replies", WRITTEN, "--json"]).exits(0).json();
    folder.assize(&["store", "verify", "store-written", "--json"]).exits(0).json();
    folder.assize(&["store", "merge", "store-written", "--json"]).exits(0).json();
    let cards = folder.assize(&["models", "list", "--json"]).exits(0).json();
    assert!(cards.as_array().unwrap().iter().any(|card| card["card"] == "written-replies"));
    folder.assize(&["models", "verify", "written-replies", "--json"]).exits(0).json();
}

#[test]
fn remarks_go_to_standard_error_alone() {
    let folder = judged_sample();
    let ran = folder.assize(&["run", WRITTEN]).exits(0);
    ran.says("served elsewhere");
    assert!(!ran.stdout.contains("served elsewhere"), "{}", ran.stdout);
    let requests = folder.assize(&["requests", WRITTEN]).exits(0);
    requests.says("0 pending prompts of 36 games");
    assert_eq!(requests.stdout, "");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = sample();
    for command in ["requests", "run"] {
        let ran = folder.assize_under(&format!("\"$@\" {command} {WRITTEN} --quiet | head -n 1"), &[]).exits(0);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
        ran.hides("error").hides("panicked");
    }
}

#[test]
fn replies_come_from_standard_input_too() {
    let folder = sample();
    let input = fs::read_to_string(folder.join(REPLIES)).unwrap();
    let ran = folder.assize_with(&input, &["replies", WRITTEN, "--json"]).exits(0);
    assert_eq!(crate::study::count(&ran.json(), "accepted"), 36);
    let ran = folder.assize_with("no JSON\n", &["replies", WRITTEN]).exits(4);
    ran.says("stdin:1: ");
    folder.assize(&["replies", WRITTEN, "--input", "nowhere.jsonl"]).exits(2).says("nowhere.jsonl");
}
