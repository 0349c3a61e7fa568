//! What closes a piece of JSON that must end here.
//!
//! Text in, closing marks out: the quote of an open string, then the brackets and braces of what is open, innermost first. It adds no
//! name and no value: where one is still due, what it returns is not JSON either, and the constraint says so.

/// Tokens before a reply's limit from which on it is looked after that the reply can still be closed.
pub const CLOSING_RESERVE: u32 = 24;

/// The marks that close `text`, empty where nothing is open; `None` in the middle of an escape or a letter.
#[must_use]
pub fn closing_of(text: &[u8]) -> Option<String> {
    std::str::from_utf8(text).ok()?;
    let mut open = Vec::new();
    let mut in_string = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match (in_string, byte) {
            (true, b'\\') => {
                let n_more = if *bytes.next()? == b'u' { 4 } else { 0 };
                for _ in 0..n_more {
                    bytes.next()?;
                }
            }
            (_, b'"') => in_string = !in_string,
            (false, b'{') => open.push('}'),
            (false, b'[') => open.push(']'),
            (false, b'}' | b']') => {
                open.pop();
            }
            _ => {}
        }
    }
    let quote = if in_string { "\"" } else { "" };
    Some(quote.chars().chain(open.into_iter().rev()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed_from_the_inside() {
        for (text, closing) in [
            ("", ""),
            ("{\"a\":[1,2],\"b\":\"x\"}", ""),
            ("{\"a\":[1", "]}"),
            ("{\"a\":[{\"b\":\"fe", "\"}]}"),
            ("[\"}]{\\\"", "\"]"),
            ("[\"\\\\", "\"]"),
            ("[\"\\u00e9", "\"]"),
            ("[\"ö", "\"]"),
        ] {
            assert_eq!(closing_of(text.as_bytes()).as_deref(), Some(closing), "{text}");
            if !text.is_empty() {
                let whole = format!("{text}{closing}");
                serde_json::from_str::<serde_json::Value>(&whole).expect(&whole);
            }
        }
    }

    #[test]
    fn nothing_closes_half_an_escape_or_half_a_letter() {
        for text in [&b"[\"\\"[..], b"[\"\\u00e", b"[\"\xc3"] {
            assert_eq!(closing_of(text), None);
        }
    }
}
