//! The methods as async functions of the engine's replies. No files, no clock, no backend: with a scripted generator they run in a
//! unit test, and from a store they replay to the same result.

pub mod gavel;
mod intake;

pub use intake::intake;
