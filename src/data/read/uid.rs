//! Rows of the UID schema: uid4, mention, time, bounds, known, context.
//!
//! One JSON object a line, or one JSON array of objects. A row that breaks a rule of the schema is refused; it
//! is never repaired. This file must not know policies or problems.
//!
//! # Source
//! UID paper, Table C.2.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::event::{EventTime, UidFields};
use crate::data::hours::Hours;
use crate::data::id::Uid4;

use super::decode::count_line_feeds;
use super::jsonl::{event_and_time, event_text, event_time, object};
use super::ledger::{Ledger, Row};
use super::time::TimeRules;

const CONTEXT_KEYS: &[&str] = &["context", "context_uid4s", "context uid4s", "context_uids"];
const N_FIELDS: usize = 6;
const MAX_CONTEXT: usize = 5;

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    let array: Option<Vec<&RawValue>> = text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok()).flatten();
    let rows: Vec<(usize, &str)> = match array {
        Some(elements) => {
            ledger.lines(elements.len());
            elements.into_iter().map(|raw| (line_of(text, raw.get()), raw.get())).collect()
        }
        None => {
            ledger.lines(text.lines().count());
            let filled = |(_, line): &(usize, &str)| !line.trim().is_empty();
            let lines: Vec<_> = text.lines().enumerate().filter(filled).collect();
            ledger.blank(text.lines().count() - lines.len());
            lines.into_iter().map(|(at, line)| (at + 1, line)).collect()
        }
    };
    let mut seen = HashSet::new();
    let mut kept: Vec<Row> = Vec::new();
    for (line, json) in rows {
        match read_row(json, line, ledger.time_rules()) {
            Ok((row, uid)) if seen.insert(uid.uid4.clone()) => {
                kept.push(Row { uid: Some(uid), ..row });
            }
            Ok(_) => ledger.reject(line, RowFault::UidRepeated),
            Err(fault) => ledger.reject(line, fault),
        }
    }
    for mut row in kept {
        let context = row.uid.iter().flat_map(|uid| &uid.context);
        row.marks.context_unknown = context.filter(|&uid4| !seen.contains(uid4)).count();
        ledger.row(row);
    }
}

/// Returns the line on which a part of a text starts; `part` must be a slice of `text`.
fn line_of(text: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    1 + count_line_feeds(text.as_bytes().get(..offset).unwrap_or_default())
}

/// Reads one object; the identifier comes apart from the row so that the caller can check it.
fn read_row(json: &str, line: usize, rules: TimeRules) -> Result<(Row, UidFields), RowFault> {
    let fields = object(json)?;
    let mut marks = ReadCounts::default();
    let uid4 = fields.get("uid4").and_then(Value::as_str).unwrap_or_default();
    let uid4 = Uid4::new(uid4).map_err(|_| RowFault::UidMalformed)?;
    let (mention, _) = event_and_time(&fields, "mention")?;
    let text = event_text(mention)?;
    let time = event_time(fields.get("time").ok_or(RowFault::TimeMissing)?, rules, &mut marks)?;
    let (lo, hi) = bounds(fields.get("bounds"), rules)?;
    if let EventTime::At(at) = time
        && let (Some(lo), Some(hi)) = (lo, hi)
        && !(lo..=hi).contains(&at)
    {
        return Err(RowFault::BoundsExcludeTime);
    }
    let known = known(fields.get("known"))?;
    let context = context(context_of(&fields)?)?;
    marks.extra_columns = usize::from(fields.len() > N_FIELDS);
    let row = Row { line, text, time, uid: None, marks };
    Ok((row, UidFields { uid4, lo, hi, known, context }))
}

/// The value of the context under whichever of its keys.
fn context_of(fields: &serde_json::Map<String, Value>) -> Result<Option<&Value>, RowFault> {
    let found: Vec<&Value> = CONTEXT_KEYS.iter().filter_map(|&key| fields.get(key)).collect();
    match found.as_slice() {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(RowFault::KeysAmbiguous),
    }
}

/// Reads bounds given as null, `[lower, upper]`, or a text with those two.
fn bounds(value: Option<&Value>, rules: TimeRules) -> Result<(Option<Hours>, Option<Hours>), RowFault> {
    let end = |value: &Value| match event_time(value, rules, &mut ReadCounts::default()) {
        Ok(time) => Ok(time.hours()),
        Err(_) => Err(RowFault::BoundsMalformed),
    };
    let (lo, hi) = match value {
        None | Some(Value::Null) => (None, None),
        Some(Value::Array(ends)) => match ends.as_slice() {
            [lo, hi] => (end(lo)?, end(hi)?),
            _ => return Err(RowFault::BoundsMalformed),
        },
        Some(Value::String(text)) => {
            let inside = text.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
            match inside.split(',').collect::<Vec<_>>().as_slice() {
                [one] => match end(&Value::String((*one).to_owned()))? {
                    None => (None, None),
                    Some(_) => return Err(RowFault::BoundsMalformed),
                },
                [lo, hi] => (end(&Value::String((*lo).to_owned()))?, end(&Value::String((*hi).to_owned()))?),
                _ => return Err(RowFault::BoundsMalformed),
            }
        }
        Some(_) => return Err(RowFault::BoundsMalformed),
    };
    match (lo, hi) {
        (Some(lo), Some(hi)) if lo > hi => Err(RowFault::BoundsMalformed),
        ends => Ok(ends),
    }
}

