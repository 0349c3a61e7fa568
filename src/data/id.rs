//! Checked names: cases, sources and occurrences.
//!
//! A case id and a source name become file names and table cells, so they are checked once, here. This file
//! must not know where a name came from.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use unicode_normalization::UnicodeNormalization;

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing is left of the name.
    #[error("expected a {kind}, got an empty text, hint: give it at least one character")]
    Empty {
        /// What was being named, such as "case id".
        kind: &'static str,
    },
    /// The name starts or ends with white space.
    #[error("expected a {kind} without outer white space, got {value:?}, hint: trim it")]
    OuterSpace {
        /// What was being named.
        kind: &'static str,
        /// The text as given.
        value: String,
    },
    /// A character that cannot be part of a file name.
    #[error(
        "expected a {kind} without path separators and control characters, got {found:?} in {value:?}, hint: use letters, digits, '-', '_' or '.'"
    )]
    Character {
        /// What was being named.
        kind: &'static str,
        /// The text as given.
        value: String,
        /// The first offending character.
        found: char,
    },
    /// `.` or `..`, which are folders.
    #[error("expected a {kind}, got {value:?}, hint: this names a folder, choose another name")]
    Folder {
        /// What was being named.
        kind: &'static str,
        /// The text as given.
        value: String,
    },
    /// Not four ASCII letters or digits.
    #[error("expected a uid4 of four ASCII letters or digits, got {value:?}, hint: keep the identifier of the tagged note")]
    Uid4 {
        /// The text as given.
        value: String,
    },
}

/// Checks one name and hands it back.
fn check_name(kind: &'static str, value: String) -> Result<String, IdError> {
    if value.trim().is_empty() {
        return Err(IdError::Empty { kind });
    }
    if value.trim() != value {
        return Err(IdError::OuterSpace { kind, value });
    }
    if value == "." || value == ".." {
        return Err(IdError::Folder { kind, value });
    }
    match value.chars().find(|c| matches!(c, '/' | '\\') || c.is_control()) {
        Some(found) => Err(IdError::Character { kind, value, found }),
        // One name has one form, whichever of the two a file system or an editor wrote.
        None => Ok(value.nfc().collect()),
    }
}

/// Checks the form of an occurrence identifier and hands it back.
fn check_uid4(_kind: &'static str, value: String) -> Result<String, IdError> {
    if value.len() == 4 && value.bytes().all(|b| b.is_ascii_alphanumeric()) { Ok(value) } else { Err(IdError::Uid4 { value }) }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the checked name.
            ///
            /// # Errors
            /// [`IdError`] says what is wrong with the text.
            pub fn new(value: impl Into<String>) -> Result<Self, IdError> {
                $check($kind, value.into()).map(Self)
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(value: &str) -> Result<Self, IdError> {
                Self::new(value)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = String::deserialize(deserializer)?;
                Self::new(value).map_err(serde::de::Error::custom)
            }
        }
    };
}

name_type!(
    /// The name of one case: its report's file name without the suffix.
    CaseId,
    "case id",
    check_name
);
name_type!(
    /// The name of one source, that is of whoever made a set of timelines.
    SourceName,
    "source name",
    check_name
);
name_type!(
    /// The identifier of one source occurrence, four letters or digits, unique within a case.
    ///
    /// # Source
    /// UID paper, Table C.2.
    Uid4,
    "uid4",
    check_uid4
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert_eq!(CaseId::new("PMC1").unwrap().to_string(), "PMC1");
        assert_eq!(CaseId::new("été ≥ 2").unwrap().as_str(), "été ≥ 2");
        assert_eq!(CaseId::new("e\u{301}te\u{301} ≥ 2").unwrap(), CaseId::new("été ≥ 2").unwrap(), "NFD and NFC");
        assert!(matches!(CaseId::new(" "), Err(IdError::Empty { kind: "case id" })));
        assert!(matches!(SourceName::new("a "), Err(IdError::OuterSpace { .. })));
        assert!(matches!(SourceName::new("a/b"), Err(IdError::Character { found: '/', .. })));
        assert!(matches!(SourceName::new("a\\b"), Err(IdError::Character { found: '\\', .. })));
        assert!(matches!(SourceName::new("a\nb"), Err(IdError::Character { found: '\n', .. })));
        assert!(matches!(CaseId::new(".."), Err(IdError::Folder { .. })));
        assert!(matches!(Uid4::new("abc"), Err(IdError::Uid4 { .. })));
        assert!(Uid4::new("a1B2").is_ok());
    }

    #[test]
    fn serde_checks_too() {
        let id: CaseId = serde_json::from_str("\"x\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"x\"");
        assert!(serde_json::from_str::<CaseId>("\"x/y\"").is_err());
    }
}
