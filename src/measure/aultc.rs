//! Area under the cumulative distribution of log time errors. It knows absolute errors in hours.

use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// All that the area needs of any number of time errors.
///
/// With x = ln(1 + error) and x_(0) = 0, summation by parts turns sum (x_(i) - x_(i-1)) i / k into
/// x_(k) - (sum x - x_(k)) / k, so that neither order nor values have to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogErrors {
    n: u64,
    n_missing: u64,
    sum_log: f64,
    max_hours: f64,
}

impl LogErrors {
    /// Adds up errors; None is a matched pair with a time that is N/A.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn from_hours(errors: impl IntoIterator<Item = Option<f64>>) -> Result<Self, MeasureError> {
        let mut all = Self::default();
        errors.into_iter().try_for_each(|error| all.add(error))?;
        Ok(all)
    }

    /// Adds one error, in hours.
    ///
    /// # Errors
    /// An error that is negative or not finite.
    pub fn add(&mut self, error_hours: Option<f64>) -> Result<(), MeasureError> {
        let Some(error) = error_hours else {
            self.n_missing += 1;
            return Ok(());
        };
        if !(error.is_finite() && error >= 0.0) {
            return Err(MeasureError::NumberOutOfRange {
                what: "an absolute time error",
                expected: "finite and not negative",
                got: error,
            });
        }
        self.n += 1;
        self.sum_log += error.ln_1p();
        self.max_hours = self.max_hours.max(error);
        Ok(())
    }

    /// Adds another collection `times` times over.
    pub fn merge(&mut self, other: &Self, times: u32) {
        if times > 0 {
            self.n += other.n * u64::from(times);
            self.n_missing += other.n_missing * u64::from(times);
            self.sum_log += other.sum_log * f64::from(times);
            self.max_hours = self.max_hours.max(other.max_hours);
        }
    }

    /// Number of errors.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Sum of ln(1 + error).
    pub const fn sum_log(&self) -> f64 {
        self.sum_log
    }

    /// The largest error, in hours; None without errors.
    pub fn max_hours(&self) -> Option<f64> {
        (self.n > 0).then_some(self.max_hours)
    }

    /// Gives every pair with a missing time an error under `rule`.
    #[must_use]
    pub fn with_missing(mut self, rule: MissingErrors) -> Self {
        if rule == MissingErrors::LargestPlusOne && self.n > 0 && self.n_missing > 0 {
            self.max_hours += 1.0;
            self.n += self.n_missing;
            self.sum_log += self.n_missing as f64 * self.max_hours.ln_1p();
        }
        self.n_missing = 0;
        self
    }

    /// The area as printed; None without errors, 1 when `s_max` is zero. `s_max` is the largest error of all systems
    /// compared, in hours; None takes the own largest error, which makes the area of a single error 1.
    ///
    /// # Errors
    /// An `s_max` that is below the largest error, or not finite.
    ///
    /// # Source
    /// uid.txt, Appendix E.3, natural logarithm.
    pub fn aultc(&self, s_max: Option<f64>) -> Result<Option<f64>, MeasureError> {
        self.area(s_max, self.sum_log - self.max_hours.ln_1p())
    }

    /// The area exactly under the step function, whose first step starts at the smallest error. It is smaller than
    /// [`Self::aultc`] by x_(k) / (k ln(1 + s_max)).
    ///
    /// # Errors
    /// As [`Self::aultc`].
    pub fn exact_step(&self, s_max: Option<f64>) -> Result<Option<f64>, MeasureError> {
        self.area(s_max, self.sum_log)
    }

    fn area(&self, s_max: Option<f64>, lost: f64) -> Result<Option<f64>, MeasureError> {
        let s_max = s_max.unwrap_or(self.max_hours);
        if !(s_max.is_finite() && s_max >= self.max_hours) {
            return Err(MeasureError::NumberOutOfRange {
                what: "S_max",
                expected: "finite and at least the largest error",
                got: s_max,
            });
        }
        if self.n == 0 {
            return Ok(None);
        }
        let width = s_max.ln_1p();
        // Rounding of the sum may carry the area past its bounds.
        let area = if width > 0.0 { (1.0 - lost / (self.n as f64 * width)).clamp(0.0, 1.0) } else { 1.0 };
        Ok(Some(area))
    }
}

/// What a matched pair with a time that is N/A contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingErrors {
    /// Nothing (uid.txt).
    Outside,
    /// The largest error plus one hour (the authors' published script).
    LargestPlusOne,
}

/// Errors of sixty years and more are no part of the published script's area.
///
/// # Units
/// Hours.
pub const PUBLISHED_LIMIT_HOURS: f64 = 60.0 * 8_766.0;

