//! `run`: numbers known in closed form, results that can be compared byte for byte, text kept out, games still to be judged.

use crate::program::{Folder, assert_same_tree, assert_unchanged, mode, tree};
use crate::study::{
    N_GAMES, WRITTEN, assert_near, assert_sample_leaderboard, judged_sample, replies, reply_lines, requests, result_line,
    result_with, row, sample, timing, two_sources,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The rating of the better of two sources whose mean share is `share`: 1500 + 400/ln 10 * ln(share/(1 - share))/2.
fn rating_of_two(share: f64) -> f64 {
    1500.0 + 400.0 / std::f64::consts::LN_10 * (share / (1.0 - share)).ln() / 2.0
}

/// A judged study of two sources in which, case by case, `alpha` and `beta` won so many timing findings.
fn judged_by_hand(won: &[(usize, usize)]) -> Folder {
    let cases: Vec<String> = (1..=won.len()).map(|n| format!("case-{n}")).collect();
    let folder = two_sources(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    let lines: Vec<String> = requests(&folder, ".")
        .iter()
        .map(|game| {
            let (alpha, beta) = won[cases.iter().position(|case| *case == game.case).unwrap()];
            let winners = std::iter::repeat_n("alpha", alpha).chain(std::iter::repeat_n("beta", beta));
            let findings: Vec<Value> = winners.enumerate().map(|(i, winner)| timing(i + 1, game.verdict_for(winner))).collect();
            result_line(&game.custom_id, &findings)
        })
        .collect();
    replies(&folder, ".", &lines).exits(0);
    folder
}

#[test]
fn two_games_with_equal_shares_have_the_rating_of_the_formula() {
    let folder = judged_by_hand(&[(3, 1), (3, 1)]);
    folder.assize(&["run", "."]).exits(0);
    let board = folder.read_json("results/leaderboard.json");
    assert_eq!((&board[0]["source"], &board[1]["source"]), (&json!("alpha"), &json!("beta")));
    for (row, rating, share, points) in [(&board[0], 1595.4243, 75.0, (12.0, 4.0)), (&board[1], 1404.5758, 25.0, (4.0, 12.0))] {
        // Every resample holds the same shares, so the interval is the rating.
        for name in ["rating", "rating_lo", "rating_hi"] {
            assert_near(&row[name], rating, 1e-4);
        }
        for name in ["share", "share_lo", "share_hi"] {
            assert_near(&row[name], share, 1e-9);
        }
        assert_near(&row["points_for"], points.0, 1e-9);
        assert_near(&row["points_against"], points.1, 1e-9);
        assert_eq!((&row["games"], &row["tied"]), (&json!(2), &json!(0)));
    }
    assert_eq!((&board[0]["won"], &board[0]["lost"]), (&json!(2), &json!(0)));
    assert_near(&board[0]["rating"], rating_of_two(0.75), 1e-6);
    for game in folder.read_json("results/games.json").as_array().unwrap() {
        assert_near(&game["share_a"], if game["a"] == "alpha" { 0.75 } else { 0.25 }, 1e-12);
        assert_eq!(game["decisive"], 4);
    }
    // All findings are of one kind, so every rubric gives the same shares.
    let rubrics = folder.read_json("results/rubrics.json");
    for rubric in ["default", "timing_weighted", "event_weighted"] {
        assert_near(&row(&rubrics, "source", "alpha")[format!("{rubric}_rating")], 1595.4243, 1e-4);
    }
    let profile = folder.read_json("results/error_profile.json");
    let of = |source: &str| {
        profile.as_array().unwrap().iter().find(|row| row["source"] == source && row["rate"] == "per game").unwrap()
    };
    assert_eq!((&of("alpha")["wrong_time"], &of("beta")["wrong_time"]), (&json!(1.0), &json!(3.0)));
}

#[test]
fn a_won_game_and_a_draw_have_the_same_rating() {
    let folder = judged_by_hand(&[(2, 0), (1, 1)]);
    folder.assize(&["run", "."]).exits(0);
    let board = folder.read_json("results/leaderboard.json");
    assert_near(&board[0]["rating"], 1595.4243, 1e-4);
    assert_near(&board[1]["rating"], 1404.5758, 1e-4);
    assert_eq!((&board[0]["won"], &board[0]["tied"], &board[1]["lost"]), (&json!(1), &json!(1), &json!(1)));
    assert_near(&board[0]["share_hi"], 100.0, 1e-9);
    assert_near(&board[0]["share_lo"], 50.0, 1e-9);
}

#[test]
fn categories_weigh_as_the_rubric_says() {
    let folder = two_sources(&["case-1"]);
    let game = requests(&folder, ".").remove(0);
    // alpha wins an event that beta missed (1 point); beta wins a time (2) and an event that alpha made up (3).
    let own = |source: &str, row: usize, winner: &str| {
        let (kind, a, b) =
            if game.a == source { ("A_ONLY", json!(row), json!(null)) } else { ("B_ONLY", json!(null), json!(row)) };
        json!({"type": kind, "a_row": a, "b_row": b, "polarity": "present", "evidence": "none found",
            "rationale": "By the report.", "verdict": game.verdict_for(winner)})
    };
    let findings = [own("alpha", 2, "alpha"), timing(1, game.verdict_for("beta")), own("alpha", 3, "beta")];
    replies(&folder, ".", &[result_line(&game.custom_id, &findings)]).exits(0);
    folder.assize(&["run", "."]).exits(0);
    let board = folder.read_json("results/leaderboard.json");
    assert_eq!(board[0]["source"], "beta");
    assert_near(&board[0]["points_for"], 5.0, 1e-12);
    assert_near(&board[0]["points_against"], 1.0, 1e-12);
    assert_near(&board[0]["rating"], rating_of_two(5.0 / 6.0), 1e-4);
    let rubrics = folder.read_json("results/rubrics.json");
    let beta = row(&rubrics, "source", "beta");
    assert_near(&beta["timing_weighted_rating"], rating_of_two(9.0 / 9.2), 1e-4);
    assert_near(&beta["event_weighted_rating"], rating_of_two(7.5 / 10.5), 1e-4);
}

#[test]
fn an_unbeaten_source_has_no_rating_and_the_reason_is_given() {
    let folder = judged_by_hand(&[(2, 0), (1, 0)]);
    let ran = folder.assize(&["run", "."]).exits(0);
    ran.says("No rating").says("alpha > beta");
    let board = folder.read_json("results/leaderboard.json");
    assert_eq!(board[0]["source"], "alpha");
    assert_near(&board[0]["share"], 100.0, 1e-12);
    for row in board.as_array().unwrap() {
        assert!(row["rating"].is_null() && row["rating_lo"].is_null() && row["rating_hi"].is_null(), "{row:#}");
    }
    assert!(folder.read("results/settings.json").contains("No rating"));
    assert!(folder.read("results/report.html").contains("No rating"));
}

#[test]
fn a_game_without_a_decisive_finding_is_left_out_or_a_draw() {
    let folder = judged_by_hand(&[(3, 1), (0, 0)]);
    folder.assize(&["run", "."]).exits(0);
    let board = folder.read_json("results/leaderboard.json");
    assert_eq!(board[0]["games"], 1);
    assert_near(&board[0]["rating"], rating_of_two(0.75), 1e-4);
    folder.write("study.toml", folder.read("study.toml") + "[scoring]\ngames_without_decisive = \"draw\"\n");
    folder.assize(&["run", "."]).exits(0);
    let board = folder.read_json("results/leaderboard.json");
    assert_eq!((&board[0]["games"], &board[0]["tied"]), (&json!(2), &json!(1)));
    assert_near(&board[0]["rating"], rating_of_two(0.625), 1e-4);
}

#[test]
fn findings_and_evidence_of_the_sample_are_all_counted() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    // Counted here from the written judgements and the reports alone.
    let (mut n_findings, mut n_quoted, mut n_exact) = (0, 0, 0);
    for game in folder.read_json("written/games.json").as_array().unwrap() {
        let report = folder.read(&format!("reports/{}.txt", game["case"].as_str().unwrap()));
        for finding in game["findings"].as_array().unwrap() {
            let evidence = finding["evidence"].as_str().unwrap();
            n_findings += 1;
            n_quoted += usize::from(evidence != "none found");
            n_exact += usize::from(report.contains(evidence));
        }
    }
    assert!(n_findings > 100 && n_exact > 100);
    let conformance = folder.read_json("results-written/conformance.json");
    let n = |measure: &str| row(&conformance, "measure", measure)["n"].as_u64().unwrap();
    assert_eq!(n("findings: valid"), n_findings);
    assert_eq!(n("findings: with quoted evidence"), n_quoted as u64);
    assert_eq!(n("evidence: byte for byte in the report"), n_exact as u64);
    assert_eq!(folder.read_json("results-written/findings.json").as_array().unwrap().len() as u64, n_findings);
    let board = folder.read_json("results-written/leaderboard.json");
    let sum = |name: &str| board.as_array().unwrap().iter().map(|row| row[name].as_f64().unwrap()).sum::<f64>();
    assert!((sum("points_for") - sum("points_against")).abs() < 1e-9, "a point won is a point lost");
    assert!((sum("rating") - 4.0 * 1500.0).abs() < 1e-6, "ratings are centred on 1500");
}

#[test]
fn logs_hold_no_text_of_a_case() {
    let folder = sample();
    let texts = texts_of_the_sample(&folder);
    for args in [&["check", WRITTEN][..], &["replies", WRITTEN, "--input", "written/replies.jsonl"], &["run", WRITTEN]] {
        let ran = folder.assize(&[args, &["--log", "trace"]].concat()).exits(0);
        for text in &texts {
            ran.hides(text);
        }
    }
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
}

#[test]
fn a_second_run_writes_the_same_bytes() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    let store = tree(&folder.join("store-written"));
    folder.assize(&["run", WRITTEN, "--results", "again", "--threads", "1"]).exits(0);
    folder.assize(&["run", WRITTEN]).exits(0);
    assert_same_tree(&folder.join("results-written"), &folder.join("again"));
    assert_unchanged(&store, &folder.join("store-written"));
    let files = tree(&folder.join("again"));
    for name in ["leaderboard", "rubrics", "head_to_head", "error_profile", "conformance", "games", "findings", "input"] {
        for extension in ["csv", "json"] {
            let file = format!("{name}.{extension}");
            assert!(files.contains_key(Path::new(&file)), "no {file}");
        }
    }
    assert!(files.contains_key(Path::new("report.html")) && files.contains_key(Path::new("settings.json")));
}

