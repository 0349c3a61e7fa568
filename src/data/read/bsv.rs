//! Rows `event | hours`, clean or inside raw model output.
//!
//! A line is a row if and only if it has a bar and its second field is a time. What only wraps a row (bullet,
//! quotes, box, LaTeX commands, trailing backslashes, outer bars of a markdown table) is removed and counted;
//! the rest of the text stays as it is. Whatever stands inside a block of reasoning (`<think>`, `[THINK]` and
//! their like, also one that is never closed) is prose. This file must not know policies or problems.
//!
//! The time is always the second field: further fields (`event | start | end | factuality`) are counted as
//! extra columns and not read. An event whose own text has a bar is therefore refused unless what follows the
//! bar is a time; guessing which bar was meant could silently take a duration for a start.

use std::ops::Range;

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::reasoning_block;

use super::columns::{self, Named, Places};
use super::ledger::{Ledger, Row};
use super::time::{TimeRules, parse_time};

/// Reads a whole file into the ledger.
pub(super) fn read(text: &str, ledger: &mut Ledger) {
    ledger.lines(text.lines().count());
    let mut lines = Lines { box_open: false, rules: ledger.time_rules() };
    let mut is_ambiguous = false;
    let outside = reasoning_block::outside(text);
    for (at, (raw, range)) in lines_of(text).enumerate() {
        let line = at + 1;
        let answer = part_outside(text, &range, &outside);
        let kind = match answer.trim() {
            "" if raw.trim().is_empty() => Line::Blank,
            "" if is_markup(raw) => Line::Markup,
            "" => Line::Prose,
            _ => lines.classify(&answer),
        };
        match kind {
            Line::Blank => ledger.blank(1),
            Line::Header(None) => {
                is_ambiguous = false;
                ledger.header();
            }
            Line::Header(Some(what)) => {
                is_ambiguous = true;
                ledger.fault(line, what, "name the second column time, or rename the others");
                ledger.header();
            }
            Line::Markup => ledger.markup(),
            Line::Prose => ledger.prose(line),
            Line::Rejected(fault) => ledger.reject(line, fault),
            Line::Row(_) if is_ambiguous => ledger.reject(line, RowFault::HeaderAmbiguous),
            Line::Row(mut row) => {
                row.line = line;
                ledger.row(*row);
            }
        }
    }
}

/// The lines of a text and where they stand, without their ends.
fn lines_of(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.lines().map(|line| {
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        (line, start..start + line.len())
    })
}

/// What of a line lies outside blocks of reasoning.
fn part_outside(text: &str, line: &Range<usize>, outside: &[Range<usize>]) -> String {
    let shared = |part: &Range<usize>| part.start.max(line.start)..part.end.min(line.end);
    outside.iter().map(shared).filter(|part| part.start < part.end).map(|part| &text[part]).collect()
}

/// What one line is.
enum Line {
    Blank,
    /// It names the columns, and what is wrong with them if anything is.
    Header(Option<String>),
    Markup,
    Prose,
    Rejected(RowFault),
    /// Boxed because its counters make it much larger than the rest.
    Row(Box<Row>),
}

/// Reads line after line.
struct Lines {
    /// A `\boxed{` is open.
    box_open: bool,
    rules: TimeRules,
}

impl Lines {
    /// Decides what one line is.
    fn classify(&mut self, raw: &str) -> Line {
        let mut marks = ReadCounts::default();
        let trimmed = raw.trim();
        if trimmed.is_empty() {
            return Line::Blank;
        }
        let stripped = strip_backslashes(trimmed);
        marks.stray_backslashes = usize::from(stripped.len() < trimmed.len());
        let inner = match stripped.strip_prefix("\\boxed{") {
            Some(inner) => {
                self.box_open = !inner.contains('}') || inner.contains('|');
                marks.unwrapped_rows = 1;
                inner.trim_start()
            }
            None => stripped,
        };
        if is_markup(inner) {
            self.box_open &= !inner.starts_with('}');
            return Line::Markup;
        }
        if !inner.contains('|') {
            return if is_latex_row(inner) { Line::Rejected(RowFault::LatexColumns) } else { Line::Prose };
        }
        let inner = strip_bullet(inner, &mut marks);
        let inner = strip_quotes(inner, &mut marks);
        let fields = split_fields(inner);
        let (Some(&event), Some(&time)) = (fields.first(), fields.get(1)) else {
            return Line::Rejected(RowFault::FieldMissing);
        };
        if columns::is_event_name(event) && columns::is_time_name(time) {
            return Line::Header(header_fault(&fields));
        }
        let time = match time.strip_suffix('}') {
            Some(inside) if self.box_open && !inside.contains('{') => {
                self.box_open = false;
                marks.unwrapped_rows = 1;
                inside
            }
            _ => time,
        };
        let time = match parse_time(time, self.rules, &mut marks) {
            Ok(time) => time,
            Err(fault) => return Line::Rejected(fault),
        };
        let text = unwrap_latex(event, &mut marks);
        if text.is_empty() {
            return Line::Rejected(RowFault::EventEmpty);
        }
        marks.extra_columns = usize::from(fields.len() > 2);
        Line::Row(Box::new(Row { line: 0, text, time, uid: None, marks }))
    }
}

