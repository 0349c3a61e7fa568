//! Comma-separated timelines, with or without a header.
//!
//! The columns are found by name in a header or are the first two. A row with another number of fields than
//! the first row is refused: an unquoted comma in an event or in `26,280` must not shift the time. Field
//! splitting is the csv crate's; this file adds which physical lines a row covers.

use crate::data::counts::{ReadCounts, RowFault};

use super::decode::count_line_feeds;
use super::ledger::{Ledger, Row};
use super::time::parse_time;

/// Which columns to read.
#[derive(Clone, Copy)]
struct Columns {
    event: usize,
    time: usize,
    n_fields: usize,
}

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    ledger.lines(text.lines().count());
    let mut columns = None;
    let mut covered = 0;
    for record in records(text) {
        covered += record.n_lines;
        if record.fields.iter().all(|field| field.trim().is_empty()) && record.fields.len() <= 1 {
            ledger.blank(record.n_lines);
            continue;
        }
        ledger.continuation(record.n_lines - 1);
        if let Some(found) = header_columns(&record.fields) {
            columns = Some(found);
            ledger.header();
            continue;
        }
        let first = columns.is_none();
        let wanted = *columns.get_or_insert(Columns { event: 0, time: 1, n_fields: record.fields.len() });
        match read_row(&record, wanted) {
            Ok(row) => ledger.row(row),
            // words where the first row should have a time are most likely an unknown header
            Err(RowFault::TimeNotANumber) if first => {
                ledger.reject(record.line, RowFault::HeaderUnknown);
            }
            Err(fault) => ledger.reject(record.line, fault),
        }
    }
    // the csv reader passes over empty lines without a record
    ledger.blank(text.lines().count().saturating_sub(covered));
}

/// One record and the physical lines it covers.
struct Record {
    fields: Vec<String>,
    line: usize,
    n_lines: usize,
    quote_open: bool,
}

/// Splits a text into records.
fn records(text: &str) -> Vec<Record> {
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        // with line feeds alone as terminator, lines are the same as everywhere else; carriage returns go
        // when fields are trimmed
        .terminator(::csv::Terminator::Any(b'\n'))
        .from_reader(text.as_bytes());
    let mut starts_and_fields: Vec<(usize, Vec<String>)> = Vec::new();
    // reading text from memory cannot fail, so nothing is dropped by flatten
    for record in reader.records().flatten() {
        let byte = record.position().map_or(0, ::csv::Position::byte);
        // a position inside the text fits usize; past its end it could only mean an empty last record
        let start = usize::try_from(byte).unwrap_or(text.len()).min(text.len());
        starts_and_fields.push((start, record.iter().map(str::to_owned).collect()));
    }
    let ends: Vec<usize> = starts_and_fields.iter().skip(1).map(|&(start, _)| start).chain(std::iter::once(text.len())).collect();
    let (mut line, mut counted_to) = (1, 0);
    let mut records = Vec::with_capacity(ends.len());
    for ((start, fields), end) in starts_and_fields.into_iter().zip(ends) {
        let bytes = text.as_bytes().get(start..end).unwrap_or_default();
        // a record's position lies before the empty lines that were passed over
        let skipped = bytes.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
        let body = bytes.get(skipped..).unwrap_or_default();
        let body_len = body.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
        let body = body.get(..body_len).unwrap_or_default();
        let body_start = start + skipped;
        line += count_line_feeds(text.as_bytes().get(counted_to..body_start).unwrap_or_default());
        counted_to = body_start;
        let n_lines = 1 + count_line_feeds(body);
        let quotes = body.iter().filter(|&&b| b == b'"').count();
        let quote_open = end == text.len() && quotes % 2 == 1 && n_lines > 1;
        records.push(Record { fields, line, n_lines, quote_open });
    }
    records
}

/// Reads one record as an event.
fn read_row(record: &Record, columns: Columns) -> Result<Row, RowFault> {
    if record.quote_open {
        return Err(RowFault::QuoteUnclosed);
    }
    if record.fields.len() < 2 {
        return Err(RowFault::FieldMissing);
    }
    if record.fields.len() != columns.n_fields {
        return Err(RowFault::FieldCount);
    }
    let (Some(event), Some(time)) = (record.fields.get(columns.event), record.fields.get(columns.time)) else {
        return Err(RowFault::FieldCount);
    };
    let mut marks = ReadCounts::default();
    let time = parse_time(time, &mut marks)?;
    let text = event.trim();
    if text.is_empty() {
        return Err(RowFault::EventEmpty);
    }
    marks.extra_columns = usize::from(record.fields.len() > 2);
    Ok(Row { line: record.line, text: text.to_owned(), time, uid: None, marks })
}

/// Returns the columns when the fields name an event and a time.
fn header_columns(fields: &[String]) -> Option<Columns> {
    let event = fields.iter().position(|field| is_event_name(field))?;
    let time = fields.iter().position(|field| is_time_name(field))?;
    Some(Columns { event, time, n_fields: fields.len() })
}

