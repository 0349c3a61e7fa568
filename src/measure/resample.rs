//! Resampling of cases and percentile intervals, shared by every bootstrap.
//!
//! The generator is this module's own, so that a seed means the same resamples in every version.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// Name of the generator, to be recorded beside the seed.
///
/// ChaCha8; key = the seed's eight little-endian bytes, then zeros; stream = number of the resample; an index
/// below n from a 64-bit draw by multiply-shift with rejection (Lemire 2019, doi:10.1145/3230636).
pub const GENERATOR: &str = "chacha8/stream-per-resample/multiply-shift";

/// Draws n of n cases with replacement, each resample on a stream of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseResampler {
    /// Seed of all streams.
    pub seed: u64,
    /// Number of cases.
    pub n_cases: usize,
}

impl CaseResampler {
    /// Indices of resample number `resample`; the same whatever was drawn before.
    pub fn indices(&self, resample: u64) -> impl Iterator<Item = usize> + use<> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(resample);
        let n = self.n_cases as u64;
        (0..self.n_cases).map(move |_| below(n, &mut generator) as usize)
    }
}

fn below(n: u64, generator: &mut ChaCha8Rng) -> u64 {
    // The lowest 2^64 mod n products would make small indices too likely.
    let rejected = n.wrapping_neg() % n;
    loop {
        let product = u128::from(generator.next_u64()) * u128::from(n);
        if product as u64 >= rejected {
            return (product >> 64) as u64;
        }
    }
}

/// Refuses resamples that name a case there is not.
pub(super) fn check_indices(resamples: &[Vec<usize>], n_cases: usize) -> Result<(), MeasureError> {
    for (position, &case) in resamples.iter().flatten().enumerate() {
        if case >= n_cases {
            return Err(MeasureError::CaseOutOfRange { position, case, n_cases });
        }
    }
    Ok(())
}

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// Percentile of ascending values by linear interpolation (type 7 of Hyndman and Fan 1996); None
/// without values. `percent` is held to 0..=100.
pub fn percentile(ascending: &[f64], percent: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let place = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = place - below as f64;
    Some(ascending[below] + part * (ascending[above] - ascending[below]))
}

/// Central percentile interval of the values; None without values.
///
/// # Errors
/// A level outside (0, 1), a value that is not finite.
pub fn percentile_interval(values: &[f64], level: f64) -> Result<Option<Interval>, MeasureError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(MeasureError::NumberOutOfRange { what: "a confidence level", expected: "between 0 and 1", got: level });
    }
    if let Some(&got) = values.iter().find(|v| !v.is_finite()) {
        return Err(MeasureError::NumberOutOfRange { what: "a resampled statistic", expected: "finite", got });
    }
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0 * 100.0;
    let lo = percentile(&ascending, tail);
    let hi = percentile(&ascending, 100.0 - tail);
    Ok(lo.zip(hi).map(|(lo, hi)| Interval { lo, hi }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_these_indices() {
        let sampler = CaseResampler { seed: 20_260_904, n_cases: 10 };
        let first: Vec<_> = sampler.indices(0).collect();
        let second: Vec<_> = sampler.indices(1).collect();
        assert_eq!(first, PINNED_0);
        assert_eq!(second, PINNED_1);
        assert_eq!(sampler.indices(0).collect::<Vec<_>>(), first);
    }

    // Checked against an independent ChaCha8 and multiply-shift written in Python.
    const PINNED_0: [usize; 10] = [0, 8, 4, 0, 3, 9, 6, 9, 3, 6];
    const PINNED_1: [usize; 10] = [6, 9, 7, 1, 2, 5, 2, 4, 8, 8];

    #[test]
    fn indices_are_even_and_edges_hold() {
        let sampler = CaseResampler { seed: 1, n_cases: 7 };
        let mut counts = [0u32; 7];
        for resample in 0..10_000 {
            sampler.indices(resample).for_each(|i| counts[i] += 1);
        }
        for count in counts {
            assert!((9_500..10_500).contains(&count), "{counts:?}");
        }
        let with = |n_cases| CaseResampler { seed: 1, n_cases }.indices(3);
        assert_eq!(with(0).count(), 0);
        assert_eq!(with(1).collect::<Vec<_>>(), vec![0]);
    }

    #[test]
    fn percentiles_interpolate() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(percentile(&values, 0.0), Some(1.0));
        assert_eq!(percentile(&values, 50.0), Some(3.0));
        assert_eq!(percentile(&values, 100.0), Some(8.0));
        assert_eq!(percentile(&[], 50.0), None);
        let interval = percentile_interval(&[7.0], 0.95).unwrap();
        assert_eq!(interval, Some(Interval { lo: 7.0, hi: 7.0 }));
        assert_eq!(percentile_interval(&[], 0.95).unwrap(), None);
        assert!(percentile_interval(&[1.0, f64::NAN], 0.95).is_err());
        for level in [0.0, 1.0, f64::NAN] {
            assert!(percentile_interval(&[1.0], level).is_err());
        }
    }
}
