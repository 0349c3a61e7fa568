//! The study folder as a whole: manifest, reports, timelines, and the complete check of all three.
//!
//! This module must not know how a game is judged or scored; it only reads what the manifest says about that.

mod folder;
mod index_dates;
mod load;
mod manifest;
mod parse;
mod section;

pub use folder::Listing;
pub use load::{LeftOutCase, MissingTimeline, Study, StudySource};
pub use manifest::{
    CasesSection, DEFAULT_SEED, EmptyTimelinePolicy, EngineSection, FindingSchema, GpuLayers, InputSection, JudgeSection, KvType,
    Manifest, MissingTimelinePolicy, Numerics, PartialGames, ReplyMode, ReportsSection, ResultsSection, RubricName,
    ScoringSection, SourceSection, SplitMode, StoreSection, StudySection, UndecidedGames,
};

/// The file name of a manifest inside a study folder.
pub const MANIFEST_NAME: &str = "study.toml";

/// Returns a manifest with every key explained and set to its default, for a new study folder.
pub fn manifest_template() -> &'static str {
    include_str!("template.toml")
}

#[cfg(test)]
mod tests;
