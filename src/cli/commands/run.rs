//! `assize run`: judge, score, rank, report.

use super::docket::{engine, judge_all, judge_games};
use super::run_record::{keep_run_record, say_speed};
use super::start_judge::start_judge;
use crate::cli::args::{GlobalArgs, StudyArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::resolve::{self, Plan};
use crate::cli::{results, signals};
use crate::error::ExitStatus;
use crate::pipelines::gavel::{
    GameOutcome, GameStatus, PageFacts, error_profile_shown, figures, leaderboard_shown, notices, page, score, tables,
};
use crate::report::Table;
use crate::store::Store;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub fn run(args: &StudyArgs, no_engine: bool, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let plan = resolve::resolve(args, remarks)?;
    for left_out in &plan.left_out {
        remarks.say(format_args!("left out: {left_out}"));
    }
    if plan.games.is_empty() {
        return Err(Failure::usage(
            "no game to judge: no case has timelines by two sources; `assize check` lists what is missing",
        ));
    }
    let stop = signals::stop_flag(remarks.quiet).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let store = Arc::new(Store::open(&plan.store_dir)?);
    remarks.store(store.open_report());
    let served = plan.judged_by.card.served.is_some();
    if served && !no_engine {
        remarks
            .say(format_args!("note: {} is served elsewhere; this run scores the replies on record", plan.judged_by.card.name));
    }
    let may_judge = !no_engine && !served;
    let (on_record, is_open) = replay(&plan, &store, &stop, may_judge)?;
    let outcomes = if is_open && may_judge {
        drop(on_record);
        judge_open(&plan, &store, &stop, global)?
    } else {
        results::prepare(&plan.results_dir)?;
        on_record
    };
    store.sync()?;
    let scores = score(&plan.docket, &outcomes, &plan.scoring)?;
    let mut tables = tables(&plan.docket, &outcomes, &scores, plan.no_text)?;
    let settings = resolve::settings_shown(&plan);
    let notices = notices(&plan.docket, &outcomes, &scores);
    let notice_texts: Vec<String> = notices.iter().map(|notice| notice.text.clone()).collect();
    let figures = figures(&plan.docket, &scores)?;
    let facts = PageFacts {
        study: plan.name.clone(),
        judge: plan.judged_by.card.name.clone(),
        judge_lines: judge_lines(&plan),
        settings: settings.clone(),
        intake: plan.intake.clone(),
        figures: figures.clone(),
        no_text: plan.no_text,
    };
    let page = page(&plan.docket, &outcomes, &scores, facts)?;
    tables.push(plan.intake.clone());
    results::write(&plan.results_dir, &tables, &settings, &notice_texts, &page)?;
    for (name, figure) in [("leaderboard", figures.leaderboard), ("error_profile", figures.error_profile)] {
        results::write_figure(&plan.results_dir, name, figure.as_ref())?;
    }
    let conformance = tables.iter().find(|table| table.name() == "conformance").cloned();
    let mut shown = vec![leaderboard_shown(&plan.docket, &scores)?, error_profile_shown(&plan.docket, &scores)?];
    shown.extend(conformance);
    shown.push(plan.intake.clone());
    let output = Output { tables, shown, notices: notice_texts };
    show(&plan, &outcomes, &output, global.json, remarks)?;
    let all_ok = outcomes.iter().all(|outcome| outcome.status == GameStatus::Ok);
    Ok(if all_ok { ExitStatus::Ok } else { ExitStatus::FailedItems })
}

/// Games looked up at a time before it is known whether a judge is needed.
const LOOKED_UP: usize = 256;

/// What the store holds of the plan's games, and whether a reply is missing. With `until_open` it ends soon after the first such game:
/// loading a large judge takes minutes, so it is not loaded for a study that is on record as a whole.
fn replay(
    plan: &Plan,
    store: &Arc<Store>,
    stop: &Arc<AtomicBool>,
    until_open: bool,
) -> Result<(Vec<GameOutcome>, bool), Failure> {
    let engine = engine(plan, store, None, Arc::clone(stop));
    let (mut outcomes, mut is_open) = (Vec::new(), false);
    for games in plan.games.chunks(LOOKED_UP) {
        let found = judge_games(plan, &engine, games, &|| ())?;
        is_open |= found.iter().any(|outcome| outcome.status == GameStatus::Pending);
        outcomes.extend(found);
        if is_open && until_open {
            break;
        }
    }
    Ok((outcomes, is_open))
}

/// Judges what is not on record.
fn judge_open(plan: &Plan, store: &Arc<Store>, stop: &Arc<AtomicBool>, global: &GlobalArgs) -> Result<Vec<GameOutcome>, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let judge = start_judge(&plan.judged_by, plan.judged_by.llama.clone(), stop, global)?;
    // After the judge is found to be in order, and before hours of work.
    results::prepare(&plan.results_dir)?;
    let engine = engine(plan, store, Some(judge), Arc::clone(stop));
    let started = Instant::now();
    let outcomes = {
        let progress = Progress::start(
            Counted { doing: "judging", things: "games", total: plan.games.len(), judge: Some(Arc::clone(engine.stats())) },
            remarks.quiet,
        );
        judge_all(plan, &engine, &|| progress.one_done())
    };
    store.sync()?;
    let outcomes = outcomes?;
    let wall = started.elapsed();
    let stats = engine.stats().snapshot();
    if stats.items_computed > 0 {
        say_speed(stats, wall, remarks);
        keep_run_record(&plan.judged_by, &plan.store_dir, stats, wall, remarks);
    }
    Ok(outcomes)
}

