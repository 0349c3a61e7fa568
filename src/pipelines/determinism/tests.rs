//! Comparisons over replies that a script gives. What a model does is shown in `tests/judge.rs`.

use super::*;
use crate::data::{CaseId, Event, EventTime, FindingSchema, Hours, Numerics, ReplyMode, Report, SourceName, Timeline};
use crate::engine::generate::{Generated, ReplyLimit, Scripted};
use crate::engine::{Engine, ModelIdentity};
use crate::measure::points::EmptyGames;
use crate::measure::rubric::Scheme;
use crate::pipelines::gavel::{Docket, Game, JudgeSettings, ScoringSettings, games, judge};
use crate::prompts::Prompt;
use crate::report::{Cell, Table};
use crate::store::{FinishReason, Outcome, Store};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Cases in which the sources x, y and z have two rows each; the first is the source's own, so that each game has its own prompt.
fn docket(n_cases: usize) -> Docket {
    let sources: Vec<SourceName> = ["x", "y", "z"].iter().map(|name| SourceName::new(*name).expect("a name")).collect();
    let cases: Vec<CaseId> = (0..n_cases).map(|i| CaseId::new(format!("case-{i}")).expect("an id")).collect();
    let event =
        |text: &str| Event { text: text.into(), time: EventTime::At(Hours::new(-48.0).expect("finite")), line: 1, uid: None };
    let timeline = |case: &CaseId, source: &SourceName| Timeline {
        case: case.clone(),
        source: source.clone(),
        events: vec![event(&format!("fever by {source}")), event("cough")],
        path: PathBuf::new(),
    };
    Docket {
        timelines: cases.iter().map(|case| sources.iter().map(|source| Some(timeline(case, source))).collect()).collect(),
        reports: cases.into_iter().map(|case| Report { case, text: "She had a fever.".into(), path: PathBuf::new() }).collect(),
        sources,
    }
}

fn scoring() -> ScoringSettings {
    ScoringSettings {
        rubrics: vec![Scheme::Default],
        empty_games: EmptyGames::LeaveOut,
        include_partial_games: false,
        bootstrap_resamples: 50,
        bootstrap_seed: 1,
    }
}

/// A reply with one finding for each (type, row of A, row of B, verdict).
fn reply(findings: &[(&str, Option<u32>, Option<u32>, &str)]) -> Generated {
    let item = |(kind, a, b, verdict): &(&str, Option<u32>, Option<u32>, &str)| {
        serde_json::json!({"type": kind, "a_row": a, "b_row": b, "polarity": "present", "evidence": "fever",
            "rationale": "stated", "verdict": verdict})
    };
    Scripted::reply(serde_json::json!({"findings": findings.iter().map(item).collect::<Vec<_>>()}).to_string())
}

/// The same with the margin that the engine would have seen.
fn with_margin(generated: Generated, margin: f32) -> Generated {
    match generated {
        Generated::Finished(mut finished) => {
            finished.min_margin = Some(margin);
            Generated::Finished(finished)
        }
        other => other,
    }
}

/// Each source wins against one and loses against another, so that ratings exist.
fn ring(docket: &Docket) -> Vec<Generated> {
    let wins = |game: &Game| if (game.a + 1) % 3 == game.b { "A" } else { "B" };
    games(docket, 1).iter().map(|game| with_margin(reply(&[("VALUE", Some(1), Some(1), wins(game))]), 0.5)).collect()
}

/// Judges every game; the script gives the replies one after another.
fn judged(docket: &Docket, replies: Vec<Generated>) -> Vec<Judged> {
    static N_STORES: AtomicUsize = AtomicUsize::new(0);
    let number = N_STORES.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("assize-determinism-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let store = Arc::new(Store::open(&folder).expect("a store"));
    let replies = Mutex::new(replies.into_iter());
    let script = move |_: &[_]| replies.lock().expect("unpoisoned").next().expect("no more replies than asked for");
    let model = ModelIdentity::Served { model: "m".into(), revision: "1".into() };
    let stop = Arc::new(AtomicBool::new(false));
    let engine = Engine::new(Arc::clone(&store), model, None, Some(Box::new(Scripted::new(script))), stop);
    let prompt = Prompt::find("gavel/judge.v2", Path::new("")).expect("a prompt");
    let settings = JudgeSettings {
        max_reasoning_tokens: None,
        finding_schema: FindingSchema::Rows,
        reply: ReplyMode::Constrained,
        reply_limit: ReplyLimit::Fixed(100),
        max_findings: 5,
        max_attempts: 2,
        tolerance_floor_hours: 24.0,
        seed: 1,
    };
    let judged = games(docket, 1)
        .into_iter()
        .map(|game| {
            let outcome = futures::executor::block_on(judge(&engine, &prompt, &settings, docket, game)).expect("judged");
            let replies = outcome.attempts.iter().map(|attempt| store.get(&attempt.key).expect("read").map(Reply::of)).collect();
            Judged { outcome, replies }
        })
        .collect();
    let _ = std::fs::remove_dir_all(&folder);
    judged
}

fn compared(docket: &Docket, reference: Vec<Generated>, other: Vec<Generated>) -> Comparison {
    compare(docket, &scoring(), &judged(docket, reference), &judged(docket, other)).expect("scored")
}

fn cell<'t>(table: &'t Table, row: usize, column: &str) -> &'t Cell {
    let at = table.columns().iter().position(|known| known.key == column).expect("a column");
    &table.rows()[row][at]
}

