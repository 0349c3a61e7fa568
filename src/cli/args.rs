//! Arguments as typed.

use crate::data::Numerics;
use crate::store::ExportFormat;
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::path::PathBuf;

/// Runs long dockets of clinical cases before a local judge: offline, batched, resumable.
#[derive(Debug, Parser)]
#[command(name = "assize", version, max_term_width = 110)]
#[command(
    after_help = "Exit codes: 0 done, 1 internal failure, 2 wrong usage or input, 3 a model or prompt is not what its card names, \
    4 finished with failed or pending items, 5 interrupted (the same command goes on).\n\n\
    Example:\n  assize init trial && assize check trial && assize run trial"
)]
pub struct Args {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Arguments of every command.
#[derive(Debug, ClapArgs)]
pub struct GlobalArgs {
    /// Print tables as JSON on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no remarks on stderr, errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Log filter for stderr, as `info` or `llama-cpp-2=debug`; logs never hold case text
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented study.toml into a new folder
    #[command(after_help = "Example:\n  assize init trial")]
    Init {
        /// Folder of the new study; made when absent
        dir: PathBuf,
    },
    /// Read a whole study and report every problem at once, without loading a model
    #[command(after_help = "Example:\n  assize check examples/sample")]
    Check {
        #[command(flatten)]
        study: StudyArgs,
    },
    /// Judge every game of a study, score, rank and write the report; goes on where it was stopped
    #[command(after_help = "Examples:\n  assize run examples/sample\n  assize run trial --numerics fast --slots 8\n  \
        assize run trial --no-engine    # score what is on record, list what is pending")]
    Run {
        #[command(flatten)]
        study: StudyArgs,
        /// Compute nothing: score the replies on record and list what is pending
        #[arg(long)]
        no_engine: bool,
    },
    /// Print every pending prompt as OpenAI-batch JSONL
    #[command(after_help = "Example:\n  assize requests trial --index index.csv > batch.jsonl")]
    Requests {
        #[command(flatten)]
        study: StudyArgs,
        /// Also write a CSV that says which case and sources each custom_id is about
        #[arg(long, value_name = "FILE")]
        index: Option<PathBuf>,
    },
    /// Take in replies computed elsewhere, in the OpenAI-batch result format
    #[command(after_help = "Example:\n  assize replies trial < results.jsonl")]
    Replies {
        #[command(flatten)]
        study: StudyArgs,
        /// Read from this file instead of stdin
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
    },
    /// Model cards and their files
    #[command(subcommand, after_help = "Example:\n  assize models list")]
    Models(ModelsCommand),
    /// Stores of finished items
    #[command(subcommand, after_help = "Example:\n  assize store verify trial/store")]
    Store(StoreCommand),
}

/// Which study, and settings that override its manifest.
#[derive(Debug, ClapArgs)]
pub struct StudyArgs {
    /// Study folder, or its manifest
    pub study: PathBuf,
    /// Folder of the weight files; overrides judge.model_dir
    #[arg(long, value_name = "DIR")]
    pub model_dir: Option<PathBuf>,
    /// Model card by name or path; overrides judge.card
    #[arg(long, value_name = "CARD")]
    pub card: Option<String>,
    /// Overrides judge.numerics
    #[arg(long, value_parser = parse_numerics, value_name = "exact|fast")]
    pub numerics: Option<Numerics>,
    /// Games decoded together in fast mode; overrides judge.slots
    #[arg(long)]
    pub slots: Option<u32>,
    /// Threads of the judge; overrides judge.threads (default: the cores of this machine)
    #[arg(long)]
    pub threads: Option<u32>,
    /// Store folder; overrides store.dir
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Results folder; overrides results.dir
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Keep report, event, evidence and rationale text out of the results
    #[arg(long)]
    pub no_text: bool,
}

fn parse_numerics(text: &str) -> Result<Numerics, String> {
    [Numerics::Exact, Numerics::Fast]
        .into_iter()
        .find(|numerics| numerics.name() == text)
        .ok_or_else(|| format!("expected exact or fast, got `{text}`"))
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the built-in cards and whether their files are here
    #[command(after_help = "Example:\n  assize models list --model-dir .models")]
    List {
        /// Folder of the weight files
        #[arg(long, value_name = "DIR", default_value = ".models")]
        model_dir: PathBuf,
    },
    /// Check hashes, shard set, chat template and context of cards against the files
    #[command(after_help = "Example:\n  assize models verify smollm2-135m-instruct --model-dir .models")]
    Verify {
        /// Cards by name or path; without any, every built-in card whose files are here
        cards: Vec<String>,
        /// Folder of the weight files
        #[arg(long, value_name = "DIR", default_value = ".models")]
        model_dir: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read every record and report damage
    #[command(after_help = "Example:\n  assize store verify trial/store")]
    Verify { store: PathBuf },
    /// Join the segments of a store into one, adding what other stores hold
    #[command(after_help = "Example:\n  assize store merge trial/store --from node7/store --from node8/store")]
    Merge {
        store: PathBuf,
        /// A store whose records are added; may be given several times
        #[arg(long, value_name = "STORE")]
        from: Vec<PathBuf>,
    },
    /// Write every record as a table
    #[command(after_help = "Example:\n  assize store export trial/store --format csv --out records.csv")]
    Export {
        store: PathBuf,
        #[arg(long, value_enum, default_value = "csv")]
        format: ExportFormat,
        /// File to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}
