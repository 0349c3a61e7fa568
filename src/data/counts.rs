//! What happened to every line that was read.
//!
//! The counters split in two: where each line went (they add up to the lines read) and what was noticed on the
//! way (they do not). This file must not know formats or policies.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Why a line that looks like a row is not an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowFault {
    /// There are fewer than two fields.
    FieldMissing,
    /// A CSV row has another number of fields than the first row.
    FieldCount,
    /// The first row of a CSV file is neither a known header nor an event.
    HeaderUnknown,
    /// A row below a header that names several columns of events or of times.
    HeaderAmbiguous,
    /// A JSON row has several keys for its event or its time.
    KeysAmbiguous,
    /// A key stands twice in one JSON object.
    KeyRepeated,
    /// A quote is never closed.
    QuoteUnclosed,
    /// Text follows a closing quote, as after a quote that is escaped by a backslash.
    QuoteMisplaced,
    /// A quoted field holds line ends and what looks like rows.
    QuoteOverRows,
    /// The event text is empty.
    EventEmpty,
    /// A JSON row has no time at all.
    TimeMissing,
    /// The time is a number with a unit or another word.
    TimeUnit,
    /// The time is a range.
    TimeRange,
    /// The time is a calculation.
    TimeExpression,
    /// There is white space between sign and digits.
    TimeSplitSign,
    /// The time is infinite, not a number, or too large.
    TimeNotFinite,
    /// The time lies more than 200 years from time 0.
    TimeTooFar,
    /// The time is a date or a time of day, and nothing says when time 0 was.
    TimeIsDate,
    /// The date is not in ISO form.
    DateNotIso,
    /// Of the date and that of time 0 only one has an offset from UTC.
    DateOffset,
    /// The time has misplaced commas or points.
    TimeMalformedNumber,
    /// The time starts with something other than a number.
    TimeNotANumber,
    /// A LaTeX table row with `&` between its columns.
    LatexColumns,
    /// The line or element is not a JSON object.
    NotAJsonObject,
    /// The uid4 is missing or not four letters or digits.
    UidMalformed,
    /// The uid4 was used by an earlier row.
    UidRepeated,
    /// The bounds are not two numbers, or the lower is above the upper.
    BoundsMalformed,
    /// The time lies outside its bounds.
    BoundsExcludeTime,
    /// The known flag is missing or not binary.
    KnownMalformed,
    /// The context is not a list of at most five uid4s.
    ContextMalformed,
}

