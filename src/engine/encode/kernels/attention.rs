//! Attention inside one text: short texts by loops over the keys, long ones in blocks of queries by products.

use super::functions::exp;
use crate::engine::matrix::{Matrix, multiply};

/// Queries of a block: bounds the scores of a long text.
const BLOCK: usize = 64;

/// Keys from which products pay.
const FEWEST_KEYS: usize = 48;

/// Rows of queries, keys or values inside wider rows.
#[derive(Clone, Copy)]
pub(in super::super) struct Rows<'a> {
    pub values: &'a [f32],
    /// Elements from one row to the next.
    pub step: usize,
    /// First element of the first row.
    pub from: usize,
}

impl<'a> Rows<'a> {
    fn row(&self, row: usize, width: usize) -> &'a [f32] {
        &self.values[self.from + row * self.step..][..width]
    }

    fn column_major(&self) -> Matrix<'a> {
        Matrix::new(&self.values[self.from..], 1, self.step)
    }

    fn row_major(&self) -> Matrix<'a> {
        Matrix::new(&self.values[self.from..], self.step, 1)
    }
}

/// One head of one text.
pub(in super::super) struct Head<'a> {
    pub queries: Rows<'a>,
    pub n_queries: usize,
    /// Keys and values in parts that follow each other (a shared beginning, then the text's own), with their rows.
    pub parts: &'a [(Rows<'a>, Rows<'a>, usize)],
    /// Elements of a query, key and value.
    pub width: usize,
    /// Whether a token sees only itself and those before it: the queries are the last tokens of the keys.
    pub causal: bool,
}

impl Head<'_> {
    /// Writes the attended values to rows of `out`, `step` elements apart.
    pub fn attend(&self, out: &mut [f32], step: usize) {
        let n_keys: usize = self.parts.iter().map(|(.., n)| n).sum();
        let scale = 1.0 / (self.width as f32).sqrt();
        let mut scores = vec![0.0_f32; BLOCK.min(self.n_queries) * n_keys];
        let mut block_out = vec![0.0_f32; BLOCK.min(self.n_queries) * self.width];
        for first in (0..self.n_queries).step_by(BLOCK) {
            let n = BLOCK.min(self.n_queries - first);
            let mut at = 0;
            for (keys, _, n_part) in self.parts {
                self.scores(first, n, keys, *n_part, &mut scores[at..], n_keys);
                at += n_part;
            }
            for (i, row) in scores.chunks_exact_mut(n_keys).take(n).enumerate() {
                let n_seen = if self.causal { n_keys - self.n_queries + first + i + 1 } else { n_keys };
                softmax(&mut row[..n_seen], scale);
                row[n_seen..].fill(0.0);
            }
            block_out[..n * self.width].fill(0.0);
            let mut at = 0;
            for (_, values, n_part) in self.parts {
                self.values(n, values, *n_part, &scores[at..], n_keys, &mut block_out);
                at += n_part;
            }
            for (i, row) in block_out.chunks_exact(self.width).take(n).enumerate() {
                out[(first + i) * step..][..self.width].copy_from_slice(row);
            }
        }
    }

    fn scores(&self, first: usize, n: usize, keys: &Rows<'_>, n_keys: usize, out: &mut [f32], step: usize) {
        if n_keys >= FEWEST_KEYS {
            let queries = Rows { from: self.queries.from + first * self.queries.step, ..self.queries };
            return multiply([n_keys, n, self.width], keys.row_major(), queries.column_major(), out, step, false);
        }
        for i in 0..n {
            let query = self.queries.row(first + i, self.width);
            for (key, out) in out[i * step..][..n_keys].iter_mut().enumerate() {
                *out = dot(query, keys.row(key, self.width));
            }
        }
    }

    fn values(&self, n: usize, values: &Rows<'_>, n_keys: usize, weights: &[f32], step: usize, out: &mut [f32]) {
        if n_keys >= FEWEST_KEYS {
            let weights = Matrix::new(weights, 1, step);
            return multiply([self.width, n, n_keys], values.column_major(), weights, out, self.width, true);
        }
        for (i, out) in out.chunks_exact_mut(self.width).take(n).enumerate() {
            for (key, weight) in weights[i * step..][..n_keys].iter().enumerate() {
                let value = values.row(key, self.width);
                out.iter_mut().zip(value).for_each(|(out, x)| *out = x.mul_add(*weight, *out));
            }
        }
    }
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0.0_f32; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for i in 0..LANES {
            lanes[i] = x[i].mul_add(y[i], lanes[i]);
        }
    }
    lanes.iter().sum::<f32>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f32>()
}

/// Scores to weights that sum to 1.
fn softmax(row: &mut [f32], scale: f32) {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, |top, x| if x > top { x } else { top });
    let mut sum = 0.0;
    for x in row.iter_mut() {
        *x = exp((*x - top) * scale);
        sum += *x;
    }
    let by = 1.0 / sum;
    row.iter_mut().for_each(|x| *x *= by);
}
