//! Products of weights with the tokens of a prompt.
//!
//! ggml asks `llamafile_sgemm` first for every product on the CPU, in each of its threads. Its own way is one dot product of quantised
//! blocks an element, with the activations rounded to 8 bits; here they stay as they are.

use super::{Thread, is_type};
use crate::engine::matrix::{FEWEST_ELEMENTS, RawMatrix, multiply_raw};
use llama_cpp_sys_2 as sys;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};

/// Fewest tokens for which writing out weights pays.
const FEWEST_TOKENS: i64 = 32;

/// Parts of the rows a thread.
const PARTS_A_THREAD: usize = 2;

/// Rows of weights come in multiples of this: a whole number of the kernel's columns, AVX2 and AVX-512.
const ROW_STEP: usize = 64;

// SAFETY: the function that `--wrap` put aside.
#[expect(unsafe_code, reason = "a function of the model library")]
unsafe extern "C" {
    fn __real_llamafile_sgemm(
        thread: *const Thread,
        m: i64,
        n: i64,
        k: i64,
        a: *const c_void,
        lda: i64,
        b: *const c_void,
        ldb: i64,
        c: *mut c_void,
        ldc: i64,
        a_type: c_int,
        b_type: c_int,
        c_type: c_int,
    ) -> bool;
}

thread_local! {
    /// Rows of weights written out.
    static ROWS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn link() {
    std::hint::black_box(__wrap_llamafile_sgemm as *const ());
}

/// What the linker puts in the place of `llamafile_sgemm`: `c[j][i] = sum over l of a[i][l] * b[j][l]`, one thread's share.
///
/// # Shapes
/// `a`: `[m, k]` in blocks of its type, `b`: `[n, k]`, `c`: `[n, m]`, each row `ld*` blocks after the one before.
#[expect(unsafe_code, reason = "called by the model library in the place of a function of its own")]
// SAFETY: no other symbol has this name; it belongs to `--wrap=llamafile_sgemm`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_llamafile_sgemm(
    thread: *const Thread,
    m: i64,
    n: i64,
    k: i64,
    a: *const c_void,
    lda: i64,
    b: *const c_void,
    ldb: i64,
    c: *mut c_void,
    ldc: i64,
    a_type: c_int,
    b_type: c_int,
    c_type: c_int,
) -> bool {
    let is_f32 = |given| is_type(given, sys::GGML_TYPE_F32);
    // SAFETY: `a_type` is a type of ggml's own table, which lives as long as the program.
    let traits = unsafe { &*sys::ggml_get_type_traits(a_type as sys::ggml_type) };
    let known = is_f32(a_type) || traits.to_float.is_some();
    let last_rows = (m as usize - 1) % ROW_STEP + 1;
    if n < FEWEST_TOKENS || last_rows * (n as usize) < FEWEST_ELEMENTS || !known || !is_f32(b_type) || !is_f32(c_type) {
        // SAFETY: the arguments are passed on as they came.
        return unsafe { __real_llamafile_sgemm(thread, m, n, k, a, lda, b, ldb, c, ldc, a_type, b_type, c_type) };
    }
    let product = Product {
        weights: a,
        row_bytes: lda as usize * traits.type_size,
        write_out: traits.to_float.filter(|_| !is_f32(a_type)),
        depth: k as usize * traits.blck_size as usize,
        tokens: RawMatrix { at: b.cast(), row_step: 1, column_step: ldb as usize },
        n_tokens: n as usize,
        out: c.cast(),
        out_step: ldc as usize,
    };
    let m = m as usize;
    // SAFETY: ggml calls this in all threads of its pool with the same sizes; `a`, `b` and `c` hold what the shapes say and live as long
    // as the call. Each part of the rows is one job, so no two threads write the same element.
    unsafe {
        let thread = &*thread;
        let n_parts = (thread.n_threads as usize * PARTS_A_THREAD).min(m.div_ceil(ROW_STEP)).max(1);
        let part_rows = m.div_ceil(n_parts).next_multiple_of(ROW_STEP);
        thread.share(m.div_ceil(part_rows), |part| product.compute(part * part_rows, part_rows.min(m - part * part_rows)));
    }
    true
}

/// Rows of weights with tokens: where their numbers lie.
struct Product {
    weights: *const c_void,
    row_bytes: usize,
    /// `None` where the weights are f32.
    write_out: sys::ggml_to_float_t,
    depth: usize,
    tokens: RawMatrix,
    n_tokens: usize,
    out: *mut f32,
    out_step: usize,
}

