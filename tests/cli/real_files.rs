//! Replies, reports and timelines as people have them: what used to give a wrong number without a message, or was refused although it
//! was usable.

use crate::program::Folder;
use crate::study::{Pending, WRITTEN, count, replies, requests, result_line, result_with, row, sample, timing, two_sources};
use serde_json::{Value, json};

fn reply(findings: &[Value]) -> String {
    json!({"findings": findings}).to_string()
}

/// The only game of a study of one case, after its reply is taken in.
fn judged(folder: &Folder, game: &Pending, content: &str) -> (Value, Value) {
    let taken = replies(folder, ".", &[result_with(&game.custom_id, &json!(content), "stop")]);
    folder.assize(&["run", ".", "--quiet"]);
    (taken.json(), folder.read_json("results/games.json")[0].clone())
}

#[test]
fn the_answer_counts_and_not_the_draft_in_the_reasoning() {
    let draft = reply(&[timing(1, "A"), timing(2, "A")]);
    let answer = reply(&[timing(1, "B")]);
    for (mark, content) in [
        ("<think>", format!("<think>{draft}</think>\n{answer}")),
        ("<thinking>", format!("<thinking>\n{draft}\n</thinking>{answer}")),
        ("[THINK]", format!("[THINK]{draft}[/THINK]{answer}")),
        ("<think>", format!("I would write {draft}\n</think>\n{answer}")),
    ] {
        let folder = two_sources(&["case-1"]);
        let game = requests(&folder, ".").remove(0);
        let (taken, judged) = judged(&folder, &game, &content);
        assert_eq!((&judged["status"], &judged["findings"]), (&json!("ok"), &json!(1)), "{content}");
        assert_eq!(count(&taken, "accepted_with_reasoning_taken_off"), 1);
        let conformance = folder.read_json("results/conformance.json");
        assert_eq!(row(&conformance, "measure", "replies: reasoning taken off by a mark that the card does not name")["n"], 1);
        folder.assize(&["run", "."]).says(&format!("began with reasoning (marked by {mark})"));
    }
}

#[test]
fn reasoning_that_is_never_closed_is_no_reply() {
    let folder = two_sources(&["case-1"]);
    let game = requests(&folder, ".").remove(0);
    let lines = [result_with(&game.custom_id, &json!(format!("<think>{}", reply(&[timing(1, "A")]))), "stop")];
    let taken = replies(&folder, ".", &lines).exits(0);
    taken.line("results.jsonl:1: the reply ends inside its reasoning (no_reply)");
    assert_eq!(count(&taken.json(), "accepted_breaking_the_rules"), 1);
    let again = requests(&folder, ".").remove(0);
    assert!(again.attempt == "2" && again.last_message().contains("inside the reasoning"), "{}", again.last_message());
}

#[test]
fn a_card_names_marks_of_its_own() {
    let folder = two_sources(&["case-1"]);
    folder.write("study.toml", folder.read("study.toml").replace("written-replies", "served.toml"));
    folder.write(
        "served.toml",
        "name = \"served\"\nkind = \"judge\"\narchitecture = \"any\"\nlicence = \"none\"\nsource = \"a test\"\n[reasoning]\nstyle = \"tags\"\n\
         open = \"<deep>\"\nclose = \"</deep>\"\n[served]\nmodel = \"served\"\nrevision = \"1\"\n",
    );
    let game = requests(&folder, ".").remove(0);
    let content = format!("<deep>{}</deep>{}", reply(&[timing(1, "A"), timing(2, "A")]), reply(&[timing(1, "B")]));
    let (taken, judged) = judged(&folder, &game, &content);
    assert_eq!((&judged["findings"], count(&taken, "accepted_with_reasoning_taken_off")), (&json!(1), 0));
}

#[test]
fn two_answers_and_keys_given_twice_are_refused_with_the_reason() {
    let one = reply(&[timing(1, "A")]);
    for (content, words) in [
        (format!("{one}\n{}", reply(&[timing(2, "A")])), "2 JSON values"),
        (format!("{{}}\n{one}"), "2 JSON values"),
        (format!("{one}\nCorrected answer: {}", reply(&[])), "2 JSON values"),
        (one.replace("\"verdict\":\"A\"", "\"verdict\":\"A\",\"verdict\":\"B\""), "the key \"verdict\" stands twice"),
        (one.replace("{\"findings\":", "{\"findings\":[],\"findings\":"), "the key \"findings\" stands twice"),
    ] {
        let folder = two_sources(&["case-1"]);
        let game = requests(&folder, ".").remove(0);
        assert_eq!(count(&judged(&folder, &game, &content).0, "accepted_breaking_the_rules"), 1, "{content}");
        let again = requests(&folder, ".").remove(0);
        assert!(again.last_message().contains(words), "{content}: {}", again.last_message());
    }
}

