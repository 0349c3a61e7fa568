//! One file a command.

mod answer;
mod audit;
mod check;
mod docket;
mod encode;
mod evaluate;
mod exchange;
mod handout;
mod init;
mod measure;
mod models;
mod plan;
mod review;
mod run;
mod run_record;
mod stages;
mod start_judge;
mod store;
mod worker;

use super::args::{Args, Command};
use super::console::{Failure, Remarks};
use crate::error::ExitStatus;

/// Runs the command asked for.
pub fn run(args: &Args) -> Result<ExitStatus, Failure> {
    let json = args.global.json;
    let remarks = Remarks { quiet: args.global.quiet };
    match &args.command {
        Command::Init { dir } => init::run(dir, remarks),
        Command::Check { study } => check::run(study, json, remarks),
        Command::Run { study, no_engine } => run::run(study, *no_engine, &args.global),
        Command::Plan { study, memory, measure } => plan::run(study, *memory, *measure, &args.global),
        Command::Requests { study, index } => exchange::requests(study, index.as_deref(), remarks),
        Command::Replies { study, input } => exchange::replies(study, input.as_deref(), json, remarks),
        Command::Measure { name, input, list } => measure::run(name.as_deref(), *list, input, json, remarks),
        Command::Stages(stages) => stages::run(stages, json, remarks),
        Command::Embed(embed) => encode::embed(embed, &args.global),
        Command::Rerank(rerank) => encode::rerank(rerank, &args.global),
        Command::Encode(command) => encode::encode(command, &args.global),
        Command::Evaluate(evaluate) => evaluate::run(evaluate, json, remarks),
        Command::Review(command) => review::run(command, json, remarks),
        Command::Audit(command) => audit::run(command, &args.global),
        Command::Models(command) => models::run(command, json, remarks),
        Command::Store(command) => store::run(command, json, remarks),
        Command::Answer(answer) => answer::run(answer, &args.global),
        Command::Worker => worker::run(),
    }
}

/// Prints a table on stdout, as JSON when asked.
fn print_table(table: &crate::report::Table, json: bool) -> Result<(), Failure> {
    let text = if json { table.to_json()? } else { table.to_text() };
    print_out(&text)
}

/// Prints on stdout. A reader that went away (`| head`) is no failure.
fn print_out(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.trim_end().as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(ExitStatus::Internal, format_args!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}
