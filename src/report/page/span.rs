//! Offsets into a text as a browser counts them.
//!
//! Rust counts bytes of UTF-8, JavaScript counts units of UTF-16. [`Utf16Span`] can only be made by converting a byte
//! span, so that the two are never mixed up.

use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::report::error::ReportError;

/// A part of a text in UTF-16 units, half open; written to the page as `[start, end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utf16Span {
    start: usize,
    end: usize,
}

impl Utf16Span {
    /// Converts the bytes `start .. end` of `text`.
    ///
    /// # Units
    /// Bytes in, UTF-16 units out: a character above U+FFFF counts as two.
    ///
    /// # Errors
    /// Offsets out of order, past the end, or inside a character.
    pub fn from_bytes(text: &str, start: usize, end: usize) -> Result<Self, ReportError> {
        let outside = || ReportError::ByteSpan { start, end, len: text.len() };
        let before = text.get(..start).ok_or_else(outside)?;
        let inside = text.get(start..end).ok_or_else(outside)?;
        let start_units = utf16_len(before);
        Ok(Self { start: start_units, end: start_units + utf16_len(inside) })
    }

    /// First unit.
    pub fn start(self) -> usize {
        self.start
    }

    /// Unit after the last.
    pub fn end(self) -> usize {
        self.end
    }
}

impl Serialize for Utf16Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&self.start)?;
        pair.serialize_element(&self.end)?;
        pair.end()
    }
}

/// Length of a text in UTF-16 units.
pub(super) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_match_what_utf16_holds() {
        let text = "a🩺é日\u{202e}שלום\r\n👩‍⚕️ end";
        let units: Vec<u16> = text.encode_utf16().collect();
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for &start in &boundaries {
            for &end in boundaries.iter().filter(|&&end| end >= start) {
                let span = Utf16Span::from_bytes(text, start, end).unwrap();
                let cut = String::from_utf16(&units[span.start()..span.end()]).unwrap();
                assert_eq!(cut, text[start..end]);
            }
        }
        let stethoscope = Utf16Span::from_bytes(text, 1, 5).unwrap();
        assert_eq!((stethoscope.start(), stethoscope.end()), (1, 3));
        assert_eq!(serde_json::to_string(&stethoscope).unwrap(), "[1,3]");
    }

    #[test]
    fn spans_that_cut_characters_or_leave_the_text_are_refused() {
        for (start, end) in [(0, 99), (2, 5), (1, 3), (5, 1), (99, 99)] {
            let refused = Utf16Span::from_bytes("a🩺b", start, end);
            assert!(matches!(refused, Err(ReportError::ByteSpan { len: 6, .. })), "{start} {end}");
        }
        assert!(Utf16Span::from_bytes("", 0, 0).is_ok());
    }
}
