//! The methods as async functions of the engine's replies. No files, no clock, no backend: with a scripted generator they run in a
//! unit test, and from a store they replay to the same result.

pub mod ask;
pub mod determinism;
pub mod draw;
pub mod evaluate;
pub mod gavel;
mod intake;
pub mod matcher_audit;
mod passage;
pub mod review;
pub mod sheet;
pub mod stages;

pub use intake::{intake, intake_table};
