//! The reader of case reports.
//!
//! A report is kept byte for byte after decoding, because evidence passages are compared byte for byte: line
//! ends stay as they are, and only a byte order mark is removed. This file must not know timelines.

use std::path::Path;

use crate::data::counts::ReadCounts;
use crate::data::problem::Problem;

use super::decode;

/// One report file after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadReport {
    /// The text, unchanged after decoding.
    pub text: String,
    /// What was noticed about the bytes; lines are not booked.
    pub counts: ReadCounts,
    /// An error for an empty report or one that is no text, a warning for a decoding fallback.
    pub problems: Vec<Problem>,
}

/// Reads one case report.
pub fn read_report(bytes: &[u8], path: &Path) -> ReadReport {
    let decoded = decode::decode(bytes, path);
    let (counts, mut problems) = (decoded.counts, decoded.problems);
    let text = decoded.text.into_owned();
    if counts.empty_files > 0 {
        problems.push(Problem::error(
            path,
            None,
            "expected the text of a case report, got an empty file",
            "write the report into the file, or remove the file to leave the case out",
        ));
    }
    ReadReport { text, counts, problems }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_byte_exact() {
        let read = read_report(b"\xef\xbb\xbf a\r\n\r\nb \n", Path::new("r.txt"));
        assert_eq!(read.text, " a\r\n\r\nb \n");
        assert_eq!((read.counts.bom, read.counts.crlf, read.problems.len()), (1, 1, 0));
    }

    #[test]
    fn empty_report_is_an_error() {
        let read = read_report(b" \r\n", Path::new("r.txt"));
        assert!(read.problems.len() == 1 && read.problems[0].is_error());
        let read = read_report(b"", Path::new("r.txt"));
        assert_eq!(read.problems.len(), 1);
    }
}
