//! The kinds of error that a judge makes in a finding.

use std::fmt;

/// Why a finding was not confirmed.
///
/// # Source
/// gavel.txt, Table 2; its row "Other" is the last five. The explanations are this program's own: the paper gives names alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorType {
    /// UNCLEAR where the report settles the time.
    TimingRuledUnclear,
    /// An unsupported event that the judge let pass or ruled unclear.
    UndercalledOverExtraction,
    /// One side preferred where the report allows both readings of the time's anchor.
    AnchorForced,
    /// A one-sided event not seen as one.
    MissedOneSided,
    /// A duplicate charged where the occurrences differ.
    OvercalledDuplicate,
    /// A time misread from report or timelines.
    PerceptionTiming,
    /// A value misread or misjudged.
    ValueMiscalled,
    /// Parts of the finding do not fit together.
    MalformedFinding,
    /// Called one-sided although both timelines have the event.
    FalseOneSided,
    /// The side with the wrong time was preferred.
    WrongPlacementCredited,
    /// Two different events compared as one.
    MatchingError,
    /// Decided although the report leaves the time open.
    IndeterminateTiming,
}

impl ErrorType {
    /// Every type, in the order of the published table, the five of its last row at the end.
    pub const ALL: [Self; 12] = [
        Self::TimingRuledUnclear,
        Self::UndercalledOverExtraction,
        Self::AnchorForced,
        Self::MissedOneSided,
        Self::OvercalledDuplicate,
        Self::PerceptionTiming,
        Self::ValueMiscalled,
        Self::MalformedFinding,
        Self::FalseOneSided,
        Self::WrongPlacementCredited,
        Self::MatchingError,
        Self::IndeterminateTiming,
    ];

    /// The name on sheets and in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TimingRuledUnclear => "timing_ruled_unclear",
            Self::UndercalledOverExtraction => "undercalled_over_extraction",
            Self::AnchorForced => "anchor_forced_on_two_sided_case",
            Self::MissedOneSided => "missed_one_sided_finding",
            Self::OvercalledDuplicate => "overcalled_duplicate",
            Self::PerceptionTiming => "perception_timing",
            Self::ValueMiscalled => "value_miscalled",
            Self::MalformedFinding => "malformed_finding",
            Self::FalseOneSided => "false_one_sided_finding",
            Self::WrongPlacementCredited => "wrong_placement_credited",
            Self::MatchingError => "matching_error",
            Self::IndeterminateTiming => "indeterminate_timing",
        }
    }

    /// What a reviewer is told about it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::TimingRuledUnclear => "ruled unclear although the report settles the time",
            Self::UndercalledOverExtraction => "an event without support in the report was not called unsupported",
            Self::AnchorForced => "one side preferred although the report allows both readings of where the time is anchored",
            Self::MissedOneSided => "an event of one timeline only was not seen as such",
            Self::OvercalledDuplicate => "a duplicate was called although the occurrences are different ones",
            Self::PerceptionTiming => "a time was misread, in the report or in a timeline",
            Self::ValueMiscalled => "a value was misread or misjudged",
            Self::MalformedFinding => "the parts of the finding do not fit together",
            Self::FalseOneSided => "called an event of one timeline only although both have it",
            Self::WrongPlacementCredited => "the side with the wrong time was preferred",
            Self::MatchingError => "two different events were compared as one",
            Self::IndeterminateTiming => "decided although the report leaves the time open",
        }
    }

    /// Whether the published table counts it in its last row.
    pub const fn is_other(self) -> bool {
        matches!(
            self,
            Self::MalformedFinding
                | Self::FalseOneSided
                | Self::WrongPlacementCredited
                | Self::MatchingError
                | Self::IndeterminateTiming
        )
    }

    /// The type of a field: its name, in any case, with blanks or hyphens for underscores.
    pub fn read(text: &str) -> Option<Self> {
        let name: String = text.trim().to_lowercase().replace([' ', '-'], "_");
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The names, for messages.
    pub fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_paper_are_read() {
        for (text, kind) in [
            ("Timing ruled unclear", ErrorType::TimingRuledUnclear),
            ("Anchor forced on two-sided case", ErrorType::AnchorForced),
            ("Missed one-sided finding", ErrorType::MissedOneSided),
            (" false one-sided finding ", ErrorType::FalseOneSided),
            ("indeterminate_timing", ErrorType::IndeterminateTiming),
        ] {
            assert_eq!(ErrorType::read(text), Some(kind));
        }
        assert_eq!(ErrorType::read("other"), None);
        assert_eq!(ErrorType::ALL.into_iter().filter(|kind| kind.is_other()).count(), 5);
        assert!(ErrorType::ALL.into_iter().all(|kind| ErrorType::read(kind.as_str()) == Some(kind)));
    }
}
