//! Bytes to text: UTF-8, with a counted fallback to Windows-1252.
//!
//! This file must not know what the text means.

use std::borrow::Cow;
use std::path::Path;

use crate::data::counts::ReadCounts;
use crate::data::problem::Problem;

/// A decoded file.
pub(super) struct Decoded<'a> {
    /// The text without a byte order mark, otherwise unchanged.
    pub(super) text: Cow<'a, str>,
    /// One file, and what was noticed about its bytes.
    pub(super) counts: ReadCounts,
    /// An error for bytes that are no text, a warning for the fallback.
    pub(super) problems: Vec<Problem>,
}

/// Decodes one file. Bytes that are no text give an empty text and an error.
pub(super) fn decode<'a>(bytes: &'a [u8], path: &Path) -> Decoded<'a> {
    let mut counts = ReadCounts { files: 1, ..ReadCounts::default() };
    let mut problems = Vec::new();
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            counts.bom = 1;
            rest
        }
        None => bytes,
    };
    let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if utf16 || bytes.contains(&0) {
        problems.push(Problem::error(
            path,
            None,
            "expected text in UTF-8, got UTF-16 or binary data",
            "save the file as UTF-8 text",
        ));
        return Decoded { text: Cow::Borrowed(""), counts, problems };
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            counts.windows_1252 = 1;
            let line = 1 + count_line_feeds(&bytes[..error.valid_up_to()]);
            problems.push(Problem::warning(
                path,
                Some(line),
                "expected UTF-8, got other bytes; the file was read as Windows-1252",
                "save the file as UTF-8",
            ));
            encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0
        }
    };
    counts.crlf = usize::from(text.contains("\r\n"));
    counts.empty_files = usize::from(text.trim().is_empty());
    Decoded { text, counts, problems }
}

/// Returns the number of line feeds in the bytes.
pub(super) fn count_line_feeds(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, ReadCounts, usize) {
        let d = decode(bytes, Path::new("f"));
        (d.text.into_owned(), d.counts, d.problems.len())
    }

    #[test]
    fn marks_fallback_and_binary() {
        let (text, counts, n) = decoded("\u{feff}a\r\nb".as_bytes());
        assert_eq!((text.as_str(), counts.bom, counts.crlf, n), ("a\r\nb", 1, 1, 0));
        let (text, counts, n) = decoded(b"a\n38\xb0C \x93x\x94");
        assert_eq!((text.as_str(), counts.windows_1252, n), ("a\n38°C “x”", 1, 1));
        let (text, _, n) = decoded(b"\xff\xfea\0");
        assert_eq!((text.as_str(), n), ("", 1));
        let (_, counts, n) = decoded(b" \n");
        assert_eq!((counts.empty_files, n), (1, 0));
    }
}