impl Product {
    /// Rows `first` to `first + n_rows` of the weights.
    ///
    /// # Safety
    /// The pointers reach the rows and all tokens, and nobody else writes these rows of the result.
    #[expect(unsafe_code, reason = "reads and writes the model library's tensors")]
    unsafe fn compute(&self, first: usize, n_rows: usize) {
        let shape = [n_rows, self.n_tokens, self.depth];
        // SAFETY: the caller vouches for the pointers; the buffer holds the rows.
        unsafe {
            let from = self.weights.byte_add(first * self.row_bytes);
            let out = self.out.add(first);
            let Some(write_out) = self.write_out else {
                let left = RawMatrix { at: from.cast(), row_step: self.row_bytes / size_of::<f32>(), column_step: 1 };
                return multiply_raw(shape, left, self.tokens, out, self.out_step, false);
            };
            ROWS.with_borrow_mut(|buffer| {
                buffer.resize(buffer.len().max(n_rows * self.depth), 0.0);
                for (row, to) in buffer.chunks_exact_mut(self.depth).take(n_rows).enumerate() {
                    write_out(from.byte_add(row * self.row_bytes), to.as_mut_ptr(), self.depth as i64);
                }
                let left = RawMatrix { at: buffer.as_ptr(), row_step: self.depth, column_step: 1 };
                multiply_raw(shape, left, self.tokens, out, self.out_step, false);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::generate::llama::cpu::tests::numbers;

    /// Products of `m` rows of a type with `n` tokens, computed in parts of `part` rows; with the rows as they were written out.
    #[expect(unsafe_code, reason = "calls the model library's functions of types")]
    fn product(of: sys::ggml_type, [m, n, k]: [usize; 3], part: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let (weights, tokens) = (numbers(1, m * k), numbers(2, n * k));
        let mut out = vec![f32::NAN; n * m];
        let mut written = vec![0.0; m * k];
        // SAFETY: the buffers have the sizes that the type asks for.
        unsafe {
            let row_bytes = sys::ggml_row_size(of, k as i64);
            let mut quantised = vec![0_u8; m * row_bytes];
            sys::ggml_quantize_chunk(
                of,
                weights.as_ptr(),
                quantised.as_mut_ptr().cast(),
                0,
                m as i64,
                k as i64,
                std::ptr::null(),
            );
            let traits = &*sys::ggml_get_type_traits(of);
            match traits.to_float {
                Some(write_out) => write_out(quantised.as_ptr().cast(), written.as_mut_ptr(), (m * k) as i64),
                None => written.copy_from_slice(&weights),
            }
            let product = Product {
                weights: quantised.as_ptr().cast(),
                row_bytes,
                write_out: traits.to_float.filter(|_| of != sys::GGML_TYPE_F32),
                depth: k,
                tokens: RawMatrix { at: tokens.as_ptr(), row_step: 1, column_step: k },
                n_tokens: n,
                out: out.as_mut_ptr(),
                out_step: m,
            };
            for first in (0..m).step_by(part) {
                product.compute(first, part.min(m - first));
            }
        }
        (out, written, tokens)
    }

    #[test]
    fn a_product_is_that_of_the_weights_as_they_are_stored() {
        for of in [sys::GGML_TYPE_Q4_1, sys::GGML_TYPE_Q8_0, sys::GGML_TYPE_F16, sys::GGML_TYPE_BF16, sys::GGML_TYPE_F32] {
            for shape in [[64, 32, 64], [100, 33, 576], [67, 47, 1536]] {
                let [m, n, k] = shape;
                let (out, weights, tokens) = product(of, shape, 64);
                for (i, value) in out.iter().enumerate() {
                    let (token, row) = (i / m, i % m);
                    let terms = weights[row * k..][..k].iter().zip(&tokens[token * k..][..k]);
                    let expected: f64 = terms.map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                    assert!(
                        (f64::from(*value) - expected).abs() < 2e-4,
                        "type {of}, {n} tokens, row {row}: {value}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn threads_and_other_tokens_change_no_bit() {
        let [m, n, k] = [220, 70, 1536];
        let (whole, ..) = product(sys::GGML_TYPE_Q4_1, [m, n, k], m);
        for part in [64, 128] {
            assert!(product(sys::GGML_TYPE_Q4_1, [m, n, k], part).0 == whole, "parts of {part} rows");
        }
        for fewer in [32, 33, 69] {
            assert!(product(sys::GGML_TYPE_Q4_1, [m, fewer, k], 64).0 == whole[..fewer * m], "{fewer} of the tokens");
        }
    }
}
