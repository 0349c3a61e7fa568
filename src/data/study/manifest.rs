//! The keys of the manifest `study.toml` and their defaults.
//!
//! Paths stay as written in the file. This file must not know how the text of a manifest is read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::id::{CaseId, SourceName};
use crate::data::read::{BadRowPolicy, TimelineFormat};

use super::section::Choice;

/// The seed used when the manifest gives none, for the study and for the bootstrap.
pub const DEFAULT_SEED: u64 = 20_260_904;

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Returns the name as it stands in the manifest.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl Choice for $name {
            const NAMES: &'static [(&'static str, Self)] = &[$(($text, Self::$variant),)*];
        }
    };
}

choice! {
    /// What a case without a timeline in some source means.
    MissingTimelinePolicy {
        /// It is an error.
        Refuse = "refuse",
        /// The games of that case with that source are left out and listed.
        SkipGames = "skip_games",
    }
}
choice! {
    /// What a timeline file without any event means.
    EmptyTimelinePolicy {
        /// It is an error.
        Refuse = "refuse",
        /// It takes part as a timeline without events.
        Keep = "keep",
    }
}
choice! {
    /// How the judge model computes.
    Numerics {
        /// One sequence at a time: equal bytes for any order and width.
        Exact = "exact",
        /// Batched, with common prefixes computed once and drafts.
        Fast = "fast",
    }
}
choice! {
    /// How a finding refers to events.
    FindingSchema {
        /// By row number.
        Rows = "rows",
        /// By event text, as published.
        Published = "published",
    }
}
choice! {
    /// Whether the reply is held to the schema while it is generated.
    ReplyMode {
        /// Every token fits the schema.
        Constrained = "constrained",
        /// The reply is free and parsed afterwards.
        Free = "free",
    }
}
choice! {
    /// How the judge is spread over GPUs.
    SplitMode {
        /// One GPU holds it.
        None = "none",
        /// Each GPU holds some of its layers.
        Layer = "layer",
        /// Each GPU holds a part of the rows of every large matrix.
        Row = "row",
    }
}
choice! {
    /// How keys and values of the attention are kept.
    KvType {
        /// 32 bits a number.
        F32 = "f32",
        /// 16 bits a number.
        F16 = "f16",
        /// 16 bits a number, of which 8 are the exponent.
        Bf16 = "bf16",
        /// 8 bits a number and 16 for every 32 numbers.
        Q8_0 = "q8_0",
        /// 4 bits a number and 16 for every 32 numbers.
        Q4_0 = "q4_0",
    }
}
choice! {
    /// How findings become game scores.
    RubricName {
        /// The method's own weights.
        Default = "default",
        /// Timing counts more.
        TimingWeighted = "timing_weighted",
        /// Events count more.
        EventWeighted = "event_weighted",
        /// All findings count the same.
        Equal = "equal",
        /// Only timing counts.
        TimingOnly = "timing_only",
        /// Only missed events count.
        RecallOnly = "recall_only",
    }
}
choice! {
    /// What a game without a decisive finding counts as.
    UndecidedGames {
        /// It takes no part in the ranking.
        Exclude = "exclude",
        /// It is a draw.
        Draw = "draw",
    }
}
choice! {
    /// What happens to a game with findings that failed a check.
    PartialGames {
        /// It takes no part in the ranking.
        Exclude = "exclude",
        /// Its valid findings count.
        Include = "include",
    }
}

impl Choice for TimelineFormat {
    const NAMES: &'static [(&'static str, Self)] =
        &[("csv", Self::Csv), ("bsv", Self::Bsv), ("jsonl", Self::Jsonl), ("uid", Self::Uid)];
}

impl Choice for BadRowPolicy {
    const NAMES: &'static [(&'static str, Self)] = &[("refuse", Self::Refuse), ("skip", Self::Skip)];
}

/// How many of the judge's layers are computed on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuLayers {
    /// Every layer, where there is a GPU.
    All,
    /// The last ones, the output counted as one.
    Count(u32),
}

impl GpuLayers {
    /// The word for every layer.
    pub const ALL: &'static str = "all";
}

