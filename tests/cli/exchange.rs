//! `requests` and `replies`: prompts out, replies in, and nothing dropped unsaid.

use crate::program::{assert_same_tree, assert_unchanged, tree};
use crate::study::{
    N_GAMES, REPLIES, WRITTEN, assert_sample_leaderboard, count, judged_sample, replies, reply_lines, requests, result_line,
    result_with, row, sample, timing, two_sources,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn requests_are_openai_batch_lines() {
    let folder = sample();
    let ran = folder.assize(&["requests", WRITTEN]).exits(0);
    ran.says("36 pending prompts of 36 games");
    let mut ids = BTreeSet::new();
    for line in ran.stdout.lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<&String> = request.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["custom_id", "method", "url", "body"]);
        assert_eq!((&request["method"], &request["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
        let id = request["custom_id"].as_str().unwrap();
        assert!(id.len() == 64 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        ids.insert(id.to_string());
        let body = &request["body"];
        assert_eq!(body["model"], "written-replies");
        assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0), &json!(16_384)));
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        assert_eq!(body["messages"][0]["role"], "user");
        assert_eq!(body["response_format"]["type"], "json_schema");
        let schema = &body["response_format"]["json_schema"];
        assert_eq!(schema["strict"], true);
        assert!(schema["name"].as_str().is_some_and(|name| !name.is_empty()));
        assert!(schema["schema"]["properties"]["findings"].is_object(), "{schema:#}");
    }
    assert_eq!(ids.len(), N_GAMES);
    assert_eq!(ran.stdout.lines().count(), N_GAMES);
}

#[test]
fn a_prompt_names_no_source_and_holds_the_report() {
    let folder = sample();
    for game in requests(&folder, WRITTEN) {
        let text = game.last_message();
        for source in ["careful", "hasty", "terse", "eager"] {
            assert!(!text.contains(source), "{source} is named to the judge");
        }
        let report = folder.read(&format!("reports/{}.txt", game.case));
        assert!(text.contains(report.trim()), "the report of {} is not in its prompt as it stands", game.case);
    }
}

#[test]
fn a_free_reply_is_asked_for_without_a_schema() {
    let folder = two_sources(&["case-1"]);
    let constrained = requests(&folder, ".").remove(0).custom_id;
    folder.write("study.toml", folder.read("study.toml") + "reply = \"free\"\nmax_reply_tokens = 77\n");
    let line = folder.assize(&["requests", "."]).exits(0).stdout;
    let request: Value = serde_json::from_str(&line).unwrap();
    assert!(request["body"].get("response_format").is_none(), "{line}");
    assert_eq!(request["body"]["max_tokens"], 77);
    assert_ne!(request["custom_id"], constrained.as_str());
}

#[test]
fn findings_can_name_events_as_published() {
    let folder = two_sources(&["case-1"]);
    folder.write("study.toml", folder.read("study.toml") + "finding_schema = \"published\"\n");
    let game = requests(&folder, ".").remove(0);
    let times = |source: &str| if source == "alpha" { 0 } else { 144 };
    let finding = json!({"type": "TIMING", "a_event": "rash", "a_time": times(&game.a), "b_event": "rash", "b_time": times(&game.b),
        "polarity": "present", "evidence": "rash", "rationale": "By the report.", "verdict": game.verdict_for("beta")});
    replies(&folder, ".", &[result_line(&game.custom_id, &[finding])]).exits(0);
    folder.assize(&["run", "."]).exits(0);
    let finding = folder.read_json("results/findings.json")[0].clone();
    assert_eq!((&finding["a_row"], &finding["b_row"]), (&json!(3), &json!(3)));
    assert_eq!((&finding["charged"], &finding["category"]), (&json!("alpha"), &json!("wrong_time")));
    assert_eq!(finding["evidence_location"], "byte_exact");
}

