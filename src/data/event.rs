//! Events, timelines and reports as the rest of the program sees them.
//!
//! This file must not know file formats: it holds what remains after reading.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::hours::Hours;
use crate::data::id::{CaseId, SourceName, Uid4};

/// When an event happened, or that nobody can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventTime {
    /// A time relative to admission.
    At(Hours),
    /// The file says that there is no time (`N/A`, or an empty time field).
    NotAvailable,
}

impl EventTime {
    /// Returns the time when there is one.
    pub fn hours(self) -> Option<Hours> {
        match self {
            Self::At(hours) => Some(hours),
            Self::NotAvailable => None,
        }
    }
}

impl fmt::Display for EventTime {
    /// Writes the hours, or `N/A`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(hours) => fmt::Display::fmt(hours, f),
            Self::NotAvailable => f.pad("N/A"),
        }
    }
}

/// What a row of the UID schema says beyond event and time.
///
/// # Source
/// UID paper, Table C.2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UidFields {
    /// The occurrence this row is about.
    pub uid4: Uid4,
    /// Lower end of the interval that the narrative supports, when numeric.
    pub lo: Option<Hours>,
    /// Upper end of the interval that the narrative supports, when numeric.
    pub hi: Option<Hours>,
    /// True when the narrative states the time itself, false when it was inferred.
    pub known: bool,
    /// The occurrences that support the time, most relevant first, at most five.
    pub context: Vec<Uid4>,
}

impl UidFields {
    /// Returns the context identifiers as one text, separated by a comma and a space.
    pub fn context_text(&self) -> String {
        self.context.iter().map(Uid4::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// One row of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The event as the source wrote it, without outer white space.
    pub text: String,
    /// When it happened.
    pub time: EventTime,
    /// The line of the file on which the row starts, counted from one.
    pub line: usize,
    /// The further fields of the UID schema, for files of that format.
    pub uid: Option<UidFields>,
}

/// The events that one source found in one case, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The case.
    pub case: CaseId,
    /// Who made the timeline.
    pub source: SourceName,
    /// The rows in file order; may be empty when the manifest allows it.
    pub events: Vec<Event>,
    /// The file that was read.
    pub path: PathBuf,
}

/// The report of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The case.
    pub case: CaseId,
    /// The text, unchanged after decoding: line ends and outer white space are those of the file, so that an
    /// evidence passage can be compared byte for byte.
    pub text: String,
    /// The file that was read.
    pub path: PathBuf,
}
