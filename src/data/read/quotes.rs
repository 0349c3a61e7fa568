//! Quotes of one CSV record, checked byte by byte.
//!
//! The csv crate takes any quote as well as it can. Here a record must follow RFC 4180, so that no quote swallows rows or ends a field
//! early in silence. This file must not know columns.

/// What is wrong with the quotes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteFault {
    /// A quote is open at the end of the record.
    Unclosed,
    /// Text follows a closing quote.
    TextBehind,
}

/// A fault and the byte at which the quote was opened.
pub(super) fn check(record: &[u8], delimiter: u8) -> Result<(), (QuoteFault, usize)> {
    let mut at = 0;
    while at < record.len() {
        // White space may stand before a field; the csv crate then takes its quotes for text, as here.
        if record[at] != b'"' {
            at = record[at..].iter().position(|&b| b == delimiter || b == b'\n').map_or(record.len(), |n| at + n + 1);
            continue;
        }
        let opened = at;
        at += 1;
        loop {
            match record[at..].iter().position(|&b| b == b'"') {
                None => return Err((QuoteFault::Unclosed, opened)),
                Some(n) if record.get(at + n + 1) == Some(&b'"') => at += n + 2,
                Some(n) => {
                    at += n + 1;
                    break;
                }
            }
        }
        let rest = &record[at..];
        let n = rest.iter().position(|&b| b == delimiter || b == b'\n').unwrap_or(rest.len());
        if !rest[..n].trim_ascii().is_empty() {
            return Err((QuoteFault::TextBehind, opened));
        }
        at += n + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_closed_where_a_field_ends() {
        for good in [&b"a,1"[..], b"\"a\",1", b"\"a \"\"b\"\" c\" ,1\r", b"\"a\nb\",\"1\"", b"5\" wound,1", b"\"\",1", b""] {
            assert_eq!(check(good, b','), Ok(()), "{}", String::from_utf8_lossy(good));
        }
        for (bad, fault, opened) in [
            (&b"\"a\" b,1"[..], QuoteFault::TextBehind, 0),
            (b"a,\"1\"x", QuoteFault::TextBehind, 2),
            (b"\"a \\\"b\\\" c\",1", QuoteFault::TextBehind, 0),
            (b"a,1,\"b\nc,2", QuoteFault::Unclosed, 4),
            (b"\"a,1", QuoteFault::Unclosed, 0),
        ] {
            assert_eq!(check(bad, b','), Err((fault, opened)), "{}", String::from_utf8_lossy(bad));
        }
    }
}
