//! Arguments as typed.

mod bytes;
mod determinism;
mod encode;
mod engine;
mod judge;
mod review;

pub use determinism::DeterminismArgs;
pub use encode::{EmbedArgs, EncodeCommand, PoolingArg, RerankArgs, RoleArg};
pub use engine::EngineArgs;
pub use judge::JudgeArgs;
pub use review::{
    AuditCommand, MatcherCommand, MatcherRatesArgs, MatcherSampleArgs, ReportsArgs, ReviewCommand, ReviewSampleArgs,
    ReviewStatsArgs,
};

use crate::data::study::DEFAULT_SEED;
use crate::data::{BadRowPolicy, Numerics, TimelineFormat};
use crate::measure::matching::Matcher;
use crate::pipelines::evaluate::Compat;
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
    /// Say what a run would take: items, prompt tokens, memory, hours; the judge's weights are not loaded
    #[command(
        after_help = "A figure of hours rests on the newest run into the same store with the same judge and settings. Without one, \
        --measure computes a few hundred prompt tokens and a few dozen reply tokens.\n\n\
        Examples:\n  assize plan examples/sample\n  assize plan trial --memory 80GiB --kv-type q8_0\n  assize plan trial --measure --json"
    )]
    Plan {
        #[command(flatten)]
        study: StudyArgs,
        /// Memory that judge and cache may take, as 80GiB or 64GB (default: what the judge's GPUs, or this machine, have free)
        #[arg(long, value_parser = bytes::parse, value_name = "BYTES")]
        memory: Option<u64>,
        /// Load the judge and measure its speed on made-up text where no run is on record
        #[arg(long)]
        measure: bool,
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
    /// Compute any measure of the papers from JSON to JSON
    #[command(after_help = "Examples:\n  assize measure --list\n  assize measure wilson --input cases.json\n  \
        echo '{\"cases\":[{\"id\":1,\"input\":{\"k\":23,\"n\":25,\"conf\":0.95}}]}' | assize measure wilson")]
    Measure {
        /// Name of the computation
        name: Option<String>,
        /// File with {"cases": [{"id", "input"}]}; `-` is stdin
        #[arg(long, value_name = "FILE", default_value = "-")]
        input: PathBuf,
        /// Describe every computation, or the one named, with its fields
        #[arg(long)]
        list: bool,
    },
    /// Turn texts into vectors with an encoder; each text once over all runs, goes on where it was stopped
    #[command(after_help = "Examples:\n  assize embed --model .models/all-minilm-l6-v2 --input events.txt --out events.npy\n  \
        assize embed --model DIR --role query --input questions.jsonl --out questions.safetensors\n  \
        assize embed --model DIR --input table.csv --format csv:event --out events.jsonl --max-chars 512")]
    Embed(EmbedArgs),
    /// Score how well documents answer queries with a Qwen3 reranker; goes on where it was stopped
    #[command(after_help = "Example:\n  assize rerank --model DIR --input pairs.jsonl --out scores.jsonl")]
    Rerank(RerankArgs),
    /// Test encoders
    #[command(subcommand)]
    Encode(EncodeCommand),
    /// Match timelines with a reference: match rate, concordance, AULTC, error strata
    #[command(after_help = "Examples:\n  assize evaluate trial --reference manual\n  \
        assize evaluate --reference manual --prediction gpt --prediction glm --format csv --matcher rounds")]
    Evaluate(EvaluateArgs),
    /// Describe stage timelines: how many stages they have, and which symptoms follow which
    #[command(
        after_help = "Input: one JSON object a line, {\"id\": 7, \"stages\": [[\"fever\"], [\"rash\", \"cough\"]]}; other fields are ignored.\n\n\
        Example:\n  assize stages accepted.jsonl first-try.jsonl --out described"
    )]
    Stages(StagesArgs),
    /// Review of findings by people: packets for two reviewers, and the statistics of the filled ones
    #[command(
        subcommand,
        after_help = "Example:\n  assize review sample --findings trial/results/findings.csv --per-stratum 10 --out review"
    )]
    Review(ReviewCommand),
    /// Audits of single steps of an evaluation
    #[command(
        subcommand,
        after_help = "Examples:\n  assize audit matcher sample --pairs evaluated/pairs.csv --out audit\n  assize audit determinism trial"
    )]
    Audit(AuditCommand),
    /// Model cards and their files
    #[command(subcommand, after_help = "Example:\n  assize models list")]
    Models(ModelsCommand),
    /// Stores of finished items
    #[command(subcommand, after_help = "Example:\n  assize store verify trial/store")]
    Store(StoreCommand),
    /// Answer a batch of chat requests (OpenAI-batch format) with a judge on this machine
    #[command(
        after_help = "Requests are answered greedily, in the form that response_format asks for, and kept in a store: the same command goes on\n\
        after an interruption. Fields that would ask for something else are refused.\n\n\
        Example:\n  assize answer batch.jsonl --card smollm2-135m-instruct --numerics fast --out results.jsonl"
    )]
    Answer(AnswerArgs),
    /// Answer the prompts of an `assize run`, which starts this itself, over stdin and stdout
    #[command(hide = true, after_help = "Example:\n  assize run trial    # starts it")]
    Worker,
}