fn judge_lines(plan: &Plan) -> Vec<String> {
    match &plan.judged_by.card.served {
        Some(served) => vec![format!("served as {}, revision {}", served.model, served.revision)],
        None => vec![
            format!("{}, {}", plan.judged_by.card.architecture, plan.judged_by.card.licence),
            format!("greedy decoding, {} numerics", plan.judged_by.llama.numerics),
        ],
    }
}

/// What a run has to say on stdout.
struct Output {
    /// Every table, for programs.
    tables: Vec<Table>,
    /// The tables that a person reads first.
    shown: Vec<Table>,
    notices: Vec<String>,
}

fn show(plan: &Plan, outcomes: &[GameOutcome], output: &Output, as_json: bool, remarks: Remarks) -> Result<(), Failure> {
    let report = plan.results_dir.join("report.html");
    if as_json {
        let mut out = serde_json::Map::new();
        out.insert("study".into(), json!(plan.name));
        out.insert("notices".into(), json!(output.notices));
        // Findings are many: they are in the results folder.
        for table in output.tables.iter().filter(|table| table.name() != "findings") {
            let rows: Value = serde_json::from_str(&table.to_json()?).unwrap_or(Value::Null);
            out.insert(table.name().to_string(), rows);
        }
        out.insert("report".into(), json!(report.display().to_string()));
        return super::print_out(&format!("{:#}", Value::Object(out)));
    }
    for table in &output.shown {
        super::print_out(&table.to_text())?;
        super::print_out("")?;
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.status != GameStatus::Ok) {
        let game = outcome.game;
        let reason = outcome.attempts.last().and_then(|attempt| attempt.errors.first());
        // Messages about a finding may quote it: they are in the report, not on stderr.
        let detail = match outcome.status {
            GameStatus::Failed(failed) if !failed.answers() => reason.map(|reason| format!(": {reason}")).unwrap_or_default(),
            _ => String::new(),
        };
        remarks.say(format_args!(
            "{}: {} against {}: {}{detail}",
            plan.docket.reports[game.case].case,
            plan.docket.sources[game.a],
            plan.docket.sources[game.b],
            outcome.status.name()
        ));
    }
    for notice in &output.notices {
        remarks.say(notice);
    }
    super::print_out(&format!("results: {}\nreport:  {}", plan.results_dir.display(), report.display()))
}