impl std::fmt::Display for GpuLayers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.pad(Self::ALL),
            Self::Count(n) => n.fmt(f),
        }
    }
}

impl Serialize for GpuLayers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str(Self::ALL),
            Self::Count(n) => serializer.serialize_u32(*n),
        }
    }
}

impl<'de> Deserialize<'de> for GpuLayers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Count(u32),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Count(n) => Ok(Self::Count(n)),
            Written::Word(word) if word == Self::ALL => Ok(Self::All),
            Written::Word(_) => Err(serde::de::Error::custom("expected \"all\" or a number of layers")),
        }
    }
}

/// A whole manifest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    /// `[study]`
    pub study: StudySection,
    /// `[reports]`
    pub reports: ReportsSection,
    /// `[[source]]`, in file order.
    #[serde(rename = "source")]
    pub sources: Vec<SourceSection>,
    /// `[cases]`
    pub cases: CasesSection,
    /// `[input]`
    pub input: InputSection,
    /// `[judge]`
    pub judge: JudgeSection,
    /// `[scoring]`
    pub scoring: ScoringSection,
    /// `[store]`
    pub store: StoreSection,
    /// `[results]`
    pub results: ResultsSection,
}

/// What the study is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudySection {
    /// Its name in tables and results.
    pub name: String,
    /// Seed of everything random except the bootstrap, such as the order of A and B.
    pub seed: u64,
}

/// Where the reports are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportsSection {
    /// Folder, relative to the manifest.
    pub dir: PathBuf,
    /// End of every report's file name; what stands before it is the case id.
    pub suffix: String,
    /// File with the date of time 0 of every case, relative to the manifest; without it dates in timelines are refused.
    pub index_dates: Option<PathBuf>,
}

/// One source of timelines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceSection {
    /// Its name.
    pub name: SourceName,
    /// Folder, relative to the manifest.
    pub dir: PathBuf,
    /// Format of its files.
    pub format: TimelineFormat,
    /// End of every file name; the format's own when the manifest gives none.
    pub suffix: Option<String>,
}

impl SourceSection {
    /// Returns the file name ends to look for.
    pub fn suffixes(&self) -> Vec<&str> {
        match &self.suffix {
            Some(suffix) => vec![suffix.as_str()],
            None => self.format.default_suffixes().to_vec(),
        }
    }
}

/// Which cases take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CasesSection {
    /// These cases only; all reports when absent.
    pub include: Option<Vec<CaseId>>,
    /// Reports with more bytes are left out, counted and listed.
    pub max_report_bytes: Option<u64>,
    /// What a missing timeline means.
    pub on_missing_timeline: MissingTimelinePolicy,
}

/// How strictly timelines are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputSection {
    /// What a line that is not an event means.
    pub on_bad_row: BadRowPolicy,
    /// What a timeline without events means.
    pub on_empty_timeline: EmptyTimelinePolicy,
}

/// Who judges, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeSection {
    /// Name of a built-in model card, or path of a card file.
    pub card: String,
    /// Folder with the model's files, relative to the manifest.
    pub model_dir: Option<PathBuf>,
    /// How the model computes.
    pub numerics: Numerics,
    /// How a finding refers to events.
    pub finding_schema: FindingSchema,
    /// Whether the reply is constrained.
    pub reply: ReplyMode,
    /// Most tokens of one reply; what the context leaves when absent.
    pub max_reply_tokens: Option<u32>,
    /// Most tokens of reasoning before a reply; chosen from the card when absent.
    pub max_reasoning_tokens: Option<u32>,
    /// Most findings of one reply.
    pub max_findings: u32,
    /// Most tries for one game.
    pub max_attempts: u32,
    /// Games judged at the same time.
    pub slots: u32,
    /// Context size; chosen from the card and the inputs when absent.
    pub context_tokens: Option<u32>,
    /// CPU threads; chosen from the machine when absent.
    pub threads: Option<u32>,
    /// Seconds without a token after which the judge counts as hung.
    pub hang_timeout_s: u32,
    /// How a judge on this machine is held and computed.
    #[serde(flatten)]
    pub engine: EngineSection,
    /// Prompt and its version.
    pub prompt: String,
}