impl RowFault {
    /// Returns the name used in counts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::FieldMissing => "field_missing",
            Self::FieldCount => "field_count",
            Self::HeaderUnknown => "header_unknown",
            Self::HeaderAmbiguous => "header_ambiguous",
            Self::KeysAmbiguous => "keys_ambiguous",
            Self::KeyRepeated => "key_repeated",
            Self::QuoteUnclosed => "quote_unclosed",
            Self::QuoteMisplaced => "quote_misplaced",
            Self::QuoteOverRows => "quote_over_rows",
            Self::EventEmpty => "event_empty",
            Self::TimeMissing => "time_missing",
            Self::TimeUnit => "time_unit",
            Self::TimeRange => "time_range",
            Self::TimeExpression => "time_expression",
            Self::TimeSplitSign => "time_split_sign",
            Self::TimeNotFinite => "time_not_finite",
            Self::TimeTooFar => "time_too_far",
            Self::TimeIsDate => "time_is_date",
            Self::DateNotIso => "date_not_iso",
            Self::DateOffset => "date_offset",
            Self::TimeMalformedNumber => "time_malformed_number",
            Self::TimeNotANumber => "time_not_a_number",
            Self::LatexColumns => "latex_columns",
            Self::NotAJsonObject => "not_a_json_object",
            Self::UidMalformed => "uid_malformed",
            Self::UidRepeated => "uid_repeated",
            Self::BoundsMalformed => "bounds_malformed",
            Self::BoundsExcludeTime => "bounds_exclude_time",
            Self::KnownMalformed => "known_malformed",
            Self::ContextMalformed => "context_malformed",
        }
    }

    /// Returns what is wrong, as expected and got, and what to do about it.
    pub fn explain(self) -> (&'static str, &'static str) {
        const PLAIN: &str = "write the time as one number of hours relative to admission, or N/A";
        match self {
            Self::FieldMissing => {
                ("expected an event and a time, got one field", "write the row as event and time in this source's format")
            }
            Self::FieldCount => (
                "expected as many fields as in the first row, got another number",
                "put quotes around an event or time that contains a comma",
            ),
            Self::HeaderUnknown => (
                "expected a header or an event in the first row, got neither",
                "name the columns event and time, or remove the row",
            ),
            Self::HeaderAmbiguous => {
                ("expected one column of events and one of times, got several", "name them event and time, or rename the others")
            }
            Self::KeysAmbiguous => (
                "expected one key for the event and one for the time, got several",
                "name them event and time, or rename the others",
            ),
            Self::KeyRepeated => ("expected every key once in a JSON object, got one twice", "keep one of the two"),
            Self::QuoteMisplaced => (
                "expected a comma or the end of the line after a closing quote, got more text",
                "double every quote inside a quoted field (\"\", not \\\"), or close the quote where the field ends",
            ),
            Self::QuoteOverRows => (
                "expected the end of a quoted field, got further lines that look like rows",
                "close the quote that is opened here, or double it where it belongs to the text",
            ),
            Self::QuoteUnclosed => (
                "expected a closing quote, got the end of the file",
                "close the quote, and double every quote inside a quoted field",
            ),
            Self::EventEmpty => ("expected an event, got an empty text", "write the event or remove the row"),
            Self::TimeMissing => ("expected a time, got none", "add the time, or null for N/A"),
            Self::TimeUnit => ("expected a number of hours, got a number with a unit", PLAIN),
            Self::TimeRange => ("expected a number of hours, got a range", PLAIN),
            Self::TimeExpression => ("expected a number of hours, got a calculation", PLAIN),
            Self::TimeSplitSign => ("expected a number of hours, got a sign apart from its digits", PLAIN),
            Self::TimeNotFinite => ("expected a finite number of hours, got one that is infinite or undefined", PLAIN),
            Self::TimeTooFar => ("expected a time within 200 years of time 0, got one beyond", "check the unit: times are hours"),
            Self::TimeIsDate => (
                "expected a number of hours, got a date or a time of day",
                "write hours relative to time 0, or name a file with the date of time 0 of every case: index_dates under [reports]",
            ),
            Self::DateNotIso => (
                "expected a date as 2019-03-05 or 2019-03-05T14:30, got another form or no such day",
                "write year-month-day: 05/03/2019 is March to some and May to others",
            ),
            Self::DateOffset => (
                "expected an offset from UTC at both this time and time 0 or at neither, got one",
                "write both with an offset or both without",
            ),
            Self::TimeMalformedNumber => ("expected a number of hours, got misplaced commas or points", PLAIN),
            Self::TimeNotANumber => ("expected a number of hours, got other text", PLAIN),
            Self::LatexColumns => {
                ("expected event | time, got a LaTeX row with & between its columns", "convert the table to event | time")
            }
            Self::NotAJsonObject => {
                ("expected a JSON object, got something else", "write one object with event and time for each row")
            }
            Self::UidMalformed => {
                ("expected a uid4 of four letters or digits, got none or another text", "keep the identifier of the tagged note")
            }
            Self::UidRepeated => {
                ("expected every uid4 once, got one that an earlier row has", "keep one row for each occurrence")
            }
            Self::BoundsMalformed => (
                "expected bounds as [lower, upper] in hours or null, got something else",
                "write two numbers, the lower first; null marks an open end",
            ),
            Self::BoundsExcludeTime => ("expected a time within its bounds, got one outside", "correct the time or the bounds"),
            Self::KnownMalformed => {
                ("expected known as 0 or 1, got none or another value", "write 1 for a stated time and 0 for an inferred one")
            }
            Self::ContextMalformed => {
                ("expected at most five uid4s as context, got something else", "write a list of at most five identifiers")
            }
        }
    }
}

macro_rules! read_counts {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// What was read, kept, rejected and noticed, for one file or summed over many.
        ///
        /// Where lines went: `lines_read = blank_lines + header_lines + markup_lines + prose_lines +
        /// continuation_lines + rejected lines + rows_in_repeated_blocks + rows_kept`. In a JSON array an
        /// element counts as one line, wherever it stands.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct ReadCounts {
            $($(#[$doc])* pub $field: usize,)*
            /// Row-like lines that are not events, by reason.
            pub lines_rejected: BTreeMap<RowFault, usize>,
        }

        impl AddAssign<&ReadCounts> for ReadCounts {
            fn add_assign(&mut self, other: &ReadCounts) {
                $(self.$field += other.$field;)*
                for (&fault, &n) in &other.lines_rejected {
                    *self.lines_rejected.entry(fault).or_default() += n;
                }
            }
        }

        impl ReadCounts {
            /// Returns every counter with its name, in a fixed order; rejected lines follow as
            /// `rejected.<reason>` for the reasons that occur.
            pub fn entries(&self) -> Vec<(String, usize)> {
                let mut entries = vec![$((stringify!($field).to_owned(), self.$field)),*];
                entries.extend(
                    self.lines_rejected.iter().map(|(f, &n)| (format!("rejected.{}", f.name()), n)),
                );
                entries
            }
        }
    };
}

