//! Quantised blocks of weights written out as f32, fast enough to be done anew for a handful of tokens.
//!
//! # Source
//! The block layouts of ggml (`ggml-common.h`). The values are those of ggml's own functions: each is rounded once at most, in the same
//! place.
#![expect(unsafe_code, reason = "blocks lie in the model library's tensors, and are read by vector instructions")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "one contract for all: that of `Format::write_out`")]

use super::{is_type, sys};
use std::arch::x86_64::*;
use std::ffi::{c_int, c_void};

/// A kind of block: `LEN` weights in `BYTES` bytes.
pub(super) trait Format {
    const LEN: usize;
    const BYTES: usize;

    /// # Safety
    /// `block` reaches [`Self::BYTES`] bytes, `to` [`Self::LEN`] places, and [`machine_can`].
    unsafe fn write_out(block: *const u8, to: *mut f32);
}

/// What is done for a format known at run time.
pub(super) trait ForFormat {
    type Output;
    fn with<F: Format>(self) -> Self::Output;
}

/// `None` for a type of ggml's that is no [`Format`].
pub(super) fn with_format<T: ForFormat>(of: c_int, what: T) -> Option<T::Output> {
    let is = |of_ggml| is_type(of, of_ggml);
    Some(match () {
        () if is(sys::GGML_TYPE_Q4_0) => what.with::<Q4_0>(),
        () if is(sys::GGML_TYPE_Q4_1) => what.with::<Q4_1>(),
        () if is(sys::GGML_TYPE_Q5_0) => what.with::<Q5_0>(),
        () if is(sys::GGML_TYPE_Q5_1) => what.with::<Q5_1>(),
        () if is(sys::GGML_TYPE_Q8_0) => what.with::<Q8_0>(),
        () if is(sys::GGML_TYPE_Q4_K) => what.with::<Q4K>(),
        () if is(sys::GGML_TYPE_Q5_K) => what.with::<Q5K>(),
        () if is(sys::GGML_TYPE_Q6_K) => what.with::<Q6K>(),
        () => return None,
    })
}

/// Whether the machine has the instructions that [`Format::write_out`] is made of.
pub(super) fn machine_can() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

/// The function that writes a row of a type out: our own where there is one, else ggml's. `None` for a type that has neither.
pub(super) fn row_writer(of: c_int) -> sys::ggml_to_float_t {
    struct Own;
    impl ForFormat for Own {
        type Output = unsafe extern "C" fn(*const c_void, *mut f32, i64);
        fn with<F: Format>(self) -> Self::Output {
            write_row::<F>
        }
    }
    // A type of ggml's own table, which lives as long as the program.
    let of_ggml = unsafe { (*sys::ggml_get_type_traits(of as sys::ggml_type)).to_float };
    if machine_can() { with_format(of, Own).or(of_ggml) } else { of_ggml }
}

#[target_feature(enable = "avx2,fma,f16c")]
unsafe extern "C" fn write_row<F: Format>(from: *const c_void, to: *mut f32, n: i64) {
    for block in 0..n as usize / F::LEN {
        unsafe { F::write_out(from.cast::<u8>().add(block * F::BYTES), to.add(block * F::LEN)) };
    }
}

/// Weights that share a scale.
const SHARED: usize = 32;

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn half(at: *const u8) -> f32 {
    unsafe { _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(at.cast::<u16>().read_unaligned())))) }
}

/// `to = code * scale + shift` for 16 codes, unsigned.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn write_16(codes: __m128i, scale: f32, shift: f32, to: *mut f32) {
    let (scale, shift) = (_mm256_set1_ps(scale), _mm256_set1_ps(shift));
    unsafe {
        let low = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes));
        let high = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(codes, codes)));
        _mm256_storeu_ps(to, _mm256_fmadd_ps(low, scale, shift));
        _mm256_storeu_ps(to.add(8), _mm256_fmadd_ps(high, scale, shift));
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn write_32(codes: __m256i, scale: f32, shift: f32, to: *mut f32) {
    unsafe {
        write_16(_mm256_castsi256_si128(codes), scale, shift, to);
        write_16(_mm256_extracti128_si256::<1>(codes), scale, shift, to.add(16));
    }
}

/// Low four bits of 16 bytes, then the high ones.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn nibbles(bytes: *const u8) -> __m256i {
    let bytes = unsafe { _mm_loadu_si128(bytes.cast()) };
    _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes), _mm256_set1_epi8(15))
}

