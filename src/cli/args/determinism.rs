//! Arguments of `assize audit determinism`.

use crate::pipelines::determinism::N_GAMES;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Which games are judged several times, and how.
#[derive(Debug, ClapArgs)]
pub struct DeterminismArgs {
    /// Study folder, or its manifest
    pub study: PathBuf,
    /// Games to judge, drawn case by case
    #[arg(long, value_name = "N", default_value_t = N_GAMES)]
    pub games: usize,
    /// Seed of the draw (default: the study's)
    #[arg(long)]
    pub seed: Option<u64>,
    /// Games decoded together in fast mode, one setting for each number
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2,4,8",
        value_parser = clap::value_parser!(u32).range(1..=255))]
    pub widths: Vec<u32>,
    /// Folder of the weight files; overrides judge.model_dir
    #[arg(long, value_name = "DIR")]
    pub model_dir: Option<PathBuf>,
    /// Model card by name or path; overrides judge.card
    #[arg(long, value_name = "CARD")]
    pub card: Option<String>,
    /// Threads of the judge; overrides judge.threads (default: the cores of this machine)
    #[arg(long)]
    pub threads: Option<u32>,
    /// Folder for the tables and for the audit's own replies (default: determinism, in the study)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
