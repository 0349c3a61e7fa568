//! The study folder: case reports, the timelines of every source, and the manifest that names them.
//!
//! Everything read here is checked completely before anything is judged, and every line of every input file
//! ends up as an event or in exactly one counter of [`ReadCounts`]. This layer must not know prompts, models,
//! the store or how a game is judged.

pub mod counts;
pub mod event;
pub mod hours;
pub mod id;
mod moment;
pub mod problem;
pub mod read;
pub mod reasoning_block;
pub mod study;
mod vectors;

pub use counts::{ReadCounts, RowFault};
pub use event::{Event, EventTime, Report, Timeline, UidFields};
pub use hours::{Hours, HoursError};
pub use id::{CaseId, IdError, SourceName, Uid4};
pub use moment::{Moment, MomentFault};
pub use problem::{Problem, Severity};
pub use read::{BadRowPolicy, ReadReport, ReadRules, ReadTimeline, TimelineFormat, read_report, read_timeline};
pub use study::{FindingSchema, Manifest, Numerics, ReplyMode, Study, StudySource, manifest_template};
pub use vectors::{TextVectors, VectorError};
