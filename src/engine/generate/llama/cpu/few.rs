//! Products of quantised weights with few tokens: the replies of a batch.
//!
//! Two rows of weights at a time are written out a [`SEGMENT`] long, which stays in the first cache, and multiplied with all tokens.

use super::formats::{ForFormat, Format, machine_can, with_format};
use super::product::Product;
use pulp::{Arch, Simd, WithSimd};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::cell::RefCell;
use std::ffi::c_int;

/// Weights of a row that are written out at once: a multiple of every format's block.
const SEGMENT: usize = 512;

/// Rows that take their turns a segment.
const TILE: usize = 16;

/// Partial sums an element, whatever vectors the machine has.
const LANES: usize = 16;

/// [`LANES`] numbers on a cache line of their own.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read as a flat slice")] [f32; LANES]);

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Computes rows `first` to `first + n_rows` of a product.
///
/// # Safety
/// As [`Product::compute_many`].
pub(super) type Compute = unsafe fn(&Product, usize, usize);

/// The function for weights of a type; `None` where the type or the machine is not provided for.
pub(super) fn of(weights: c_int) -> Option<Compute> {
    struct Find;
    impl ForFormat for Find {
        type Output = Compute;
        fn with<F: Format>(self) -> Compute {
            compute::<F>
        }
    }
    let vectors = matches!(Arch::new(), Arch::V3(_) | Arch::V4(_));
    with_format(weights, Find).filter(|_| vectors && machine_can())
}

#[expect(unsafe_code, reason = "lines are read as the numbers they are")]
unsafe fn compute<F: Format>(product: &Product, first: usize, n_rows: usize) {
    let n_lines = 2 * SEGMENT / LANES + TILE * product.n_tokens;
    LINES.with_borrow_mut(|lines| {
        lines.resize(lines.len().max(n_lines), Line([0.0; LANES]));
        // SAFETY: a line is `LANES` numbers without gaps, and the borrow lasts as long as the slice.
        let numbers = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<f32>(), n_lines * LANES) };
        let (rows, sums) = numbers.split_at_mut(2 * SEGMENT);
        let format = std::marker::PhantomData::<F>;
        Arch::new().dispatch(Rows { product, first, n_rows, rows, sums, format });
    });
}

/// A thread's share of a product and its buffers.
struct Rows<'a, F> {
    product: &'a Product,
    first: usize,
    n_rows: usize,
    /// Segments of two rows.
    rows: &'a mut [f32],
    /// `[row pair of a tile, token, row of the pair, lane]`.
    sums: &'a mut [f32],
    format: std::marker::PhantomData<F>,
}

impl<F: Format> WithSimd for Rows<'_, F> {
    type Output = ();

    /// Sums of two rows by as many tokens as fit the registers: 32 of 16 numbers, or 16 of 8.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.run::<S, 1, 8>(simd),
            8 => self.run::<S, 2, 3>(simd),
            _ => unreachable!("`of` looks for the vectors"),
        }
    }
}

impl<F: Format> Rows<'_, F> {
    /// `R` registers hold the lanes of a sum; up to `T` tokens are multiplied at once.
    #[inline(always)]
    fn run<S: Simd, const R: usize, const T: usize>(self, simd: S) {
        let Self { product, first, n_rows, rows, sums, .. } = self;
        let n_tokens = product.n_tokens;
        let n_groups = n_tokens.div_ceil(T);
        for tile in (0..n_rows).step_by(TILE) {
            let tile_rows = TILE.min(n_rows - tile);
            sums.fill(0.0);
            for from in (0..product.depth).step_by(SEGMENT) {
                let len = SEGMENT.min(product.depth - from);
                for pair in 0..tile_rows.div_ceil(2) {
                    for half in 0..2 {
                        // The last row stands in where its partner is missing; the sum is not asked for.
                        let row = first + tile + (pair * 2 + half).min(tile_rows - 1);
                        write_segment::<F>(product, row, from, &mut rows[half * SEGMENT..][..len]);
                    }
                    // What comes next; the machine does not guess it across rows.
                    let (next_pair, next_from) = if (pair + 1) * 2 < tile_rows { (pair + 1, from) } else { (0, from + SEGMENT) };
                    for row in next_pair * 2..(next_pair * 2 + 2).min(tile_rows) {
                        prefetch_segment::<F>(product, first + tile + row, next_from);
                    }
                    let (upper, lower) = rows.split_at(SEGMENT);
                    let weights = [S::as_simd_f32s(&upper[..len]).0, S::as_simd_f32s(&lower[..len]).0];
                    let mut begin = 0;
                    for group in 1..=n_groups {
                        let end = group * n_tokens / n_groups;
                        let group_sums = &mut sums[(pair * n_tokens + begin) * 2 * LANES..][..(end - begin) * 2 * LANES];
                        match end - begin {
                            1 => add::<S, R, 1>(simd, weights, product, [begin, from], group_sums),
                            2 => add::<S, R, 2>(simd, weights, product, [begin, from], group_sums),
                            3 => add::<S, R, 3>(simd, weights, product, [begin, from], group_sums),
                            4 if T >= 4 => add::<S, R, 4>(simd, weights, product, [begin, from], group_sums),
                            5 if T >= 5 => add::<S, R, 5>(simd, weights, product, [begin, from], group_sums),
                            6 if T >= 6 => add::<S, R, 6>(simd, weights, product, [begin, from], group_sums),
                            7 if T >= 7 => add::<S, R, 7>(simd, weights, product, [begin, from], group_sums),
                            8 if T >= 8 => add::<S, R, 8>(simd, weights, product, [begin, from], group_sums),
                            other => unreachable!("{other} tokens in a group of up to {T}"),
                        }
                        begin = end;
                    }
                }
            }
            for row in 0..tile_rows {
                for token in 0..n_tokens {
                    let lanes = &sums[((row / 2 * n_tokens + token) * 2 + row % 2) * LANES..][..LANES];
                    put(product, token, first + tile + row, total(lanes));
                }
            }
        }
    }
}