#[test]
fn results_depend_on_neither_place_nor_time_nor_order() {
    let (here, there) = (sample(), sample());
    replies(&here, WRITTEN, &reply_lines(&here)).exits(0);
    let mut backwards = reply_lines(&there);
    backwards.reverse();
    let (early, late) = backwards.split_at(11);
    replies(&there, WRITTEN, early).exits(0);
    replies(&there, WRITTEN, late).exits(0);
    let manifest = here.join(WRITTEN);
    here.assize(&["run", manifest.to_str().unwrap()]).exits(0);
    there.assize(&["run", WRITTEN]).exits(0);
    assert_same_tree(&here.join("results-written"), &there.join("results-written"));
    for (name, bytes) in tree(&here.join("results-written")) {
        let text = String::from_utf8_lossy(&bytes.unwrap()).into_owned();
        for path in [here.path(), std::env::temp_dir().as_path()] {
            assert!(!text.contains(path.to_str().unwrap()), "{} holds {}", name.display(), path.display());
        }
        if let Some(date) = first_date(&text) {
            panic!("{} holds a date: {date}", name.display());
        }
    }
}

/// The first text of the form 2000-01-31 or 12:34:56.
fn first_date(text: &str) -> Option<String> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let at = ["0000-00-00", "00:00:00"].iter().find_map(|form| shape.find(form))?;
    Some(text[at..].chars().take(10).collect())
}

