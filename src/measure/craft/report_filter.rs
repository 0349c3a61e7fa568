//! Which adverse-event reports say enough to order their symptoms.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::temporal_cue::first_cue;
use super::{folded, words};
use crate::measure::error::MeasureError;
use crate::measure::finding::vocabulary;

vocabulary! {
    /// Why a report was left out; the first rule that applies.
    Removal, "a reason of removal", "few_symptoms, short_text, no_temporal_cue", {
        /// Three or fewer distinct symptoms once excluded terms are gone.
        FewSymptoms = "few_symptoms",
        /// Ten or fewer words.
        ShortText = "short_text",
        /// 11 to 29 words without a temporal cue.
        NoTemporalCue = "no_temporal_cue",
    }
}

/// Terms that are no symptoms, such as procedures. Compared after folding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExcludedTerms {
    terms: HashSet<String>,
}

impl ExcludedTerms {
    /// Folds the terms.
    pub fn new<S: AsRef<str>>(terms: impl IntoIterator<Item = S>) -> Self {
        Self { terms: terms.into_iter().map(|term| folded(term.as_ref())).collect() }
    }

    /// Whether a term is excluded.
    pub fn contains(&self, term: &str) -> bool {
        self.terms.contains(&folded(term))
    }
}

/// Why a report is left out; None when it stays.
///
/// A blank symptom is none, and spellings that fold alike are one symptom. Words are runs between white
/// space.
///
/// # Source
/// craft.txt, section 3.2. It filters reports "between 11 and 30 words" by cues and keeps those of "30 or
/// more": 30 words stay.
pub fn removal<S: AsRef<str>>(symptoms: impl IntoIterator<Item = S>, text: &str, excluded: &ExcludedTerms) -> Option<Removal> {
    let mut distinct: HashSet<String> = symptoms.into_iter().map(|symptom| folded(symptom.as_ref())).collect();
    distinct.retain(|symptom| !symptom.is_empty() && !excluded.terms.contains(symptom));
    if distinct.len() <= 3 {
        return Some(Removal::FewSymptoms);
    }
    match words(text).count() {
        ..=10 => Some(Removal::ShortText),
        11..=29 if first_cue(text).is_none() => Some(Removal::NoTemporalCue),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_spellings_and_excluded_terms_do_not_count() {
        let excluded = ExcludedTerms::new(["Surgery "]);
        let text = "word ".repeat(40);
        assert_eq!(removal(["A", "B", "C", "surgery"], &text, &excluded), Some(Removal::FewSymptoms));
        assert_eq!(removal(["A", "B", "C", " c", ""], &text, &excluded), Some(Removal::FewSymptoms));
        assert_eq!(removal(["A", "B", "C", "D"], &text, &excluded), None);
        assert!(excluded.contains("SURGERY") && !excluded.contains("surgeries"));
    }

    #[test]
    fn words_are_counted_between_any_white_space() {
        let none = ExcludedTerms::default();
        let words = |n: usize| vec!["w-x"; n].join("\u{a0}\n");
        let reasons = [10, 11, 29, 30].map(|n| removal(["A", "B", "C", "D"], &words(n), &none));
        let cueless = Some(Removal::NoTemporalCue);
        assert_eq!(reasons, [Some(Removal::ShortText), cueless, cueless, None]);
        assert_eq!(removal(["A", "B", "C", "D"], &format!("{} then", words(10)), &none), None);
    }
}
