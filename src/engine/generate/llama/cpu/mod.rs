//! What is computed on the CPU in the place of llama.cpp's own functions: products with the weights, and attention of prompts. Many
//! tokens have 16-bit or quantised numbers written out as f32 once and multiplied with a blocked kernel (the crate `gemm`); few tokens
//! (`few`) have quantised weights written out a piece at a time. Both use AVX2 or AVX-512 by what the machine has.
//!
//! The linker leads llama.cpp's calls here (`--wrap` in `build.rs`); what is not taken up goes on to llama.cpp: other types, products of
//! single tokens, experts of a mixture, other systems, GPUs.
//!
//! # Numerics
//! Each element is a sum of fused multiply-adds in an order that no number of threads changes, nor the vectors of the machine. For many
//! tokens it is that of the inner dimension, begun anew every [`DEPTH`] elements; for few, 16 sums of every 16th element, added pairwise.

mod attention;
mod few;
mod formats;
mod product;

use gemm::Parallelism;
use llama_cpp_sys_2 as sys;
use std::ffi::{c_int, c_void};

/// Inner elements of one call of the kernel; not more, or it would cut them by the size of the machine's caches.
const DEPTH: usize = 512;

/// Least columns and elements of a result whose elements do not depend on how many there are.
const FEWEST_COLUMNS: usize = 2;
const FEWEST_ELEMENTS: usize = 257;

/// Makes sure that the functions are linked: only the model library names them.
pub(super) fn link() {
    product::link();
    attention::link();
}

/// One of the threads that compute an operation together: the head of ggml's `ggml_compute_params`.
#[repr(C)]
struct Thread {
    index: c_int,
    n_threads: c_int,
    work_bytes: usize,
    work: *mut c_void,
    pool: *mut c_void,
}

// SAFETY: functions of ggml's CPU backend with C linkage.
#[expect(unsafe_code, reason = "functions of the model library")]
unsafe extern "C" {
    fn ggml_barrier(pool: *mut c_void);
    fn ggml_threadpool_chunk_set(pool: *mut c_void, value: c_int);
    fn ggml_threadpool_chunk_add(pool: *mut c_void, value: c_int) -> c_int;
}

impl Thread {
    /// Takes part in `n_jobs` jobs until all threads are through: one that is held up leaves the rest to the others.
    ///
    /// # Safety
    /// Called by every thread of a living pool with the same number of jobs.
    #[expect(unsafe_code, reason = "the pool is the model library's")]
    unsafe fn share(&self, n_jobs: usize, mut work: impl FnMut(usize)) {
        // SAFETY: the caller vouches for the pool; all its threads meet at both barriers.
        unsafe {
            if self.index == 0 {
                ggml_threadpool_chunk_set(self.pool, self.n_threads);
            }
            ggml_barrier(self.pool);
            let mut job = self.index as usize;
            while job < n_jobs {
                work(job);
                job = ggml_threadpool_chunk_add(self.pool, 1) as usize;
            }
            ggml_barrier(self.pool);
        }
    }
}

fn is_type(given: c_int, expected: sys::ggml_type) -> bool {
    given == expected as c_int
}

/// A matrix of f32: element `(row, column)` lies `row * row_step + column * column_step` elements from `at`.
#[derive(Clone, Copy)]
struct Matrix {
    at: *const f32,
    row_step: usize,
    column_step: usize,
}

/// `out[column][row] (+)= sum over l of left[row][l] * right[l][column]` with `out`'s columns `out_step` elements apart.
///
/// # Shapes
/// `left`: `[m, k]`, `right`: `[k, n]`, `out`: `[n, m]`.
/// At least two columns and [`FEWEST_ELEMENTS`]: below, the kernel has ways of its own that add in another order.
///
/// # Safety
/// The pointers must reach that many elements, and nobody else may use `out` meanwhile.
#[expect(unsafe_code, reason = "the kernel takes pointers")]
unsafe fn multiply([m, n, k]: [usize; 3], left: Matrix, right: Matrix, out: *mut f32, out_step: usize, add: bool) {
    debug_assert!(m * n >= FEWEST_ELEMENTS && n >= FEWEST_COLUMNS);
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
    /// `n` numbers of -1 to 1 that look random, the same for the same seed.
    pub(super) fn numbers(seed: u64, n: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }
}