#[test]
fn results_are_readable_by_their_owner_only() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    let results = folder.join("results-written");
    assert_eq!(mode(&results), 0o700);
    for name in tree(&results).keys() {
        assert_eq!(mode(&results.join(name)), 0o600, "{}", name.display());
    }
}

/// Every text of the sample study long enough to be told from chance: report sentences, events, evidence, rationales.
fn texts_of_the_sample(folder: &Folder) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for name in tree(&folder.join("reports")).keys() {
        let report = fs::read_to_string(folder.join("reports").join(name)).unwrap();
        texts.extend(report.split(['.', '\n']).map(|sentence| sentence.trim().to_string()));
    }
    for (name, bytes) in tree(&folder.join("sources")) {
        let Some(bytes) = bytes else { continue };
        for line in String::from_utf8(bytes).unwrap().lines().filter(|line| *line != "event,time") {
            let event = match name.extension().unwrap().to_str().unwrap() {
                "csv" => line.rsplit_once(',').unwrap().0.trim_matches('"').to_string(),
                "bsv" => line.split_once(" | ").unwrap().0.to_string(),
                _ => serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_string(),
            };
            texts.insert(event);
        }
    }
    for line in reply_lines(folder) {
        let result: Value = serde_json::from_str(&line).unwrap();
        let content = result["response"]["body"]["choices"][0]["message"]["content"].as_str().unwrap();
        let reply: Value = serde_json::from_str(content).unwrap();
        for finding in reply["findings"].as_array().unwrap() {
            texts.extend(["evidence", "rationale"].map(|name| finding[name].as_str().unwrap().to_string()));
        }
    }
    texts.retain(|text| text.len() >= 12 && text != "none found");
    texts
}