/// The matched pairs of all cases of a system, prepared for the published script's area at any match threshold.
#[derive(Debug, Clone)]
pub struct PublishedArea {
    /// Case, distance and x = ln(1 + |error|) of every pair with two times, ascending in x.
    timed: Vec<(u32, f64, f64)>,
    /// Case and distance of the pairs with a time that is N/A.
    missing: Vec<(u32, f64)>,
}

impl PublishedArea {
    /// Takes (case, distance, absolute error in hours) of every pair; None for a time that is N/A.
    ///
    /// # Errors
    /// An error that is negative or not finite.
    pub fn new(pairs: impl IntoIterator<Item = (u32, f64, Option<f64>)>) -> Result<Self, MeasureError> {
        let (mut timed, mut missing) = (Vec::new(), Vec::new());
        let mut check = LogErrors::default();
        for (case, distance, error) in pairs {
            check.add(error)?;
            match error {
                Some(error) => timed.push((case, distance, error.ln_1p())),
                None => missing.push((case, distance)),
            }
        }
        timed.sort_by(|x, y| x.2.total_cmp(&y.2));
        Ok(Self { timed, missing })
    }

    /// The area as the authors' published script computes it over the pairs below `threshold`; None unless two different errors
    /// are left to span a range.
    ///
    /// Differs from source: a time that is N/A counts as the largest error plus one hour; x_(i) at or above the logarithm of sixty
    /// years in hours are dropped after their number has entered the distribution, and the area is divided by x_(m) - x_(1) of
    /// the m that are left, not by ln(1 + S_max); it may exceed 1.
    pub fn below(&self, threshold: f64) -> Option<f64> {
        self.area(threshold, |_| 1)
    }

    /// The same when case i is drawn `drawn[i]` times.
    pub fn resampled(&self, threshold: f64, drawn: &[u32]) -> Option<f64> {
        self.area(threshold, |case| drawn[case as usize])
    }

