//! Products of weights with tokens.
//!
//! ggml asks `ggml_compute_forward_mul_mat_tiled` first for every product on the CPU, in each of its threads. Its own ways multiply
//! quantised blocks with activations rounded to 8 bits; here these stay as they are.

use super::formats::row_writer;
use super::{FEWEST_ELEMENTS, Matrix, Thread, few, multiply};
use llama_cpp_sys_2 as sys;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};

/// Fewest tokens for which whole rows of weights are written out for the blocked kernel; `few` has those below. One token by itself too: a
/// reply must not change because a drafted token was computed beside another.
const MANY_TOKENS: usize = 32;

/// Parts of the rows a thread.
const PARTS_A_THREAD: usize = 2;

/// Rows of weights come in multiples of this: a whole number of the kernels' columns, AVX2 and AVX-512.
const ROW_STEP: usize = 64;
const FEW_ROW_STEP: usize = 16;

// SAFETY: the functions that `--wrap` put aside.
#[expect(unsafe_code, reason = "functions of the model library")]
unsafe extern "C" {
    fn __real_ggml_compute_forward_mul_mat_tiled(thread: *const Thread, out: *mut sys::ggml_tensor) -> bool;
    fn __real_llama_model_default_params() -> sys::llama_model_params;
}

thread_local! {
    /// Rows of weights written out.
    static ROWS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn link() {
    std::hint::black_box(__wrap_ggml_compute_forward_mul_mat_tiled as *const ());
    std::hint::black_box(__wrap_llama_model_default_params as *const ());
}

/// What the linker puts in the place of `llama_model_default_params`: weights stay in memory as they are in the file. Laid out anew for
/// llama.cpp's own kernels they could not be read here.
#[expect(unsafe_code, reason = "called by the model library in the place of a function of its own")]
// SAFETY: no other symbol has this name; it belongs to `--wrap=llama_model_default_params`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_llama_model_default_params() -> sys::llama_model_params {
    // SAFETY: it takes nothing.
    sys::llama_model_params { use_extra_bufts: false, ..unsafe { __real_llama_model_default_params() } }
}

/// What the linker puts in the place of `ggml_compute_forward_mul_mat_tiled`: one thread's share of `out = weights * tokens`. `false`
/// hands the product back to ggml.
#[expect(unsafe_code, reason = "called by the model library in the place of a function of its own")]
// SAFETY: no other symbol has this name; it belongs to `--wrap=ggml_compute_forward_mul_mat_tiled`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_ggml_compute_forward_mul_mat_tiled(thread: *const Thread, out: *mut sys::ggml_tensor) -> bool {
    // SAFETY: ggml calls this in all threads of its pool for the same tensor, whose sources live as long as the call. Each part of the
    // rows is one job, so no two threads write the same element.
    unsafe {
        let Some((product, way)) = Product::of(&*out) else {
            return __real_ggml_compute_forward_mul_mat_tiled(thread, out);
        };
        let thread = &*thread;
        let (step, m) = (way.row_step(), product.n_rows);
        let n_parts = (thread.n_threads as usize * PARTS_A_THREAD).min(m.div_ceil(step)).max(1);
        let part_rows = m.div_ceil(n_parts).next_multiple_of(step);
        thread.share(m.div_ceil(part_rows), |part| {
            product.compute(&way, part * part_rows, part_rows.min(m - part * part_rows));
        });
    }
    true
}

/// A tensor of two dimensions whose rows are whole.
#[expect(unsafe_code, reason = "asks the model library for a type's size")]
fn is_plain(tensor: &sys::ggml_tensor) -> bool {
    // SAFETY: `type_` is a type of ggml's own table.
    let size = unsafe { sys::ggml_type_size(tensor.type_) };
    tensor.ne[2] == 1 && tensor.ne[3] == 1 && tensor.nb[0] == size
}

/// How a product is computed.
enum Way {
    /// Rows written out by a function (`None`: they are f32), for the blocked kernel.
    Many(sys::ggml_to_float_t),
    Few(few::Compute),
}

impl Way {
    /// `None` where it is left to ggml.
    fn of(weights: sys::ggml_type, [m, n]: [usize; 2]) -> Option<Self> {
        let last_rows = m.checked_sub(1)? % ROW_STEP + 1;
        if n >= MANY_TOKENS && last_rows * n >= FEWEST_ELEMENTS {
            if weights == sys::GGML_TYPE_F32 {
                return Some(Self::Many(None));
            }
            return row_writer(weights as c_int).map(|write_out| Self::Many(Some(write_out)));
        }
        few::of(weights as c_int).map(Self::Few)
    }