/// What is wrong with a header whose first two columns are an event and a time, which is where rows are read.
fn header_fault(names: &[&str]) -> Option<String> {
    match columns::find(names.iter().copied(), "event") {
        Named::Places(Places { event: 0, time: 1 }) => None,
        Named::Several(names) => Some(format!("expected one column of events and one of times, got {}", names.join(", "))),
        _ => Some(format!("expected the event in the first column and the time in the second, got {}", names.join(", "))),
    }
}

/// Removes backslashes and white space from the end.
fn strip_backslashes(text: &str) -> &str {
    text.trim_end_matches(|c: char| c == '\\' || c.is_whitespace())
}

/// Returns whether the line only wraps a table. An empty rest (a lone backslash or box) wraps too.
fn is_markup(text: &str) -> bool {
    // some raw outputs end their lines in the two characters \n instead of a line feed
    let mut rest = text.trim();
    while let Some(shorter) = rest.strip_suffix("\\n") {
        rest = shorter.trim_end();
    }
    let rule = |c: char| matches!(c, '-' | '=' | '_' | '*' | '|' | ':' | '+' | ' ');
    rest.starts_with("```")
        || ["\\begin{", "\\end{", "\\hline"].iter().any(|start| rest.starts_with(start))
        || matches!(rest, "" | "{" | "}" | "[" | "]" | "\\[" | "\\]" | "$$")
        || reasoning_block::is_mark(rest)
        || (rest.chars().all(rule) && rest.contains(['-', '=', '_', '*']))
}

/// Returns whether the line is a LaTeX table row with `&` before a time.
fn is_latex_row(text: &str) -> bool {
    text.rsplit_once('&').is_some_and(|(event, time)| {
        let time = time.trim();
        !event.trim().is_empty() && !time.is_empty() && parse_time(time, TimeRules::default(), &mut ReadCounts::default()).is_ok()
    })
}

/// Removes one list bullet or list number with the white space after it.
fn strip_bullet<'a>(text: &'a str, marks: &mut ReadCounts) -> &'a str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = if (1..=3).contains(&digits) {
        text[digits..].strip_prefix('.').or_else(|| text[digits..].strip_prefix(')'))
    } else {
        text.strip_prefix(['-', '*', '•'])
    };
    match after {
        Some(rest) if rest.starts_with(char::is_whitespace) => {
            marks.list_bullets = 1;
            rest.trim_start()
        }
        _ => text,
    }
}

/// Removes quotes around a whole row, with the comma and the `#` comment that may follow them.
fn strip_quotes<'a>(text: &'a str, marks: &mut ReadCounts) -> &'a str {
    let Some(body) = text.strip_prefix('"') else { return text };
    for (at, _) in body.match_indices('"') {
        let (inside, tail) = (&body[..at], &body[at + 1..]);
        let tail = tail.strip_prefix(',').unwrap_or(tail).trim();
        if inside.contains('|') && (tail.is_empty() || tail.starts_with('#')) {
            marks.quoted_rows = 1;
            marks.time_remarks += usize::from(!tail.is_empty());
            return inside;
        }
    }
    text
}

/// Splits at the bars; the empty outer fields of a markdown row are dropped first.
fn split_fields(text: &str) -> Vec<&str> {
    let mut fields: Vec<&str> = text.split('|').map(str::trim).collect();
    let outer = text.trim_start().starts_with('|');
    if outer {
        fields.remove(0);
    }
    // `event |` without an outer bar in front is a row with an empty time, not a markdown cell
    if (outer || fields.len() > 2) && fields.last().is_some_and(|last| last.is_empty()) {
        fields.pop();
    }
    fields
}

