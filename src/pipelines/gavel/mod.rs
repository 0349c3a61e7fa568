//! GAVEL: a judge compares two timelines of one case with its report and returns a verdict for every difference.
//!
//! - `game`: which pairs are judged, who is A and who is B
//! - `ask`: the prompt, the schema that a reply must follow
//! - `reply`: from reply text to findings, every rule checked
//! - `judge`: ask, check, ask again; what became of a game
//! - `score`: points, ratings, intervals, profiles
//! - `tables`, `figures`, `page`: the results as tables, drawings and one HTML page
//!
//! # Source
//! Cummins et al., "Grounded Adjudication of Variations across Extracted TimeLines (GAVEL)".

mod ask;
mod figures;
mod game;
mod judge;
mod page;
mod reply;
mod score;
mod settings;
mod tables;

pub use figures::{GavelFigures, figures};
pub use game::{Docket, Game, games};
pub use judge::{Attempt, GameOutcome, GameStatus, JudgeError, judge};
pub use page::{PageFacts, notices, page};
pub use reply::{Finding, InvalidFinding};
pub use score::{RubricScores, Scores, score};
pub use settings::{JudgeSettings, ScoringSettings};
pub use tables::{error_profile_shown, leaderboard_shown, tables};
