//! `assize answer`: a batch of chat requests answered by a judge on this machine.

mod body;
mod question;
mod result;

use super::run_record::{keep_run_record, say_speed};
use super::start_judge::start_judge;
use crate::cli::args::{AnswerArgs, GlobalArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::judge_plan::JudgePlan;
use crate::cli::progress::{Counted, Progress};
use crate::cli::results::create_private;
use crate::cli::signals;
use crate::data::study::JudgeSection;
use crate::engine::{Engine, GenerateError};
use crate::error::ExitStatus;
use crate::json;
use crate::report::{Cell, Column, Table};
use crate::store::{Outcome, Record, Store};
use futures::stream::{self, StreamExt};
use question::{Question, read_batch};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn run(args: &AnswerArgs, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    if args.judge.card.is_none() {
        return Err(Failure::usage(
            "expected a judge: name its model card with --card; `assize models list` shows the built-in ones",
        ));
    }
    let plan = JudgePlan::new(&args.judge, &JudgeSection::default(), Path::new(""), Path::new(""))?;
    if plan.card.served.is_some() {
        return Err(Failure::usage(format_args!(
            "model card `{}` is served elsewhere: send it the batch there, or name a judge on this machine with --card",
            plan.card.name
        )));
    }
    let questions = read_batch(&args.batch, &plan.card, plan.llama.context_tokens)?;
    let store_dir = args.store.clone().unwrap_or_else(|| beside(&args.out, ".store"));
    let store = Arc::new(Store::open(&store_dir)?);
    remarks.store(store.open_report());
    let stop = signals::stop_flag(remarks.quiet).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let engine = |judge| Engine::new(Arc::clone(&store), plan.model(), plan.engine(), judge, Arc::clone(&stop));
    // Loading a large judge takes minutes: not for a batch that is on record as a whole.
    let reader = engine(None);
    let mut is_open = false;
    for question in &questions {
        is_open = store.get(&reader.key(&question.request))?.is_none();
        if is_open {
            break;
        }
    }
    let engine = if is_open { engine(Some(start_judge(&plan, plan.llama.clone(), &stop, global)?)) } else { reader };
    let started = Instant::now();
    let records = ask_all(&questions, &engine, plan.n_in_flight(), remarks);
    store.sync()?;
    let stats = engine.stats().snapshot();
    if stats.items_computed > 0 {
        say_speed(stats, started.elapsed(), remarks);
        keep_run_record(&plan, &store_dir, stats, started.elapsed(), remarks);
    }
    let records = records?;
    write_results(&args.out, &questions, &records, &plan.card.name)?;
    remarks.say(format_args!("results: {}", args.out.display()));
    super::print_table(&counted(&records)?, global.json)?;
    let all_answered = records.iter().all(|record| record.outcome.answers());
    Ok(if all_answered { ExitStatus::Ok } else { ExitStatus::FailedItems })
}

/// `path` with `end` added to its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The records of all questions, in their order.
fn ask_all(questions: &[Question], engine: &Engine, n_in_flight: usize, remarks: Remarks) -> Result<Vec<Record>, Failure> {
    let progress = Progress::start(
        Counted { doing: "answering", things: "requests", total: questions.len(), judge: Some(Arc::clone(engine.stats())) },
        remarks.quiet,
    );
    let records = stream::iter(questions)
        .map(|question| async {
            let record = engine.generate(question.request.clone()).await;
            progress.one_done();
            record
        })
        .buffered(n_in_flight)
        // Requests after an interrupted one may be at work: they finish and are kept.
        .collect::<Vec<Result<Record, GenerateError>>>();
    Ok(futures::executor::block_on(records).into_iter().collect::<Result<_, _>>()?)
}

/// Writes the results beside `path` and puts them in its place, so that it never holds a part of them.
fn write_results(path: &Path, questions: &[Question], records: &[Record], model: &str) -> Result<(), Failure> {
    let partial = beside(path, ".partial");
    // Replies may quote a case.
    let mut out = BufWriter::new(create_private(&partial)?);
    let write = || -> std::io::Result<()> {
        for (question, record) in questions.iter().zip(records) {
            writeln!(out, "{}", json::escape_line_ends(result::line(question, record, model).to_string()))?;
        }
        out.into_inner()?.sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().map_err(|error: std::io::Error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))
}

fn counted(records: &[Record]) -> Result<Table, Failure> {
    let columns = vec![Column::text("outcome", "Outcome"), Column::number("n", "Requests")];
    let mut table = Table::new("answered", "Requests answered", columns)?;
    for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::EvidenceInvalid) {
        let n = records.iter().filter(|record| record.outcome == outcome).count();
        table.push(vec![outcome.name().into(), Cell::count(n)])?;
    }
    Ok(table)
}