/// 16 in each byte whose bit is set.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn fifth_bits(high: *const u8) -> __m256i {
    let bits = unsafe { _mm256_set1_epi32(high.cast::<i32>().read_unaligned()) };
    let spread =
        _mm256_shuffle_epi8(bits, _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0));
    let one_each = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(spread, one_each), one_each), _mm256_set1_epi8(16))
}

struct Q4_0;
impl Format for Q4_0 {
    const LEN: usize = SHARED;
    const BYTES: usize = 18;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let d = half(block);
            write_32(nibbles(block.add(2)), d, -8.0 * d, to);
        }
    }
}

struct Q4_1;
impl Format for Q4_1 {
    const LEN: usize = SHARED;
    const BYTES: usize = 20;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe { write_32(nibbles(block.add(4)), half(block), half(block.add(2)), to) }
    }
}

struct Q5_0;
impl Format for Q5_0 {
    const LEN: usize = SHARED;
    const BYTES: usize = 22;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let d = half(block);
            write_32(_mm256_or_si256(nibbles(block.add(6)), fifth_bits(block.add(2))), d, -16.0 * d, to);
        }
    }
}

struct Q5_1;
impl Format for Q5_1 {
    const LEN: usize = SHARED;
    const BYTES: usize = 24;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let codes = _mm256_or_si256(nibbles(block.add(8)), fifth_bits(block.add(4)));
            write_32(codes, half(block), half(block.add(2)), to);
        }
    }
}

struct Q8_0;
impl Format for Q8_0 {
    const LEN: usize = SHARED;
    const BYTES: usize = 34;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let d = half(block);
            // Signed, so moved up into the unsigned.
            let codes = _mm256_xor_si256(_mm256_loadu_si256(block.add(2).cast()), _mm256_set1_epi8(-128));
            write_32(codes, d, -128.0 * d, to);
        }
    }
}

/// Scale and minimum, six bits each, of group `i` of the eight of a block.
#[inline(always)]
unsafe fn six_bits(packed: *const u8, i: usize) -> (f32, f32) {
    let at = |i: usize| unsafe { *packed.add(i) };
    let (scale, minimum) = if i < 4 {
        (at(i) & 63, at(i + 4) & 63)
    } else {
        (at(i + 4) & 15 | at(i - 4) >> 6 << 4, at(i + 4) >> 4 | at(i) >> 6 << 4)
    };
    (f32::from(scale), f32::from(minimum))
}

/// `(bytes >> by) & mask`, byte by byte.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn bits(bytes: *const u8, by: usize, mask: i8) -> __m256i {
    let bytes = unsafe { _mm256_loadu_si256(bytes.cast()) };
    _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128(by as i32)), _mm256_set1_epi8(mask))
}

struct Q4K;
impl Format for Q4K {
    const LEN: usize = 256;
    const BYTES: usize = 144;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let (d, d_min) = (half(block), half(block.add(2)));
            for i in 0..8 {
                let (s, m) = six_bits(block.add(4), i);
                write_32(bits(block.add(16 + i / 2 * SHARED), i % 2 * 4, 15), d * s, -(d_min * m), to.add(i * SHARED));
            }
        }
    }
}

struct Q5K;
impl Format for Q5K {
    const LEN: usize = 256;
    const BYTES: usize = 176;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let (d, d_min) = (half(block), half(block.add(2)));
            for i in 0..8 {
                let (s, m) = six_bits(block.add(4), i);
                let low = bits(block.add(48 + i / 2 * SHARED), i % 2 * 4, 15);
                let high = _mm256_slli_epi16::<4>(bits(block.add(16), i, 1));
                write_32(_mm256_or_si256(low, high), d * s, -(d_min * m), to.add(i * SHARED));
            }
        }
    }
}

struct Q6K;
impl Format for Q6K {
    const LEN: usize = 256;
    const BYTES: usize = 210;
    #[inline(always)]
    unsafe fn write_out(block: *const u8, to: *mut f32) {
        unsafe {
            let d = half(block.add(208));
            for i in 0..8 {
                let (upper, quarter) = (i / 4, i % 4);
                let low = bits(block.add(upper * 64 + quarter % 2 * SHARED), quarter / 2 * 4, 15);
                let high = _mm256_slli_epi16::<4>(bits(block.add(128 + upper * SHARED), quarter * 2, 3));
                let codes = _mm256_or_si256(low, high);
                for (part, codes) in [_mm256_castsi256_si128(codes), _mm256_extracti128_si256::<1>(codes)].into_iter().enumerate()
                {
                    let s = d * f32::from(*block.add(192 + i * 2 + part) as i8);
                    write_16(codes, s, -32.0 * s, to.add(i * SHARED + part * 16));
                }
            }
        }
    }
}