/// Reads the binary flag.
fn known(value: Option<&Value>) -> Result<bool, RowFault> {
    match value {
        Some(Value::Bool(known)) => Ok(*known),
        Some(Value::Number(number)) if number.as_u64() == Some(0) => Ok(false),
        Some(Value::Number(number)) if number.as_u64() == Some(1) => Ok(true),
        Some(Value::String(text)) if text.trim() == "0" => Ok(false),
        Some(Value::String(text)) if text.trim() == "1" => Ok(true),
        _ => Err(RowFault::KnownMalformed),
    }
}

/// Reads the supporting identifiers, given as a list or as a text with commas or white space between them.
fn context(value: Option<&Value>) -> Result<Vec<Uid4>, RowFault> {
    let names: Vec<&str> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().ok_or(RowFault::ContextMalformed)).collect::<Result<_, _>>()?
        }
        Some(Value::String(text)) => {
            text.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace()).filter(|name| !name.is_empty()).collect()
        }
        Some(_) => return Err(RowFault::ContextMalformed),
    };
    if names.len() > MAX_CONTEXT {
        return Err(RowFault::ContextMalformed);
    }
    names.into_iter().map(|name| Uid4::new(name).map_err(|_| RowFault::ContextMalformed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::{BadRowPolicy, ReadTimeline, TimelineFormat, read_timeline};
    use std::path::Path;

    fn skip(text: &str) -> ReadTimeline {
        let read = read_timeline(text.as_bytes(), Path::new("f.json"), TimelineFormat::Uid, BadRowPolicy::Skip);
        assert_eq!(read.counts.lines_read, read.counts.lines_accounted(), "{:?}", read.counts);
        read
    }

    const A: &str = r#"{"uid4":"a1b2","mention":"fever","time":-12,"bounds":[-24,0],"known":1,"context":["c3d4"]}"#;
    const B: &str = r#"{"uid4":"c3d4","mention":"admitted","time":"N/A","bounds":"[N/A, 4]","known":"0","context":""}"#;

    #[test]
    fn lines_and_array_give_the_same_rows() {
        let lines = skip(&format!("{A}\n\n{B}\n"));
        let array = skip(&format!("[{A},\n\n{B}]\n"));
        assert_eq!(lines.events, array.events);
        assert_eq!((lines.events[0].line, lines.events[1].line), (1, 3));
        let uid = lines.events[0].uid.as_ref().unwrap();
        assert_eq!((uid.lo.unwrap().get(), uid.hi.unwrap().get(), uid.known), (-24.0, 0.0, true));
        assert_eq!(uid.context_text(), "c3d4");
        let uid = lines.events[1].uid.as_ref().unwrap();
        assert_eq!((uid.lo, uid.hi.map(Hours::get), uid.known), (None, Some(4.0), false));
        assert_eq!(lines.counts.times_na, 1);
    }

    #[test]
    fn broken_rules_are_named() {
        for (from, to, fault) in [
            ("\"a1b2\"", "\"a1b\"", RowFault::UidMalformed),
            ("[-24,0]", "[-24]", RowFault::BoundsMalformed),
            ("[-24,0]", "[0,-24]", RowFault::BoundsMalformed),
            ("[-24,0]", "\"5\"", RowFault::BoundsMalformed),
            ("[-24,0]", "[-11,0]", RowFault::BoundsExcludeTime),
            ("\"known\":1", "\"known\":2", RowFault::KnownMalformed),
            ("[\"c3d4\"]", "\"a b\"", RowFault::ContextMalformed),
            ("[\"c3d4\"]", "\"a001 a002 a003 a004 a005 a006\"", RowFault::ContextMalformed),
            ("\"fever\"", "\" \"", RowFault::EventEmpty),
            (",\"time\":-12", "", RowFault::TimeMissing),
        ] {
            let read = skip(&A.replace(from, to));
            assert_eq!(read.counts.lines_rejected.get(&fault), Some(&1), "{to}");
        }
        let read = skip(&format!("{A}\n{A}\n"));
        assert_eq!(read.counts.lines_rejected[&RowFault::UidRepeated], 1);
        assert_eq!(read.counts.context_unknown, 1);
        assert!(read.problems.iter().any(|p| p.what.contains("no row has")));
        let read = skip(&format!("[{A}, 5]"));
        assert_eq!(read.counts.lines_rejected[&RowFault::NotAJsonObject], 1);
    }
}