#[test]
fn an_input_with_a_key_given_twice_is_an_error_entry() {
    let folder = Folder::new();
    folder.write("cases.json", "{\"cases\": [{\"id\": 1, \"input\": {\"successes\": 1, \"trials\": 2, \"trials\": 3}}]}");
    let answer = folder.assize(&["measure", "wilson", "--input", "cases.json"]).exits(4).json();
    assert!(answer["cases"][0]["error"].as_str().unwrap().contains("stands twice"), "{answer:#}");
}

#[test]
fn results_of_servers_are_read_in_the_forms_they_have() {
    let folder = two_sources(&["one", "two", "three"]);
    let games = requests(&folder, ".");
    let line = |game: &Pending, change: &dyn Fn(&mut Value)| {
        let mut line: Value = serde_json::from_str(&result_line(&game.custom_id, &[timing(1, "A")])).unwrap();
        change(&mut line["response"]["body"]);
        line.to_string()
    };
    let parts = |body: &mut Value| {
        let content = &mut body["choices"][0]["message"]["content"];
        *content = json!([{"type": "text", "text": content.as_str().unwrap()}]);
        body["choices"][0]["finish_reason"] = json!("eos");
        body["usage"] = json!({"prompt_tokens": 10.0, "completion_tokens": -1});
    };
    let reasoning = |body: &mut Value| {
        body["choices"][0]["message"]["reasoning"] = json!([{"type": "reasoning.text", "text": "r"}]);
        body["choices"][0]["finish_reason"] = json!("");
    };
    let named = |body: &mut Value| body["usage"] = json!({"prompt_tokens": "MARKER"});
    let lines = [line(&games[0], &parts), line(&games[1], &reasoning), line(&games[2], &named)];
    // A file from Windows begins with a byte order mark.
    folder.write("results.jsonl", format!("\u{feff}{}\n", lines.join("\r\n")));
    let taken = folder.assize(&["replies", ".", "--input", "results.jsonl", "--json"]).exits(4);
    assert_eq!((count(&taken.json(), "accepted"), count(&taken.json(), "malformed")), (2, 1));
    taken.line("results.jsonl:3: response.body.usage.prompt_tokens: expected a whole number, got a text");
    taken.hides("MARKER");

    let codes = [
        json!({"custom_id": games[2].custom_id, "error": {"code": 429, "message": "MARKER"}}),
        json!({"custom_id": games[2].custom_id, "error": {"code": null, "type": "overloaded"}}),
    ];
    let ran = replies(&folder, ".", &codes.map(|line| line.to_string())).exits(4);
    ran.says("results.jsonl:1: the result reports an error (429)")
        .says("results.jsonl:2: the result reports an error (overloaded)");
    ran.hides("MARKER");
}

#[test]
fn a_game_may_have_as_many_findings_as_games_have() {
    let folder = two_sources(&["case-1"]);
    let line = folder.assize(&["requests", "."]).exits(0).stdout;
    let request: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(request["body"]["max_tokens"], 16_384);
    let findings = &request["body"]["response_format"]["json_schema"]["schema"]["properties"]["findings"];
    assert_eq!(findings["maxItems"], 200);
    let prompt = request["body"]["messages"][0]["content"].as_str().unwrap();
    for words in [
        "the same clinical assertion",
        "contradicts on both sides",
        "cannot be derived",
        "time 0 itself stays open",
        "Count in the report",
    ] {
        assert!(prompt.contains(words), "{words}");
    }
}

#[test]
fn a_table_says_how_many_games_met_a_limit() {
    let folder = two_sources(&["one", "two", "three"]);
    folder.write("study.toml", folder.read("study.toml") + "max_findings = 2\nmax_attempts = 1\n");
    let games = requests(&folder, ".");
    let lines = [
        result_line(&games[0].custom_id, &[timing(1, "A"), timing(2, "A")]),
        result_with(&games[1].custom_id, &json!("{\"findings\":["), "length"),
        result_line(&games[2].custom_id, &[timing(1, "A")]),
    ];
    replies(&folder, ".", &lines).exits(0);
    folder.assize(&["run", "."]).exits(4).says("1 of 3 games have as many findings as max_findings allows");
    let conformance = folder.read_json("results/conformance.json");
    assert_eq!(row(&conformance, "measure", "games: met the limit of reply tokens")["n"], 1);
    assert_eq!(row(&conformance, "measure", "games: met the limit of findings")["n"], 1);
}

#[test]
fn a_report_or_timeline_that_is_no_file_does_not_take_its_case_away() {
    let folder = two_sources(&["case-1", "case-2", "case-3"]);
    std::fs::remove_file(folder.join("reports/case-2.txt")).unwrap();
    std::os::unix::fs::symlink("elsewhere.txt", folder.join("reports/case-2.txt")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("reports/case-4.txt")).status().unwrap();
    assert!(made.success());
    let ran = folder.assize(&["check", "."]).exits(2);
    ran.says("reports/case-2.txt: expected a file, got a link to \"elsewhere.txt\" that leads nowhere");
    ran.says("reports/case-4.txt: expected a file, got a pipe (FIFO)");
    ran.hides("belong to no report").hides("do not end like a report");
}