read_counts! {
    /// Files read.
    files,
    /// Lines of those files.
    lines_read,
    /// Lines with nothing but white space.
    blank_lines,
    /// Lines that name the columns.
    header_lines,
    /// Lines that only wrap a table: code fences, boxes, LaTeX environments, rules.
    markup_lines,
    /// Lines of running text in raw model output.
    prose_lines,
    /// Second and further lines of a CSV row with line ends inside quotes.
    continuation_lines,
    /// Rows that became events.
    rows_kept,
    /// Rows left out because the whole block of rows stands word for word earlier in the file.
    rows_in_repeated_blocks,
    /// Blocks left out for that reason.
    repeated_blocks,
    /// Rows that look like rows: kept, in repeated blocks, or rejected.
    rows_read,
    /// Kept rows whose date was turned into hours.
    dates_converted,
    /// Kept rows without a time.
    times_na,
    /// Kept rows whose time field is empty; part of `times_na`.
    empty_times,
    /// Kept rows with a comma between thousands.
    times_with_thousands_comma,
    /// Kept rows with a plus sign before the time.
    plus_signs,
    /// Kept rows with a typographic minus sign.
    typographic_minus_signs,
    /// Kept rows with a remark after a complete number.
    time_remarks,
    /// Kept rows that ended in stray backslashes.
    stray_backslashes,
    /// Kept rows with a list bullet or number before the event.
    list_bullets,
    /// Kept rows that stood in quotes as a whole.
    quoted_rows,
    /// Kept rows freed from a box or from LaTeX column and text commands.
    unwrapped_rows,
    /// Kept rows with more columns than the format needs.
    extra_columns,
    /// Kept rows that repeat an earlier kept row, event and time.
    duplicate_rows,
    /// Context identifiers that no row of the file has.
    context_unknown,
    /// Files that start with a byte order mark.
    bom,
    /// Files with carriage return and line feed as line end.
    crlf,
    /// Files that are not UTF-8 and were decoded as Windows-1252.
    windows_1252,
    /// Files with nothing but white space.
    empty_files,
    /// Entries of the folder that systems leave beside files, as `.DS_Store` and `._name`; not read.
    litter_files,
}

impl ReadCounts {
    /// Returns the number of rejected lines over all reasons.
    pub fn rejected(&self) -> usize {
        self.lines_rejected.values().sum()
    }

    /// Returns the lines that the counters account for; equal to `lines_read` after every read.
    pub fn lines_accounted(&self) -> usize {
        self.blank_lines
            + self.header_lines
            + self.markup_lines
            + self.prose_lines
            + self.continuation_lines
            + self.rejected()
            + self.rows_in_repeated_blocks
            + self.rows_kept
    }
}

impl<'a> Sum<&'a ReadCounts> for ReadCounts {
    fn sum<I: Iterator<Item = &'a ReadCounts>>(counts: I) -> Self {
        let mut total = Self::default();
        for one in counts {
            total += one;
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_round_trip() {
        let mut a = ReadCounts { rows_kept: 2, lines_read: 3, ..ReadCounts::default() };
        a.lines_rejected.insert(RowFault::TimeUnit, 1);
        let total: ReadCounts = [&a, &a].into_iter().sum();
        assert_eq!((total.rows_kept, total.rejected(), total.lines_accounted()), (4, 2, 6));
        let json = serde_json::to_string(&total).unwrap();
        assert!(json.contains("\"time_unit\":2"), "{json}");
        assert_eq!(serde_json::from_str::<ReadCounts>(&json).unwrap(), total);
        assert!(total.entries().contains(&("rejected.time_unit".to_owned(), 2)));
    }

    #[test]
    fn names_equal_serde_names() {
        for fault in [RowFault::LatexColumns, RowFault::NotAJsonObject, RowFault::UidMalformed] {
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.name());
        }
    }
}
