//! Which side of a DUPLICATE holds the additional row, from the timelines rather than the judge.

use std::collections::{HashMap, HashSet};

use super::finding::Side;

/// Rows of one timeline counted by event text, ready for many look-ups.
///
/// Texts are equal after trimming, collapsing runs of white space and lower-casing.
#[derive(Debug, Clone, Default)]
pub struct EventCounts {
    rows: HashMap<String, usize>,
}

impl EventCounts {
    /// Counts the events of a timeline.
    pub fn new<'a>(events: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rows = HashMap::new();
        for event in events {
            *rows.entry(folded(event)).or_insert(0) += 1;
        }
        Self { rows }
    }

    /// How many rows hold this event.
    pub fn count(&self, event: &str) -> usize {
        self.count_folded(&folded(event))
    }

    fn count_folded(&self, folded: &str) -> usize {
        self.rows.get(folded).copied().unwrap_or(0)
    }
}

/// The side with the additional row of a DUPLICATE finding; None when it cannot be told.
///
/// One null row (None, or blank text) names the other side. With both rows given, the timeline that
/// holds more rows equal to the finding's event has the extra one; where the two rows are worded
/// differently, rows of either wording count, so that exchanging A and B exchanges the answer.
/// With equal counts, or no row at all, the answer is None and the losing side pays for a false
/// duplicate.
///
/// # Source
/// gavel.txt, Stage 1: reviewers count occurrences in the timeline with the additional row.
pub fn extra_side(
    a_event: Option<&str>,
    b_event: Option<&str>,
    timeline_a: &EventCounts,
    timeline_b: &EventCounts,
) -> Option<Side> {
    let a_event = a_event.map(folded).filter(|event| !event.is_empty());
    let b_event = b_event.map(folded).filter(|event| !event.is_empty());
    match (a_event, b_event) {
        (Some(_), None) => Some(Side::A),
        (None, Some(_)) => Some(Side::B),
        (None, None) => None,
        (Some(a), Some(b)) => {
            let wordings = HashSet::from([a, b]);
            let rows = |timeline: &EventCounts| -> usize { wordings.iter().map(|w| timeline.count_folded(w)).sum() };
            match rows(timeline_a).cmp(&rows(timeline_b)) {
                std::cmp::Ordering::Greater => Some(Side::A),
                std::cmp::Ordering::Less => Some(Side::B),
                std::cmp::Ordering::Equal => None,
            }
        }
    }
}

fn folded(event: &str) -> String {
    let mut text = String::with_capacity(event.len());
    for word in event.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_row_names_the_other_side() {
        let none = EventCounts::default();
        assert_eq!(extra_side(Some("x"), None, &none, &none), Some(Side::A));
        assert_eq!(extra_side(None, Some("x"), &none, &none), Some(Side::B));
        assert_eq!(extra_side(Some(" "), Some("x"), &none, &none), Some(Side::B));
        assert_eq!(extra_side(None, None, &none, &none), None);
    }

    #[test]
    fn counts_decide_after_folding() {
        let a = EventCounts::new(["Fever", " fever ", "chest\u{a0} pain"]);
        let b = EventCounts::new(["FEVER", "Chest pain", "chest  pain"]);
        assert_eq!(a.count("fEVER"), 2);
        assert_eq!(extra_side(Some("fever"), Some("fever"), &a, &b), Some(Side::A));
        assert_eq!(extra_side(Some("chest pain"), Some("chest pain"), &a, &b), Some(Side::B));
        assert_eq!(extra_side(Some("cough"), Some("cough"), &a, &b), None);
    }

    #[test]
    fn two_wordings_count_together_and_the_answer_is_symmetric() {
        let a = EventCounts::new(["fever", "fever"]);
        let b = EventCounts::new(["febrile"]);
        assert_eq!(extra_side(Some("fever"), Some("febrile"), &a, &b), Some(Side::A));
        assert_eq!(extra_side(Some("febrile"), Some("fever"), &b, &a), Some(Side::B));
        assert_eq!(EventCounts::new(["É"]).count("é"), 1);
    }
}