/// Which study, and settings that override its manifest.
#[derive(Debug, Default, ClapArgs)]
pub struct StudyArgs {
    /// Study folder, or its manifest
    pub study: PathBuf,
    /// Store folder; overrides store.dir
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Results folder; overrides results.dir
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Keep report, event, evidence and rationale text out of the results
    #[arg(long)]
    pub no_text: bool,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// A batch of prompts, and who answers it.
#[derive(Debug, ClapArgs)]
pub struct AnswerArgs {
    /// The requests, one a line, as `assize requests` writes them
    pub batch: PathBuf,
    /// File for the results, one a line, in the order of the requests
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Store folder (default: the file of results with `.store` added)
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// What is evaluated, against what, and how.
#[derive(Debug, ClapArgs)]
pub struct EvaluateArgs {
    /// Study folder or manifest; without it, folders are named with --reference and --prediction
    pub study: Option<PathBuf>,
    /// Source of the study, or folder, that counts as the reference
    #[arg(long, value_name = "SOURCE|DIR")]
    pub reference: PathBuf,
    /// Folder of timelines to evaluate; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "study")]
    pub prediction: Vec<PathBuf>,
    /// Form of the timelines in folders
    #[arg(long, value_parser = parse_format, default_value = "csv", value_name = "csv|bsv|jsonl|uid", conflicts_with = "study")]
    pub format: TimelineFormat,
    /// End of every file name in folders (default by format)
    #[arg(long, conflicts_with = "study")]
    pub suffix: Option<String>,
    /// A line that is no event: `refuse` is an error, `skip` leaves it out
    #[arg(long, value_parser = parse_bad_row, default_value = "refuse", value_name = "refuse|skip", conflicts_with = "study")]
    pub on_bad_row: BadRowPolicy,
    /// A case without a timeline counts as an empty one
    #[arg(long)]
    pub allow_missing: bool,
    /// How pairs are chosen: the paper's recursive best match, or the published script's rounds
    #[arg(long, default_value = "greedy", value_name = "greedy|rounds")]
    pub matcher: Matcher,
    /// How far two event texts are apart
    #[arg(long, value_enum, default_value = "levenshtein")]
    pub distance: DistanceName,
    /// Embeddings for --distance embedding: one matrix, .npy or .safetensors
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// The texts of the rows of --vectors, one a line
    #[arg(long, value_name = "FILE")]
    pub texts: Option<PathBuf>,
    /// Encoder that embeds the event texts for --distance embedding: a folder in Hugging Face layout
    #[arg(long, value_name = "DIR", conflicts_with_all = ["vectors", "texts"])]
    pub model: Option<PathBuf>,
    /// Which tokens make a vector of --model
    #[arg(long, value_enum, default_value_t = PoolingArg::Mean, requires = "model")]
    pub pooling: PoolingArg,
    /// Most characters of an event text for --model, as published
    #[arg(long, value_name = "N", default_value_t = 512, requires = "model")]
    pub max_chars: usize,
    /// Folder where vectors of --model are kept for later runs (default: vectors, in the results)
    #[arg(long, value_name = "DIR", requires = "model")]
    pub store: Option<PathBuf>,
    /// Pairs strictly below this distance are kept
    #[arg(long, default_value_t = 0.1)]
    pub threshold: f64,
    /// `authors`: tied predictions count one half and N/A is 1e8 h in concordance; N/A is the largest error + 1 h in AULTC, whose
    /// area is the published script's own
    #[arg(long, value_parser = parse_compat, default_value = "paper", value_name = "paper|authors")]
    pub compat: Compat,
    /// Case resamples for intervals and comparisons
    #[arg(long, default_value_t = 2000)]
    pub resamples: usize,
    /// Seed of the resamples
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Folder for tables and figures (default: evaluation, in the study or here)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write every matched pair with its texts, for a review of the matcher
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
}

/// Which stage timelines, and what of them is shown.
#[derive(Debug, ClapArgs)]
pub struct StagesArgs {
    /// Files of stage timelines; each is a series of its own name
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Count transitions from any stage to any later one, not from the first stage alone
    #[arg(long)]
    pub all_pairs: bool,
    /// Rows and columns of the transition map: the most frequent symptoms
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=20))]
    pub top: u16,
    /// Folder for tables and figures
    #[arg(long, value_name = "DIR", default_value = "stages")]
    pub out: PathBuf,
}

