//! Activations and the exponential, without branches, so that they are computed by vectors.

use super::super::folder::Activation;

/// `e^x`, relative error below 2e-7; 0 far below zero.
///
/// # Source
/// Cephes `expf`: reduction to half of ln 2, polynomial of degree 5.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut p = 1.987_569_1e-4_f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    let y = p.mul_add(r * r, r) + 1.0;
    y * f32::from_bits(((n as i32 + 127) as u32) << 23)
}

/// The error function, absolute error below 5e-7.
///
/// # Source
/// Rational approximation of Eigen's `generic_fast_erf` (13th over 8th degree on -4 to 4).
#[inline]
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let s = x * x;
    let mut p = -2.726_142_3e-10_f32;
    for c in [2.770_681_4e-8, -2.101_024e-6, -5.692_506_4e-5, -7.349_906e-4, -2.954_6e-3, -1.609_603_3e-2] {
        p = p.mul_add(s, c);
    }
    let mut q = -1.456_607_2e-5_f32;
    for c in [-2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2] {
        q = q.mul_add(s, c);
    }
    x * p / q
}

#[inline]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

impl Activation {
    #[inline]
    fn of(self, x: f32) -> f32 {
        match self {
            Self::Gelu => 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
            Self::GeluTanh => x * sigmoid(2.0 * 0.797_884_6 * (x + 0.044_715 * x * x * x)),
            Self::Relu => x.max(0.0),
            Self::Silu => x * sigmoid(x),
        }
    }

    /// Each element in place.
    pub(in super::super) fn apply(self, values: &mut [f32]) {
        // One loop an activation, so that each is computed by vectors.
        match self {
            Self::Gelu => values.iter_mut().for_each(|x| *x = Self::Gelu.of(*x)),
            Self::GeluTanh => values.iter_mut().for_each(|x| *x = Self::GeluTanh.of(*x)),
            Self::Relu => values.iter_mut().for_each(|x| *x = Self::Relu.of(*x)),
            Self::Silu => values.iter_mut().for_each(|x| *x = Self::Silu.of(*x)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error function by its series.
    fn erf_f64(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            let n = f64::from(n);
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    #[test]
    fn the_exponential_keeps_its_bound() {
        for i in -8_700..=8_800 {
            let x = i as f32 / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) - expected).abs() <= 2e-7 * expected, "e^{x}: {}, not {expected}", exp(x));
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn activations_are_those_of_their_definitions() {
        for i in -500..=500 {
            let x = i as f32 / 100.0;
            let wide = f64::from(x);
            let cases = [
                (Activation::Gelu, 0.5 * wide * (1.0 + erf_f64(wide * std::f64::consts::FRAC_1_SQRT_2))),
                (Activation::GeluTanh, 0.5 * wide * (1.0 + (0.797_884_560_802_865_4 * (wide + 0.044_715 * wide.powi(3))).tanh())),
                (Activation::Relu, wide.max(0.0)),
                (Activation::Silu, wide / (1.0 + (-wide).exp())),
            ];
            for (activation, expected) in cases {
                let mut found = [x];
                activation.apply(&mut found);
                assert!((f64::from(found[0]) - expected).abs() < 1.5e-6, "{activation:?}({x}): {}, not {expected}", found[0]);
            }
        }
    }
}
