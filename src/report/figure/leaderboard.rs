//! The leaderboard figure: one line a source, a dot for its rating or share and a whisker for its interval.

use std::fmt::Write as _;

use super::axis::Axis;
use super::{ReportError, Svg, axis_labels, bar, caption, coordinate, finite, grid, line};
use crate::report::table::{Cell, Column, Table, fixed};

const FIGURE: &str = "leaderboard figure";
/// Height of one source: its name, then its track.
const ROW: f64 = 50.0;
/// Ratings beyond this are no Bradley-Terry ratings, and would spoil the axis.
const MAX_RATING: f64 = 1e9;

/// What the dots of a leaderboard stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderboardScale {
    /// Bradley-Terry ratings, centred on 1500.
    Rating,
    /// Mean point shares from 0 to 1, drawn as percentages; for when no rating exists.
    MeanShare,
}

/// One source of a leaderboard.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaderboardMark {
    /// Name of the source.
    pub source: String,
    /// Rating, or mean share as a fraction of one.
    pub value: f64,
    /// Lower and upper end of the interval, in the unit of `value`.
    pub interval: Option<(f64, f64)>,
}

/// A leaderboard to be drawn; the order of the marks is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaderboardFigure {
    /// Meaning and unit of the numbers.
    pub scale: LeaderboardScale,
    /// Sources from top to bottom.
    pub marks: Vec<LeaderboardMark>,
}

