//! Review of a judge's findings by people: a stratified sample, blinded packets for two reviewers, and from the filled packets the
//! confirmation rates, the error taxonomy and the agreement of the two. No files, no clock.
//!
//! Two protocols. Blinded to the verdict (uid.txt): the reviewer gives an own verdict, and a finding is confirmed when it is the
//! judge's. Verdict shown (gavel.txt): the reviewer says whether it is confirmed. Who made the timelines is hidden in both.

mod packet;
mod reveal;
mod sample;
mod sheet;
mod stats;
mod taxonomy;

pub use packet::{Protocol, Reviewer, instructions, packet, review_key, strata_table};
pub use reveal::reveal;
pub use sample::{
    Cell as SampleCell, JudgedFinding, Quota, ReviewItem, ReviewSample, ReviewSettings, StratumBy, draw, read_findings,
};
pub use sheet::{Answer, Filled, KeyRow, OwnVerdict, StratumSize, read_filled, read_key, read_strata};
pub use stats::{StatsSettings, tables};
pub use taxonomy::ErrorType;
