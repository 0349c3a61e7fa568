//! `y = x W^T + b` for many rows.

use crate::engine::matrix::{Matrix, multiply};

/// A layer of weights, several of the file's beside each other where they take the same input.
pub(in super::super) struct Linear {
    /// `[inputs, outputs]`: what the kernel reads without arranging it anew.
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
    n_inputs: usize,
    n_outputs: usize,
}

impl Linear {
    /// Of parts `[outputs, inputs]`, whose outputs follow each other.
    pub fn new(n_inputs: usize, parts: &[(Vec<f32>, Option<Vec<f32>>)]) -> Self {
        let n_outputs: usize = parts.iter().map(|(weights, _)| weights.len() / n_inputs).sum();
        let mut transposed = vec![0.0; n_inputs * n_outputs];
        let mut first = 0;
        for (weights, _) in parts {
            for (output, row) in weights.chunks_exact(n_inputs).enumerate() {
                for (input, weight) in row.iter().enumerate() {
                    transposed[input * n_outputs + first + output] = *weight;
                }
            }
            first += weights.len() / n_inputs;
        }
        let bias = parts.iter().any(|(_, bias)| bias.is_some()).then(|| {
            let of = |(weights, bias): &(Vec<f32>, Option<Vec<f32>>)| {
                bias.clone().unwrap_or_else(|| vec![0.0; weights.len() / n_inputs])
            };
            parts.iter().flat_map(of).collect()
        });
        Self { weights: transposed, bias, n_inputs, n_outputs }
    }

    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// # Shapes
    /// `x`: `[N, inputs]`, result: `[N, outputs]`.
    pub fn apply(&self, x: &[f32]) -> Vec<f32> {
        let n = x.len() / self.n_inputs;
        let mut out = match &self.bias {
            Some(bias) => bias.repeat(n),
            None => vec![0.0; n * self.n_outputs],
        };
        let weights = Matrix::new(&self.weights, 1, self.n_outputs);
        let rows = Matrix::new(x, 1, self.n_inputs);
        multiply([self.n_outputs, n, self.n_inputs], weights, rows, &mut out, self.n_outputs, true);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_beside_each_other_and_have_their_bias() {
        let layer = Linear::new(2, &[(vec![1.0, 2.0, 3.0, 4.0], Some(vec![10.0, 20.0])), (vec![5.0, 6.0], None)]);
        assert_eq!(layer.n_outputs(), 3);
        assert_eq!(layer.apply(&[1.0, 1.0, 0.0, 2.0]), [13.0, 27.0, 11.0, 14.0, 28.0, 12.0]);
    }
}
