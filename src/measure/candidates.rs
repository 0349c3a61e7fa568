//! Distances in the order in which a matcher may take them, sorted no further than it asks.
//!
//! A reference usually needs only its nearest few predictions, so each row is sorted in growing portions; asked for
//! everything, a row of n costs O(n log n) all the same. This file must not know what a matcher does with the order.

use super::error::MeasureError;

/// The first portion of a row is its nearest prediction alone; this is the second, and by how much the next ones grow. Portions
/// that grow keep the number of scans of a row logarithmic when nearly all of it is asked for.
const SECOND_PORTION: usize = 16;
const GROWTH: usize = 4;

/// A floating-point distance and its place in the total order (distance, index).
///
/// A key holds the bits of the distance, so mapped that integers order as the numbers do, above 32 bits of index.
/// Zeros of both signs are one key; -1e-9 is below zero and stays there.
pub trait Distance: Copy + Into<f64> + Send + Sync {
    /// Orders by distance, then by index. The default is below every key.
    type Key: Copy + Ord + Default + Send;

    /// The key of this distance, which must not be NaN.
    fn key(self, index: u32) -> Self::Key;

    /// The index in a key.
    fn index(key: Self::Key) -> u32;

    /// The same distance with another index.
    fn with_index(key: Self::Key, index: u32) -> Self::Key;

    /// The distance in a key.
    fn value(key: Self::Key) -> f64;

    /// Whether `key` has a smaller distance than `other`, whatever the indices.
    fn is_nearer(key: Self::Key, other: Self::Key) -> bool {
        Self::with_index(key, 0) < Self::with_index(other, 0)
    }
}

impl Distance for f32 {
    type Key = u64;

    fn key(self, index: u32) -> u64 {
        let bits = (self + 0.0).to_bits();
        let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        u64::from(ordered) << 32 | u64::from(index)
    }

    fn index(key: u64) -> u32 {
        key as u32
    }

    fn with_index(key: u64, index: u32) -> u64 {
        key >> 32 << 32 | u64::from(index)
    }

    fn value(key: u64) -> f64 {
        let ordered = (key >> 32) as u32;
        f64::from(f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered }))
    }
}

impl Distance for f64 {
    type Key = u128;

    fn key(self, index: u32) -> u128 {
        let bits = (self + 0.0).to_bits();
        let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        u128::from(ordered) << 32 | u128::from(index)
    }

    fn index(key: u128) -> u32 {
        key as u32
    }

    fn with_index(key: u128, index: u32) -> u128 {
        key >> 32 << 32 | u128::from(index)
    }

    fn value(key: u128) -> f64 {
        let ordered = (key >> 32) as u64;
        Self::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
    }
}

/// The distances of one case, borrowed.
///
/// # Shapes
/// [N_ref, N_pred] row-major: one row a reference.
#[derive(Debug, Clone, Copy)]
pub struct DistanceMatrix<'d, D> {
    n_ref: usize,
    n_pred: usize,
    values: &'d [D],
}

impl<'d, D: Distance> DistanceMatrix<'d, D> {
    /// Wraps the distances. NaN marks a pair that has none.
    ///
    /// # Errors
    /// A number of distances that is not `n_ref` times `n_pred`, or a side of 2^32 events or more.
    pub fn new(n_ref: usize, n_pred: usize, values: &'d [D]) -> Result<Self, MeasureError> {
        if n_ref.checked_mul(n_pred) != Some(values.len()) {
            return Err(MeasureError::NumberOutOfRange {
                what: "the number of distances",
                expected: "the number of references times the number of predictions",
                got: values.len() as f64,
            });
        }
        let longest = n_ref.max(n_pred);
        if u32::try_from(longest).is_err() {
            return Err(MeasureError::NumberOutOfRange {
                what: "the number of events of a side",
                expected: "below 2^32",
                got: longest as f64,
            });
        }
        Ok(Self { n_ref, n_pred, values })
    }

    /// Number of references.
    pub const fn n_ref(&self) -> usize {
        self.n_ref
    }

    /// Number of predictions.
    pub const fn n_pred(&self) -> usize {
        self.n_pred
    }

    fn row(&self, reference: u32) -> &'d [D] {
        let start = reference as usize * self.n_pred;
        &self.values[start..start + self.n_pred]
    }
}

/// What is left of one row.
struct Row<K> {
    /// Predictions of the portion at hand, nearest last. Without their distances, which are in the matrix: rows that are used up
    /// side by side then stay in the processor's cache.
    portion: Vec<u32>,
    /// The farthest key taken into any portion so far; all keys above it are still in the matrix only.
    farthest: K,
    /// Size of the next portion.
    next_portion: usize,
    /// Nothing is left beyond the portion.
    exhausted: bool,
}

/// The remaining predictions of each reference in order.
///
/// # Numerics
/// Neither NaN nor a distance at or above the limit is ever offered; with no limit, infinity is not offered either.
pub(super) struct Candidates<'d, D: Distance> {
    matrix: DistanceMatrix<'d, D>,
    limit: f64,
    taken: Vec<bool>,
    rows: Vec<Row<D::Key>>,
    scratch: Vec<D::Key>,
}