#[test]
fn no_text_keeps_every_text_out_of_the_results() {
    let folder = judged_sample();
    let texts = texts_of_the_sample(&folder);
    assert!(texts.len() > 300, "only {} texts found", texts.len());
    let ran = folder.assize(&["run", WRITTEN, "--no-text"]).exits(0);
    for (name, bytes) in tree(&folder.join("results-written")) {
        let written = String::from_utf8_lossy(&bytes.unwrap()).into_owned();
        let found: Vec<&String> = texts.iter().filter(|text| written.contains(*text)).collect();
        assert!(found.is_empty(), "{} holds {found:?}", name.display());
    }
    for text in &texts {
        ran.hides(text);
    }
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
}

#[test]
fn by_default_the_texts_are_in_the_results() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    let report = folder.read("results-written/report.html");
    let findings = folder.read("results-written/findings.json");
    for (text, in_findings) in [
        ("Burning on passing urine had begun five days before admission", false),
        ("insulin pump alarm for a blocked line", true),
        ("Her insulin pump had alarmed for a blocked line three days before admission", true),
        ("The alarm came three days before admission, which is -72 h.", true),
    ] {
        assert!(report.contains(text), "{text:?} is not in the report");
        assert!(!in_findings || findings.contains(text), "{text:?} is not in the findings");
    }
}

#[test]
fn a_manifest_can_ask_for_no_text() {
    let folder = judged_sample();
    let text = folder.read(WRITTEN).replace("dir = \"results-written\"", "dir = \"results-written\"\nno_text = true");
    folder.write(WRITTEN, text);
    folder.assize(&["run", WRITTEN]).exits(0);
    assert!(!folder.read("results-written/report.html").contains("insulin pump"));
    assert!(!folder.read("results-written/findings.csv").contains("rationale"));
}

