//! Layer norm and root-mean-square norm of rows.

/// Lanes of a sum: enough for two vectors of AVX-512.
const LANES: usize = 32;

/// Sum of `of` over a row, by lanes.
#[inline]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += of(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

/// Rows scaled to mean 0 and variance 1, then to `gain` and `bias`.
pub(in super::super) struct LayerNorm {
    pub gain: Vec<f32>,
    pub bias: Vec<f32>,
    pub eps: f32,
}

impl LayerNorm {
    /// # Shapes
    /// `[N, D]`, in place.
    pub fn apply(&self, rows: &mut [f32]) {
        let width = self.gain.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = sum(row, |x| x) / width as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
            let by = 1.0 / (variance + self.eps).sqrt();
            for ((x, gain), bias) in row.iter_mut().zip(&self.gain).zip(&self.bias) {
                *x = (*x - mean) * by * gain + bias;
            }
        }
    }
}

/// Rows scaled to root mean square 1, then to `gain`.
pub(in super::super) struct RmsNorm {
    pub gain: Vec<f32>,
    pub eps: f32,
}

impl RmsNorm {
    /// # Shapes
    /// `[N, D]`, in place; `D` may be a part of a token's row (a head).
    pub fn apply(&self, rows: &mut [f32]) {
        let width = self.gain.len();
        for row in rows.chunks_exact_mut(width) {
            let by = 1.0 / (sum(row, |x| x * x) / width as f32 + self.eps).sqrt();
            row.iter_mut().zip(&self.gain).for_each(|(x, gain)| *x = *x * by * gain);
        }
    }

    pub fn applied(&self, rows: &[f32]) -> Vec<f32> {
        let mut rows = rows.to_vec();
        self.apply(&mut rows);
        rows
    }
}