/// A distance of event texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DistanceName {
    /// Equal or not
    Exact,
    /// Edit distance over the longer length
    Levenshtein,
    /// 1 - cosine of embeddings computed elsewhere
    Embedding,
}

/// The one of `choices` whose name is `text`.
fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let names = choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    choices
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, choice)| *choice)
        .ok_or(format!("expected one of {names}, got `{text}`"))
}

fn parse_format(text: &str) -> Result<TimelineFormat, String> {
    use TimelineFormat::{Bsv, Csv, Jsonl, Uid};
    choose(text, &[("csv", Csv), ("bsv", Bsv), ("jsonl", Jsonl), ("uid", Uid)])
}

fn parse_bad_row(text: &str) -> Result<BadRowPolicy, String> {
    choose(text, &[("refuse", BadRowPolicy::Refuse), ("skip", BadRowPolicy::Skip)])
}

fn parse_compat(text: &str) -> Result<Compat, String> {
    choose(text, &[("paper", Compat::Paper), ("authors", Compat::Authors)])
}

fn parse_numerics(text: &str) -> Result<Numerics, String> {
    choose(text, &[("exact", Numerics::Exact), ("fast", Numerics::Fast)])
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Fetch the files of a card from a model hub; the only command that opens a connection
    #[command(after_help = "A download that was cut goes on where it stopped. The revision, sizes and hashes are kept in models.lock in the \
        folder and compared with the card's.\n\n\
        Examples:\n  assize models fetch qwen3-embedding-0.6b\n  assize models fetch my-card.toml --model-dir /weights --endpoint https://hub.example")]
    Fetch {
        /// Card by name or path; it names its repository under [hub]
        card: String,
        /// Folder for the files
        #[arg(long, value_name = "DIR", default_value = ".models")]
        model_dir: PathBuf,
        /// The hub
        #[arg(long, value_name = "URL", default_value = crate::models::ENDPOINT)]
        endpoint: String,
    },
    /// List the built-in cards and whether their files are here
    #[command(after_help = "Example:\n  assize models list --model-dir .models")]
    List {
        /// Folder of the weight files
        #[arg(long, value_name = "DIR", default_value = ".models")]
        model_dir: PathBuf,
    },
    /// Complete a card that leaves its files open: sizes, hashes, chat template and context are read from files that you have
    #[command(after_help = "Example:\n  assize models pin gemma-3-27b-it --model-dir /weights/gemma --out my-card.toml")]
    Pin {
        /// Card by name or path
        card: String,
        /// Folder of the weight files
        #[arg(long, value_name = "DIR", default_value = ".models")]
        model_dir: PathBuf,
        /// A weight file in that folder, in load order; without it, the only model there
        #[arg(long = "file", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Card to write; without it, stdout
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
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
