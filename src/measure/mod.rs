//! Statistics of judged games: what a finding costs and whom, point shares, ratings, their
//! intervals, error profiles and quote checks.
//!
//! Everything here is a pure function of its arguments: no files, no clock, no engine, no
//! knowledge of where findings come from. Sources, cases and entrants are plain indices; the
//! caller keeps the names.

pub mod bootstrap;
pub mod bradley_terry;
mod connectivity;
pub mod error;
pub mod error_profile;
pub mod extra_side;
pub mod finding;
pub mod game;
pub mod head_to_head;
mod newton;
pub mod points;
pub mod pooled_share;
pub mod quotes;
pub mod resample;
pub mod rubric;
pub mod tolerance;

pub use error::MeasureError;