/// Returns whether the text is a known name of an event column.
pub(super) fn is_event_name(text: &str) -> bool {
    matches!(
        column_name(text).as_str(),
        "event" | "events" | "event_text" | "event_name" | "clinical_event" | "clinical_events" | "mention" | "text"
    )
}

/// Returns whether the text is a known name of a time column.
pub(super) fn is_time_name(text: &str) -> bool {
    matches!(
        column_name(text).as_str(),
        "time"
            | "times"
            | "hour"
            | "hours"
            | "time_hours"
            | "time_in_hours"
            | "time_h"
            | "timestamp"
            | "timestamps"
            | "timestamp_hours"
            | "timestamp_in_hours"
    )
}

/// Returns a column name in lower case with words joined by underscores and emphasis marks removed.
fn column_name(text: &str) -> String {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::{BadRowPolicy, ReadTimeline, TimelineFormat, read_timeline};
    use std::path::Path;

    fn skip(bytes: &[u8]) -> ReadTimeline {
        let read = read_timeline(bytes, Path::new("f.csv"), TimelineFormat::Csv, BadRowPolicy::Skip);
        assert_eq!(read.counts.lines_read, read.counts.lines_accounted(), "{:?}", read.counts);
        read
    }

    fn rows(read: &ReadTimeline) -> Vec<(usize, String, String)> {
        read.events.iter().map(|e| (e.line, e.text.clone(), e.time.to_string())).collect()
    }

    fn row(line: usize, text: &str, time: &str) -> (usize, String, String) {
        (line, text.to_owned(), time.to_owned())
    }

    #[test]
    fn header_variants_and_none() {
        for header in ["event,time\n", "Event,Time\n", "event_text,hours\n", "\"Event\",Timestamp (hours)\n"] {
            let read = skip(format!("{header}fever,-72\n").as_bytes());
            assert_eq!(rows(&read), [row(2, "fever", "-72")], "{header}");
            assert_eq!(read.counts.header_lines, 1);
        }
        let read = skip(b"fever ,-72\n \"x\",1\n");
        assert_eq!(read.events[0].text, "fever");
        let read = skip(b"id,hours,event\n1,5,fever\n2,6,rash\n");
        assert_eq!(rows(&read), [row(2, "fever", "5"), row(3, "rash", "6")]);
        assert_eq!(read.counts.extra_columns, 2);
    }

    #[test]
    fn quotes_marks_line_ends_and_code_pages() {
        let read = skip(b"\xef\xbb\xbfevent,time\r\n\r\n\"a, b\",\"26,280\"\r\n\"two\r\nlines\",1\r\n\r\nc,\r\n");
        assert_eq!(rows(&read), [row(3, "a, b", "26280"), row(4, "two\r\nlines", "1"), row(7, "c", "N/A")]);
        let c = &read.counts;
        assert_eq!((c.bom, c.crlf, c.blank_lines, c.continuation_lines), (1, 1, 2, 1));
        assert_eq!((c.times_with_thousands_comma, c.empty_times, c.lines_read), (1, 1, 7));
        let read = skip(b"event,time\n38\xb0C,0\n");
        assert_eq!((read.events[0].text.as_str(), read.counts.windows_1252), ("38°C", 1));
    }

    #[test]
    fn commas_never_shift_the_time() {
        let read = skip(b"event,time\nfever, chills,0\nstone,26,280\nok,1\nfew\n");
        assert_eq!(rows(&read), [row(4, "ok", "1")]);
        assert_eq!(read.counts.lines_rejected[&RowFault::FieldCount], 2);
        assert_eq!(read.counts.lines_rejected[&RowFault::FieldMissing], 1);
    }

    #[test]
    fn unknown_header_and_open_quote_are_named() {
        let read = skip(b"what,when\nfever,0\n");
        assert_eq!(read.counts.lines_rejected[&RowFault::HeaderUnknown], 1);
        assert_eq!(read.events.len(), 1);
        let read = skip(b"a,0\n\"b,1\nc,2\n");
        assert_eq!(read.counts.lines_rejected[&RowFault::QuoteUnclosed], 1);
        assert_eq!((read.events.len(), read.counts.continuation_lines), (1, 1));
    }

    #[test]
    fn odd_files() {
        let read = skip(b"");
        assert_eq!((read.events.len(), read.counts.empty_files, read.problems.len()), (0, 1, 1));
        let read = skip(b"event,time\n");
        assert_eq!((read.events.len(), read.problems.len()), (0, 1));
        let read = skip(b"\n\n  \na,0");
        assert_eq!((rows(&read), read.counts.blank_lines), (vec![row(4, "a", "0")], 3));
        let read = skip(b"a,0\n,5\nb,nan\n\"\",1\n");
        assert_eq!(read.counts.lines_rejected[&RowFault::EventEmpty], 2);
        assert_eq!(read.counts.lines_rejected[&RowFault::TimeNotFinite], 1);
    }
}
