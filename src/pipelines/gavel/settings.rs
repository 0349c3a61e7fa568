//! What can be set about judging and scoring.

use crate::data::{FindingSchema, ReplyMode};
use crate::engine::generate::ReplyLimit;
use crate::measure::points::EmptyGames;
use crate::measure::rubric::Scheme;

/// Settings of a judging run that can change a reply.
#[derive(Debug, Clone)]
pub struct JudgeSettings {
    /// By row number, event and time filled in from the timelines, or by event text and time as the paper does. Differs from
    /// source: rows are the default, since a text can be misspelt and a row number is either in the timeline or not.
    pub finding_schema: FindingSchema,
    /// Held to the finding schema while it is generated, or free as in the paper: then the first JSON in it is read.
    pub reply: ReplyMode,
    pub reply_limit: ReplyLimit,
    /// For a judge that thinks aloud; `None` for any other.
    pub max_reasoning_tokens: Option<u32>,
    pub max_findings: u32,
    /// Tries of one game, the first included.
    pub max_attempts: u32,
    /// Floor of the time tolerance told to the judge. Unit: hours.
    pub tolerance_floor_hours: f64,
    /// Decides who is A and who is B.
    pub seed: u64,
}

impl JudgeSettings {
    /// Longest evidence that the prompt and the schema allow. Unit: characters.
    pub const MAX_EVIDENCE_CHARS: u32 = 400;
    /// Longest rationale that the prompt and the schema allow. Unit: characters.
    pub const MAX_RATIONALE_CHARS: u32 = 240;
}

/// Settings of scoring; none changes a reply.
#[derive(Debug, Clone)]
pub struct ScoringSettings {
    /// The first one ranks.
    pub rubrics: Vec<Scheme>,
    pub empty_games: EmptyGames,
    /// Whether a game with some invalid findings takes part in the fit by its valid ones.
    pub include_partial_games: bool,
    pub bootstrap_resamples: usize,
    pub bootstrap_seed: u64,
}
