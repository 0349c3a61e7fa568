//! `assize run`: judge, score, rank, report.

use super::docket::{engine, judge_all};
use super::worker;
use crate::cli::args::{GlobalArgs, StudyArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::resolve::{self, Plan};
use crate::cli::{results, signals};
use crate::engine::StatsSnapshot;
use crate::engine::generate::Generator;
use crate::engine::generate::llama::LlamaSettings;
use crate::engine::worker::{Supervision, WorkerError, WorkerJudge};
use crate::error::ExitStatus;
use crate::models::{locate, verify_hashes};
use crate::pipelines::gavel::{
    GameOutcome, GameStatus, PageFacts, error_profile_shown, figures, leaderboard_shown, notices, page, score, tables,
};
use crate::report::Table;
use crate::store::Store;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    let served = plan.card.served.is_some();
    if served && !no_engine {
        remarks.say(format_args!("note: {} is served elsewhere; this run scores the replies on record", plan.card.name));
    }
    let generator = if no_engine || served { None } else { Some(start_judge(&plan, plan.llama.clone(), &stop, global)?) };
    results::prepare(&plan.results_dir)?;
    let engine = engine(&plan, &store, generator, stop);
    let started = Instant::now();
    let outcomes = {
        let progress = Progress::start(
            Counted { doing: "judging", things: "games", total: plan.games.len(), judge: Some(Arc::clone(engine.stats())) },
            remarks.quiet,
        );
        judge_all(&plan, &engine, &|| progress.one_done())
    };
    store.sync()?;
    let outcomes = outcomes?;
    let wall = started.elapsed();
    let stats = engine.stats().snapshot();
    if stats.items_computed > 0 {
        say_speed(stats, wall, remarks);
        keep_run_record(&plan, stats, wall, remarks);
    }
    let scores = score(&plan.docket, &outcomes, &plan.scoring)?;
    let mut tables = tables(&plan.docket, &outcomes, &scores, plan.no_text)?;
    let settings = resolve::settings_shown(&plan);
    let notices = notices(&plan.docket, &outcomes, &scores);
    let notice_texts: Vec<String> = notices.iter().map(|notice| notice.text.clone()).collect();
    let figures = figures(&plan.docket, &scores)?;
    let facts = PageFacts {
        study: plan.name.clone(),
        judge: plan.card.name.clone(),
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

/// Starts the judge of `plan` with `settings` in a process of its own.
pub(super) fn start_judge(
    plan: &Plan,
    settings: LlamaSettings,
    stop: &Arc<AtomicBool>,
    global: &GlobalArgs,
) -> Result<Box<dyn Generator>, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let files = locate(&plan.card, &plan.model_dir).map_err(Failure::verification)?;
    let bytes: u64 = plan.card.files.iter().map(|file| file.bytes).sum();
    remarks.say(format_args!("loading {} ({:.1} GB) from {}", plan.card.name, bytes as f64 / 1e9, plan.model_dir.display()));
    verify_hashes(&files, &plan.model_dir, true).map_err(Failure::verification)?;
    let supervision = Supervision {
        arguments: worker::arguments(global.log.as_deref()),
        hang_timeout: plan.hang_timeout,
        say: Box::new(move |restart| remarks.say(format_args!("warning: {restart}"))),
    };
    let judge = WorkerJudge::start(&plan.card, &files, settings, supervision, Arc::clone(stop)).map_err(|error| match error {
        WorkerError::Load { .. } => Failure::verification(error),
        WorkerError::Start { .. } | WorkerError::Ended { .. } => Failure::new(ExitStatus::Internal, error),
    })?;
    Ok(Box::new(judge))
}

fn judge_lines(plan: &Plan) -> Vec<String> {
    match &plan.card.served {
        Some(served) => vec![format!("served as {}, revision {}", served.model, served.revision)],
        None => vec![
            format!("{}, {}", plan.card.architecture, plan.card.licence),
            format!("greedy decoding, {} numerics", plan.llama.numerics),
        ],
    }
}

fn say_speed(stats: StatsSnapshot, wall: Duration, remarks: Remarks) {
    let seconds = wall.as_secs_f64();
    remarks.say(format_args!(
        "judged {} items in {seconds:.1} s ({} more were on record): {} prompt tokens, {} of them shared ({:.0}%), {} reply tokens \
         in {:.2} passes each; {:.0} tokens computed a second",
        stats.items_computed,
        stats.items_replayed,
        stats.prompt_tokens,
        stats.reused_tokens,
        100.0 * stats.reused_tokens as f64 / (stats.prompt_tokens as f64).max(1.0),
        stats.reply_tokens,
        stats.reply_passes as f64 / (stats.reply_tokens as f64).max(1.0),
        stats.tokens_passed as f64 / seconds.max(1e-3),
    ));
}

/// Times and token counts of this run, beside the store: results hold none, so that they can be compared.
fn keep_run_record(plan: &Plan, stats: StatsSnapshot, wall: Duration, remarks: Remarks) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let folder = plan.store_dir.join("runs");
    let record = json!({
        "ended_unix_s": now.as_secs(),
        "wall_s": wall.as_secs_f64(),
        "games": plan.games.len(),
        "threads": plan.llama.threads,
        "slots": plan.llama.slots,
        "model": plan.model(),
        "engine": plan.engine(),
        "stats": stats,
    });
    let written = std::fs::create_dir_all(&folder).and_then(|()| {
        std::fs::write(folder.join(format!("{}-{}.json", now.as_secs(), std::process::id())), format!("{record:#}\n"))
    });
    if let Err(error) = written {
        remarks.say(format_args!("note: times of this run were not kept: {}: {error}", folder.display()));
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
            GameStatus::Failed(crate::store::Outcome::PromptTooLong | crate::store::Outcome::EngineCrash) => {
                reason.map(|reason| format!(": {reason}")).unwrap_or_default()
            }
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