impl LeaderboardFigure {
    /// Draws the figure.
    ///
    /// # Errors
    /// No marks; a value or an interval end that is not finite or not on the scale; an interval with its ends swapped.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check()?;
        let axis = self.axis();
        let (name, suffix, reference) = match self.scale {
            LeaderboardScale::Rating => ("Bradley-Terry rating", "", 1500.0),
            LeaderboardScale::MeanShare => ("mean point share", "%", 50.0),
        };
        let mut body = String::new();
        for (mark, top) in self.marks.iter().zip((0u32..).map(|i| f64::from(i) * ROW + 4.0)) {
            caption(&mut body, top + 16.0, &mark.source, &self.reading(mark));
            let (upper, middle, lower) = (top + 24.0, top + 33.0, top + 42.0);
            let (from, to) = axis.ends();
            let ends = [axis.x(from), upper, axis.x(to), lower];
            bar(&mut body, "az-track", ends, None);
            grid(&mut body, &axis, upper, lower);
            line(&mut body, "az-ref", axis.x(reference), upper, axis.x(reference), lower);
            if let Some((low, high)) = mark.interval {
                let (left, right) = (axis.x(self.shown(low)), axis.x(self.shown(high)));
                line(&mut body, "az-whisker", left, middle, right, middle);
                line(&mut body, "az-whisker", left, middle - 5.0, left, middle + 5.0);
                line(&mut body, "az-whisker", right, middle - 5.0, right, middle + 5.0);
            }
            let (x, y) = (coordinate(axis.x(self.shown(mark.value))), coordinate(middle));
            writeln!(body, "<circle class=\"az-dot\" cx=\"{x}\" cy=\"{y}\" r=\"6\"/>").expect("writing to a string cannot fail");
        }
        let bottom = f64::from(u32::try_from(self.marks.len()).unwrap_or(u32::MAX)) * ROW + 4.0;
        axis_labels(&mut body, &axis, bottom, name, suffix);
        let label = format!("{name} of {} sources, with intervals where known", self.marks.len());
        Ok(Svg::finish(&label, bottom + 42.0, &body))
    }

    /// The dots and whiskers: one row a source, in the units of the view; the ends are missing where unknown.
    ///
    /// # Errors
    /// As [`LeaderboardFigure::draw`].
    pub fn data(&self) -> Result<Table, ReportError> {
        self.check()?;
        let (key, label, decimals) = match self.scale {
            LeaderboardScale::Rating => ("rating", "Bradley-Terry rating", 0),
            LeaderboardScale::MeanShare => ("mean_share", "Mean point share", 3),
        };
        let columns = vec![
            Column::text("source", "Source"),
            Column::number(key, label),
            Column::number("low", "Interval from"),
            Column::number("high", "Interval to"),
        ];
        let mut table = Table::new("leaderboard", label, columns)?;
        for mark in &self.marks {
            let end = |value: Option<f64>| Cell::maybe(value, decimals);
            let (low, high) = (mark.interval.map(|(low, _)| low), mark.interval.map(|(_, high)| high));
            table.push(vec![Cell::text(&mark.source), Cell::number(mark.value, decimals), end(low), end(high)])?;
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), ReportError> {
        if self.marks.is_empty() {
            return Err(ReportError::EmptyFigure { figure: FIGURE, item: "source" });
        }
        let (low, high, hint) = match self.scale {
            LeaderboardScale::Rating => (-MAX_RATING, MAX_RATING, "a rating is near 1500"),
            LeaderboardScale::MeanShare => (0.0, 1.0, "a share is a fraction, not a percentage"),
        };
        for mark in &self.marks {
            let ends = mark.interval.map(|(from, to)| [from, to]);
            for value in ends.into_iter().flatten().chain([mark.value]) {
                finite(FIGURE, &mark.source, value)?;
                if !(low..=high).contains(&value) {
                    let place = format!("{FIGURE}, source {:?}", mark.source);
                    return Err(ReportError::OutOfRange { place, value, low, high, hint });
                }
            }
            if let Some((low, high)) = mark.interval
                && low > high
            {
                return Err(ReportError::IntervalOrder { figure: FIGURE, name: mark.source.clone(), low, high });
            }
        }
        Ok(())
    }

    fn axis(&self) -> Axis {
        if self.scale == LeaderboardScale::MeanShare {
            return Axis::fixed(0.0, 100.0, 25.0);
        }
        let (mut low, mut high) = (1500.0_f64, 1500.0_f64);
        for mark in &self.marks {
            let (from, to) = mark.interval.unwrap_or((mark.value, mark.value));
            low = low.min(from).min(mark.value);
            high = high.max(to).max(mark.value);
        }
        // Equal ratings still get an axis on which a rating point is not blown up to the full width.
        Axis::covering(low.min(1450.0), high.max(1550.0))
    }

    /// A value in the unit of the axis.
    fn shown(&self, value: f64) -> f64 {
        match self.scale {
            LeaderboardScale::Rating => value,
            LeaderboardScale::MeanShare => 100.0 * value,
        }
    }

    fn reading(&self, mark: &LeaderboardMark) -> String {
        let (decimals, suffix) = match self.scale {
            LeaderboardScale::Rating => (0, ""),
            LeaderboardScale::MeanShare => (1, "%"),
        };
        let value = fixed(self.shown(mark.value), decimals);
        match mark.interval {
            None => format!("{value}{suffix}"),
            Some((low, high)) => {
                let (low, high) = (fixed(self.shown(low), decimals), fixed(self.shown(high), decimals));
                format!("{value}{suffix} ({low} to {high})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(source: &str, value: f64, interval: Option<(f64, f64)>) -> LeaderboardMark {
        LeaderboardMark { source: source.to_owned(), value, interval }
    }

    #[test]
    fn ratings_are_drawn_with_readings_and_escaped_names() {
        let figure = LeaderboardFigure {
            scale: LeaderboardScale::Rating,
            marks: vec![mark("<b>one</b>", 1611.6, Some((1570.2, 1655.0))), mark("two", 1388.4, None)],
        };
        let svg = figure.draw().unwrap();
        assert!(svg.as_str().contains(">1612 (1570 to 1655)<"));
        assert!(svg.as_str().contains(">1388<"));
        assert!(svg.as_str().contains("&lt;b&gt;one&lt;/b&gt;") && !svg.as_str().contains("<b>"));
        assert!(svg.as_str().contains("Bradley-Terry rating"));
        assert_eq!(svg.as_str().matches("az-whisker\"").count(), 3);
        assert_eq!(svg, figure.draw().unwrap());
    }

    #[test]
    fn shares_are_percentages_on_a_full_axis() {
        let figure = LeaderboardFigure { scale: LeaderboardScale::MeanShare, marks: vec![mark("one", 0.612, Some((0.0, 1.0)))] };
        let svg = figure.draw().unwrap();
        assert!(svg.as_str().contains(">61.2% (0.0 to 100.0)<"));
        assert!(svg.as_str().contains(">100%<"));
    }

    #[test]
    fn the_table_holds_every_dot_and_whisker() {
        let marks = vec![mark("one", 1611.6, Some((1570.2, 1655.0))), mark("two", 1388.4, None)];
        let csv = LeaderboardFigure { scale: LeaderboardScale::Rating, marks }.data().unwrap().to_csv().unwrap();
        assert_eq!(csv, "source,rating,low,high\none,1611.6,1570.2,1655.0\ntwo,1388.4,,\n");
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        let draw = |scale, marks| LeaderboardFigure { scale, marks }.draw();
        use LeaderboardScale::{MeanShare, Rating};
        assert!(matches!(draw(Rating, vec![]), Err(ReportError::EmptyFigure { .. })));
        let nan = draw(Rating, vec![mark("a", f64::NAN, None)]);
        assert!(matches!(nan, Err(ReportError::NotFinite { .. })));
        let swapped = draw(Rating, vec![mark("a", 1500.0, Some((1600.0, 1400.0)))]);
        assert!(matches!(swapped, Err(ReportError::IntervalOrder { .. })));
        let percent = draw(MeanShare, vec![mark("a", 61.2, None)]);
        assert!(matches!(percent, Err(ReportError::OutOfRange { .. })));
        assert!(draw(Rating, vec![mark("a", 1500.0, None)]).is_ok());
    }
}