    fn area(&self, threshold: f64, times: impl Fn(u32) -> u32) -> Option<f64> {
        let limit = PUBLISHED_LIMIT_HOURS.ln();
        let n_missing: u64 =
            self.missing.iter().filter(|(_, distance)| *distance < threshold).map(|(case, _)| u64::from(times(*case))).sum();
        let (mut n_kept, mut n_left, mut sum) = (n_missing, 0, 0.0);
        let (mut first, mut last, mut largest) = (f64::INFINITY, 0.0, 0.0);
        let mut take = |x: f64, times: u64| {
            if x < limit && times > 0 {
                n_left += times;
                sum += x * times as f64;
                first = x.min(first);
                last = x;
            }
        };
        for &(case, _, x) in self.timed.iter().filter(|(_, distance, _)| *distance < threshold) {
            let times = u64::from(times(case));
            if times > 0 {
                n_kept += times;
                largest = x;
                take(x, times);
            }
        }
        // ln(1 + (largest + 1)) of the largest error, itself given as a logarithm.
        take((f64::exp_m1(largest) + 1.0).ln_1p(), n_missing);
        let area = (n_left as f64 * last - (sum - last)) / n_kept as f64;
        (n_left > 0 && last > first).then(|| area / (last - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(hours: &[f64]) -> LogErrors {
        LogErrors::from_hours(hours.iter().copied().map(Some)).unwrap()
    }

    /// The formula as printed.
    fn printed(hours: &[f64], s_max: f64) -> f64 {
        let mut x: Vec<f64> = hours.iter().map(|e| (1.0 + e).ln()).collect();
        x.sort_by(f64::total_cmp);
        let width = (1.0 + s_max).ln();
        let mut sum = width - x[x.len() - 1];
        for i in 0..x.len() {
            let before = if i == 0 { 0.0 } else { x[i - 1] };
            sum += (x[i] - before) * (i + 1) as f64 / x.len() as f64;
        }
        sum / width
    }

    #[test]
    fn the_sum_by_parts_is_the_printed_formula() {
        for n in 1..80_usize {
            let hours: Vec<f64> = (0..n).map(|i| ((i * i * 31) % 97) as f64 * if i % 9 == 0 { 0.01 } else { 10.0 }).collect();
            for s_max in [1_000.0, 1e6] {
                let area = errors(&hours).aultc(Some(s_max)).unwrap().unwrap();
                assert!((area - printed(&hours, s_max)).abs() < 1e-13);
                assert!((0.0..=1.0).contains(&area));
                assert!(errors(&hours).exact_step(Some(s_max)).unwrap().unwrap() <= area);
            }
        }
    }

    #[test]
    fn edges_are_exact() {
        assert_eq!(errors(&[]).aultc(None).unwrap(), None);
        assert_eq!(errors(&[]).aultc(Some(5.0)).unwrap(), None);
        assert_eq!(errors(&[0.0, 0.0]).aultc(None).unwrap(), Some(1.0));
        assert_eq!(errors(&[0.0]).aultc(Some(9.0)).unwrap(), Some(1.0));
        assert_eq!(errors(&[24.0]).aultc(None).unwrap(), Some(1.0));
        assert_eq!(errors(&[24.0]).exact_step(None).unwrap(), Some(0.0));
        assert!(errors(&[1e300; 3]).aultc(None).unwrap().is_some_and(|a| (a - 1.0 / 3.0).abs() < 1e-12));
        for s_max in [23.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(errors(&[24.0]).aultc(Some(s_max)).is_err());
        }
        for error in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(LogErrors::from_hours([Some(error)]).is_err());
            assert!(PublishedArea::new([(0, 0.0, Some(error))]).is_err());
        }
    }

    #[test]
    fn missing_times_stay_outside_or_take_the_largest_error_plus_one() {
        let with = LogErrors::from_hours([Some(3.0), None, Some(7.0), None]).unwrap();
        assert_eq!(with.with_missing(MissingErrors::Outside), errors(&[3.0, 7.0]));
        let filled = with.with_missing(MissingErrors::LargestPlusOne);
        assert_eq!(filled.max_hours(), Some(8.0));
        assert!((filled.sum_log() - errors(&[3.0, 7.0, 8.0, 8.0]).sum_log()).abs() < 1e-14);
        let none = LogErrors::from_hours([None]).unwrap().with_missing(MissingErrors::LargestPlusOne);
        assert_eq!((none.n(), none.max_hours()), (0, None));
    }

    #[test]
    fn merging_counts_with_multiplicity() {
        let mut all = errors(&[1.0, 5.0]);
        all.merge(&errors(&[9.0, 0.0]), 2);
        all.merge(&errors(&[1e6]), 0);
        let flat = errors(&[1.0, 5.0, 9.0, 9.0, 0.0, 0.0]);
        assert_eq!((all.n(), all.max_hours()), (flat.n(), flat.max_hours()));
        assert!((all.sum_log() - flat.sum_log()).abs() < 1e-14);
    }

    fn published(errors: &[Option<f64>]) -> Option<f64> {
        PublishedArea::new(errors.iter().map(|&error| (0, 0.0, error))).unwrap().below(0.1)
    }

    #[test]
    fn the_published_area_is_by_range_and_drops_sixty_years() {
        assert_eq!(published(&[Some(24.0)]), None);
        assert_eq!(published(&[Some(0.0), Some(0.0)]), None);
        assert_eq!(published(&[Some(0.0), Some(24.0)]), Some(1.0));
        assert_eq!(published(&[Some(24.0), Some(1e6)]), None);
        let two_of_three = published(&[Some(0.0), Some(24.0), Some(1e6)]).unwrap();
        assert!((two_of_three - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(published(&[None, None]), None);
    }

    #[test]
    fn a_missing_time_is_the_largest_error_plus_one_in_the_published_area() {
        let with_missing = published(&[Some(3.0), None, Some(0.0), Some(7.0)]).unwrap();
        let filled = published(&[Some(3.0), Some(8.0), Some(0.0), Some(7.0)]).unwrap();
        assert!((with_missing - filled).abs() < 1e-14);
    }

    #[test]
    fn the_published_area_keeps_pairs_below_the_threshold() {
        let pairs = [(0, 0.05, Some(0.0)), (1, 0.1, Some(500.0)), (0, 0.02, Some(24.0)), (1, 0.3, None)];
        let all = PublishedArea::new(pairs).unwrap();
        assert_eq!(all.below(0.1), published(&[Some(0.0), Some(24.0)]));
        assert_eq!(all.below(0.2), published(&[Some(0.0), Some(500.0), Some(24.0)]));
        assert_eq!(all.below(0.5), published(&[Some(0.0), Some(500.0), Some(24.0), None]));
        assert_eq!(all.below(0.01), None);
        assert_eq!(all.resampled(0.5, &[1, 0]), all.below(0.1));
        let twice = published(&[Some(0.0), Some(0.0), Some(24.0), Some(24.0), Some(500.0)]).unwrap();
        assert!((all.resampled(0.2, &[2, 1]).unwrap() - twice).abs() < 1e-14);
        assert_eq!(all.resampled(0.2, &[0, 0]), None);
    }
}
