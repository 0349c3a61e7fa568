//! Whether a quoted passage stands in a report, and where.
//!
//! It judges text alone: what a missing quote means for a finding is the protocol's business.

use serde::{Deserialize, Serialize};

/// Where a quote was found. Offsets are bytes of the original report, end exclusive, on character
/// boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "located", rename_all = "snake_case")]
pub enum Located {
    /// The very bytes of the quote; its first place.
    ByteExact {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// Equal once quotation marks and white space are normalised; its first place.
    Normalised {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// A quote that is not in the report.
    Unlocated,
    /// Nothing was quoted.
    NoQuote,
}

impl Located {
    /// The bytes of the report to highlight.
    pub const fn range(&self) -> Option<std::ops::Range<usize>> {
        match *self {
            Self::ByteExact { start, end } | Self::Normalised { start, end } => Some(start..end),
            Self::Unlocated | Self::NoQuote => None,
        }
    }

    /// The answer in the three columns of a table.
    pub const fn check(&self) -> QuoteCheck {
        let (byte_exact, normalised) = match self {
            Self::ByteExact { .. } => (Some(true), Some(true)),
            Self::Normalised { .. } => (Some(false), Some(true)),
            Self::Unlocated => (Some(false), Some(false)),
            Self::NoQuote => (None, None),
        };
        QuoteCheck { has_quote: byte_exact.is_some(), byte_exact, normalised }
    }
}

/// Whether there is a quote and how strictly it is contained; None without a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteCheck {
    /// Something was quoted.
    pub has_quote: bool,
    /// The quote's bytes are in the report.
    pub byte_exact: Option<bool>,
    /// The quote is in the report after normalisation, or byte for byte.
    pub normalised: Option<bool>,
}

/// Counted quotes of many findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuoteTally {
    /// Findings with a quote.
    pub n_quoted: u64,
    /// Quotes contained byte for byte.
    pub n_byte_exact: u64,
    /// Quotes contained byte for byte or after normalisation.
    pub n_normalised: u64,
}

impl QuoteTally {
    /// Counts one finding.
    pub fn add(&mut self, located: &Located) {
        let check = located.check();
        self.n_quoted += u64::from(check.has_quote);
        self.n_byte_exact += u64::from(check.byte_exact == Some(true));
        self.n_normalised += u64::from(check.normalised == Some(true));
    }

    /// Part of the quotes contained byte for byte; None without quotes.
    pub fn byte_exact_rate(&self) -> Option<f64> {
        self.rate(self.n_byte_exact)
    }

    /// Part of the quotes contained at least after normalisation; None without quotes.
    pub fn normalised_rate(&self) -> Option<f64> {
        self.rate(self.n_normalised)
    }

    fn rate(&self, part: u64) -> Option<f64> {
        (self.n_quoted > 0).then(|| part as f64 / self.n_quoted as f64)
    }
}

impl<'a> FromIterator<&'a Located> for QuoteTally {
    fn from_iter<I: IntoIterator<Item = &'a Located>>(all: I) -> Self {
        let mut tally = Self::default();
        all.into_iter().for_each(|located| tally.add(located));
        tally
    }
}

/// Whether evidence is a quote at all: not null, not blank, not the literal `none found`.
pub fn has_quote(quote: Option<&str>) -> bool {
    quote.is_some_and(|quote| quote != "none found" && !quote.chars().all(is_space))
}

