//! Where the words of events stand in a report: what to mark for a reviewer, and which part to show. It judges no event.

use std::collections::HashMap;
use std::ops::Range;

/// Words that say nothing about an event.
const FILLERS: [&str; 44] = [
    "a", "about", "after", "an", "and", "any", "are", "as", "at", "be", "been", "before", "by", "for", "from", "had", "has",
    "have", "he", "her", "his", "in", "into", "is", "it", "its", "no", "not", "of", "on", "or", "she", "that", "the", "then",
    "there", "this", "to", "was", "were", "which", "who", "with", "without",
];

/// A word of the report that one event or both contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the report.
    pub range: Range<usize>,
    /// The first event has the word.
    pub in_first: bool,
    /// The second event has the word.
    pub in_second: bool,
    /// Which of the events' words it is.
    word: usize,
}

/// The places of the two events' words in the report, in order. Case and a plural s do not matter; fillers are left out.
pub fn marks(report: &str, first: &str, second: &str) -> Vec<Mark> {
    let mut known: HashMap<String, (usize, bool, bool)> = HashMap::new();
    for (event, is_first) in [(first, true), (second, false)] {
        for range in words(event) {
            let key = key(&event[range]);
            if FILLERS.contains(&key.as_str()) {
                continue;
            }
            let n = known.len();
            let entry = known.entry(key).or_insert((n, false, false));
            entry.1 |= is_first;
            entry.2 |= !is_first;
        }
    }
    words(report)
        .filter_map(|range| {
            let &(word, in_first, in_second) = known.get(&key(&report[range.clone()]))?;
            Some(Mark { range, in_first, in_second, word })
        })
        .collect()
}

/// The first stretch of at most `width` bytes that holds the most different words; `None` without marks.
pub fn densest(marks: &[Mark], width: usize) -> Option<Range<usize>> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let (mut from, mut best) = (0, None::<(usize, Range<usize>)>);
    for mark in marks {
        *counts.entry(mark.word).or_default() += 1;
        while mark.range.end - marks[from].range.start > width.max(mark.range.len()) {
            if let Some(n) = counts.get_mut(&marks[from].word) {
                *n -= 1;
                if *n == 0 {
                    counts.remove(&marks[from].word);
                }
            }
            from += 1;
        }
        if best.as_ref().is_none_or(|(n, _)| counts.len() > *n) {
            best = Some((counts.len(), marks[from].range.start..mark.range.end));
        }
    }
    best.map(|(_, range)| range)
}

/// The report from `margin` bytes before a stretch to `margin` after it, cut between words, with dots where something is left out.
pub fn excerpt(report: &str, stretch: Range<usize>, margin: usize) -> String {
    let mut start = stretch.start.saturating_sub(margin);
    let mut end = stretch.end.saturating_add(margin).min(report.len());
    while !report.is_char_boundary(start) {
        start -= 1;
    }
    while !report.is_char_boundary(end) {
        end += 1;
    }
    if start > 0 {
        let blank = report[start..stretch.start].find(char::is_whitespace);
        start = blank.map_or(stretch.start, |at| start + at);
    }
    if end < report.len() {
        let blank = report[stretch.end..end].rfind(char::is_whitespace);
        end = blank.map_or(stretch.end, |at| stretch.end + at);
    }
    let before = if start > 0 { "… " } else { "" };
    let after = if end < report.len() { " …" } else { "" };
    format!("{before}{}{after}", report[start..end].trim())
}

/// The words of a text: runs of letters and digits, a decimal point between digits included.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = chars.find(|(_, c)| c.is_alphanumeric())?;
        let (mut end, mut last) = (start + first.len_utf8(), first);
        while let Some(&(at, c)) = chars.peek() {
            let point = c == '.' && last.is_ascii_digit() && text[at + 1..].starts_with(|next: char| next.is_ascii_digit());
            if !c.is_alphanumeric() && !point {
                break;
            }
            (end, last) = (at + c.len_utf8(), c);
            chars.next();
        }
        Some(start..end)
    })
}

/// A word as words are compared.
fn key(word: &str) -> String {
    let mut key = word.to_lowercase();
    if key.len() > 3 && key.ends_with('s') && !key.ends_with("ss") {
        key.pop();
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Fever was absent. On day 3 fevers of 38.3 °C and two seizures occurred; the rash had gone.";

    fn marked(first: &str, second: &str) -> Vec<(&'static str, bool, bool)> {
        marks(REPORT, first, second).into_iter().map(|m| (&REPORT[m.range], m.in_first, m.in_second)).collect()
    }

    #[test]
    fn words_of_either_event_are_marked() {
        assert_eq!(
            marked("fever of 38.3 °C", "the seizure with FEVER"),
            [("Fever", true, true), ("fevers", true, true), ("38.3", true, false), ("C", true, false), ("seizures", false, true),]
        );
        assert!(marked("haemorrhage", "of the").is_empty());
        assert!(marks("", "a", "b").is_empty());
    }

    #[test]
    fn the_densest_part_is_shown() {
        let marks = marks(REPORT, "fever of 38.3 °C", "seizures");
        let best = densest(&marks, 40).unwrap();
        assert_eq!(&REPORT[best.clone()], "fevers of 38.3 °C and two seizures");
        assert_eq!(excerpt(REPORT, best.clone(), 9), "… day 3 fevers of 38.3 °C and two seizures …");
        assert_eq!(excerpt(REPORT, best, 999), REPORT);
        assert_eq!(densest(&[], 40), None);
        assert_eq!(&REPORT[densest(&marks, 0).unwrap()], "Fever");
    }

    #[test]
    fn excerpts_never_cut_a_character() {
        let report = "日本の症例 🩺 発熱 — été";
        for (start, end) in report.char_indices().map(|(at, c)| (at, at + c.len_utf8())) {
            for margin in 0..12 {
                assert!(excerpt(report, start..end, margin).contains(report[start..end].trim()));
            }
        }
    }
}