#[test]
fn the_same_replies_differ_in_nothing() {
    let docket = docket(1);
    let comparison = compared(&docket, ring(&docket), ring(&docket));
    assert!(comparison.is_equal() && !comparison.ranking_changed);
    assert_eq!((comparison.n_games, comparison.n_replies, comparison.n_findings), (3, 3, 3));
    assert_eq!((comparison.n_findings_lost, comparison.n_findings_gained, comparison.n_verdicts_changed), (0, 0, 0));
    assert_eq!((comparison.n_scores_changed, comparison.largest_rating_change), (0, Some(0.0)));
    assert_eq!(comparison.agreeing_margins, [0.5; 3]);
}

#[test]
fn a_margin_that_moved_under_an_equal_reply_is_no_repetition() {
    let docket = docket(1);
    let mut other = ring(&docket);
    other[1] = with_margin(other[1].clone(), 0.500_001);
    let comparison = compared(&docket, ring(&docket), other);
    assert!(comparison.differing.is_empty());
    assert_eq!(comparison.n_other_margins, 1);
    assert!(!comparison.is_equal());
}

#[test]
fn a_verdict_that_turns_moves_score_rating_and_ranking() {
    let docket = docket(1);
    let mut other = ring(&docket);
    let game = games(&docket, 1)[0];
    let turned = if (game.a + 1) % 3 == game.b { "B" } else { "A" };
    other[0] = reply(&[("VALUE", Some(1), Some(1), turned)]);
    let comparison = compared(&docket, ring(&docket), other);
    assert_eq!((comparison.n_verdicts_changed, comparison.n_findings_lost, comparison.n_findings_gained), (1, 0, 0));
    assert_eq!(comparison.n_scores_changed, 1);
    // One source now beat both others: no finite rating, and another order.
    assert_eq!(comparison.largest_rating_change, None);
    assert!(comparison.ranking_changed);
    let [difference] = &comparison.differing[..] else { panic!("{:?}", comparison.differing) };
    assert_eq!((difference.game, difference.attempt, difference.n_chars_changed), (game, 1, 1));
    let text = |generated: &Generated| match generated {
        Generated::Finished(finished) => finished.reply.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(Some(difference.first_byte), text(&ring(&docket)[0]).find(r#""verdict":""#).map(|at| at + r#""verdict":""#.len()));
    assert_eq!(difference.min_margins, [Some(0.5), None]);
}

#[test]
fn ratings_move_by_what_the_fit_says() {
    let docket = docket(1);
    let mut other = ring(&docket);
    let game = games(&docket, 1)[0];
    let (winner, loser) = if (game.a + 1) % 3 == game.b { ("A", "B") } else { ("B", "A") };
    // The loser now takes a part of the points: the ring is no longer even.
    other[0] = reply(&[("VALUE", Some(1), Some(1), winner), ("TIMING", Some(2), Some(2), loser)]);
    let comparison = compared(&docket, ring(&docket), other);
    assert_eq!((comparison.n_findings_gained, comparison.n_findings_lost, comparison.n_scores_changed), (1, 0, 1));
    assert!(comparison.largest_rating_change.is_some_and(|change| change > 10.0), "{comparison:?}");
}

#[test]
fn findings_are_lost_and_gained_by_type_rows_and_polarity() {
    let docket = docket(1);
    let mut reference = ring(&docket);
    let mut other = ring(&docket);
    reference[0] = reply(&[("A_ONLY", Some(1), None, "A"), ("A_ONLY", Some(1), None, "A"), ("TIMING", Some(1), Some(2), "A")]);
    other[0] = reply(&[("A_ONLY", Some(1), None, "B"), ("TIMING", Some(2), Some(2), "A")]);
    let comparison = compared(&docket, reference, other);
    // One of two equal findings stays with another verdict, one is gone, and the other rows are another finding.
    assert_eq!((comparison.n_verdicts_changed, comparison.n_findings_lost, comparison.n_findings_gained), (1, 2, 1));
}

#[test]
fn a_reply_cut_short_on_one_side_changes_the_outcome_and_the_second_prompt_is_not_compared() {
    let docket = docket(1);
    let mut other = ring(&docket);
    let cut = Scripted::ended(r#"{"findings":[{"#, FinishReason::Length);
    other.splice(0..1, [cut, ring(&docket)[0].clone()]);
    let comparison = compared(&docket, ring(&docket), other);
    assert_eq!((comparison.n_replies, comparison.differing.len(), comparison.n_outcomes_changed()), (3, 1, 1));
    assert_eq!(comparison.differing[0].outcomes, [Outcome::Ok, Outcome::Truncated]);
    assert_eq!(comparison.differing[0].first_byte, r#"{"findings":[{"#.len());
    assert_eq!((comparison.n_scores_changed, comparison.n_findings_lost), (0, 0), "the second try says what the first should");
}

#[test]
fn second_tries_are_compared_where_the_first_are_equal() {
    let docket = docket(1);
    let bad = || reply(&[("A_ONLY", Some(9), None, "A")]);
    let mut reference = ring(&docket);
    reference.insert(0, bad());
    let mut other = ring(&docket);
    other[0] = reply(&[]);
    other.insert(0, bad());
    let comparison = compared(&docket, reference, other);
    assert_eq!((comparison.n_replies, comparison.differing.len(), comparison.differing[0].attempt), (4, 1, 2));
    assert_eq!((comparison.n_findings_lost, comparison.n_scores_changed), (1, 1));
}

#[test]
fn a_prompt_without_a_reply_is_counted_and_is_no_difference() {
    let docket = docket(1);
    let mut other = ring(&docket);
    other[2] = Generated::Crashed { reason: "out of memory".into() };
    let comparison = compared(&docket, ring(&docket), other);
    assert_eq!((comparison.n_replies, comparison.n_unanswered, comparison.differing.len()), (2, 1, 0));
    assert_eq!((comparison.n_findings_lost, comparison.n_scores_changed), (1, 1));
    assert!(comparison.is_equal(), "what both sides answered is the same");
}

#[test]
fn tables_name_places_and_no_text() {
    let docket = docket(1);
    let mut other = ring(&docket);
    other[0] = with_margin(reply(&[]), 0.25);
    let comparison = compared(&docket, ring(&docket), other);
    let shown = tables(&docket, &[(settings(&[4])[3].clone(), comparison)]).expect("tables");
    let [replies, judgements, differences] = &shown[..] else { panic!("{} tables", shown.len()) };
    assert_eq!(cell(replies, 0, "setting"), &Cell::text("fast-4"));
    assert_eq!((cell(replies, 0, "replies"), cell(replies, 0, "differ")), (&Cell::Int(3), &Cell::Int(1)));
    assert_eq!(cell(replies, 0, "first_difference_byte"), &Cell::number(13.0, 0));
    assert_eq!(cell(judgements, 0, "findings_lost"), &Cell::Int(1));
    assert_eq!(cell(differences, 0, "case"), &Cell::text("case-0"));
    assert_eq!(cell(differences, 0, "min_margin"), &Cell::number(0.25, 4));
    for table in &shown {
        let text = table.to_csv().expect("a table") + &table.to_text();
        assert!(!text.contains("fever") && !text.contains("stated"), "{text}");
    }
}

#[test]
fn a_sample_takes_whole_cases_by_seed_and_spreads_over_them() {
    let all = games(&docket(5), 1);
    let drawn = draw_games(&all, 7, 3);
    assert_eq!(drawn.len(), 7);
    let n_of_case = |drawn: &[Game], case: usize| drawn.iter().filter(|game| game.case == case).count();
    let mut sizes: Vec<usize> = (0..5).map(|case| n_of_case(&drawn, case)).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 0, 1, 3, 3], "two cases with all of their games and one of a third");
    assert!(drawn.windows(2).all(|pair| pair[0].case <= pair[1].case), "the games of one report are together");
    assert_eq!(draw_games(&all, 7, 3), drawn);
    assert!((4..20).any(|seed| draw_games(&all, 7, seed) != drawn));
    assert_eq!(draw_games(&all, 100, 3), all);
    assert!(draw_games(&all, 0, 3).is_empty());
    // Cases with many games: six of each first.
    let many: Vec<Game> = (0..3).flat_map(|case| (1..=20).map(move |b| Game { case, a: 0, b })).collect();
    let drawn = draw_games(&many, 18, 1);
    assert_eq!([0, 1, 2].map(|case| n_of_case(&drawn, case)), [6, 6, 6]);
    assert_eq!(draw_games(&many, 45, 1).len(), 45);
}

#[test]
fn settings_have_names_of_their_own_and_the_parts_are_left_out_at_the_widest() {
    let all = settings(&[1, 8, 8, 2]);
    let names: Vec<&str> = all.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "exact",
            "exact-again",
            "exact-reversed",
            "fast-1",
            "fast-8",
            "fast-2",
            "fast-8-no-drafts",
            "fast-8-no-sharing",
            "fast-8-no-drafts-no-sharing"
        ]
    );
    assert!(all.iter().all(|setting| setting.must_agree() == (setting.numerics == Numerics::Exact)));
    assert!(all[2].reversed && all[2].slots != all[1].slots);
}