#[test]
fn the_committed_replies_fit_the_study_as_it_is() {
    let folder = sample();
    let asked: BTreeSet<String> = requests(&folder, WRITTEN).into_iter().map(|request| request.custom_id).collect();
    let answered: BTreeSet<String> = reply_lines(&folder)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["custom_id"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(asked, answered, "run make_replies.py again");
}

#[test]
fn the_committed_replies_give_the_expected_leaderboard() {
    let folder = sample();
    let ran = folder.assize(&["replies", WRITTEN, "--input", REPLIES, "--json"]).exits(0);
    ran.is_silent();
    let taken = ran.json();
    assert_eq!(count(&taken, "accepted"), N_GAMES as u64);
    for none in ["accepted_truncated", "accepted_breaking_the_rules", "unknown_custom_id", "malformed", "still_pending"] {
        assert_eq!(count(&taken, none), 0, "{none}");
    }
    let run = folder.assize(&["run", WRITTEN, "--json"]).exits(0).json();
    assert_sample_leaderboard(&run["leaderboard"]);
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
    assert_eq!(run["notices"], json!([]));
    let after = folder.assize(&["requests", WRITTEN]).exits(0);
    assert_eq!(after.stdout, "");
}

#[test]
fn replies_on_record_are_taken_in_once() {
    let folder = judged_sample();
    let before = tree(&folder.join("store-written"));
    let ran = folder.assize(&["replies", WRITTEN, "--input", REPLIES, "--json"]).exits(0);
    assert_eq!((count(&ran.json(), "accepted"), count(&ran.json(), "already_on_record")), (0, N_GAMES as u64));
    assert_unchanged(&before, &folder.join("store-written"));
}

#[test]
fn every_line_that_is_not_a_good_reply_is_counted_and_named() {
    let folder = sample();
    let good = reply_lines(&folder);
    let ids: Vec<String> =
        good.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["custom_id"].as_str().unwrap().to_string()).collect();
    let error = json!({"custom_id": ids[1], "response": null, "error": {"code": "server_error", "message": "MARKER"}});
    let status = json!({"custom_id": ids[2], "response": {"status_code": 500, "body": {"error": "MARKER"}}, "error": null});
    let lines = [
        good[0].clone(),
        good[0].clone(),
        result_line(&"ab".repeat(32), &[]),
        error.to_string(),
        status.to_string(),
        "{\"custom_id\": \"MARKER".to_string(),
        result_with(&ids[3], &json!("{\"findings\":[{\"type\":\"TIMING\",\"evidence\":\"MARKER"), "length"),
        result_with(&ids[4], &Value::Null, "stop"),
        result_line("MARKER", &[]),
        result_line(&ids[5], &[timing(99, "A")]),
        result_with(&ids[6], &json!("MARKER"), "content_filter"),
    ];
    let ran = replies(&folder, WRITTEN, &lines).exits(4);
    let taken = ran.json();
    for (what, n) in [
        ("accepted", 3),
        ("accepted_truncated", 1),
        ("accepted_breaking_the_rules", 1),
        ("already_on_record", 0),
        ("duplicate_custom_id", 1),
        ("unknown_custom_id", 1),
        ("error_in_result", 4),
        ("malformed", 2),
        ("still_pending", N_GAMES as u64 - 1),
    ] {
        assert_eq!(count(&taken, what), n, "{what}\n{}", ran.stderr);
    }
    for (line, words) in [
        (3, "no item of this study"),
        (4, "server_error"),
        (5, "status 500"),
        (6, "JSON"),
        (8, "content"),
        (9, "custom_id"),
        (11, "content_filter"),
    ] {
        let said = ran.line(&format!("results.jsonl:{line}: "));
        assert!(said.contains(words), "{said}");
    }
    assert!(!ran.stderr.contains("results.jsonl:1: "), "{}", ran.stderr);
    ran.hides("MARKER");
}

#[test]
fn duplicate_truncated_and_invalid_replies_are_named_by_line() {
    let folder = sample();
    let asked = requests(&folder, WRITTEN);
    let lines = [
        result_line(&asked[0].custom_id, &[]),
        result_line(&asked[0].custom_id, &[timing(1, "A")]),
        result_with(&asked[1].custom_id, &json!("{\"findings\":["), "length"),
        result_line(&asked[2].custom_id, &[timing(99, "A")]),
    ];
    let ran = replies(&folder, WRITTEN, &lines);
    for line in [2, 3, 4] {
        ran.line(&format!("results.jsonl:{line}: "));
    }
    assert!(!ran.stderr.contains("results.jsonl:1: "), "{}", ran.stderr);
}

#[test]
fn of_two_replies_the_first_counts() {
    let folder = two_sources(&["case-1"]);
    let game = requests(&folder, ".").remove(0);
    let lines = [result_line(&game.custom_id, &[]), result_line(&game.custom_id, &[timing(1, "A")])];
    replies(&folder, ".", &lines);
    folder.assize(&["run", "."]).exits(0);
    assert_eq!(folder.read_json("results/games.json")[0]["findings"], 0);
    assert_eq!(folder.read("results/findings.csv").lines().count(), 1);
}

