//! A horizontal axis: round ticks and the way from a value to a coordinate.

use super::{MARGIN, WIDTH};

/// A linear scale over the width of the plot.
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// An axis whose ends are exactly `low` and `high`, with a tick every `step`.
    ///
    /// `low < high` and `step > 0`, all finite: callers pass constants or values that they have checked.
    pub(super) fn fixed(low: f64, high: f64, step: f64) -> Self {
        Self { low, high, step }
    }

    /// An axis over `low ..= high`, widened to ticks that are round numbers; `low <= high`, both finite.
    pub(super) fn covering(low: f64, high: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let step = round_step(span / 4.0);
        let first = (low / step).floor() * step;
        let mut last = (high / step).ceil() * step;
        if last <= first {
            last = first + step;
        }
        Self { low: first, high: last, step }
    }

    /// Left and right end.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Coordinate of a value.
    pub(super) fn x(&self, value: f64) -> f64 {
        MARGIN + (value - self.low) / (self.high - self.low) * (WIDTH - 2.0 * MARGIN)
    }

    /// Tick values from left to right, each computed from its number (a running sum would drift).
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let n = ((self.high - self.low) / self.step).round() as u32;
        (0..=n).map(|i| self.low + f64::from(i) * self.step)
    }

    /// Decimals that tell neighbouring ticks apart.
    pub(super) fn decimals(&self) -> usize {
        (0..12)
            .find(|&d| {
                let scaled = self.step * 10f64.powi(d);
                (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0) && scaled >= 0.5
            })
            .map_or(12, |d| d as usize)
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_cover_the_values() {
        for (low, high) in [(1432.7, 1611.2), (0.0, 0.03), (0.0, 17.4), (5.0, 5.0), (-3e8, 9e8), (0.0, 1e-7)] {
            let axis = Axis::covering(low, high);
            let ticks: Vec<f64> = axis.ticks().collect();
            assert!((2..=7).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(axis.low <= low && high <= axis.high, "{low} {high}: {ticks:?}");
            assert!(axis.x(low) >= MARGIN - 1e-9 && axis.x(high) <= WIDTH - MARGIN + 1e-9);
            let labels: Vec<String> = ticks.iter().map(|t| format!("{t:.*}", axis.decimals())).collect();
            assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
        }
        assert_eq!(Axis::fixed(0.0, 100.0, 25.0).ticks().count(), 5);
        assert_eq!(Axis::covering(0.0, 10.0).decimals(), 1);
        assert_eq!(Axis::covering(1400.0, 1600.0).decimals(), 0);
    }
}