/// Removes a column mark at the end and `\text{..}` around parts of an event.
fn unwrap_latex(event: &str, marks: &mut ReadCounts) -> String {
    let mut text = event;
    if let Some(rest) = text.strip_suffix('&') {
        text = rest.trim_end();
        marks.unwrapped_rows = 1;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\text{") {
        let Some((inside, behind)) = after.split_once('}') else { break };
        marks.unwrapped_rows = 1;
        plain.push_str(before);
        plain.push_str(inside);
        rest = behind;
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::event::Event;
    use crate::data::read::{BadRowPolicy, ReadTimeline, TimelineFormat, read_timeline};
    use std::path::Path;

    fn skip(text: &str) -> ReadTimeline {
        let read = read_timeline(text.as_bytes(), Path::new("f.bsv"), TimelineFormat::Bsv, BadRowPolicy::Skip);
        assert_eq!(read.counts.lines_read, read.counts.lines_accounted(), "{:?}", read.counts);
        read
    }

    fn rows(read: &ReadTimeline) -> Vec<(usize, &str, String)> {
        let row = |e: &'_ Event| (e.line, e.time.to_string());
        read.events.iter().map(|e| (row(e).0, e.text.as_str(), row(e).1)).collect()
    }

    #[test]
    fn a_header_must_name_the_columns_that_are_read() {
        let read = skip("event | timestamp | time\nfever | 1 | 2\n");
        assert_eq!((read.events.len(), read.counts.lines_rejected[&RowFault::HeaderAmbiguous]), (0, 1));
        assert!(read.problems[0].is_error() && read.problems[0].line == Some(1), "{}", read.problems[0]);
        assert_eq!(skip("event | time | date\nfever | 1 | 2019-03-05\n").events.len(), 1, "the exact name stands second");
        assert_eq!(skip("event | hours\nfever | 1\n").events.len(), 1);
    }

    #[test]
    fn clean_file_gives_the_same_under_both_policies() {
        let text = "fever | -72\nrash|0\ndischarged | 24";
        let read = skip(text);
        assert_eq!(rows(&read), [(1, "fever", "-72".into()), (2, "rash", "0".into()), (3, "discharged", "24".into())]);
        let refuse = read_timeline(text.as_bytes(), Path::new("f.bsv"), TimelineFormat::Bsv, BadRowPolicy::Refuse);
        assert_eq!(refuse, read);
        assert!(read.problems.is_empty());
    }

    #[test]
    fn wrappers_are_removed_and_counted() {
        let read = skip(concat!(
            "\\boxed{70 years old| 0\\\n",
            "- 18 years old | 0\\\\ \n",
            "12. Tachypnea | +144\n",
            "\"57-year-old male | 0\",\n",
            "    \"worse | 24\",  # after the \"first\" day\n",
            "70\\text{ years old} &| 0 \\\\\n",
            "| Born | -672 |\n",
            "> 90 mL/min | 14\n",
            "died | 1,672}\n",
            "}\n",
        ));
        assert_eq!(
            rows(&read),
            [
                (1, "70 years old", "0".into()),
                (2, "18 years old", "0".into()),
                (3, "Tachypnea", "144".into()),
                (4, "57-year-old male", "0".into()),
                (5, "worse", "24".into()),
                (6, "70 years old", "0".into()),
                (7, "Born", "-672".into()),
                (8, "> 90 mL/min", "14".into()),
                (9, "died", "1672".into()),
            ]
        );
        let c = &read.counts;
        assert_eq!((c.stray_backslashes, c.list_bullets, c.quoted_rows), (3, 2, 2));
        assert_eq!((c.unwrapped_rows, c.plus_signs, c.times_with_thousands_comma), (3, 1, 1));
        assert_eq!((c.time_remarks, c.markup_lines, c.duplicate_rows), (1, 1, 1));
    }

    #[test]
    fn raw_output_is_sorted_into_kinds() {
        let read = skip(concat!(
            "Let me think about pipes ('|').\n",
            "```\n",
            "| Event | Timestamp (hours) |\n",
            "|-------|---|\n",
            "| fever | 0 |\n",
            "\n",
            "- **Event** | **Timestamp (hours)**\n",
            "tigecycline |\n",
            "G-CSF | N/A\n",
            "rash | 24 to 168\n",
            "weight loss | 6 months\n",
            "abdominal distension & 0 \\\\\n",
            "\\begin{array}{|c|c|}\n",
            "fever | -1 | 5 | Factual\n",
            "| 5\n",
            " | 7 |\n",
            "} \\n\n",
            "Thank you.\n",
        ));
        let c = &read.counts;
        assert_eq!((c.header_lines, c.markup_lines, c.prose_lines, c.blank_lines), (2, 4, 1, 1));
        assert_eq!((c.times_na, c.empty_times, c.extra_columns), (2, 1, 1));
        let rejected: Vec<(&str, usize)> = c.lines_rejected.iter().map(|(f, &n)| (f.name(), n)).collect();
        assert_eq!(
            rejected,
            [("field_missing", 2), ("time_unit", 1), ("time_range", 1), ("time_not_a_number", 1), ("latex_columns", 1)]
        );
        assert_eq!(read.problems.len(), 2);
        assert!(read.problems[0].what.contains("lines 1, 10, 11, 12, 15, .."), "{}", read.problems[0]);
        assert!(!read.problems.iter().any(|p| p.to_string().contains("weight")));
    }

    #[test]
    fn refuse_names_every_bad_line() {
        let text = "fever | 0\nrash | 6 months\nhello\n";
        let read = read_timeline(text.as_bytes(), Path::new("f"), TimelineFormat::Bsv, BadRowPolicy::Refuse);
        let lines: Vec<_> = read.problems.iter().map(|p| (p.line, p.is_error())).collect();
        assert_eq!(lines, [(Some(2), true), (Some(3), true)]);
        let many = "x | y\n".repeat(50);
        let read = read_timeline(many.as_bytes(), Path::new("f"), TimelineFormat::Bsv, BadRowPolicy::Refuse);
        assert_eq!(read.problems.iter().filter(|p| p.is_error()).count(), 21);
        assert!(read.problems[20].what.starts_with("30 more"));
    }

    #[test]
    fn repeated_blocks_count_once_and_others_stay() {
        let read = skip("a | 0\n\nb | 1\ntext\na | 0\nb | 1\ntext\na | 0\ntext\na | 0\nb | 2\n");
        assert_eq!(read.events.len(), 5);
        let c = &read.counts;
        assert_eq!((c.repeated_blocks, c.rows_in_repeated_blocks, c.duplicate_rows), (1, 2, 2));
        assert_eq!((c.rows_read, c.rows_kept, c.prose_lines), (7, 5, 3));
        assert!(read.problems.iter().any(|p| p.line == Some(5) && !p.is_error()));
    }

    #[test]
    fn bars_inside_events_are_not_guessed() {
        let read = skip("a|b | 5\nBP 120|80 | 5\n");
        assert_eq!(rows(&read), [(2, "BP 120", "80".into())]);
        assert_eq!(read.counts.lines_rejected[&RowFault::TimeNotANumber], 1);
    }

    #[test]
    fn rows_inside_reasoning_tags_are_prose() {
        let read_all = |text: &str| {
            let read = skip(text);
            (read.events.iter().map(|event| event.text.clone()).collect::<Vec<_>>(), read.counts.prose_lines)
        };
        assert_eq!(read_all("<think>fever | 5\nrash | 6\n</think>\npain | 7\n").0, ["pain"]);
        assert_eq!(read_all("fever | 5\nso far</think>pain | 7\n"), (vec!["pain".to_string()], 1));
        assert_eq!(read_all("<thinking>\nfever | 5\n</thinking>\npain | 7\n"), (vec!["pain".to_string()], 1));
        assert_eq!(read_all("[THINK]\nfever | 5\n[/THINK]\npain | 7\n"), (vec!["pain".to_string()], 1));
        assert_eq!(read_all("pain | 7\n<think>\nfever | 5\nrash | 6\n"), (vec!["pain".to_string()], 2), "never closed");
        assert_eq!(
            read_all("<|channel|>analysis<|message|>\nfever | 5\n<|start|>assistant<|channel|>final<|message|>pain | 7\n"),
            (vec!["pain".to_string()], 2)
        );
        assert_eq!(read_all("pain | 7 <think>or 8\nrash | 6\n"), (vec!["pain".to_string()], 1));
    }

    #[test]
    fn empty_and_crlf() {
        let read = skip("");
        assert_eq!((read.counts.empty_files, read.problems.len()), (1, 1));
        let read = skip("a | 0\r\nb | 1\r\n");
        assert_eq!((read.counts.crlf, read.events.len(), read.counts.lines_read), (1, 2, 2));
        let read = skip("just words\n");
        assert_eq!(read.problems.len(), 2);
    }
}
