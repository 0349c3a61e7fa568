//! What is computed for the tokens of a prompt on the CPU in the place of llama.cpp's own functions: products with the weights, and
//! attention. Both write 16-bit or quantised numbers out as f32 once for many tokens and multiply with a blocked kernel (the crate
//! `gemm`, AVX2 or AVX-512 by what the machine has).
//!
//! The linker leads llama.cpp's calls here (`--wrap` in `build.rs`); what is not taken up goes on to llama.cpp: other types, single
//! tokens of replies, other systems, GPUs.
//!
//! # Numerics
//! Elements as in `engine::matrix`, whatever the number of threads and of tokens.

mod attention;
mod product;

use llama_cpp_sys_2 as sys;
use std::ffi::{c_int, c_void};

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
