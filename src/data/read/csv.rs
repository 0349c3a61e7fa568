//! Comma-separated timelines, with or without a header.
//!
//! The columns are found by name in a header or are the first two. A row with another number of fields than
//! the first row is refused: an unquoted comma in an event or in `26,280` must not shift the time. A first line
//! `sep=;`, as Excel writes it, names the separator. Field splitting is the csv crate's; this file adds which
//! physical lines a row covers and refuses quotes that could mean something else.

use crate::data::counts::{ReadCounts, RowFault};

use super::columns::{self, Named, Places};
use super::decode::count_line_feeds;
use super::ledger::{Ledger, Row};
use super::quotes::{self, QuoteFault};
use super::time::{TimeRules, parse_time};

/// Which columns to read.
#[derive(Clone, Copy)]
struct Columns {
    places: Places,
    n_fields: usize,
}

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    ledger.lines(text.lines().count());
    let (delimiter, skipped) = separator(text);
    if skipped > 0 {
        ledger.header();
    }
    let mut columns = None;
    let mut is_ambiguous = false;
    let mut covered = usize::from(skipped > 0);
    for record in records(text, delimiter, skipped) {
        covered += record.n_lines;
        if record.fields.iter().all(|field| field.trim().is_empty()) && record.fields.len() <= 1 {
            ledger.blank(record.n_lines);
            continue;
        }
        ledger.continuation(record.n_lines - 1);
        if let Some((fault, line)) = record.quote_fault {
            ledger.reject(line, fault);
            continue;
        }
        match columns::find(record.fields.iter().map(String::as_str), "event") {
            Named::Nothing => {}
            Named::Places(places) => {
                columns = Some(Columns { places, n_fields: record.fields.len() });
                is_ambiguous = false;
                ledger.header();
                continue;
            }
            Named::Several(names) => {
                let what = format!("expected one column of events and one of times, got {}", names.join(", "));
                ledger.fault(record.line, what, "name them event and time, or rename the others");
                is_ambiguous = true;
                ledger.header();
                continue;
            }
        }
        if is_ambiguous {
            ledger.reject(record.line, RowFault::HeaderAmbiguous);
            continue;
        }
        let first = columns.is_none();
        let wanted = *columns.get_or_insert(Columns { places: Places { event: 0, time: 1 }, n_fields: record.fields.len() });
        match read_row(&record, wanted, ledger.time_rules()) {
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
    /// What is wrong with its quotes, and the line on which the quote was opened.
    quote_fault: Option<(RowFault, usize)>,
}

/// The separator that a first line `sep=` names, and the length of that line with its end. Unit: bytes.
fn separator(text: &str) -> (u8, usize) {
    let line = text.lines().next().unwrap_or_default();
    let length = text.find('\n').map_or(text.len(), |at| at + 1);
    let named = line.trim_matches(['"', ' ', '\r']).strip_prefix("sep=").map(str::as_bytes);
    match named {
        Some(&[delimiter @ (b',' | b';' | b'\t' | b'|')]) => (delimiter, length),
        // Spreadsheets write a tab and then lose it.
        Some([]) => (b'\t', length),
        _ => (b',', 0),
    }
}

/// Splits a text into records, leaving out its first `skipped` bytes.
fn records(text: &str, delimiter: u8, skipped: usize) -> Vec<Record> {
    let text = text.get(skipped..).unwrap_or_default();
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
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
    let (mut line, mut counted_to) = (if skipped > 0 { 2 } else { 1 }, 0);
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
        let quote_fault = quote_fault(body, &fields, delimiter)
            .map(|(fault, at)| (fault, line + count_line_feeds(body.get(..at).unwrap_or_default())));
        records.push(Record { fields, line, n_lines, quote_fault });
    }
    records
}

/// What is wrong with the quotes of a record, and the byte at which the quote was opened.
fn quote_fault(body: &[u8], fields: &[String], delimiter: u8) -> Option<(RowFault, usize)> {
    match quotes::check(body, delimiter) {
        Err((QuoteFault::Unclosed, at)) => Some((RowFault::QuoteUnclosed, at)),
        Err((QuoteFault::TextBehind, at)) => Some((RowFault::QuoteMisplaced, at)),
        Ok(()) => {
            // Every line but the last: that one ends where the quote does.
            let looks_like_row = |line: &str| {
                let time = line.rsplit_once(char::from(delimiter)).map(|(_, time)| time.trim());
                time.is_some_and(|time| {
                    !time.is_empty() && parse_time(time, TimeRules::default(), &mut ReadCounts::default()).is_ok()
                })
            };
            let swallows = |field: &String| field.rsplit_once('\n').is_some_and(|(lines, _)| lines.lines().any(looks_like_row));
            fields.iter().any(swallows).then(|| {
                let at = body.iter().position(|&b| b == b'"').unwrap_or(0);
                (RowFault::QuoteOverRows, at)
            })
        }
    }
}

