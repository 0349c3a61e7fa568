//! The frame of a figure with two axes: scales, grid, tick labels and axis titles.
//!
//! The title of the vertical axis stands above the plot, level: it needs no turned head and no left margin.

use super::axis::Axis;
use super::{MARGIN, WIDTH, lettering, line, text};
use crate::report::table::fixed;

/// Upper and lower edge of every plot.
const TOP: f64 = 32.0;
const BOTTOM: f64 = 342.0;
/// Size of tick labels, and the least gap between two of them.
const TICK_SIZE: f64 = 13.0;
const TICK_GAP: f64 = 6.0;

/// Hours of a year, as the error strata count them: 365.25 days.
const YEAR_HOURS: f64 = 8766.0;

/// One direction of a plot: where a value lies, and which values are labelled.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scale {
    /// Equal steps; labels carry the suffix.
    Linear(Axis, &'static str),
    /// ln(1 + hours) from 0 to at least a year, labelled in the units that people use for spans of time.
    LogHours {
        /// The right end in hours.
        last: f64,
    },
}

impl Scale {
    /// A scale for absolute errors up to `longest` hours, which is finite and not negative.
    pub(super) fn log_hours(longest: f64) -> Self {
        Self::LogHours { last: longest.max(YEAR_HOURS) }
    }

    /// 0 at the low end, 1 at the high end.
    fn part(&self, value: f64) -> f64 {
        match self {
            Self::Linear(axis, _) => axis.part(value),
            Self::LogHours { last } => value.ln_1p() / last.ln_1p(),
        }
    }

    /// Values with their labels, from the low end to the high end.
    fn ticks(&self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(axis, suffix) => {
                axis.ticks().map(|tick| (tick, format!("{}{suffix}", fixed(tick, axis.decimals())))).collect()
            }
            Self::LogHours { last } => {
                let spans = [(0.0, "0"), (1.0, "1 h"), (24.0, "1 day"), (168.0, "1 week"), (YEAR_HOURS, "1 year")];
                let spans = spans.map(|(hours, label)| (hours, label.to_owned())).into_iter();
                let decades = (1..300).map(|power| {
                    let years = if power <= 4 { format!("{} years", 10u32.pow(power)) } else { format!("1e{power} years") };
                    (YEAR_HOURS * 10f64.powi(power as i32), years)
                });
                spans.chain(decades).take_while(|(hours, _)| hours <= last).collect()
            }
        }
    }
}

/// A frame that has been drawn, into which values can be placed.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    x: Scale,
    y: Scale,
    left: f64,
}

impl Plot {
    /// Draws grid, tick labels and titles.
    pub(super) fn open(body: &mut String, x: Scale, x_title: &str, y: Scale, y_title: &str) -> Self {
        let plot = Self::open_without_x(body, x, x_title, y, y_title);
        let mut free = f64::NEG_INFINITY;
        for (value, label) in plot.x.ticks() {
            let (x, half) = (plot.x(value), lettering::width(&label, TICK_SIZE) / 2.0);
            // A long label at the right end moves in rather than out of the drawing.
            let middle = x.min(WIDTH - 2.0 - half);
            if middle - half < free {
                continue;
            }
            free = middle + half + TICK_GAP;
            line(body, "az-grid", x, TOP, x, BOTTOM);
            text(body, "az-soft az-mid", middle, BOTTOM + 18.0, &label);
        }
        line(body, "az-base", plot.left, BOTTOM, plot.right(), BOTTOM);
        plot
    }

    /// The same for groups side by side: each label stands below the middle of its group.
    pub(super) fn open_grouped(body: &mut String, x_title: &str, groups: &[&str], y: Scale, y_title: &str) -> Self {
        let n_groups = groups.len() as f64;
        let x = Scale::Linear(Axis::fixed(0.0, n_groups, 1.0), "");
        let plot = Self::open_without_x(body, x, x_title, y, y_title);
        for (k, label) in groups.iter().enumerate() {
            text(body, "az-soft az-mid", plot.x(k as f64 + 0.5), BOTTOM + 18.0, label);
        }
        line(body, "az-base", plot.left, BOTTOM, plot.right(), BOTTOM);
        plot
    }

    fn open_without_x(body: &mut String, x: Scale, x_title: &str, y: Scale, y_title: &str) -> Self {
        let widest = y.ticks().iter().map(|(_, label)| lettering::width(label, TICK_SIZE)).fold(0.0, f64::max);
        let plot = Self { x, y, left: MARGIN + widest + 8.0 };
        let (left, right) = (plot.left, plot.right());
        text(body, "az-soft", MARGIN, 15.0, y_title);
        for (value, label) in plot.y.ticks() {
            let height = plot.y(value);
            line(body, "az-grid", left, height, right, height);
            text(body, "az-soft az-end", left - 8.0, height + 4.5, &label);
        }
        text(body, "az-soft az-mid", f64::midpoint(left, right), BOTTOM + 39.0, x_title);
        plot
    }

    /// Horizontal coordinate of a value.
    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + self.x.part(value) * (self.right() - self.left)
    }

    /// Vertical coordinate of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.part(value) * (BOTTOM - TOP)
    }

    /// Left edge.
    pub(super) fn left(&self) -> f64 {
        self.left
    }

    /// Right edge; the margin beyond it holds half a tick label.
    pub(super) fn right(&self) -> f64 {
        WIDTH - MARGIN
    }

    /// Upper edge.
    pub(super) fn top(&self) -> f64 {
        TOP
    }

    /// Lower edge.
    pub(super) fn bottom(&self) -> f64 {
        BOTTOM
    }

    /// First free height below the title of the horizontal axis.
    pub(super) fn below(&self) -> f64 {
        BOTTOM + 50.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_labelled_up_to_the_longest() {
        let labels = |longest| Scale::log_hours(longest).ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(0.0), ["0", "1 h", "1 day", "1 week", "1 year"]);
        assert_eq!(labels(8766.0 * 100.0).last().unwrap(), "100 years");
        assert!(labels(f64::MAX).len() > 100);
        let scale = Scale::log_hours(0.0);
        assert_eq!((scale.part(0.0), scale.part(YEAR_HOURS)), (0.0, 1.0));
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        for longest in [0.0, 1e5, 1e9, 1e300] {
            let mut body = String::new();
            let y = Scale::Linear(Axis::fixed(0.0, 100.0, 25.0), "%");
            Plot::open(&mut body, Scale::log_hours(longest), "time (h)", y, "share (%)");
            super::super::overlap::assert_apart(&body);
        }
    }
}
