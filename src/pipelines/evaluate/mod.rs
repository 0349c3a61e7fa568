//! Sources against a chosen reference: event match rate, concordance of order, and the area under the log-time curve.
//!
//! - `distance`: how far two event texts are apart
//! - `matches`: the matched pairs of one source, 24 bytes each, no text kept
//! - `evaluation`: every measure from the pairs
//! - `tables`, `figures`: the results for people and programs
//!
//! # Source
//! The UID reconstruction paper, Appendix E; the published comparison script where `Compat::Authors` asks for it.

mod distance;
mod evaluation;
mod figures;
mod matches;
mod tables;

pub use distance::{DistanceError, TextDistance};
pub use evaluation::{Comparison, Compat, Evaluation, EvaluationSettings, evaluate};
pub use figures::{FIGURES, figures};
pub use matches::{MatchError, MatchedCase, MatchedText, SourceMatches};
pub use tables::tables;