/// Reads one record as an event.
fn read_row(record: &Record, columns: Columns, rules: TimeRules) -> Result<Row, RowFault> {
    if record.fields.len() < 2 {
        return Err(RowFault::FieldMissing);
    }
    if record.fields.len() != columns.n_fields {
        return Err(RowFault::FieldCount);
    }
    let Places { event, time } = columns.places;
    let (Some(event), Some(time)) = (record.fields.get(event), record.fields.get(time)) else {
        return Err(RowFault::FieldCount);
    };
    let mut marks = ReadCounts::default();
    let time = parse_time(time, rules, &mut marks)?;
    let text = event.trim();
    if text.is_empty() {
        return Err(RowFault::EventEmpty);
    }
    marks.extra_columns = usize::from(record.fields.len() > 2);
    Ok(Row { line: record.line, text: text.to_owned(), time, uid: None, marks })
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
    fn a_first_line_of_a_spreadsheet_names_the_separator() {
        for (text, rows_there) in [
            ("sep=,\nevent,time\nfever,1\n", vec![row(3, "fever", "1")]),
            ("\u{feff}sep=;\r\nevent;time\r\nfever, high;1\r\n", vec![row(3, "fever, high", "1")]),
            ("sep=\t\nfever\t1\n", vec![row(2, "fever", "1")]),
            ("\"sep=,\"\nfever,1\n", vec![row(2, "fever", "1")]),
        ] {
            let read = skip(text.as_bytes());
            assert_eq!(rows(&read), rows_there, "{text}");
            assert_eq!(read.counts.rejected(), 0, "{text}");
        }
    }

    #[test]
    fn of_several_synonyms_the_exact_name_wins_or_the_header_is_refused() {
        let read = skip(b"text,event,time\nShe had it,fever,1\n");
        assert_eq!(rows(&read), [row(2, "fever", "1")]);
        let read = skip(b"event,timestamp,hours\nfever,1,2\nrash,3,4\n");
        assert_eq!((read.events.len(), read.counts.lines_rejected[&RowFault::HeaderAmbiguous]), (0, 2));
        let fault = &read.problems[0];
        assert!(fault.is_error() && fault.line == Some(1) && fault.what.ends_with("got timestamp, hours"), "{fault}");
    }

    #[test]
    fn a_quote_that_could_mean_two_things_is_refused_where_it_opens() {
        for (text, line, fault, n_kept) in [
            ("a,0\n\"fever\" high,1\nb,2\n", 2, RowFault::QuoteMisplaced, 2),
            ("a,0\n\"a \\\"b\\\" c\",1\nb,2\n", 2, RowFault::QuoteMisplaced, 2),
            ("\"a,0\nb,1\nc\",2\nd,3\n", 1, RowFault::QuoteOverRows, 1),
            ("\"a,0\nb,1\n\"c\",2\nd,3\n", 1, RowFault::QuoteMisplaced, 1),
            ("a,0\n\"b,1", 2, RowFault::QuoteUnclosed, 1),
        ] {
            let read = read_timeline(text.as_bytes(), Path::new("f.csv"), TimelineFormat::Csv, BadRowPolicy::Refuse);
            assert_eq!((read.events.len(), read.counts.lines_rejected.get(&fault)), (n_kept, Some(&1)), "{text}");
            assert_eq!(read.problems.iter().filter(|p| p.is_error()).map(|p| p.line).collect::<Vec<_>>(), [Some(line)], "{text}");
        }
    }

    #[test]
    fn a_column_of_dates_needs_the_date_of_time_0() {
        let text = b"event,date\nfever,2019-03-04\nrash,2019-03-06T06:00\npain,05/03/2019\n";
        let read = skip(text);
        assert_eq!(read.counts.lines_rejected[&RowFault::TimeIsDate], 3);
        let index_date = crate::data::Moment::parse("2019-03-05").ok();
        let rules = crate::data::ReadRules { on_bad_row: BadRowPolicy::Skip, index_date };
        let read = read_timeline(text, Path::new("f.csv"), TimelineFormat::Csv, rules);
        assert_eq!(rows(&read), [row(2, "fever", "-24"), row(3, "rash", "30")]);
        assert_eq!((read.counts.dates_converted, read.counts.lines_rejected[&RowFault::DateNotIso]), (2, 1));
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
