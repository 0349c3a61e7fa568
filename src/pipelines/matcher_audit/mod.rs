//! The audit of an event matcher: a sample of matched pairs from each band of distances, a blinded sheet and page for a reviewer, and
//! the share of true matches in each band. No files, no clock.
//!
//! # Source
//! gavel.txt, "Audit of Reference-Based Event Matching".

mod page;
mod rates;
mod sample;
mod sheet;

pub use page::review_page;
pub use rates::{KeyRow, Label, Labels, band_rates, read_key, read_labels};
pub use sample::{AuditItem, AuditSample, AuditSettings, BandDraw, Pair, draw, read_pairs};
pub use sheet::{audit_key, review_sheet};

use crate::measure::matcher_bands::DistanceBands;

/// Ends of the four bands; each holds its lower end and not its upper.
pub const BAND_EDGES: [f64; 5] = [0.0, 0.08, 0.10, 0.12, 0.30];

/// Pairs drawn a band unless asked otherwise.
pub const N_PER_BAND: usize = 25;

/// The four bands.
pub fn bands() -> DistanceBands {
    DistanceBands::new(BAND_EDGES.to_vec()).expect("the edges ascend")
}

/// A band as people read it.
pub fn band_name(band: usize) -> String {
    match BAND_EDGES.get(band..).and_then(|edges| edges.get(..2)) {
        Some(edges) => format!("[{:.2}, {:.2})", edges[0], edges[1]),
        None => format!("band {}", band + 1),
    }
}
