//! The measures of the three papers: games, findings and ratings (GAVEL), matched timelines and structured records (UID), stage
//! sequences (CRAFT), and the statistics around them. `call` offers each by name, from JSON to JSON.
//!
//! Everything here is a pure function of its arguments: no files, no clock, no engine, no
//! knowledge of where findings come from. Sources, cases and entrants are plain indices; the
//! caller keeps the names.

pub mod agreement;
pub mod aultc;
pub mod bootstrap;
pub mod bradley_terry;
pub mod call;
mod candidates;
pub mod case_bootstrap;
pub mod concordance;
mod connectivity;
pub mod craft;
pub mod error;
pub mod error_profile;
pub mod error_strata;
pub mod extra_side;
pub mod finding;
pub mod finding_validation;
pub mod game;
pub mod head_to_head;
pub mod holm;
pub mod levenshtein;
pub mod matcher_bands;
pub mod matching;
mod newton;
pub mod points;
pub mod pooled_share;
pub mod quotes;
pub mod resample;
pub mod row_filter;
pub mod rubric;
pub mod series_summary;
pub mod standardised_rate;
pub mod sweep;
pub mod timed_pair;
pub mod tolerance;
pub mod uid_validation;
pub mod wilson;

pub use error::MeasureError;
