//! Products of f32 matrices on one core: the crate `gemm`, with AVX2 or AVX-512 by what the machine has.
//!
//! # Numerics
//! Each element is a sum of fused multiply-adds in the order of the inner dimension, begun anew every [`DEPTH`] elements: it depends on
//! its row and its column alone, and not on the machine's vectors, as long as the result has at least [`FEWEST_COLUMNS`] columns and
//! [`FEWEST_ELEMENTS`] elements. Below, the kernel has ways of its own that add in another order.

use gemm::Parallelism;

/// Inner elements of one call of the kernel; not more, or it would cut them by the size of the machine's caches.
const DEPTH: usize = 512;

pub(crate) const FEWEST_COLUMNS: usize = 2;
pub(crate) const FEWEST_ELEMENTS: usize = 257;

/// A matrix whose element `(row, column)` lies `row * row_step + column * column_step` elements from `at`.
#[derive(Clone, Copy)]
pub(crate) struct RawMatrix {
    pub at: *const f32,
    pub row_step: usize,
    pub column_step: usize,
}

/// The same inside a slice.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    row_step: usize,
    column_step: usize,
}

impl<'a> Matrix<'a> {
    pub fn new(values: &'a [f32], row_step: usize, column_step: usize) -> Self {
        Self { values, row_step, column_step }
    }

    /// Elements up to and with the last of `n_rows` by `n_columns`.
    fn reach(&self, n_rows: usize, n_columns: usize) -> usize {
        (n_rows - 1) * self.row_step + (n_columns - 1) * self.column_step + 1
    }
}

/// `out[column][row] (+)= sum over l of left[row][l] * right[l][column]`, the columns of `out` being `out_step` elements apart.
///
/// # Shapes
/// `left`: `[m, k]`, `right`: `[k, n]`, `out`: `[n, m]`.
///
/// # Panics
/// When a slice does not reach that far.
pub(crate) fn multiply([m, n, k]: [usize; 3], left: Matrix<'_>, right: Matrix<'_>, out: &mut [f32], out_step: usize, add: bool) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(left.reach(m, k) <= left.values.len() && right.reach(k, n) <= right.values.len(), "factors inside their slices");
    assert!((n - 1) * out_step + m <= out.len() && out_step >= m, "the product inside its slice");
    let raw = |matrix: Matrix<'_>| RawMatrix {
        at: matrix.values.as_ptr(),
        row_step: matrix.row_step,
        column_step: matrix.column_step,
    };
    // SAFETY: the asserts above.
    #[expect(unsafe_code, reason = "the kernel takes pointers")]
    unsafe {
        multiply_raw([m, n, k], raw(left), raw(right), out.as_mut_ptr(), out_step, add);
    }
}

/// [`multiply`] by pointers.
///
/// # Safety
/// The pointers must reach as far as the shapes say, and nobody else may use the elements of `out` meanwhile.
#[expect(unsafe_code, reason = "the kernel takes pointers")]
pub(crate) unsafe fn multiply_raw(
    [m, n, k]: [usize; 3],
    left: RawMatrix,
    right: RawMatrix,
    out: *mut f32,
    out_step: usize,
    add: bool,
) {
    let step = |steps: usize| steps as isize;
    for from in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - from);
        // SAFETY: inside the shapes that the caller vouches for.
        unsafe {
            let left_at = left.at.add(from * left.column_step);
            let right_at = right.at.add(from * right.row_step);
            gemm::gemm(
                m,
                n,
                depth,
                out,
                step(out_step),
                1,
                add || from > 0,
                left_at,
                step(left.column_step),
                step(left.row_step),
                right_at,
                step(right.column_step),
                step(right.row_step),
                1.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_factors_are_multiplied_and_added() {
        let left: Vec<f32> = (0..6).map(|x| x as f32).collect();
        let right = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        // [[0 1 2], [3 4 5]] times the columns (1 2 3) and (4 5 6).
        let mut out = [100.0; 5];
        multiply([2, 2, 3], Matrix::new(&left, 3, 1), Matrix::new(&right, 1, 3), &mut out, 3, false);
        assert_eq!(out, [8.0, 26.0, 100.0, 17.0, 62.0]);
        multiply([2, 2, 3], Matrix::new(&left, 3, 1), Matrix::new(&right, 1, 3), &mut out, 3, true);
        assert_eq!(out, [16.0, 52.0, 100.0, 34.0, 124.0]);
    }

    #[test]
    #[should_panic(expected = "inside")]
    fn a_factor_that_is_too_short_is_refused() {
        multiply([2, 2, 3], Matrix::new(&[0.0; 5], 3, 1), Matrix::new(&[0.0; 6], 1, 3), &mut [0.0; 4], 2, false);
    }
}
