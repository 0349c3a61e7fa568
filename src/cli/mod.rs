//! The command line: arguments as typed, the validated plan made of them, and the commands. The only layer that talks to a person,
//! and the only user of progress bars.

mod args;
mod commands;
mod console;
mod judge_plan;
mod progress;
mod resolve;
mod results;
mod signals;

use crate::error::ExitStatus;
use clap::Parser;
use std::ffi::OsString;

/// Runs the program with `args` (the program's name first) and returns how it ended.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // clap prints help and version to stdout and everything else to stderr.
            let _ = error.print();
            return if error.use_stderr() { ExitStatus::Usage } else { ExitStatus::Ok };
        }
    };
    console::start_logs(args.global.log.as_deref());
    match commands::run(&args) {
        Ok(status) => status,
        Err(failure) => {
            for line in failure.lines() {
                crate::cli::console::complain(format_args!("{line}"));
            }
            failure.status()
        }
    }
}
