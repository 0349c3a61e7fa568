//! One JSON object with event and time a line.
//!
//! This file must not know policies or problems.

use serde_json::{Map, Value};

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::event::EventTime;
use crate::data::hours::Hours;

use super::ledger::{Ledger, Row};
use super::time::parse_time;

const EVENT_KEYS: &[&str] = &["event", "text", "mention"];
const TIME_KEYS: &[&str] = &["time", "hours", "timestamp"];

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    ledger.lines(text.lines().count());
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            ledger.blank(1);
            continue;
        }
        match read_row(line, at + 1) {
            Ok(row) => ledger.row(row),
            Err(fault) => ledger.reject(at + 1, fault),
        }
    }
}

/// Reads one line as an event.
fn read_row(json: &str, line: usize) -> Result<Row, RowFault> {
    let fields: Map<String, Value> = serde_json::from_str(json).map_err(|_| RowFault::NotAJsonObject)?;
    let mut marks = ReadCounts::default();
    let text = event_text(&fields, EVENT_KEYS)?;
    let time = lookup(&fields, TIME_KEYS).ok_or(RowFault::TimeMissing)?;
    let time = event_time(time, &mut marks)?;
    marks.extra_columns = usize::from(fields.len() > 2);
    Ok(Row { line, text, time, uid: None, marks })
}

/// Returns the value of the first of these keys that the object has.
pub(super) fn lookup<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|&key| fields.get(key))
}

/// Returns the trimmed event text under the first of these keys.
pub(super) fn event_text(fields: &Map<String, Value>, keys: &[&str]) -> Result<String, RowFault> {
    let text = lookup(fields, keys).and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() { Err(RowFault::EventEmpty) } else { Ok(text.to_owned()) }
}

/// Reads a time given as number, text or null.
pub(super) fn event_time(value: &Value, marks: &mut ReadCounts) -> Result<EventTime, RowFault> {
    match value {
        Value::Null => {
            marks.times_na += 1;
            Ok(EventTime::NotAvailable)
        }
        Value::Number(number) => {
            number.as_f64().and_then(|value| Hours::new(value).ok()).map(EventTime::At).ok_or(RowFault::TimeNotFinite)
        }
        Value::String(text) => parse_time(text, marks),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(RowFault::TimeNotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::{BadRowPolicy, TimelineFormat, read_timeline};
    use std::path::Path;

    #[test]
    fn lines_are_events_or_counted() {
        let text = concat!(
            "{\"event\":\" fever \",\"time\":-72}\n",
            "\n",
            "{\"event\":\"rash\",\"time\":\"+1,200\"}\r\n",
            "{\"event\":\"G-CSF\",\"time\":null,\"note\":1}\n",
            "{\"event\":\"x\"}\n",
            "{\"event\":\"\",\"time\":0}\n",
            "{\"event\":\"x\",\"time\":\"6 months\"}\n",
            "{\"event\":\"x\",\"time\":1e999}\n",
            "[1]\n",
            "not json\n",
        );
        let read = read_timeline(text.as_bytes(), Path::new("f.jsonl"), TimelineFormat::Jsonl, BadRowPolicy::Skip);
        let rows: Vec<_> = read.events.iter().map(|e| (e.line, e.text.as_str(), e.time.to_string())).collect();
        assert_eq!(rows, [(1, "fever", "-72".into()), (3, "rash", "1200".into()), (4, "G-CSF", "N/A".into())]);
        let c = &read.counts;
        assert_eq!(c.lines_read, c.lines_accounted());
        assert_eq!((c.extra_columns, c.times_na, c.plus_signs, c.rejected()), (1, 1, 1, 6));
        assert_eq!(c.lines_rejected[&RowFault::NotAJsonObject], 3);
    }
}