/// White space as Python's `\s` has it: Unicode white space and the four separator controls.
const fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Quotation marks, primes, backtick and acute as their ASCII mark. Nothing else is folded: case,
/// dashes and composed letters keep their difference.
const fn plain_mark(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2039}' | '\u{203a}' | '\u{2032}' | '\u{2035}' | '`' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2033}' | '\u{2036}' => '"',
        other => other,
    }
}

/// Calls `keep` with every character of the normalised text and the byte where it came from;
/// a run of white space becomes one blank, none at either end.
fn normalise(text: &str, mut keep: impl FnMut(char, usize)) {
    let mut blank_at = None;
    let mut started = false;
    for (at, c) in text.char_indices() {
        if is_space(c) {
            blank_at = blank_at.or(Some(at));
            continue;
        }
        if let Some(at) = blank_at.take()
            && started
        {
            keep(' ', at);
        }
        started = true;
        keep(plain_mark(c), at);
    }
}

/// The text as quotes are compared: marks mapped, white space collapsed, ends trimmed.
pub fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    normalise(text, |c, _| out.push(c));
    out
}

/// A report prepared for many look-ups.
#[derive(Debug, Clone)]
pub struct QuoteIndex<'r> {
    report: &'r str,
    normalised: String,
    /// For each byte of `normalised`, where its character starts in `report`.
    origins: Vec<usize>,
}

impl<'r> QuoteIndex<'r> {
    /// Normalises the report once.
    pub fn new(report: &'r str) -> Self {
        let mut normalised = String::with_capacity(report.len());
        let mut origins = Vec::with_capacity(report.len());
        normalise(report, |c, at| {
            normalised.push(c);
            origins.resize(normalised.len(), at);
        });
        Self { report, normalised, origins }
    }

    /// Finds a quote, byte for byte first, then normalised.
    ///
    /// # Source
    /// gavel.txt, judge validation: quotes locatable after white space and quotation marks are normalised.
    pub fn locate(&self, quote: Option<&str>) -> Located {
        let Some(quote) = quote.filter(|&quote| has_quote(Some(quote))) else {
            return Located::NoQuote;
        };
        if let Some(start) = self.report.find(quote) {
            return Located::ByteExact { start, end: start + quote.len() };
        }
        let quote = normalised(quote);
        let Some(at) = self.normalised.find(&quote) else {
            return Located::Unlocated;
        };
        // The last character of a normalised quote is no blank, so it is one character of the report.
        let last = self.origins[at + quote.len() - 1];
        let last_len = self.report[last..].chars().next().map_or(0, char::len_utf8);
        Located::Normalised { start: self.origins[at], end: last + last_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Sie sagte \u{201e}m\u{fc}de\u{201c}\u{a0}\u{2003}und\r\n\tblass. T 36.6\u{b0}C, 5\u{2032} walk; cafe\u{301}. \u{ab}Oui\u{bb}";

    fn found(quote: &str) -> (Located, Option<&'static str>) {
        let located = QuoteIndex::new(REPORT).locate(Some(quote));
        (located, located.range().map(|range| &REPORT[range]))
    }

    #[test]
    fn both_kinds_point_into_the_original() {
        let (located, text) = found("36.6\u{b0}C");
        assert!(matches!(located, Located::ByteExact { .. }));
        assert_eq!(text, Some("36.6\u{b0}C"));
        let (located, text) = found("\"m\u{fc}de\" und blass.");
        assert!(matches!(located, Located::Normalised { .. }));
        assert_eq!(text, Some("\u{201e}m\u{fc}de\u{201c}\u{a0}\u{2003}und\r\n\tblass."));
        assert_eq!(found("  5' walk ").1, Some("5\u{2032} walk"));
        assert_eq!(found("\"Oui\"").1, Some("\u{ab}Oui\u{bb}"));
        assert_eq!(found("'m\u{fc}de'").0, Located::Unlocated);
    }

    #[test]
    fn nothing_more_is_folded() {
        assert_eq!(found("caf\u{e9}").0, Located::Unlocated);
        assert_eq!(found("sie sagte").0, Located::Unlocated);
        assert_eq!(found("und\u{200b}blass").0, Located::Unlocated);
    }

    #[test]
    fn absent_evidence_is_no_quote() {
        let index = QuoteIndex::new("none found. None found");
        for quote in [None, Some(""), Some(" \n\u{3000}\u{1f}"), Some("none found")] {
            assert_eq!(index.locate(quote), Located::NoQuote, "{quote:?}");
        }
        assert!(matches!(index.locate(Some("None found")), Located::ByteExact { start: 12, end: 22 }));
        assert!(has_quote(Some("none found.")));
        assert_eq!(QuoteIndex::new("").locate(Some("x")), Located::Unlocated);
    }

    #[test]
    fn separator_controls_count_as_white_space() {
        let index = QuoteIndex::new("a\u{1c}b\u{85}c");
        assert_eq!(index.locate(Some("a b c")).range(), Some(0..6));
    }

    #[test]
    fn every_window_of_the_report_is_found_where_it_says() {
        let index = QuoteIndex::new(REPORT);
        let bounds: Vec<_> = REPORT.char_indices().map(|(at, _)| at).chain([REPORT.len()]).collect();
        for (i, &start) in bounds.iter().enumerate() {
            for &end in &bounds[i + 1..] {
                let window = &REPORT[start..end];
                let folded = normalised(window);
                if folded.is_empty() {
                    continue;
                }
                let exact = index.locate(Some(window)).range().unwrap();
                assert_eq!(&REPORT[exact], window);
                let loose = index.locate(Some(&folded)).range().unwrap();
                assert_eq!(normalised(&REPORT[loose]), folded);
            }
        }
    }

    #[test]
    fn rates_leave_out_what_is_no_quote() {
        assert_eq!(QuoteTally::default().normalised_rate(), None);
        let all = [found("walk").0, found("\"Oui\"").0, found("absent").0, Located::NoQuote];
        let tally: QuoteTally = all.iter().collect();
        assert_eq!((tally.n_quoted, tally.n_byte_exact, tally.n_normalised), (3, 1, 2));
        assert_eq!(tally.byte_exact_rate(), Some(1.0 / 3.0));
    }
}
