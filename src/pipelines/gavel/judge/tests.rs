//! The path of a game over replies that a script gives. What a model does is shown in `tests/judge.rs`.

use super::super::{ScoringSettings, games, score};
use super::*;
use crate::data::{CaseId, Event, EventTime, Hours, Report, SourceName, Timeline};
use crate::engine::ModelIdentity;
use crate::engine::generate::{Generated, ReplyLimit, Scripted};
use crate::measure::points::EmptyGames;
use crate::measure::rubric::Scheme;
use crate::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

const GOOD: &str = r#"{"findings":[{"type":"A_ONLY","a_row":1,"b_row":null,"polarity":"present","evidence":"fever","rationale":"stated","verdict":"A"}]}"#;
const BAD_ROW: &str = r#"{"findings":[{"type":"A_ONLY","a_row":9,"b_row":null,"polarity":"present","evidence":"fever","rationale":"stated","verdict":"A"}]}"#;

fn half_good() -> String {
    let inner = |text: &str| text[r#"{"findings":["#.len()..text.len() - 2].to_string();
    format!(r#"{{"findings":[{},{}]}}"#, inner(GOOD), inner(BAD_ROW))
}

fn docket(sources: &[&str]) -> Docket {
    let case = CaseId::new("case-1").expect("an id");
    let timeline = |source: &SourceName| Timeline {
        case: case.clone(),
        source: source.clone(),
        events: vec![Event {
            text: format!("fever by {source}"),
            time: EventTime::At(Hours::new(-48.0).expect("finite")),
            line: 1,
            uid: None,
        }],
        path: PathBuf::new(),
    };
    let sources: Vec<SourceName> = sources.iter().map(|name| SourceName::new(*name).expect("a name")).collect();
    Docket {
        timelines: vec![sources.iter().map(|source| Some(timeline(source))).collect()],
        reports: vec![Report { case, text: "She had a fever.".into(), path: PathBuf::new() }],
        sources,
    }
}

fn settings() -> JudgeSettings {
    JudgeSettings {
        finding_schema: FindingSchema::Rows,
        reply: ReplyMode::Constrained,
        reply_limit: ReplyLimit::Fixed(100),
        max_reasoning_tokens: None,
        max_findings: 5,
        max_attempts: 2,
        tolerance_floor_hours: 24.0,
        seed: 1,
    }
}

struct Bench {
    folder: PathBuf,
    asked: Arc<Mutex<Vec<Vec<Message>>>>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("assize-judge-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self { folder, asked: Arc::default() }
    }

    /// Judges the first game with replies given one after another.
    fn judge(&self, replies: Vec<Generated>) -> Result<GameOutcome, JudgeError> {
        let docket = docket(&["x", "y"]);
        let asked = Arc::clone(&self.asked);
        let replies = Mutex::new(replies.into_iter());
        let scripted = Scripted::new(move |messages| {
            asked.lock().expect("unpoisoned").push(messages.to_vec());
            replies.lock().expect("unpoisoned").next().expect("no more replies than asked for")
        });
        let store = Arc::new(Store::open(&self.folder).expect("a store"));
        let model = ModelIdentity::Served { model: "m".into(), revision: "1".into() };
        let engine = Engine::new(store, model, None, Some(Box::new(scripted)), Arc::new(AtomicBool::new(false)));
        let prompt = Prompt::find("gavel/judge.v2", Path::new("")).expect("a prompt");
        let game = games(&docket, 1)[0];
        futures::executor::block_on(judge(&engine, &prompt, &settings(), &docket, game))
    }

    fn n_asked(&self) -> usize {
        self.asked.lock().expect("unpoisoned").len()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_valid_reply_ends_the_game_and_is_not_asked_for_again() {
    let bench = Bench::new("valid");
    let outcome = bench.judge(vec![Scripted::reply(GOOD)]).expect("judged");
    assert_eq!((outcome.status, outcome.findings.len(), outcome.attempts.len()), (GameStatus::Ok, 1, 1));
    let again = bench.judge(vec![]).expect("judged from the store");
    assert_eq!(again.findings, outcome.findings);
    assert_eq!(bench.n_asked(), 1);
}

#[test]
fn an_invalid_reply_is_asked_for_again_with_the_errors() {
    let bench = Bench::new("retry");
    let outcome = bench.judge(vec![Scripted::reply(BAD_ROW), Scripted::reply(GOOD)]).expect("judged");
    assert_eq!((outcome.status, outcome.attempts.len()), (GameStatus::Ok, 2));
    assert_eq!(outcome.attempts[0].outcome, Outcome::SchemaInvalid);
    let asked = bench.asked.lock().expect("unpoisoned");
    assert_eq!(asked[1].len(), 3, "prompt, first reply, errors");
    assert_eq!(asked[1][0], asked[0][0]);
    assert_eq!(asked[1][1], Message::assistant(BAD_ROW));
    assert!(asked[1][2].content.contains("a_row is 9; timeline A has rows 1 to 1"), "{}", asked[1][2].content);
}

#[test]
fn after_the_last_try_valid_findings_are_kept_and_the_game_is_partial() {
    let bench = Bench::new("partial");
    let outcome = bench.judge(vec![Scripted::reply(BAD_ROW), Scripted::reply(half_good())]).expect("judged");
    assert_eq!(outcome.status, GameStatus::Partial);
    assert_eq!((outcome.findings.len(), outcome.invalid.len()), (1, 1));
    assert_eq!(outcome.raw.as_deref(), Some(half_good().as_str()), "the raw text is kept");
}

#[test]
fn failures_are_typed() {
    let bench = Bench::new("typed");
    let cut = || Scripted::ended(&GOOD[..30], FinishReason::Length);
    let outcome = bench.judge(vec![cut(), cut()]).expect("judged");
    assert_eq!((outcome.status, outcome.attempts.len()), (GameStatus::Failed(Outcome::Truncated), 2));
    let bench = Bench::new("prose");
    let outcome = bench.judge(vec![Scripted::reply("no idea"), Scripted::reply("still none")]).expect("judged");
    assert_eq!(outcome.status, GameStatus::Failed(Outcome::SchemaInvalid));
    assert_eq!(outcome.raw.as_deref(), Some("still none"));
    let bench = Bench::new("long");
    let outcome = bench.judge(vec![Generated::TooLong { reason: "9000 tokens, the context holds 8192".into() }]).expect("judged");
    assert_eq!(
        (outcome.status, outcome.attempts.len()),
        (GameStatus::Failed(Outcome::PromptTooLong), 1),
        "asking again cannot help"
    );
    assert!(outcome.attempts[0].errors[0].contains("9000"));
}

#[test]
fn a_crash_is_computed_again_by_the_next_run() {
    let bench = Bench::new("crash");
    let crash = Generated::Crashed { reason: "out of memory".into() };
    assert_eq!(bench.judge(vec![crash]).expect("judged").status, GameStatus::Failed(Outcome::EngineCrash));
    assert_eq!(bench.judge(vec![Scripted::reply(GOOD)]).expect("judged").status, GameStatus::Ok);
}

#[test]
fn an_interrupted_game_leaves_no_record() {
    let bench = Bench::new("interrupted");
    let error = bench.judge(vec![Generated::Interrupted]).expect_err("no outcome");
    assert!(matches!(error, JudgeError::Engine(GenerateError::Interrupted)));
    assert_eq!(bench.judge(vec![Scripted::reply(GOOD)]).expect("judged").status, GameStatus::Ok);
}

#[test]
fn sides_are_drawn_by_seed_and_names_alone() {
    let few = games(&docket(&["x", "y"]), 5);
    let more = games(&docket(&["w", "y", "x"]), 5);
    let name = |sources: &[&str], game: &Game| (sources[game.a].to_string(), sources[game.b].to_string());
    assert_eq!(more.len(), 3);
    let same_pair = more.iter().map(|game| name(&["w", "y", "x"], game)).find(|(a, b)| a != "w" && b != "w");
    assert_eq!(same_pair, Some(name(&["x", "y"], &few[0])), "adding a source or reordering them moves no side");
    let a_is_x = (0..64).filter(|seed| games(&docket(&["x", "y"]), *seed)[0].a == 0).count();
    assert!((16..=48).contains(&a_is_x), "{a_is_x} of 64 seeds make x A");
}

#[test]
fn a_partial_game_is_out_of_the_fit_unless_asked_for() {
    let bench = Bench::new("fit");
    let outcome = bench.judge(vec![Scripted::reply(BAD_ROW), Scripted::reply(half_good())]).expect("judged");
    let mut scoring = ScoringSettings {
        rubrics: vec![Scheme::Default],
        empty_games: EmptyGames::LeaveOut,
        include_partial_games: false,
        bootstrap_resamples: 10,
        bootstrap_seed: 1,
    };
    let outcomes = [outcome];
    let n_in_fit =
        |scoring: &ScoringSettings| score(&docket(&["x", "y"]), &outcomes, scoring).expect("scored").rubrics[0].n_games_in_fit;
    assert_eq!(n_in_fit(&scoring), 0);
    scoring.include_partial_games = true;
    assert_eq!(n_in_fit(&scoring), 1);
}

#[test]
fn reasoning_that_was_written_into_the_reply_is_kept_apart() {
    let bench = Bench::new("reasoning");
    let outcome = bench.judge(vec![Scripted::reply(format!("<think>{BAD_ROW}</think>{GOOD}"))]).expect("judged");
    assert_eq!((outcome.status, outcome.findings.len(), outcome.attempts.len()), (GameStatus::Ok, 1, 1));
    assert_eq!(outcome.attempts[0].unnamed_mark.as_deref(), Some("<think>"));
    let bench = Bench::new("unclosed");
    let outcome =
        bench.judge(vec![Scripted::reply(format!("<think>{GOOD}")), Scripted::reply("{GOOD} <think>")]).expect("judged");
    assert_eq!(outcome.status, GameStatus::Failed(Outcome::SchemaInvalid));
    assert!(outcome.attempts.iter().all(|attempt| attempt.finish == FinishReason::NoReply), "{:?}", outcome.attempts);
    assert_eq!(outcome.findings, []);
}

#[test]
fn a_game_that_met_a_limit_says_so() {
    let bench = Bench::new("limit");
    let many = |n: usize| format!("[{}]", vec![&GOOD[r#"{"findings":["#.len()..GOOD.len() - 2]; n].join(","));
    let outcome = bench.judge(vec![Scripted::reply(many(6)), Scripted::reply(many(5))]).expect("judged");
    assert_eq!(outcome.attempts.iter().map(|attempt| attempt.limit).collect::<Vec<_>>(), [Some(Limit::Findings); 2]);
    assert_eq!((n_at_limit(std::slice::from_ref(&outcome), Limit::Findings), n_at_limit(&[outcome], Limit::Tokens)), (1, 0));
    let bench = Bench::new("limit-not-met");
    let outcome = bench.judge(vec![Scripted::ended(&GOOD[..30], FinishReason::Length), Scripted::reply(GOOD)]).expect("judged");
    assert_eq!(n_at_limit(&[outcome], Limit::Tokens), 0, "the second try was not cut");
}
