//! One JSON object with event and time a line.
//!
//! This file must not know policies or problems.

use serde_json::{Map, Value};

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::event::EventTime;
use crate::json;

use super::columns::{self, Named};
use super::ledger::{Ledger, Row};
use super::time::{TimeRules, parse_time, time_at};

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    ledger.lines(text.lines().count());
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            ledger.blank(1);
            continue;
        }
        match read_row(line, at + 1, ledger.time_rules()) {
            Ok(row) => ledger.row(row),
            Err(fault) => ledger.reject(at + 1, fault),
        }
    }
}

/// Reads one line as an event.
fn read_row(json: &str, line: usize, rules: TimeRules) -> Result<Row, RowFault> {
    let fields = object(json)?;
    let mut marks = ReadCounts::default();
    let (event, time) = event_and_time(&fields, "event")?;
    let text = event_text(event)?;
    let time = event_time(time.ok_or(RowFault::TimeMissing)?, rules, &mut marks)?;
    marks.extra_columns = usize::from(fields.len() > 2);
    Ok(Row { line, text, time, uid: None, marks })
}

/// Reads one JSON object in which every key stands once.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, RowFault> {
    json::parse_object(text).map_err(|error| match json::is_repeated_key(&error) {
        true => RowFault::KeyRepeated,
        false => RowFault::NotAJsonObject,
    })
}

/// Finds the values of the event and of the time; `exact_event` is the format's own key of the event.
pub(super) fn event_and_time<'a>(
    fields: &'a Map<String, Value>,
    exact_event: &str,
) -> Result<(Option<&'a Value>, Option<&'a Value>), RowFault> {
    let at = |place: usize| fields.values().nth(place);
    match columns::find(fields.keys().map(String::as_str), exact_event) {
        Named::Places(places) => Ok((at(places.event), at(places.time))),
        Named::Several(_) => Err(RowFault::KeysAmbiguous),
        // One of the two is missing, and which one is worth a message of its own.
        Named::Nothing => {
            let event = fields.keys().position(|key| columns::is_event_name(key));
            let time = fields.keys().position(|key| columns::is_time_name(key));
            Ok((event.and_then(at), time.and_then(at)))
        }
    }
}

/// Returns the trimmed event text.
pub(super) fn event_text(value: Option<&Value>) -> Result<String, RowFault> {
    let text = value.and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() { Err(RowFault::EventEmpty) } else { Ok(text.to_owned()) }
}

/// Reads a time given as number, text or null.
pub(super) fn event_time(value: &Value, rules: TimeRules, marks: &mut ReadCounts) -> Result<EventTime, RowFault> {
    match value {
        Value::Null => {
            marks.times_na += 1;
            Ok(EventTime::NotAvailable)
        }
        Value::Number(number) => time_at(number.as_f64().ok_or(RowFault::TimeNotFinite)?),
        Value::String(text) => parse_time(text, rules, marks),
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

    #[test]
    fn repeated_and_rival_keys_are_rejected() {
        let text = concat!(
            "{\"event\":\"fever\",\"time\":1,\"time\":2}\n",
            "{\"text\":\"She had it\",\"event\":\"rash\",\"time\":3}\n",
            "{\"event\":\"rash\",\"timestamp\":3,\"hours\":4}\n",
            "{\"event\":\"rash\",\"time\":1753201}\n",
            "{\"event\":\"rash\",\"date\":\"2019-03-05\"}\n",
        );
        let read = read_timeline(text.as_bytes(), Path::new("f.jsonl"), TimelineFormat::Jsonl, BadRowPolicy::Skip);
        let rows: Vec<_> = read.events.iter().map(|e| (e.line, e.text.as_str(), e.time.to_string())).collect();
        assert_eq!(rows, [(2, "rash", "3".into())]);
        for fault in [RowFault::KeyRepeated, RowFault::KeysAmbiguous, RowFault::TimeTooFar, RowFault::TimeIsDate] {
            assert_eq!(read.counts.lines_rejected.get(&fault), Some(&1), "{}", fault.name());
        }
    }
}
