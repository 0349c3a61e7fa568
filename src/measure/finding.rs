//! The closed vocabularies of a judge's finding, and the part of a finding that scoring needs.
//!
//! It knows no event text, no evidence and no timeline; those belong to whoever parsed the reply.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// Declares a closed vocabulary once: its serde strings, Display and FromStr cannot drift apart.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident, $what:literal, $list:literal,
     { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The name used in replies, records and tables.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = MeasureError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(MeasureError::UnknownName {
                        what: $what,
                        expected: $list,
                        got: text.to_owned(),
                    }),
                }
            }
        }
    };
}
pub(crate) use vocabulary;

vocabulary! {
    /// The six kinds of discrepancy.
    ///
    /// # Source
    /// gavel.txt, "Classify and adjudicate".
    FindingType, "a finding type",
    "VALUE, TIMING, A_ONLY, B_ONLY, SHARED_UNSUPPORTED, DUPLICATE", {
        /// A matched event whose value or attribute differs.
        Value = "VALUE",
        /// A matched event whose time differs beyond the tolerance.
        Timing = "TIMING",
        /// An event only timeline A has.
        AOnly = "A_ONLY",
        /// An event only timeline B has.
        BOnly = "B_ONLY",
        /// An event both have and the report does not.
        SharedUnsupported = "SHARED_UNSUPPORTED",
        /// The two timelines hold different numbers of one event.
        Duplicate = "DUPLICATE",
    }
}

vocabulary! {
    /// What the judge decided about one finding.
    Verdict, "a verdict", "A, B, BOTH, NEITHER, UNCLEAR", {
        /// The report supports A.
        A = "A",
        /// The report supports B.
        B = "B",
        /// The two agree in substance.
        Both = "BOTH",
        /// The report supports neither.
        Neither = "NEITHER",
        /// The report does not settle it.
        Unclear = "UNCLEAR",
    }
}

impl Verdict {
    /// The side the report supports; None unless the verdict is decisive.
    pub const fn winner(self) -> Option<Side> {
        match self {
            Self::A => Some(Side::A),
            Self::B => Some(Side::B),
            Self::Both | Self::Neither | Self::Unclear => None,
        }
    }

    /// True for A and B, the verdicts that move points.
    pub const fn is_decisive(self) -> bool {
        self.winner().is_some()
    }
}

vocabulary! {
    /// Whether the event says that something occurred or that it did not.
    Polarity, "a polarity", "present, absent", {
        /// The finding occurred.
        Present = "present",
        /// A pertinent negative.
        Absent = "absent",
    }
}

vocabulary! {
    /// One of the two timelines of a game.
    Side, "a side", "A, B", {
        /// The first timeline.
        A = "A",
        /// The second timeline.
        B = "B",
    }
}

impl Side {
    /// The opposing side.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What scoring needs of one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Discrepancy {
    /// Kind of discrepancy.
    #[serde(rename = "type")]
    pub kind: FindingType,
    /// The judge's decision.
    pub verdict: Verdict,
    /// Presence or absence of the event.
    pub polarity: Polarity,
    /// For a DUPLICATE: the side with the additional row, as [`super::extra_side::extra_side`]
    /// derives it. None when the counts do not tell, and for every other kind.
    #[serde(default)]
    pub extra_side: Option<Side>,
}

impl Discrepancy {
    /// The same finding with A and B exchanged.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self {
            kind: match self.kind {
                FindingType::AOnly => FindingType::BOnly,
                FindingType::BOnly => FindingType::AOnly,
                kind => kind,
            },
            verdict: match self.verdict {
                Verdict::A => Verdict::B,
                Verdict::B => Verdict::A,
                verdict => verdict,
            },
            polarity: self.polarity,
            extra_side: match self.extra_side {
                Some(side) => Some(side.other()),
                None => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_through_text_and_json() {
        for kind in FindingType::ALL {
            assert_eq!(kind.to_string().parse::<FindingType>().unwrap(), kind);
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<FindingType>(&json).unwrap(), kind);
        }
        for verdict in Verdict::ALL {
            assert_eq!(verdict.as_str().parse::<Verdict>().unwrap(), verdict);
        }
        assert_eq!(Polarity::Absent.to_string(), "absent");
        assert_eq!(format!("[{:>3}]", Side::A), "[  A]");
    }

    #[test]
    fn unknown_names_are_refused_with_the_choices() {
        let error = "a".parse::<Side>().unwrap_err().to_string();
        assert!(error.contains("A, B") && error.contains("\"a\""), "{error}");
        assert!("Value".parse::<FindingType>().is_err());
        assert!("".parse::<Polarity>().is_err());
    }

    #[test]
    fn discrepancy_reads_a_reply_with_more_fields() {
        let found: Discrepancy =
            serde_json::from_str(r#"{"type":"A_ONLY","verdict":"B","polarity":"absent","a_event":"x","b_event":null}"#).unwrap();
        assert_eq!(found.kind, FindingType::AOnly);
        assert_eq!(found.extra_side, None);
        assert_eq!(found.swapped().swapped(), found);
        assert_eq!(found.swapped().kind, FindingType::BOnly);
    }
}