    fn row_step(&self) -> usize {
        match self {
            Self::Many(_) => ROW_STEP,
            Self::Few(_) => FEW_ROW_STEP,
        }
    }
}

/// `out[token][row] = sum over l of weights[row][l] * tokens[token][l]`: where the numbers lie.
///
/// # Shapes
/// Weights: `[n_rows, depth]` in blocks of their type, `row_bytes` a row; tokens: columns of `depth`; `out`: `[n_tokens, n_rows]`, tokens
/// `out_step` elements apart.
pub(super) struct Product {
    pub(super) weights: *const c_void,
    pub(super) row_bytes: usize,
    n_rows: usize,
    pub(super) depth: usize,
    pub(super) tokens: Matrix,
    pub(super) n_tokens: usize,
    pub(super) out: *mut f32,
    pub(super) out_step: usize,
}

impl Product {
    /// What a tensor of ggml's is computed from; `None` where it is left to ggml.
    ///
    /// # Safety
    /// `out` is a product, and its sources are alive.
    #[expect(unsafe_code, reason = "reads the model library's tensors")]
    unsafe fn of(out: &sys::ggml_tensor) -> Option<(Self, Way)> {
        // SAFETY: the caller vouches for the sources.
        let (weights, tokens) = unsafe { (&*out.src[0], &*out.src[1]) };
        let (m, n) = (weights.ne[1] as usize, tokens.ne[1] as usize);
        let plain = [weights, tokens, out].into_iter().all(is_plain);
        if !plain || tokens.type_ != sys::GGML_TYPE_F32 || out.type_ != sys::GGML_TYPE_F32 {
            return None;
        }
        let product = Self {
            weights: weights.data,
            row_bytes: weights.nb[1],
            n_rows: m,
            depth: weights.ne[0] as usize,
            tokens: Matrix { at: tokens.data.cast(), row_step: 1, column_step: tokens.nb[1] / size_of::<f32>() },
            n_tokens: n,
            out: out.data.cast(),
            out_step: out.nb[1] / size_of::<f32>(),
        };
        Way::of(weights.type_, [m, n]).map(|way| (product, way))
    }

    /// Rows `first` to `first + n_rows`.
    ///
    /// # Safety
    /// The pointers reach the rows and all tokens, and nobody else writes these rows of the result.
    #[expect(unsafe_code, reason = "reads and writes the model library's tensors")]
    unsafe fn compute(&self, way: &Way, first: usize, n_rows: usize) {
        // SAFETY: the caller vouches for the pointers.
        unsafe {
            match way {
                Way::Many(write_out) => self.compute_many(*write_out, first, n_rows),
                Way::Few(compute) => compute(self, first, n_rows),
            }
        }
    }