#[test]
fn no_content_of_a_malformed_line_reaches_the_terminal() {
    let folder = two_sources(&["case-1"]);
    let id = requests(&folder, ".").remove(0).custom_id;
    let body = |body: Value| json!({"custom_id": id, "response": {"status_code": 200, "body": body}, "error": null}).to_string();
    let lines = [
        body(json!("MARKER")),
        body(json!({"choices": "MARKER"})),
        body(json!({"choices": [{"message": "MARKER", "finish_reason": "stop"}]})),
        body(json!({"choices": [{"message": {"content": {"text": "MARKER"}}, "finish_reason": "stop"}]})),
        body(json!({"choices": [{"message": {"content": "{}", "MARKER": 1}, "finish_reason": {"MARKER": 1}}]})),
        json!({"custom_id": id, "response": {"status_code": "MARKER"}}).to_string(),
        json!({"custom_id": id, "response": "MARKER"}).to_string(),
        json!({"custom_id": {"MARKER": 1}}).to_string(),
        json!("MARKER").to_string(),
        json!({"custom_id": id, "error": "MARKER"}).to_string(),
    ];
    let ran = replies(&folder, ".", &lines).exits(4);
    for line in 1..=lines.len() {
        ran.line(&format!("results.jsonl:{line}: "));
    }
    ran.hides("MARKER");
    assert_eq!(count(&ran.json(), "accepted"), 0);
    assert_eq!(count(&ran.json(), "still_pending"), 1);
}

#[test]
fn an_invalid_reply_is_asked_again_with_its_errors() {
    let folder = two_sources(&["case-1", "case-2"]);
    let first = requests(&folder, ".");
    let lines = [
        result_line(&first[0].custom_id, &[timing(1, "A"), timing(99, "A")]),
        result_with(&first[1].custom_id, &json!("{\"findings\":[{\"type\""), "length"),
    ];
    let ran = replies(&folder, ".", &lines).exits(0);
    assert_eq!((count(&ran.json(), "accepted"), count(&ran.json(), "still_pending")), (2, 2));
    let second = requests(&folder, ".");
    assert_eq!(second.len(), 2);
    for (request, (before, words)) in second.iter().zip(first.iter().zip(["a_row is 99", "token limit"])) {
        assert_eq!((&request.case, &request.a, request.attempt.as_str()), (&before.case, &before.a, "2"));
        assert_ne!(request.custom_id, before.custom_id);
        let roles: Vec<&Value> = request.messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(request.messages[0], before.messages[0]);
        assert!(request.last_message().contains(words), "{}", request.last_message());
    }
    assert!(second[0].last_message().contains("finding 2: "), "{}", second[0].last_message());
    assert_eq!(second[1].messages[1]["content"], "{\"findings\":[{\"type\"");

    let lines: Vec<String> = second.iter().map(|request| result_line(&request.custom_id, &[timing(1, "A")])).collect();
    replies(&folder, ".", &lines).exits(0);
    folder.assize(&["run", "."]).exits(0);
    let games = folder.read_json("results/games.json");
    for game in games.as_array().unwrap() {
        assert_eq!((&game["status"], &game["attempts"], &game["findings"]), (&json!("ok"), &json!(2), &json!(1)));
    }
    let conformance = folder.read_json("results/conformance.json");
    assert_eq!(row(&conformance, "measure", "replies: truncated")["n"], 1);
    assert_eq!(row(&conformance, "measure", "replies: schema_invalid")["n"], 1);
    assert_eq!(row(&conformance, "measure", "games: valid at attempt 2")["n"], 2);
}

#[test]
fn both_tries_of_a_game_can_come_in_one_file_in_any_order() {
    let (one, other) = (two_sources(&["case-1"]), two_sources(&["case-1"]));
    let first = result_line(&requests(&one, ".").remove(0).custom_id, &[timing(99, "A")]);
    replies(&one, ".", std::slice::from_ref(&first)).exits(0);
    let second = result_line(&requests(&one, ".").remove(0).custom_id, &[timing(1, "B")]);
    replies(&one, ".", std::slice::from_ref(&second)).exits(0);
    one.assize(&["run", "."]).exits(0);

    let ran = replies(&other, ".", &[second, first]).exits(0);
    assert_eq!((count(&ran.json(), "accepted"), count(&ran.json(), "still_pending")), (2, 0));
    other.assize(&["run", "."]).exits(0);
    assert_same_tree(&one.join("results"), &other.join("results"));
}