#[test]
fn no_text_keeps_bad_replies_out_of_the_results() {
    let folder = two_sources(&["case-1", "case-2"]);
    let mut odd = timing(1, "A");
    for (name, text) in
        [("evidence", "MARKER1"), ("rationale", "MARKER2"), ("type", "MARKER3"), ("verdict", "MARKER4"), ("polarity", "MARKER5")]
    {
        odd[name] = json!(text);
    }
    odd["a_row"] = json!("MARKER6");
    odd["MARKER7"] = json!(1);
    for _ in 0..2 {
        let lines: Vec<String> = requests(&folder, ".")
            .iter()
            .map(|game| match game.case.as_str() {
                "case-1" => result_line(&game.custom_id, &[timing(1, "A"), odd.clone()]),
                _ => result_with(&game.custom_id, &json!("MARKER8"), "stop"),
            })
            .collect();
        let ran = replies(&folder, ".", &lines).exits(0);
        ran.hides("MARKER");
    }
    folder.assize(&["run", "."]).exits(4).hides("MARKER");
    assert!(folder.read("results/report.html").contains("MARKER8"), "by default the raw reply is shown");
    folder.assize(&["run", ".", "--no-text"]).exits(4).hides("MARKER");
    for (name, bytes) in tree(&folder.join("results")) {
        let text = String::from_utf8(bytes.unwrap()).unwrap();
        let found: BTreeSet<&str> = text.match_indices("MARKER").map(|(at, _)| &text[at..at + 7]).collect();
        assert!(found.is_empty(), "{} holds {found:?}", name.display());
    }
}

#[test]
fn a_study_without_replies_is_pending() {
    let folder = sample();
    for args in [&["run", WRITTEN, "--no-engine", "--json"][..], &["run", WRITTEN, "--json"]] {
        let run = folder.assize(args).exits(4).json();
        let notices: Vec<&str> = run["notices"].as_array().unwrap().iter().map(|notice| notice.as_str().unwrap()).collect();
        assert!(notices.iter().any(|notice| notice.contains("36 of 36 games are still to be judged")), "{notices:?}");
        assert!(notices.iter().any(|notice| notice.starts_with("No rating: ")), "{notices:?}");
        let board = run["leaderboard"].as_array().unwrap();
        assert_eq!(board.len(), 4);
        for row in board {
            assert!(["rating", "rating_lo", "rating_hi", "share"].iter().all(|name| row[*name].is_null()), "{row:#}");
        }
        assert_eq!(row(&run["conformance"], "measure", "games: pending")["n"], N_GAMES);
    }
    let ran = folder.assize(&["run", WRITTEN, "--no-engine"]).exits(4);
    ran.says("36 of 36 games are still to be judged").says("No rating: ").hides("panicked").hides("NaN");
    assert!(folder.read("results-written/report.html").contains("36 of 36 games are still to be judged"));
    assert_eq!(folder.assize(&["requests", WRITTEN]).exits(0).stdout.lines().count(), N_GAMES);
}

#[test]
fn a_study_with_half_its_replies_scores_that_half() {
    let folder = sample();
    replies(&folder, WRITTEN, &reply_lines(&folder)[..18]).exits(0);
    let ran = folder.assize(&["run", WRITTEN]).exits(4);
    ran.says("18 of 36 games are still to be judged");
    let games = folder.read_json("results-written/games.json");
    let with = |status: &str| games.as_array().unwrap().iter().filter(|game| game["status"] == status).count();
    assert_eq!((with("ok"), with("pending")), (18, 18));
    let board = folder.read_json("results-written/leaderboard.json");
    assert!(board.as_array().unwrap().iter().all(|row| row["rating"].is_number() && row["games"] == 9), "{board:#}");
}

/// Results and store never replace what is read.
#[test]
fn results_and_store_cannot_lie_among_the_input() {
    let folder = two_sources(&["one"]);
    let before = tree(folder.path());
    for (setting, place) in [("--results", "alpha"), ("--results", "reports"), ("--store", "beta")] {
        folder.assize(&["run", "study.toml", "--no-engine", setting, place]).exits(2).says(place).says("choose another one");
    }
    assert_unchanged(&before, folder.path());
}