#[test]
fn litter_and_names_in_either_form_disturb_nobody() {
    let folder = two_sources(&["cafe\u{301}"]);
    std::fs::rename(folder.join("alpha/cafe\u{301}.csv"), folder.join("alpha/caf\u{e9}.csv")).unwrap();
    folder.write("reports/.DS_Store", "\0").write("reports/._caf\u{e9}.txt", "\0");
    let check = folder.assize(&["check", ".", "--json"]).exits(0);
    check.hides("warning");
    let input = &check.json()["input"];
    assert_eq!(row(input, "source", "(reports)")["litter_files"], 2, "{input:#}");
    let game = requests(&folder, ".").remove(0);
    assert_eq!(game.case, "caf\u{e9}");
}

#[test]
fn dates_become_hours_by_the_date_of_time_0() {
    let folder = two_sources(&["case-1"]);
    folder.write("alpha/case-1.csv", "event,date\nfever,2019-03-02\nrash,2019-03-05T18:00\n");
    let ran = folder.assize(&["check", "."]).exits(2);
    ran.says("alpha/case-1.csv:2: expected a number of hours, got a date or a time of day").says("index_dates under [reports]");
    folder.write(
        "study.toml",
        folder.read("study.toml").replace("dir = \"reports\"", "dir = \"reports\"\nindex_dates = \"time0.csv\""),
    );
    folder.write("time0.csv", "case,date\ncase-1,2019-03-05T12:00\n");
    let prompt = requests(&folder, ".").remove(0).last_message().to_string();
    assert!(prompt.contains("1. -72: fever\n2. 6: rash"), "{prompt}");
    // The index of the requests is not written over the dates.
    let before = folder.read("time0.csv");
    folder.assize(&["requests", ".", "--index", "./time0.csv"]).exits(2).says("time0.csv is read by this study");
    assert_eq!(folder.read("time0.csv"), before);
    let evaluated = folder.assize(&["evaluate", ".", "--reference", "alpha", "--json"]).exits(0);
    assert!(evaluated.json().is_object() || evaluated.json().is_array());
}

#[test]
fn a_jsonl_line_is_one_line_to_python() {
    let folder = two_sources(&["case-1"]);
    folder.write("reports/case-1.txt", "Fever.\u{2028}Cough.\u{2029}Rash.\u{85}Home.\n");
    let line = folder.assize(&["requests", "."]).exits(0).stdout;
    assert!(!line.contains(['\u{2028}', '\u{2029}', '\u{85}']));
    let request: Value = serde_json::from_str(&line).unwrap();
    assert!(request["body"]["messages"][0]["content"].as_str().unwrap().contains("Fever.\u{2028}Cough.\u{2029}Rash.\u{85}Home."));
    let id = request["custom_id"].as_str().unwrap();
    let mut finding = timing(1, "A");
    finding["evidence"] = json!("Fever.\u{2028}Cough.");
    replies(&folder, ".", &[result_line(id, &[finding])]).exits(0);
    folder.assize(&["run", "."]).exits(0);
    for entry in std::fs::read_dir(folder.join("store/segments")).unwrap() {
        let segment = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!segment.contains(['\u{2028}', '\u{2029}', '\u{85}']));
    }
    let findings = folder.read("results/findings.json");
    assert!(!findings.contains('\u{2028}') && findings.contains("\\u2028"));
    assert_eq!(folder.read_json("results/findings.json")[0]["evidence_location"], "byte_exact");
}

#[test]
fn a_name_that_looks_like_a_formula_is_protected_in_csv_and_exact_in_json() {
    let folder = two_sources(&["=1+1"]);
    let game = requests(&folder, ".").remove(0);
    assert_eq!(game.case, "'=1+1");
    replies(&folder, ".", &[result_line(&game.custom_id, &[timing(1, "A")])]).exits(0);
    folder.assize(&["run", "."]).exits(0);
    assert_eq!(folder.read_json("results/games.json")[0]["case"], "=1+1");
    assert!(folder.read("results/games.csv").lines().nth(1).unwrap().starts_with("'=1+1,"));
    // Times below zero stay numbers, and what reads the table knows the name again.
    assert!(folder.read("results/findings.csv").contains(",-72,"), "{}", folder.read("results/findings.csv"));
    let sampled =
        folder.assize(&["review", "sample", "--findings", "results/findings.csv", "--out", "review", "--per-stratum", "1"]);
    sampled.exits(0).hides("'=1+1");
}

#[test]
fn logs_in_a_file_have_no_colours() {
    let folder = sample();
    let ran = folder.assize(&["--log", "trace", "check", WRITTEN]).exits(0);
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    let ran =
        folder.assize(&["--log", "trace", "models", "verify", "--model-dir", concat!(env!("CARGO_MANIFEST_DIR"), "/.models")]);
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}
