//! Text in a drawing: escaping, and an estimate of its width.
//!
//! SVG has no line breaking and the fonts of the reader are unknown, so widths are estimated on the wide side.

/// Escapes text for XML content and quoted attributes; characters that XML forbids become the replacement character.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// Estimated width of `text` at a font size, in the unit of the size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| advance(c) * size).sum()
}

/// The text itself, or its beginning with an ellipsis, so that it is estimated to fit into `room`.
pub(super) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room - width("…", size);
    let kept: String = text
        .chars()
        .take_while(|&c| {
            left -= advance(c) * size;
            left >= 0.0
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// The text over at most `n_lines` lines, each estimated to fit into `room`; none if it does not fit.
///
/// Lines break after spaces, hyphens, slashes and underscores.
pub(super) fn wrap(text: &str, size: f64, room: f64, n_lines: usize) -> Option<Vec<String>> {
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', '-', '/', '_']) {
        if width(piece.trim_end(), size) > room {
            return None;
        }
        let line = lines.last_mut().expect("starts with one line and only grows");
        if width(&format!("{line}{}", piece.trim_end()), size) <= room {
            line.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    }
    (lines.len() <= n_lines).then(|| lines.into_iter().map(|line| line.trim_end().to_owned()).collect())
}

/// The text over at most `n_lines` lines, broken inside words and shortened at the end where it does not fit otherwise.
pub(super) fn fit(text: &str, size: f64, room: f64, n_lines: usize) -> Vec<String> {
    wrap(text, size, room, n_lines).unwrap_or_else(|| wrap_cut(text, size, room, n_lines))
}

fn wrap_cut(text: &str, size: f64, room: f64, n_lines: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while lines.len() + 1 < n_lines && width(rest, size) > room {
        let mut left = room;
        let fits = rest.char_indices().find(|(_, c)| {
            left -= advance(*c) * size;
            left < 0.0
        });
        let cut = fits.map_or(rest.len(), |(at, _)| at).max(rest.chars().next().map_or(0, char::len_utf8));
        // A break after a word is better than one inside it, unless it leaves most of the line empty.
        let word = rest[..cut].rfind([' ', '-', '/', '_']).map_or(cut, |at| at + 1);
        let cut = if word * 2 > cut { word } else { cut };
        lines.push(rest[..cut].trim_end().to_owned());
        rest = &rest[cut..];
    }
    lines.push(shorten(rest, size, room));
    lines
}

/// Estimated advance of a character in ems, for the sans serif faces that systems use.
fn advance(c: char) -> f64 {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0.0,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.32,
        'f' | 'r' | 't' | '-' | '(' | ')' | '[' | ']' | '/' | '"' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.72,
        c if (c as u32) < 0x1100 => 0.6,
        _ => 1.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_data_can_end_an_element() {
        let hostile = "</text><script>\"'&\u{0}\u{ffff}\n";
        assert_eq!(escape(hostile), "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd} ");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(shorten("short", 15.0, 200.0), "short");
        let cut = shorten(&"日本語".repeat(40), 15.0, 200.0);
        assert!(cut.ends_with('…') && width(&cut, 15.0) <= 200.0, "{cut}");
        assert_eq!(shorten("anything", 15.0, 0.0), "…");
    }

    #[test]
    fn lines_break_between_words_and_fit() {
        assert_eq!(wrap("Injection site pain", 13.0, 80.0, 3).unwrap(), ["Injection", "site pain"]);
        assert_eq!(wrap("llama-3.3-70b", 13.0, 70.0, 2).unwrap(), ["llama-3.3-", "70b"]);
        assert_eq!(wrap("Disseminated", 13.0, 40.0, 3), None);
        assert_eq!(wrap("", 13.0, 40.0, 2).unwrap(), [""]);
        for text in ["Disseminated intravascular coagulation, acute", "日本語の長い名前がここにある", "x", ""] {
            let lines = wrap_cut(text, 13.0, 90.0, 2);
            assert!(lines.len() <= 2 && lines.iter().all(|line| width(line, 13.0) <= 90.0), "{lines:?}");
        }
    }
}