/// The keys of `[judge]` that a judge on this machine is held and computed by; a served one has no use for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineSection {
    /// Layers on a GPU.
    pub gpu_layers: GpuLayers,
    /// How the judge is spread over GPUs.
    pub split_mode: SplitMode,
    /// GPUs by number, counted from 0. When absent the first one, or all where the judge is spread.
    pub devices: Option<Vec<u32>>,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Whether attention is computed in one fused step.
    pub flash_attention: bool,
    /// Keeps the experts of a mixture of experts off the GPUs.
    pub moe_on_cpu: bool,
    /// Tokens that the cache holds, of all sequences together; chosen from context and numerics when absent.
    pub kv_cells: Option<u32>,
    /// Whether fast mode drafts copied passages.
    pub drafts: bool,
    /// Whether fast mode computes a beginning that prompts share once.
    pub sharing: bool,
}

/// How findings become scores and a ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoringSection {
    /// The rubric of the main ranking.
    pub rubric: RubricName,
    /// Rubrics of further rankings, in order.
    pub further_rubrics: Vec<RubricName>,
    /// What a game without a decisive finding counts as.
    pub games_without_decisive: UndecidedGames,
    /// What happens to a game with findings that failed a check.
    pub partial_games: PartialGames,
    /// Times closer than this are the same, in hours.
    pub tolerance_floor_hours: f64,
    /// Resamples of the bootstrap.
    pub bootstrap_resamples: u32,
    /// Seed of the bootstrap.
    pub bootstrap_seed: u64,
}

/// Where replies are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreSection {
    /// Folder, relative to the manifest.
    pub dir: PathBuf,
}

/// Where results are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResultsSection {
    /// Folder, relative to the manifest.
    pub dir: PathBuf,
    /// Leaves every text of reports, events and evidence out of the results.
    pub no_text: bool,
}

impl Default for StudySection {
    fn default() -> Self {
        Self { name: String::new(), seed: DEFAULT_SEED }
    }
}

impl Default for CasesSection {
    fn default() -> Self {
        let on_missing_timeline = MissingTimelinePolicy::Refuse;
        Self { include: None, max_report_bytes: None, on_missing_timeline }
    }
}

impl Default for InputSection {
    fn default() -> Self {
        Self { on_bad_row: BadRowPolicy::Refuse, on_empty_timeline: EmptyTimelinePolicy::Refuse }
    }
}

impl Default for JudgeSection {
    /// The card has no default: the manifest must name it.
    fn default() -> Self {
        Self {
            card: String::new(),
            model_dir: None,
            numerics: Numerics::Exact,
            finding_schema: FindingSchema::Rows,
            reply: ReplyMode::Constrained,
            max_reply_tokens: None,
            max_reasoning_tokens: None,
            max_findings: 200,
            max_attempts: 2,
            slots: 4,
            context_tokens: None,
            threads: None,
            hang_timeout_s: 300,
            engine: EngineSection::default(),
            prompt: "gavel/judge.v2".to_owned(),
        }
    }
}

impl Default for EngineSection {
    fn default() -> Self {
        Self {
            gpu_layers: GpuLayers::All,
            split_mode: SplitMode::None,
            devices: None,
            kv_type: KvType::F16,
            flash_attention: true,
            moe_on_cpu: false,
            kv_cells: None,
            drafts: true,
            sharing: true,
        }
    }
}

impl Default for ScoringSection {
    fn default() -> Self {
        Self {
            rubric: RubricName::Default,
            further_rubrics: vec![RubricName::TimingWeighted, RubricName::EventWeighted],
            games_without_decisive: UndecidedGames::Exclude,
            partial_games: PartialGames::Exclude,
            tolerance_floor_hours: 24.0,
            bootstrap_resamples: 2000,
            bootstrap_seed: DEFAULT_SEED,
        }
    }
}

impl Default for StoreSection {
    fn default() -> Self {
        Self { dir: PathBuf::from("store") }
    }
}

impl Default for ResultsSection {
    fn default() -> Self {
        Self { dir: PathBuf::from("results"), no_text: false }
    }
}
