//! Agreement of two raters on the same items. Categories are plain indices; the caller keeps their names.

use serde::Serialize;

use super::error::MeasureError;
use super::resample::Interval;
use super::wilson::wilson;

/// Agreement statistics; None where undefined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// Items rated by both.
    pub n_items: u64,
    /// Part of the items with one rating from both.
    pub raw: Option<f64>,
    /// Wilson score interval of `raw`.
    pub raw_interval: Option<Interval>,
    /// Cohen's kappa; undefined when both raters use one and the same category throughout.
    pub kappa: Option<f64>,
    /// Gwet's AC1; undefined with a single category.
    pub ac1: Option<f64>,
    /// Prevalence- and bias-adjusted kappa; undefined with a single category.
    pub pabak: Option<f64>,
}

impl Agreement {
    /// Compares the ratings of each item. A category that none used still counts in AC1 and PABAK.
    ///
    /// # Errors
    /// A category index that is too high, or a level outside (0, 1).
    ///
    /// # Source
    /// Cohen 1960; Gwet 2008, doi:10.1348/000711006X126600, with pe = sum pi (1 - pi) / (q - 1) and pi the mean of
    /// the two raters' shares; Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V, (q po - 1) / (q - 1).
    pub fn from_ratings(n_categories: usize, ratings: &[(usize, usize)], level: f64) -> Result<Self, MeasureError> {
        let mut counts = vec![(0_u64, 0_u64); n_categories];
        let mut n_equal = 0;
        for &(first, second) in ratings {
            let highest = first.max(second);
            if highest >= n_categories {
                return Err(MeasureError::NumberOutOfRange {
                    what: "a category index",
                    expected: "below the number of categories",
                    got: highest as f64,
                });
            }
            counts[first].0 += 1;
            counts[second].1 += 1;
            n_equal += u64::from(first == second);
        }
        let n_items = ratings.len() as u64;
        let Some(raw) = wilson(n_equal, n_items, level)? else {
            return Ok(Self { n_items, raw: None, raw_interval: None, kappa: None, ac1: None, pabak: None });
        };
        let (n, q, observed) = (n_items as f64, n_categories as f64, raw.share);
        // Whole numbers, so that an expected agreement of one is recognised exactly.
        let product: u128 = counts.iter().map(|&(x, y)| u128::from(x) * u128::from(y)).sum();
        let all = u128::from(n_items) * u128::from(n_items);
        let expected = product as f64 / all as f64;
        let spread: f64 = counts.iter().map(|&(x, y)| (x + y) as f64 / (2.0 * n)).map(|pi| pi * (1.0 - pi)).sum();
        let by_chance = spread / (q - 1.0);
        Ok(Self {
            n_items,
            raw: Some(observed),
            raw_interval: Some(raw.interval),
            kappa: (product != all).then(|| (observed - expected) / (1.0 - expected)),
            ac1: (n_categories > 1).then(|| (observed - by_chance) / (1.0 - by_chance)),
            pabak: (n_categories > 1).then(|| (q * observed - 1.0) / (q - 1.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(n_categories: usize, ratings: &[(usize, usize)]) -> Agreement {
        Agreement::from_ratings(n_categories, ratings, 0.95).unwrap()
    }

    fn close(x: Option<f64>, y: Option<f64>) -> bool {
        x.zip(y).is_some_and(|(x, y)| (x - y).abs() < 1e-12)
    }

    #[test]
    fn raters_categories_and_items_may_change_places() {
        let ratings: Vec<_> = (0..97).map(|i| ((i * i) % 5 % 4, (i * 7 + i / 9) % 4)).collect();
        let base = agreement(4, &ratings);
        let label = [3, 0, 2, 1];
        let exchanged: Vec<_> = ratings.iter().rev().map(|&(x, y)| (label[y], label[x])).collect();
        let other = agreement(4, &exchanged);
        assert_eq!((base.raw, base.raw_interval), (other.raw, other.raw_interval));
        assert!(close(base.kappa, other.kappa) && close(base.ac1, other.ac1) && close(base.pabak, other.pabak));
        for value in [base.kappa, base.ac1, base.pabak] {
            assert!(value.is_some_and(|v| (-1.0..=1.0).contains(&v)));
        }
    }

    #[test]
    fn edges_are_undefined_or_exact() {
        let none = agreement(2, &[]);
        assert_eq!((none.raw, none.kappa, none.ac1, none.pabak, none.raw_interval), (None, None, None, None, None));
        let alike = agreement(2, &[(1, 1); 6]);
        assert_eq!((alike.raw, alike.kappa, alike.ac1, alike.pabak), (Some(1.0), None, Some(1.0), Some(1.0)));
        let one = agreement(1, &[(0, 0)]);
        assert_eq!((one.raw, one.kappa, one.ac1, one.pabak), (Some(1.0), None, None, None));
        let constant = agreement(2, &[(1, 1), (1, 1), (1, 0), (1, 1), (1, 1)]);
        assert_eq!(constant.kappa, Some(0.0));
        let opposite = agreement(2, &[(0, 1), (1, 0)]);
        assert_eq!((opposite.kappa, opposite.ac1, opposite.pabak), (Some(-1.0), Some(-1.0), Some(-1.0)));
        assert!(Agreement::from_ratings(2, &[(0, 2)], 0.95).is_err());
        assert!(Agreement::from_ratings(0, &[(0, 0)], 0.95).is_err());
        assert!(Agreement::from_ratings(2, &[(0, 1)], 1.0).is_err());
    }
}
