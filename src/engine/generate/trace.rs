//! A record of what the engine did when, in the format of Chrome's trace viewer (also read by Perfetto): an array of events with
//! times in microseconds.
//!
//! It holds counts, kinds and job numbers. It must not hold text of prompts or replies, nor names of cases.
//!
//! # Source
//! "Trace Event Format", events of phase `X` (complete) and `M` (names of rows).

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of the picture: what the engine's thread does, and above it a row for each sequence.
const ENGINE_ROW: u64 = 0;

/// A trace being written; without a file it costs nothing.
pub struct Trace {
    started: Instant,
    out: Option<BufWriter<File>>,
    named: Vec<u64>,
}

impl Trace {
    /// Writes to `path`, replacing what is there; `None` traces nothing.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn start(path: Option<&Path>) -> std::io::Result<Self> {
        let out = path.map(File::create).transpose()?.map(BufWriter::new);
        let mut trace = Self { started: Instant::now(), out, named: Vec::new() };
        trace.write("[\n");
        trace.name_row(ENGINE_ROW, "engine");
        Ok(trace)
    }

    /// Whether anything is kept.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.out.is_some()
    }

    /// Something that the engine's thread did from `from` until now.
    pub fn engine(&mut self, name: &str, from: Instant, details: impl FnOnce() -> Value) {
        self.span(ENGINE_ROW, name, from, Instant::now(), details);
    }

    /// Something that lasted on a sequence.
    pub fn sequence(&mut self, sequence: i32, name: &str, span: (Instant, Instant), details: impl FnOnce() -> Value) {
        let row = 1 + u64::from(sequence.unsigned_abs());
        if self.is_on() && !self.named.contains(&row) {
            self.named.push(row);
            self.name_row(row, &format!("sequence {sequence}"));
        }
        self.span(row, name, span.0, span.1, details);
    }

    fn span(&mut self, row: u64, name: &str, from: Instant, to: Instant, details: impl FnOnce() -> Value) {
        if !self.is_on() {
            return;
        }
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        let (at, lasted) = (from.saturating_duration_since(self.started), to.saturating_duration_since(from));
        self.event(
            &json!({"ph": "X", "name": name, "pid": 0, "tid": row, "ts": micros(at), "dur": micros(lasted), "args": details()}),
        );
    }

    fn name_row(&mut self, row: u64, name: &str) {
        if self.is_on() {
            self.event(&json!({"ph": "M", "name": "thread_name", "pid": 0, "tid": row, "args": {"name": name}}));
        }
    }

    fn event(&mut self, event: &Value) {
        self.write(&format!("{event},\n"));
    }

    /// A trace that can no longer be written is given up; the run matters more.
    fn write(&mut self, text: &str) {
        if let Some(out) = &mut self.out
            && let Err(error) = out.write_all(text.as_bytes())
        {
            tracing::warn!("the trace ends here: {error}");
            self.out = None;
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // The closing bracket, after a last event so that no comma is left over.
        if self.is_on() {
            let end = json!({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "assize"}});
            self.write(&format!("{end}\n]\n"));
        }
        if let Some(Err(error)) = self.out.as_mut().map(Write::flush) {
            tracing::warn!("the end of the trace is missing: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_one_array_of_events_with_named_rows() {
        let path = std::env::temp_dir().join(format!("assize-trace-{}.json", std::process::id()));
        let mut trace = Trace::start(Some(&path)).expect("a file");
        let from = Instant::now();
        trace.engine("pass", from, || json!({"tokens": 3}));
        trace.sequence(2, "reply", (from, Instant::now()), || json!({"job": 7}));
        trace.sequence(2, "reply", (from, Instant::now()), || json!({"job": 8}));
        drop(trace);
        let text = std::fs::read_to_string(&path).expect("written");
        let _ = std::fs::remove_file(&path);
        let events: Vec<Value> = serde_json::from_str(&text).expect("an array");
        let names: Vec<&str> = events.iter().filter_map(|event| event["name"].as_str()).collect();
        assert_eq!(names, ["thread_name", "pass", "thread_name", "reply", "reply", "process_name"]);
        assert_eq!(events[1]["args"]["tokens"], 3);
        assert!(events[3]["ts"].as_f64() <= events[4]["ts"].as_f64());
    }

    #[test]
    fn without_a_file_nothing_is_asked_for() {
        let mut trace = Trace::start(None).expect("no file is made");
        trace.engine("pass", Instant::now(), || unreachable!("details of an event that nobody keeps"));
    }
}
