//! Assize runs long dockets of clinical cases before a local judge.
//!
//! Layers, from top to bottom; a module names only modules below its own row:
//!
//! ```text
//! cli
//! bench
//! pipelines                      pure async functions of the engine's replies
//! engine, measure, report        replies; numbers; tables, figures and pages
//! vecops
//! store, data, models, prompts   records; study folders; model cards; prompt texts
//! json, error                    strict JSON and JSON lines; exit codes
//! ```
//!
//! `tests/layering.rs` fails on an edge that points up.

pub mod cli;
pub mod data;
pub mod engine;
pub mod error;
pub mod json;
pub mod measure;
pub mod models;
pub mod pipelines;
pub mod prompts;
pub mod report;
pub mod store;
