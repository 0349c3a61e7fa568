//! The time field: one number of hours, or `N/A`.
//!
//! A time is read or refused, never guessed: no unit is converted, no range is cut, no sum is worked out. A date becomes hours where the
//! date of time 0 is known. This file must not know formats.

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::event::EventTime;
use crate::data::hours::Hours;
use crate::data::moment::{Moment, MomentFault};

/// Furthest time from time 0, before and after: 200 years. Beyond it a number is no time in hours. Unit: hours.
const FURTHEST: f64 = 200.0 * 365.25 * 24.0;

/// What is known when times of a file are read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeRules {
    /// When time 0 was.
    pub(super) index_date: Option<Moment>,
}

/// Takes a number of hours as a time.
///
/// # Errors
/// A number that is not finite or too far from time 0.
pub(super) fn time_at(hours: f64) -> Result<EventTime, RowFault> {
    let hours = Hours::new(hours).map_err(|_| RowFault::TimeNotFinite)?;
    if hours.get().abs() > FURTHEST { Err(RowFault::TimeTooFar) } else { Ok(EventTime::At(hours)) }
}

/// Reads a field that is meant as a date.
fn parse_date(field: &str, rules: TimeRules, marks: &mut ReadCounts) -> Result<EventTime, RowFault> {
    let index = rules.index_date.ok_or(RowFault::TimeIsDate)?;
    let hours = Moment::parse(field).and_then(|moment| moment.hours_since(index)).map_err(|fault| match fault {
        MomentFault::NotIso => RowFault::DateNotIso,
        MomentFault::Offset => RowFault::DateOffset,
    })?;
    marks.dates_converted += 1;
    time_at(hours.get())
}

/// Reads one time field and counts in `marks` what was noticed.
///
/// # Errors
/// The reason why the field is not a time.
pub(super) fn parse_time(field: &str, rules: TimeRules, marks: &mut ReadCounts) -> Result<EventTime, RowFault> {
    let trimmed = field.trim();
    let field = trimmed.trim_end_matches(|c: char| c == '\\' || c.is_whitespace());
    if field.len() < trimmed.len() {
        marks.stray_backslashes = 1;
    }
    if field.is_empty() {
        marks.times_na += 1;
        marks.empty_times += 1;
        return Ok(EventTime::NotAvailable);
    }
    if field.eq_ignore_ascii_case("n/a") || field.eq_ignore_ascii_case("na") {
        marks.times_na += 1;
        return Ok(EventTime::NotAvailable);
    }
    if Moment::is_meant(field) {
        return parse_date(field, rules, marks);
    }
    let (negative, unsigned) = split_sign(field, marks);
    if unsigned.len() != field.len() && unsigned.starts_with(char::is_whitespace) {
        let digits = unsigned.trim_start().starts_with(|c: char| c.is_ascii_digit());
        return Err(if digits { RowFault::TimeSplitSign } else { RowFault::TimeNotANumber });
    }
    let (number, rest) = split_number(unsigned);
    if number.is_empty() {
        return Err(classify_word(unsigned));
    }
    let value = parse_number(number, marks)?;
    match rest.trim() {
        "" => {}
        rest if is_remark(rest) => marks.time_remarks += 1,
        rest => return Err(classify_rest(rest)),
    }
    time_at(if negative { -value } else { value })
}

/// Splits a sign off the field; returns whether it is a minus and what follows.
fn split_sign<'a>(field: &'a str, marks: &mut ReadCounts) -> (bool, &'a str) {
    if let Some(rest) = field.strip_prefix('-') {
        (true, rest)
    } else if let Some(rest) = field.strip_prefix('\u{2212}') {
        marks.typographic_minus_signs += 1;
        (true, rest)
    } else if let Some(rest) = field.strip_prefix('+') {
        marks.plus_signs += 1;
        (false, rest)
    } else {
        (false, field)
    }
}

/// Splits the longest leading run of digits, commas and points, with an exponent if one follows.
fn split_number(text: &str) -> (&str, &str) {
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b',' | b'.');
    let bytes = text.as_bytes();
    let mut end = bytes.iter().take_while(|b| is_part(b)).count();
    if !bytes[..end].iter().any(u8::is_ascii_digit) {
        return ("", text);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = bytes[end + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        let after = end + 1 + sign + digits;
        if digits > 0 && !bytes.get(after).is_some_and(u8::is_ascii_alphanumeric) {
            end = after;
        }
    }
    text.split_at(end)
}

/// Reads an unsigned number; commas must stand between groups of three digits.
fn parse_number(number: &str, marks: &mut ReadCounts) -> Result<f64, RowFault> {
    let (mantissa, _) = number.split_once(['e', 'E']).unwrap_or((number, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if fraction.bytes().any(|b| !b.is_ascii_digit()) {
        return Err(RowFault::TimeMalformedNumber);
    }
    let plain = if whole.contains(',') {
        let mut groups = whole.split(',');
        let first = groups.next().unwrap_or_default();
        if !(1..=3).contains(&first.len()) || groups.any(|group| group.len() != 3) {
            return Err(RowFault::TimeMalformedNumber);
        }
        marks.times_with_thousands_comma += 1;
        number.replace(',', "")
    } else {
        number.to_owned()
    };
    plain.parse().map_err(|_| RowFault::TimeMalformedNumber)
}

/// Returns whether the text is one remark in parentheses.
fn is_remark(rest: &str) -> bool {
    if !rest.starts_with('(') {
        return false;
    }
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            // the text starts with an open, and depth zero returns, so this never goes below zero
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return c == ')' && at + 1 == rest.len();
        }
    }
    false
}