impl<'d, D: Distance> Candidates<'d, D> {
    /// All predictions nearer than `limit`, none taken.
    pub(super) fn new(matrix: DistanceMatrix<'d, D>, limit: f64) -> Self {
        let row = |_| Row { portion: Vec::new(), farthest: D::Key::default(), next_portion: 1, exhausted: false };
        Self {
            matrix,
            limit,
            taken: vec![false; matrix.n_pred],
            rows: (0..matrix.n_ref).map(row).collect(),
            scratch: vec![D::Key::default(); matrix.n_pred],
        }
    }

    /// Withdraws a prediction from every reference.
    pub(super) fn take(&mut self, prediction: u32) {
        self.taken[prediction as usize] = true;
    }

    /// The key of the nearest prediction not taken, the lowest index among equals; None when there is none.
    pub(super) fn nearest(&mut self, reference: u32) -> Option<D::Key> {
        loop {
            let row = &mut self.rows[reference as usize];
            while let Some(&prediction) = row.portion.last() {
                if !self.taken[prediction as usize] {
                    return Some(self.matrix.row(reference)[prediction as usize].key(prediction));
                }
                row.portion.pop();
            }
            if row.exhausted {
                return None;
            }
            self.refill(reference);
        }
    }

    /// The nearest prediction of a row that was never asked for.
    fn first(&mut self, reference: u32) {
        let mut nearest = None;
        let mut least = self.limit;
        for (index, &distance) in (0_u32..).zip(self.matrix.row(reference)) {
            // NaN is below nothing.
            if distance.into() < least && !self.taken[index as usize] {
                least = distance.into();
                nearest = Some(distance.key(index));
            }
        }
        let row = &mut self.rows[reference as usize];
        row.exhausted = nearest.is_none();
        row.farthest = nearest.unwrap_or_default();
        row.portion.extend(nearest.map(D::index));
        row.next_portion = SECOND_PORTION;
    }

    /// Takes the next portion of a row whose portion is used up.
    fn refill(&mut self, reference: u32) {
        if self.rows[reference as usize].next_portion == 1 {
            return self.first(reference);
        }
        let row = &mut self.rows[reference as usize];
        let mut n_left = 0;
        for (index, (&distance, &taken)) in (0_u32..).zip(self.matrix.row(reference).iter().zip(&self.taken)) {
            let key = distance.key(index);
            // Written first and kept or not by counting: which is which cannot be predicted. NaN is below no limit.
            self.scratch[n_left] = key;
            n_left += usize::from(!taken & (distance.into() < self.limit) & (key > row.farthest));
        }
        let mut left = &mut self.scratch[..n_left];
        // A rest not much larger than the portion is not worth another scan.
        if n_left > 2 * row.next_portion {
            left.select_nth_unstable(row.next_portion - 1);
            left = &mut left[..row.next_portion];
            row.next_portion *= GROWTH;
        } else {
            row.exhausted = true;
        }
        left.sort_unstable_by(|x, y| y.cmp(x));
        row.farthest = left.first().copied().unwrap_or(row.farthest);
        row.portion = left.iter().map(|&key| D::index(key)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_distances_do() {
        let values = [f64::NEG_INFINITY, -2.0, -1e-9, 0.0, 5e-324, 1e-9, 0.1, 1.0, 1e300];
        for (i, &x) in values.iter().enumerate() {
            assert_eq!(f64::value(x.key(7)), x);
            assert_eq!(f64::index(x.key(7)), 7);
            assert_eq!(f64::with_index(x.key(7), 9), x.key(9));
            let narrow = x as f32;
            assert_eq!(f32::value(narrow.key(7)), f64::from(narrow));
            assert_eq!((f32::index(narrow.key(3)), f32::with_index(narrow.key(3), u32::MAX)), (3, narrow.key(u32::MAX)));
            for &y in &values[i + 1..] {
                assert!(x.key(u32::MAX) < y.key(0), "{x} {y}");
                assert!(narrow >= y as f32 || narrow.key(u32::MAX) < (y as f32).key(0), "{x} {y}");
            }
        }
        assert_eq!((-0.0_f64).key(1), 0.0_f64.key(1));
        assert_eq!((-0.0_f32).key(1), 0.0_f32.key(1));
    }

    #[test]
    fn a_row_comes_out_sorted_whatever_is_taken_meanwhile() {
        let n = 1_000;
        let values: Vec<f32> = (0..n).map(|i| ((i * 7_919) % 101) as f32 / 100.0).collect();
        let matrix = DistanceMatrix::new(1, n, &values).unwrap();
        let mut candidates = Candidates::new(matrix, 0.75);
        let mut order = Vec::new();
        candidates.take(101);
        while let Some(key) = candidates.nearest(0) {
            order.push(key);
            candidates.take(f32::index(key));
        }
        assert!(order.is_sorted());
        let expected = values.iter().enumerate().filter(|&(i, &v)| i != 101 && f64::from(v) < 0.75).count();
        assert_eq!(order.len(), expected);
    }

    #[test]
    fn a_matrix_has_the_size_it_says() {
        assert!(DistanceMatrix::new(2, 3, &[0.0_f64; 5]).is_err());
        assert!(DistanceMatrix::new(usize::MAX, 2, &[0.0_f64; 5]).is_err());
        assert!(DistanceMatrix::<f32>::new(0, 3, &[]).is_ok());
        assert!(DistanceMatrix::<f32>::new(3, 0, &[]).is_ok());
    }
}
