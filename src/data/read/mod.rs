//! Readers: bytes of one file in, events, counts and problems out.
//!
//! Nothing here opens a file or knows the manifest. [`read_timeline`] picks the reader by format; every reader
//! books each line in one ledger, which applies the rules that all formats share: what a rejected line
//! means under the policy, repeated blocks, and duplicates.

mod bsv;
mod columns;
mod csv;
mod decode;
mod jsonl;
mod ledger;
mod quotes;
mod report;
mod time;
mod uid;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::counts::ReadCounts;
use crate::data::event::Event;
use crate::data::moment::Moment;
use crate::data::problem::Problem;

use ledger::Ledger;
pub use report::{ReadReport, read_report};

/// The format of a source's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimelineFormat {
    /// Comma-separated values with or without a header.
    Csv,
    /// Rows `event | hours`, possibly inside raw model output.
    Bsv,
    /// One JSON object with event and time a line.
    Jsonl,
    /// Rows of the UID schema, one JSON object a line or one JSON array.
    Uid,
}

impl TimelineFormat {
    /// Returns the file name suffixes that are looked for when the manifest names none.
    pub fn default_suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &[".csv"],
            Self::Bsv => &[".bsv"],
            Self::Jsonl => &[".jsonl"],
            Self::Uid => &[".jsonl", ".json"],
        }
    }
}

/// What a line that is not an event means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRowPolicy {
    /// It is an error that names file and line.
    #[default]
    Refuse,
    /// It is left out and counted, with one warning a file.
    Skip,
}

/// How one timeline file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadRules {
    /// What a line that is not an event means.
    pub on_bad_row: BadRowPolicy,
    /// When time 0 of the case was; dates are refused without it.
    pub index_date: Option<Moment>,
}

impl From<BadRowPolicy> for ReadRules {
    /// Rules for files without dates.
    fn from(on_bad_row: BadRowPolicy) -> Self {
        Self { on_bad_row, index_date: None }
    }
}

/// One timeline file after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTimeline {
    /// The events in file order.
    pub events: Vec<Event>,
    /// Where every line went.
    pub counts: ReadCounts,
    /// What is wrong or worth knowing, in line order within each kind.
    pub problems: Vec<Problem>,
}

/// Reads one timeline file.
///
/// Rows are never guessed: a time is one number of hours (a comma between thousands, a plus sign and a remark
/// in parentheses after the number are allowed and counted) or `N/A`, or a date in ISO form where the date of
/// time 0 is known. In BSV a block of at least two rows that
/// repeats an earlier block word for word is left out and counted; rows that a model echoed from an example in
/// its own prompt cannot be told apart and are kept.
///
/// # Units
/// Times are hours relative to admission.
pub fn read_timeline(bytes: &[u8], path: &Path, format: TimelineFormat, rules: impl Into<ReadRules>) -> ReadTimeline {
    let rules = rules.into();
    let decoded = decode::decode(bytes, path);
    let mut ledger = Ledger::new(path, rules, decoded.counts, decoded.problems);
    if decoded.text.trim().is_empty() {
        ledger.empty_file();
    }
    match format {
        TimelineFormat::Csv => csv::read(&decoded.text, &mut ledger),
        TimelineFormat::Bsv => bsv::read(&decoded.text, &mut ledger),
        TimelineFormat::Jsonl => jsonl::read(&decoded.text, &mut ledger),
        TimelineFormat::Uid => uid::read(&decoded.text, &mut ledger),
    }
    ledger.finish()
}
