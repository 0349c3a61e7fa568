//! A record of what the engine did when, in the format of Chrome's trace viewer (also read by Perfetto): an array of events with
//! times in microseconds. The file is a whole array whenever the engine has nothing to do, so that it can be read although the process
//! that writes it is ended from outside.
//!
//! It holds counts, kinds and job numbers. It must not hold text of prompts or replies, nor names of cases.
//!
//! # Source
//! "Trace Event Format", events of phase `X` (complete) and `M` (names of rows).

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of the picture: what the engine's thread does, and above it a row for each sequence.
const ENGINE_ROW: u64 = 0;

/// The end of the array.
const END: &str = "\n]\n";

/// A trace being written; without a file it costs nothing.
pub struct Trace {
    started: Instant,
    out: Option<BufWriter<File>>,
    /// Whether the array is ended for now.
    is_ended: bool,
    named: Vec<u64>,
}

impl Trace {
    /// Writes to `path`, replacing what is there; `None` traces nothing.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn start(path: Option<&Path>) -> std::io::Result<Self> {
        let out = path.map(File::create).transpose()?.map(BufWriter::new);
        let mut trace = Self { started: Instant::now(), out, is_ended: false, named: Vec::new() };
        let row = json!({"ph": "M", "name": "thread_name", "pid": 0, "tid": ENGINE_ROW, "args": {"name": "engine"}});
        trace.write(|out| write!(out, "[\n{row}"));
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
        let back = if std::mem::take(&mut self.is_ended) { END.len() as i64 } else { 0 };
        self.write(|out| {
            if back > 0 {
                out.seek(SeekFrom::Current(-back))?;
            }
            write!(out, ",\n{event}")
        });
    }

    /// Ends the array, so that the file can be read as it is. Further events go on from there.
    pub fn settle(&mut self) {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.write(|out| out.write_all(END.as_bytes()).and_then(|()| out.flush()));
        }
    }

    /// A trace that can no longer be written is given up; the run matters more.
    fn write(&mut self, writing: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.out.as_mut().map(writing) {
            tracing::warn!("the trace ends here: {error}");
            self.out = None;
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.settle();
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
        let read =
            || -> Vec<Value> { serde_json::from_str(&std::fs::read_to_string(&path).expect("written")).expect("an array") };
        trace.settle();
        assert_eq!(read().len(), 4, "readable while it is written");
        trace.sequence(2, "reply", (from, Instant::now()), || json!({"job": 8}));
        drop(trace);
        let events = read();
        let _ = std::fs::remove_file(&path);
        let names: Vec<&str> = events.iter().filter_map(|event| event["name"].as_str()).collect();
        assert_eq!(names, ["thread_name", "pass", "thread_name", "reply", "reply"]);
        assert_eq!(events[1]["args"]["tokens"], 3);
        assert!(events[3]["ts"].as_f64() <= events[4]["ts"].as_f64());
    }

    #[test]
    fn without_a_file_nothing_is_asked_for() {
        let mut trace = Trace::start(None).expect("no file is made");
        trace.engine("pass", Instant::now(), || unreachable!("details of an event that nobody keeps"));
    }
}
