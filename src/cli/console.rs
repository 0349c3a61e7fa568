//! What a person sees: failures with their exit codes, remarks, logs.

use crate::data::Problem;
use crate::engine::GenerateError;
use crate::error::ExitStatus;
use crate::store::{OpenReport, StoreError};
use std::io::IsTerminal;

/// A command that could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    status: ExitStatus,
    lines: Vec<String>,
}

impl Failure {
    /// A failure that ends the program with `status`.
    pub fn new(status: ExitStatus, message: impl std::fmt::Display) -> Self {
        Self { status, lines: vec![format!("error: {message}")] }
    }

    /// Wrong arguments, manifest or input.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self::new(ExitStatus::Usage, message)
    }

    /// A model or prompt that is not what its card says.
    pub fn verification(message: impl std::fmt::Display) -> Self {
        Self::new(ExitStatus::Verification, message)
    }

    /// Every problem of a study.
    pub fn problems(problems: &[Problem]) -> Self {
        let line = |problem: &Problem| format!("{}: {problem}", if problem.is_error() { "error" } else { "warning" });
        Self { status: ExitStatus::Usage, lines: problems.iter().map(line).collect() }
    }

    /// The same with a way out.
    pub fn hint(mut self, hint: &str) -> Self {
        self.lines.push(format!("hint: {hint}"));
        self
    }

    pub fn status(&self) -> ExitStatus {
        self.status
    }

    /// What to print on stderr, each line with its severity.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::NotAStore { .. }
            | StoreError::NewerVersion { .. }
            | StoreError::BadFormat { .. }
            | StoreError::Busy { .. } => ExitStatus::Usage,
            _ => ExitStatus::Internal,
        };
        Self::new(status, error)
    }
}

impl From<crate::pipelines::gavel::JudgeError> for Failure {
    fn from(error: crate::pipelines::gavel::JudgeError) -> Self {
        use crate::pipelines::gavel::JudgeError;
        match error {
            JudgeError::Engine(error) => error.into(),
            JudgeError::Prompt(_) => Self::new(ExitStatus::Verification, error),
            _ => Self::new(ExitStatus::Internal, error),
        }
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        let status = match &error {
            GenerateError::Interrupted => ExitStatus::Interrupted,
            _ => ExitStatus::Internal,
        };
        Self::new(status, error)
    }
}

impl From<crate::report::ReportError> for Failure {
    fn from(error: crate::report::ReportError) -> Self {
        Self::new(ExitStatus::Internal, error)
    }
}

impl From<crate::measure::MeasureError> for Failure {
    fn from(error: crate::measure::MeasureError) -> Self {
        Self::new(ExitStatus::Internal, error)
    }
}

impl From<crate::pipelines::sheet::StatisticsError> for Failure {
    fn from(error: crate::pipelines::sheet::StatisticsError) -> Self {
        Self::new(ExitStatus::Internal, error)
    }
}

/// Remarks on stderr, silent with `--quiet`.
#[derive(Debug, Clone, Copy)]
pub struct Remarks {
    pub quiet: bool,
}

impl Remarks {
    pub fn say(self, text: impl std::fmt::Display) {
        if !self.quiet {
            complain(text);
        }
    }

    /// What opening a store found, where it is worth a remark.
    pub fn store(self, report: &OpenReport) {
        for damage in &report.damage {
            // Damage is said even when quiet: it costs work.
            complain(format_args!("warning: {damage}"));
        }
        if report.n_live_writers > 0 {
            self.say(format_args!(
                "note: {} other process(es) write to this store; items that they are computing are computed here too",
                report.n_live_writers
            ));
        }
    }
}

/// A line on stderr. A reader that went away is no reason to fail.
pub fn complain(text: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Sends logs to stderr: warnings unless `filter` says otherwise.
pub fn start_logs(filter: Option<&str>) {
    let filter = tracing_subscriber::EnvFilter::new(filter.unwrap_or("error"));
    // Colours are for people: a log file gets none.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).try_init();
}
