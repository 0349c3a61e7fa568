//! Which judge, and how it is run.

use super::{EngineArgs, parse_numerics};
use crate::data::Numerics;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Which judge, and how it is run. For a study each overrides the key of `[judge]` of the same name.
#[derive(Debug, Default, ClapArgs)]
pub struct JudgeArgs {
    /// Folder of the weight files; overrides judge.model_dir
    #[arg(long, value_name = "DIR")]
    pub model_dir: Option<PathBuf>,
    /// Model card by name or path; overrides judge.card
    #[arg(long, value_name = "CARD")]
    pub card: Option<String>,
    /// Overrides judge.numerics
    #[arg(long, value_parser = parse_numerics, value_name = "exact|fast")]
    pub numerics: Option<Numerics>,
    /// Prompts decoded together in fast mode; overrides judge.slots
    #[arg(long)]
    pub slots: Option<u32>,
    /// Threads of the judge; overrides judge.threads (default: the cores of this machine)
    #[arg(long)]
    pub threads: Option<u32>,
    /// Write what the engine did when, for Chrome's trace viewer or Perfetto; it holds no text
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub engine: EngineArgs,
}