/// Names the fault of a field that starts with no number.
fn classify_word(unsigned: &str) -> RowFault {
    let word = unsigned.trim().to_ascii_lowercase();
    match word.as_str() {
        "nan" | "inf" | "infinity" | "∞" => RowFault::TimeNotFinite,
        _ => RowFault::TimeNotANumber,
    }
}

/// Names the fault of what follows a number.
fn classify_rest(rest: &str) -> RowFault {
    let starts_number = |text: &str| {
        text.trim_start().trim_start_matches(['-', '+', '\u{2212}']).trim_start().starts_with(|c: char| c.is_ascii_digit())
    };
    for link in ["to ", "-", "\u{2013}", "\u{2014}", "..", "~", "and ", "or "] {
        if rest.strip_prefix(link).is_some_and(starts_number) {
            return RowFault::TimeRange;
        }
    }
    match rest.chars().next() {
        Some('*' | '+' | '/' | '=' | '×' | '^') => RowFault::TimeExpression,
        Some(c) if c.is_alphabetic() || c == '%' => RowFault::TimeUnit,
        _ => RowFault::TimeNotANumber,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(field: &str) -> Result<Option<f64>, RowFault> {
        parse_time(field, TimeRules::default(), &mut ReadCounts::default()).map(|time| time.hours().map(Hours::get))
    }

    #[test]
    fn numbers_are_read() {
        for (field, value) in [
            ("0", 0.0),
            (" -336 ", -336.0),
            ("+24", 24.0),
            ("0.5", 0.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("26,280", 26_280.0),
            ("1,753,200", 1_753_200.0),
            ("-1,234,567.25", -1_234_567.25),
            ("\u{2212}12", -12.0),
            ("1e2", 100.0),
            ("-120 (5 days before admission)", -120.0),
            ("+5760 (8 months * 30 (about) days)", 5760.0),
        ] {
            assert_eq!(hours(field), Ok(Some(value)), "{field}");
        }
        for field in ["", "  ", "N/A", "n/a", "NA"] {
            assert_eq!(hours(field), Ok(None), "{field:?}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        use RowFault::*;
        for (field, fault) in [
            ("6 months", TimeUnit),
            ("0 hours", TimeUnit),
            ("-9000 hours (approx.)", TimeUnit),
            ("12h", TimeUnit),
            ("1e", TimeUnit),
            ("-6 months to -2 months", TimeUnit),
            ("24 to 168", TimeRange),
            ("0 to +24", TimeRange),
            ("24-48", TimeRange),
            ("24 \u{2013} 48", TimeRange),
            ("10,080 to 13,440", TimeRange),
            ("129*24", TimeExpression),
            ("-157680 + 25920", TimeExpression),
            ("- 2002", TimeSplitSign),
            ("nan", TimeNotFinite),
            ("-inf", TimeNotFinite),
            ("1e999", TimeNotFinite),
            ("1,5", TimeMalformedNumber),
            ("1234,567", TimeMalformedNumber),
            ("1.2.3", TimeMalformedNumber),
            ("5,", TimeMalformedNumber),
            ("+? (not specified)", TimeNotANumber),
            ("C0", TimeNotANumber),
            ("-", TimeNotANumber),
            ("- x", TimeNotANumber),
            ("unknown", TimeNotANumber),
            ("24)", TimeNotANumber),
            ("24 (a) (b", TimeNotANumber),
            ("24 (a) to 48 (b)", TimeNotANumber),
            (",", TimeNotANumber),
            ("672}", TimeNotANumber),
            ("1753201", TimeTooFar),
            ("-2e6", TimeTooFar),
            ("2019-03-05", TimeIsDate),
            ("2019-03-05T14:30:00Z", TimeIsDate),
            ("05/03/2019", TimeIsDate),
            ("14:30", TimeIsDate),
        ] {
            assert_eq!(hours(field), Err(fault), "{field}");
        }
    }

    #[test]
    fn a_date_becomes_hours_where_time_0_has_one() {
        let rules = TimeRules { index_date: Some(Moment::parse("2019-03-05T12:00").unwrap()) };
        let mut marks = ReadCounts::default();
        let mut hours = |field: &str| parse_time(field, rules, &mut marks).map(|time| time.hours().map(Hours::get));
        assert_eq!(hours("2019-03-06 00:00"), Ok(Some(12.0)));
        assert_eq!(hours("2019-03-04"), Ok(Some(-24.0)));
        assert_eq!(hours("-24"), Ok(Some(-24.0)), "hours stay hours");
        assert_eq!(hours("05/03/2019"), Err(RowFault::DateNotIso));
        assert_eq!(hours("2019-03-05T12:00Z"), Err(RowFault::DateOffset));
        assert_eq!(hours("1719-03-05"), Err(RowFault::TimeTooFar));
        assert_eq!(marks.dates_converted, 3);
    }

    #[test]
    fn what_was_noticed_is_counted() {
        let mut marks = ReadCounts::default();
        for field in ["+1,000 (x)", "", "N/A", "\u{2212}1"] {
            parse_time(field, TimeRules::default(), &mut marks).unwrap();
        }
        let expected = ReadCounts {
            plus_signs: 1,
            times_with_thousands_comma: 1,
            time_remarks: 1,
            times_na: 2,
            empty_times: 1,
            typographic_minus_signs: 1,
            ..ReadCounts::default()
        };
        assert_eq!(marks, expected);
    }
}