/// Writes weights `from..from + to.len()` of a row.
#[inline(always)]
#[expect(unsafe_code, reason = "reads the model library's tensors")]
fn write_segment<F: Format>(product: &Product, row: usize, from: usize, to: &mut [f32]) {
    for (block, to) in to.chunks_exact_mut(F::LEN).enumerate() {
        let at = row * product.row_bytes + (from / F::LEN + block) * F::BYTES;
        // SAFETY: the row has that many blocks; `of` made sure of the machine.
        unsafe { F::write_out(product.weights.byte_add(at).cast(), to.as_mut_ptr()) };
    }
}

/// Asks the machine for a segment of a row; past its end for what follows, which does no harm.
#[inline(always)]
#[expect(unsafe_code, reason = "an instruction without effect but on the caches")]
fn prefetch_segment<F: Format>(product: &Product, row: usize, from: usize) {
    const LINE: usize = 64;
    let at = row * product.row_bytes + from / F::LEN * F::BYTES;
    for line in (0..SEGMENT / F::LEN * F::BYTES).step_by(LINE) {
        // SAFETY: nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(product.weights.wrapping_byte_add(at + line).cast()) };
    }
}

/// Adds the products of two rows with `T` tokens, those from `begin`, from element `from`, to the sums `[token, row, lane]`.
#[inline(always)]
#[expect(unsafe_code, reason = "reads the model library's tensors")]
fn add<S: Simd, const R: usize, const T: usize>(
    simd: S,
    weights: [&[S::f32s]; 2],
    product: &Product,
    [begin, from]: [usize; 2],
    sums: &mut [f32],
) {
    let n = weights[0].len();
    assert_eq!([weights[1].len(), n % R], [n, 0]);
    let at = |token: usize| product.tokens.at.wrapping_add((begin + token) * product.tokens.column_step + from);
    // SAFETY: the tokens have as many elements as the weights; vectors ask for no more alignment than their elements.
    let tokens: [&[S::f32s]; T] = std::array::from_fn(|token| unsafe { std::slice::from_raw_parts(at(token).cast(), n) });
    let sums = &mut S::as_mut_simd_f32s(sums).0[..T * 2 * R];
    let mut registers: [[[S::f32s; R]; 2]; T] =
        std::array::from_fn(|t| std::array::from_fn(|row| std::array::from_fn(|r| sums[(t * 2 + row) * R + r])));
    for i in (0..n).step_by(R) {
        for r in 0..R {
            // SAFETY: all are `n` long, a multiple of `R`; a check here would push the sums out of their registers.
            let pair = unsafe { [*weights[0].get_unchecked(i + r), *weights[1].get_unchecked(i + r)] };
            for (token, sums) in tokens.iter().zip(&mut registers) {
                // SAFETY: as above.
                let token = unsafe { *token.get_unchecked(i + r) };
                for (weights, sum) in pair.iter().zip(sums) {
                    sum[r] = simd.mul_add_f32s(*weights, token, sum[r]);
                }
            }
        }
    }
    for (sum, register) in sums.iter_mut().zip(registers.as_flattened().as_flattened()) {
        *sum = *register;
    }
}

/// The sum of the lanes, halves upon halves.
#[inline(always)]
fn total(lanes: &[f32]) -> f32 {
    let mut left: [f32; LANES] = std::array::from_fn(|lane| lanes[lane]);
    let mut n = LANES / 2;
    while n > 0 {
        for lane in 0..n {
            left[lane] += left[lane + n];
        }
        n /= 2;
    }
    left[0]
}

#[inline(always)]
#[expect(unsafe_code, reason = "writes the model library's tensors")]
fn put(product: &Product, token: usize, row: usize, value: f32) {
    // SAFETY: inside the result, whose rows nobody else writes.
    unsafe { *product.out.add(token * product.out_step + row) = value };
}
