//! When two event times count as the same time. Knows hours only.

use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// Whose distance from time zero the proportional part of the tolerance takes.
///
/// # Source
/// gavel.txt allows a tenth of "the event's distance" without saying whose event; the default
/// takes the farther of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DistanceReading {
    /// D = max(|a|, |b|).
    MaxAbs,
    /// D = min(|a|, |b|).
    MinAbs,
    /// No proportional part: the floor alone.
    Fixed,
}

/// Two times are the same when they differ by strictly less than max(floor, D / 10).
///
/// # Units
/// The floor is in hours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToleranceRule {
    floor_hours: f64,
    distance: DistanceReading,
}

impl ToleranceRule {
    /// 24 hours or a tenth of the distance (gavel.txt).
    pub const GAVEL: Self = Self { floor_hours: 24.0, distance: DistanceReading::MaxAbs };
    /// 3 hours or a tenth of the distance (uid.txt, section 3.3).
    pub const UID: Self = Self { floor_hours: 3.0, distance: DistanceReading::MaxAbs };
    /// 3 hours everywhere (uid.txt, tables D.2 and D.3).
    pub const UID_FIXED: Self = Self { floor_hours: 3.0, distance: DistanceReading::Fixed };

    /// A rule with another floor.
    ///
    /// # Errors
    /// A floor that is negative or not finite.
    pub fn new(floor_hours: f64, distance: DistanceReading) -> Result<Self, MeasureError> {
        if !(floor_hours.is_finite() && floor_hours >= 0.0) {
            return Err(MeasureError::NumberOutOfRange {
                what: "the time floor in hours",
                expected: "finite and not negative",
                got: floor_hours,
            });
        }
        Ok(Self { floor_hours, distance })
    }

    /// The floor in hours.
    pub const fn floor_hours(&self) -> f64 {
        self.floor_hours
    }

    /// Largest difference, exclusive, at which `a` and `b` are still the same time.
    ///
    /// # Units
    /// Hours.
    pub fn tolerance_hours(&self, a: f64, b: f64) -> f64 {
        match self.distance {
            DistanceReading::MaxAbs => self.floor_hours.max(a.abs().max(b.abs()) / 10.0),
            DistanceReading::MinAbs => self.floor_hours.max(a.abs().min(b.abs()) / 10.0),
            DistanceReading::Fixed => self.floor_hours,
        }
    }
}

/// Whether two times are different times under `rule`; None stands for N/A.
///
/// N/A against a number differs, N/A against N/A does not. A number that is not finite is never
/// the same time as anything.
///
/// # Units
/// Hours from time zero.
pub fn times_differ(a: Option<f64>, b: Option<f64>, rule: &ToleranceRule) -> bool {
    match (a, b) {
        (None, None) => false,
        (Some(a), Some(b)) => {
            let same = (a - b).abs() < rule.tolerance_hours(a, b);
            !same
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_strict_and_the_fixed_rule_ignores_distance() {
        assert!(!times_differ(Some(0.0), Some(23.9), &ToleranceRule::GAVEL));
        assert!(times_differ(Some(0.0), Some(24.0), &ToleranceRule::GAVEL));
        assert!(!times_differ(Some(1000.0), Some(1004.0), &ToleranceRule::UID));
        assert!(times_differ(Some(1000.0), Some(1004.0), &ToleranceRule::UID_FIXED));
        assert!(!times_differ(Some(1000.0), Some(1002.9), &ToleranceRule::UID_FIXED));
    }

    #[test]
    fn not_available_matches_only_itself() {
        let rule = ToleranceRule::GAVEL;
        assert!(times_differ(None, Some(0.0), &rule));
        assert!(times_differ(Some(0.0), None, &rule));
        assert!(!times_differ(None, None, &rule));
    }

    #[test]
    fn not_a_number_never_equals_and_a_bad_floor_is_refused() {
        let rule = ToleranceRule::GAVEL;
        assert!(times_differ(Some(f64::NAN), Some(f64::NAN), &rule));
        assert!(times_differ(Some(f64::INFINITY), Some(f64::INFINITY), &rule));
        assert!(ToleranceRule::new(f64::NAN, DistanceReading::Fixed).is_err());
        assert!(ToleranceRule::new(-1.0, DistanceReading::Fixed).is_err());
    }
}