    /// As [`Self::compute`], with rows written out whole.
    #[expect(unsafe_code, reason = "reads and writes the model library's tensors")]
    unsafe fn compute_many(&self, write_out: sys::ggml_to_float_t, first: usize, n_rows: usize) {
        let shape = [n_rows, self.n_tokens, self.depth];
        // SAFETY: the caller vouches for the pointers; the buffer holds the rows.
        unsafe {
            let from = self.weights.byte_add(first * self.row_bytes);
            let out = self.out.add(first);
            let Some(write_out) = write_out else {
                let left = Matrix { at: from.cast(), row_step: self.row_bytes / size_of::<f32>(), column_step: 1 };
                return multiply(shape, left, self.tokens, out, self.out_step, false);
            };
            ROWS.with_borrow_mut(|buffer| {
                buffer.resize(buffer.len().max(n_rows * self.depth), 0.0);
                for (row, to) in buffer.chunks_exact_mut(self.depth).take(n_rows).enumerate() {
                    write_out(from.byte_add(row * self.row_bytes), to.as_mut_ptr(), self.depth as i64);
                }
                let left = Matrix { at: buffer.as_ptr(), row_step: self.depth, column_step: 1 };
                multiply(shape, left, self.tokens, out, self.out_step, false);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::generate::llama::cpu::tests::numbers;

    /// Products of `m` rows of a type with `n` tokens, computed in parts of `part` rows; with the rows as ggml writes them out, and the
    /// tokens.
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
            match (*sys::ggml_get_type_traits(of)).to_float {
                Some(write_out) => write_out(quantised.as_ptr().cast(), written.as_mut_ptr(), (m * k) as i64),
                None => written.copy_from_slice(&weights),
            }
            let product = Product {
                weights: quantised.as_ptr().cast(),
                row_bytes,
                n_rows: m,
                depth: k,
                tokens: Matrix { at: tokens.as_ptr(), row_step: 1, column_step: k },
                n_tokens: n,
                out: out.as_mut_ptr(),
                out_step: m,
            };
            let way = Way::of(of, [m, n]).expect("provided for");
            for first in (0..m).step_by(part) {
                product.compute(&way, first, part.min(m - first));
            }
        }
        (out, written, tokens)
    }

    const QUANTISED: [sys::ggml_type; 8] = [
        sys::GGML_TYPE_Q4_0,
        sys::GGML_TYPE_Q4_1,
        sys::GGML_TYPE_Q5_0,
        sys::GGML_TYPE_Q5_1,
        sys::GGML_TYPE_Q8_0,
        sys::GGML_TYPE_Q4_K,
        sys::GGML_TYPE_Q5_K,
        sys::GGML_TYPE_Q6_K,
    ];

    fn check(of: sys::ggml_type, shape: [usize; 3]) {
        let [m, n, k] = shape;
        let (out, weights, tokens) = product(of, shape, 64);
        for (i, value) in out.iter().enumerate() {
            let (token, row) = (i / m, i % m);
            let terms = weights[row * k..][..k].iter().zip(&tokens[token * k..][..k]);
            let expected: f64 = terms.map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            assert!((f64::from(*value) - expected).abs() < 2e-4, "type {of}, {n} tokens, row {row}: {value}, not {expected}");
        }
    }

    #[test]
    fn a_product_is_that_of_the_weights_as_they_are_stored() {
        for of in QUANTISED {
            for shape in [[64, 32, 256], [72, 47, 1536]] {
                check(of, shape);
            }
        }
        for of in [sys::GGML_TYPE_F16, sys::GGML_TYPE_BF16, sys::GGML_TYPE_F32] {
            for shape in [[64, 32, 64], [100, 33, 576], [72, 47, 1536]] {
                check(of, shape);
            }
        }
    }

    #[test]
    fn a_product_of_few_tokens_is_that_of_the_weights_as_they_are_stored() {
        for of in QUANTISED.into_iter().filter(|of| few::of(*of as c_int).is_some()) {
            for n in 1..MANY_TOKENS {
                check(of, [37, n, 768]);
            }
            check(of, [1, 40, 256]);
        }
        for depth in [32, 64, 576] {
            check(sys::GGML_TYPE_Q8_0, [16, 5, depth]);
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
        let (whole, ..) = product(sys::GGML_TYPE_Q5_K, [m, 31, k], m);
        for fewer in 1..31 {
            assert!(product(sys::GGML_TYPE_Q5_K, [m, fewer, k], 48).0 == whole[..fewer * m], "{fewer} of 31 tokens");
        }
    }

    #[test]
    fn blocks_are_written_out_as_ggml_does() {
        for of in QUANTISED {
            let k = 1024;
            let mut blocks = vec![0_u8; 0];
            // SAFETY: the buffers have the sizes that the type asks for.
            #[expect(unsafe_code, reason = "calls the model library's functions of types")]
            unsafe {
                blocks.resize(sys::ggml_row_size(of, k as i64), 0);
                let weights = numbers(3, k);
                let to = blocks.as_mut_ptr().cast();
                sys::ggml_quantize_chunk(of, weights.as_ptr(), to, 0, 1, k as i64, std::ptr::null());
                let (mut own, mut of_ggml) = (vec![f32::NAN; k], vec![f32::NAN; k]);
                row_writer(of as c_int).expect("a writer")(blocks.as_ptr().cast(), own.as_mut_ptr(), k as i64);
                (*sys::ggml_get_type_traits(of)).to_float.expect("a writer")(
                    blocks.as_ptr().cast(),
                    of_ggml.as_mut_ptr(),
                    k as i64,
                );
                assert!(own == of_ggml, "type {of}");
            }
        }
    }
}
