//! A matched pair as the temporal measures see it. It knows no text.

use super::error::MeasureError;

/// Largest time that is taken, in hours: differences of two of them are still finite.
const LARGEST_HOURS: f64 = 1e300;

/// The distance and the two times of a matched pair.
///
/// # Units
/// Hours relative to admission; NaN inside stands for N/A, so that a pair takes 24 bytes.
#[derive(Debug, Clone, Copy)]
pub struct TimedPair {
    distance: f64,
    t_ref: f64,
    t_pred: f64,
}

impl TimedPair {
    /// A pair; None for a time that is N/A.
    ///
    /// # Errors
    /// A distance that is NaN, or a time beyond 1e300 hours.
    pub fn new(distance: f64, t_ref: Option<f64>, t_pred: Option<f64>) -> Result<Self, MeasureError> {
        if distance.is_nan() {
            return Err(MeasureError::NumberOutOfRange { what: "the distance of a pair", expected: "a number", got: distance });
        }
        for got in [t_ref, t_pred].into_iter().flatten() {
            if got.is_nan() || got.abs() > LARGEST_HOURS {
                return Err(MeasureError::NumberOutOfRange { what: "a time", expected: "within 1e300 hours", got });
            }
        }
        Ok(Self { distance, t_ref: t_ref.unwrap_or(f64::NAN), t_pred: t_pred.unwrap_or(f64::NAN) })
    }

    /// Distance of the two events.
    pub const fn distance(&self) -> f64 {
        self.distance
    }

    /// Reference and predicted time; None unless both are numbers.
    pub fn times(&self) -> Option<(f64, f64)> {
        (!self.t_ref.is_nan() && !self.t_pred.is_nan()).then_some((self.t_ref, self.t_pred))
    }

    /// The two times with `hours` in the place of N/A.
    pub(super) fn times_or(&self, hours: f64) -> (f64, f64) {
        let filled = |t: f64| if t.is_nan() { hours } else { t };
        (filled(self.t_ref), filled(self.t_pred))
    }

    /// Absolute difference of the times, in hours; None unless both are numbers.
    pub fn error_hours(&self) -> Option<f64> {
        self.times().map(|(t_ref, t_pred)| (t_pred - t_ref).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_times_have_no_error() {
        let pair = TimedPair::new(0.1, Some(-3.0), Some(4.0)).unwrap();
        assert_eq!((pair.times(), pair.error_hours()), (Some((-3.0, 4.0)), Some(7.0)));
        for (t_ref, t_pred) in [(None, None), (Some(1.0), None), (None, Some(1.0))] {
            assert_eq!(TimedPair::new(0.1, t_ref, t_pred).unwrap().error_hours(), None);
        }
        assert_eq!(TimedPair::new(0.1, None, Some(1.0)).unwrap().times_or(9.0), (9.0, 1.0));
        assert!(TimedPair::new(0.0, Some(1e300), Some(-1e300)).unwrap().error_hours().is_some_and(f64::is_finite));
        for bad in [f64::NAN, f64::INFINITY, 1.1e300] {
            assert!(TimedPair::new(0.1, Some(bad), None).is_err());
        }
        assert!(TimedPair::new(f64::NAN, None, None).is_err());
        assert!(size_of::<TimedPair>() <= 24);
    }
}
