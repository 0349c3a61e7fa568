//! A finite number of hours relative to admission.
//!
//! This file must not know how a time is written in an input file; see the time field parser for that.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize};

/// Why a number cannot be a time.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("expected a finite number of hours, got {value}, hint: write the time as hours relative to admission")]
pub struct HoursError {
    /// The number as given.
    pub value: f64,
}

/// Hours relative to admission; negative before it.
///
/// # Units
/// Hours. The value is always finite, and negative zero is stored as zero, so hours are totally ordered and
/// hashable.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Hours(f64);

impl Hours {
    /// Admission itself.
    pub const ZERO: Self = Self(0.0);

    /// Returns the time.
    ///
    /// # Errors
    /// [`HoursError`] when the number is not finite.
    pub fn new(value: f64) -> Result<Self, HoursError> {
        if value.is_finite() {
            // adding zero turns -0.0 into 0.0 and leaves every other number alone
            Ok(Self(value + 0.0))
        } else {
            Err(HoursError { value })
        }
    }

    /// Returns the number of hours.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Hours {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hours {}

impl PartialOrd for Hours {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Hours {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Hours {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Display for Hours {
    /// Writes the shortest decimal form that reads back as the same number, such as `-336` or `0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TryFrom<f64> for Hours {
    type Error = HoursError;
    fn try_from(value: f64) -> Result<Self, HoursError> {
        Self::new(value)
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers() {
        assert!(Hours::new(f64::NAN).is_err());
        assert!(Hours::new(f64::INFINITY).is_err());
        assert_eq!(Hours::new(-0.0).unwrap(), Hours::ZERO);
        assert_eq!(Hours::new(-0.0).unwrap().to_string(), "0");
        assert_eq!(Hours::new(-336.0).unwrap().to_string(), "-336");
        assert_eq!(Hours::new(0.5).unwrap().to_string(), "0.5");
        assert!(Hours::new(-1.0).unwrap() < Hours::ZERO);
    }
}