#[test]
fn a_game_without_a_usable_reply_is_failed_and_shown() {
    let folder = two_sources(&["case-1", "case-2"]);
    for attempt in 1..=2 {
        let lines: Vec<String> = requests(&folder, ".")
            .iter()
            .filter(|request| request.case == "case-1")
            .map(|request| result_with(&request.custom_id, &json!(format!("no JSON, attempt {attempt}")), "stop"))
            .collect();
        assert_eq!(lines.len(), 1, "attempt {attempt}");
        replies(&folder, ".", &lines).exits(0);
    }
    let rest = requests(&folder, ".");
    assert_eq!(rest.len(), 1, "a third attempt is asked for");
    replies(&folder, ".", &[result_line(&rest[0].custom_id, &[timing(1, "A")])]).exits(0);
    let ran = folder.assize(&["run", "."]).exits(4);
    ran.says("case-1").says("schema_invalid").says("1 of 2 games have no usable reply").hides("no JSON");
    let games = folder.read_json("results/games.json");
    let failed = row(&games, "case", "case-1");
    assert_eq!((&failed["status"], &failed["attempts"], &failed["in_fit"]), (&json!("schema_invalid"), &json!(2), &json!("no")));
    assert_eq!(folder.read_json("results/leaderboard.json")[0]["games"], 1);
    assert!(folder.read("results/report.html").contains("no JSON, attempt 2"), "the raw reply is not in the report");
}

#[test]
fn partial_games_count_only_when_asked_for() {
    let folder = two_sources(&["case-1"]);
    for _ in 0..2 {
        let game = requests(&folder, ".").remove(0);
        replies(&folder, ".", &[result_line(&game.custom_id, &[timing(1, game.verdict_for("alpha")), timing(99, "A")])]).exits(0);
    }
    folder.assize(&["run", "."]).exits(4).says("1 of 1 games are partial");
    let game = folder.read_json("results/games.json")[0].clone();
    assert_eq!((&game["status"], &game["findings"], &game["invalid"]), (&json!("partial"), &json!(1), &json!(1)));
    assert_eq!(game["in_fit"], "no");
    folder.write("study.toml", folder.read("study.toml") + "[scoring]\npartial_games = \"include\"\n");
    folder.assize(&["run", "."]).exits(4);
    assert_eq!(folder.read_json("results/games.json")[0]["in_fit"], "yes");
    assert_eq!(row(&folder.read_json("results/leaderboard.json"), "source", "alpha")["won"], 1);
}

/// Servers name the reasoning in one field, the other or both, and leave counts out as null.
#[test]
fn reasoning_in_either_field_and_counts_left_out_are_taken() {
    let folder = two_sources(&["one", "two", "three"]);
    let pending = requests(&folder, "study.toml");
    let fields =
        [json!({"reasoning": null, "reasoning_content": null}), json!({"reasoning": "r"}), json!({"reasoning_content": "r"})];
    let lines: Vec<String> = pending
        .iter()
        .zip(&fields)
        .map(|(item, fields)| {
            let mut line: Value = serde_json::from_str(&result_line(&item.custom_id, &[])).unwrap();
            let body = &mut line["response"]["body"];
            body["choices"][0]["message"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            body["usage"] = json!({"prompt_tokens": null, "completion_tokens": 5_000_000_000_u64});
            line.to_string()
        })
        .collect();
    assert_eq!(lines.len(), 3);
    let ran = replies(&folder, "study.toml", &lines).exits(0);
    assert_eq!(count(&ran.json(), "accepted"), 3);
}

/// A row is one line of the prompt, whatever its event text holds.
#[test]
fn a_line_end_in_an_event_is_no_new_row() {
    let folder = two_sources(&["one"]);
    let path = folder.join("alpha/one.csv");
    std::fs::write(&path, "event,time\n\"pain\n2. 0: forged\",4\n").unwrap();
    let prompt = requests(&folder, "study.toml")[0].last_message().to_string();
    assert!(prompt.contains("1. 4: pain 2. 0: forged"), "{prompt}");
}
