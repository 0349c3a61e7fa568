//! A linear axis: round ticks and the way from a value to a coordinate.

use super::{MARGIN, WIDTH};

/// A linear scale, by default over the width of the drawing.
#[derive(Debug, Clone, PartialEq)]
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
        Self::covering_by(low, high, 4.0)
    }

    /// The same with smaller steps, which leave less of the plot empty.
    pub(super) fn close(low: f64, high: f64) -> Self {
        Self::covering_by(low, high, 5.0)
    }

    fn covering_by(low: f64, high: f64, n_steps: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let step = round_step(span / n_steps);
        let first = (low / step).floor() * step;
        let mut last = (high / step).ceil() * step;
        if last <= first {
            last = first + step;
        }
        Self { low: first, high: last, step }
    }

    /// An axis over fractions drawn as percentages, or over a wide enough part of them: `0 <= low <= high <= 100`.
    ///
    /// Values that lie close together still get a tenth of the scale, so that noise does not look like a difference.
    pub(super) fn percentages(low: f64, high: f64) -> Self {
        let axis = Self::fractions(low / 100.0, high / 100.0);
        Self { low: axis.low * 100.0, high: axis.high * 100.0, step: axis.step * 100.0 }
    }

    /// An axis over a part of the scale from 0 to 1 that holds `low ..= high`, at least a tenth of it.
    pub(super) fn fractions(low: f64, high: f64) -> Self {
        let missing = (0.1 - (high - low)).max(0.0);
        let bottom = (low - missing / 2.0).clamp(0.0, 0.9);
        let top = (high + missing / 2.0).max(bottom + 0.1).min(1.0);
        let mut axis = Self::close(bottom.min(low), top.max(high));
        // Round steps divide 1, so only rounding noise can lie outside; a tick too many must not be drawn there.
        while axis.low < -1e-9 {
            axis.low += axis.step;
        }
        while axis.high > 1.0 + 1e-9 {
            axis.high -= axis.step;
        }
        axis
    }

    /// Left and right end.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Coordinate of a value over the width of the drawing.
    pub(super) fn x(&self, value: f64) -> f64 {
        MARGIN + self.part(value) * (WIDTH - 2.0 * MARGIN)
    }

    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub(super) fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
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
        for (low, high) in [(0.0, 0.0), (1.0, 1.0), (0.93, 0.98), (0.0, 1.0), (0.0, 0.003), (0.7, 0.7), (0.999, 1.0), (0.6, 0.9)]
        {
            for (axis, whole) in [(Axis::fractions(low, high), 1.0), (Axis::percentages(low * 100.0, high * 100.0), 100.0)] {
                assert!(axis.low >= -1e-9 && axis.high <= whole * (1.0 + 1e-9), "{low} {high}: {axis:?}");
                assert!(axis.low <= low * whole + 1e-9 && high * whole <= axis.high + 1e-9, "{low} {high}: {axis:?}");
                assert!((2..=8).contains(&axis.ticks().count()), "{low} {high}: {axis:?}");
                assert!(axis.high - axis.low > 0.099 * whole, "{low} {high}: {axis:?}");
            }
        }
        assert_eq!(Axis::covering(0.0, 10.0).decimals(), 1);
        assert_eq!(Axis::covering(1400.0, 1600.0).decimals(), 0);
    }
}
