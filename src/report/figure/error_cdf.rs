//! The error figure: cumulative share of matched pairs by absolute time error, on a log-time axis.

use std::fmt::Write as _;

use super::axis::Axis;
use super::plot::{Plot, Scale};
use super::series::{self, Sample};
use super::{ReportError, Svg, coordinate, finite};
use crate::report::table::{Cell, Column, Table};

const FIGURE: &str = "error figure";
/// Steps closer together than this, in drawing units, are drawn as one: a quarter of a pixel at the usual size.
const FINEST_STEP: f64 = 0.25;
/// Markers on each line.
const N_MARKS: usize = 4;

/// The line of one source: its distinct errors with their numbers of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorCdfSeries {
    /// Name of the source.
    pub source: String,
    steps: Vec<Step>,
}

impl ErrorCdfSeries {
    /// Counts the absolute time errors of a source's matched pairs with both times known, in hours, in any order.
    ///
    /// # Errors
    /// An error that is negative or not finite.
    pub fn new(source: impl Into<String>, mut errors_hours: Vec<f64>) -> Result<Self, ReportError> {
        let source = source.into();
        for &error in &errors_hours {
            finite(FIGURE, &source, error)?;
            if error < 0.0 {
                return Err(ReportError::OutOfRange {
                    place: format!("{FIGURE}, source {source:?}"),
                    value: error,
                    low: 0.0,
                    high: f64::MAX,
                    hint: "an absolute error has no sign",
                });
            }
        }
        errors_hours.sort_unstable_by(f64::total_cmp);
        let mut steps: Vec<Step> = Vec::new();
        for (i, hours) in errors_hours.into_iter().enumerate() {
            match steps.last_mut() {
                Some(step) if step.hours == hours => {
                    step.n_pairs += 1;
                    step.n_cumulative = i + 1;
                }
                // Adding zero turns a negative zero into the positive one.
                _ => steps.push(Step { hours: hours + 0.0, n_pairs: 1, n_cumulative: i + 1 }),
            }
        }
        Ok(Self { source, steps })
    }

    fn n_pairs(&self) -> usize {
        self.steps.last().map_or(0, |last| last.n_cumulative)
    }
}

/// Error distributions to be drawn; the order of the series is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorCdfFigure {
    /// Lines, the last one drawn on top.
    pub series: Vec<ErrorCdfSeries>,
}

/// One distinct error with the pairs that have it, and those that have no larger one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    hours: f64,
    n_pairs: usize,
    n_cumulative: usize,
}

impl ErrorCdfFigure {
    /// Draws the figure: a step at each distinct error, up to the share of pairs with at most that error.
    ///
    /// # Errors
    /// No series, or none with an error; too many or repeated names.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check_names()?;
        let lines: Vec<&[Step]> = self.series.iter().map(|line| line.steps.as_slice()).collect();
        let longest = lines.iter().filter_map(|steps| steps.last()).map(|step| step.hours).fold(f64::NEG_INFINITY, f64::max);
        if longest == f64::NEG_INFINITY {
            return Err(ReportError::EmptyFigure { figure: FIGURE, item: "matched pair with both times known" });
        }
        let mut body = String::new();
        let plot = Plot::open(
            &mut body,
            Scale::log_hours(longest),
            "absolute time error (hours, spaced as ln(1 + hours))",
            Scale::Linear(Axis::fixed(0.0, 100.0, 25.0), "%"),
            "cumulative share of matched pairs (%)",
        );
        let mut marks = Vec::new();
        for (i, steps) in lines.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
            let corners = corners(&plot, steps);
            let mut data = format!("M{} {}", coordinate(corners[0].0), coordinate(corners[0].1));
            for (x, y) in &corners[1..] {
                write!(data, "H{}V{}", coordinate(*x), coordinate(*y)).expect("writing to a string cannot fail");
            }
            write!(data, "H{}", coordinate(plot.right())).expect("writing to a string cannot fail");
            series::path(&mut body, i, &data);
            // Each series has its own offset, so that markers show even where lines coincide.
            for k in 0..N_MARKS {
                let offset = (i as f64 + 0.5) / lines.len() as f64;
                let x = plot.left() + (plot.right() - plot.left()) * (k as f64 + offset) / N_MARKS as f64;
                let at = corners.partition_point(|corner| corner.0 <= x);
                if let Some((_, y)) = corners[..at].last() {
                    marks.push((i, x, *y));
                }
            }
        }
        for (i, x, y) in marks {
            series::marker(&mut body, i, x, y, &self.series[i].source);
        }
        let entries: Vec<(&str, String)> =
            self.series.iter().map(|line| (line.source.as_str(), format!("n = {}", line.n_pairs()))).collect();
        let bottom = series::legend(&mut body, plot.below(), Sample::Line, &entries);
        let label = format!("cumulative share of matched pairs by absolute time error of {} sources", self.series.len());
        Ok(Svg::finish(&label, bottom + 10.0, &body))
    }

    /// The steps of the lines: one row a source and distinct error. The drawing joins steps that no eye can part.
    ///
    /// # Errors
    /// As [`ErrorCdfFigure::draw`], but a figure without any error has an empty table.
    pub fn data(&self) -> Result<Table, ReportError> {
        let columns = vec![
            Column::text("source", "Source"),
            Column::number("abs_error_hours", "Absolute time error").with_unit("h"),
            Column::number("n_pairs", "Pairs"),
            Column::number("n_cumulative", "Pairs up to it"),
            Column::number("cumulative_share", "Cumulative share"),
        ];
        let mut table = Table::new("error_cdf", "Absolute time errors of matched pairs", columns)?;
        self.check_names()?;
        for line in &self.series {
            for step in &line.steps {
                table.push(vec![
                    Cell::text(&line.source),
                    Cell::number(step.hours, 1),
                    Cell::count(step.n_pairs),
                    Cell::count(step.n_cumulative),
                    Cell::number(share(step, &line.steps), 3),
                ])?;
            }
        }
        Ok(table)
    }

    fn check_names(&self) -> Result<(), ReportError> {
        series::check_names(FIGURE, self.series.iter().map(|line| line.source.as_str()), series::MAX_LINES)
    }
}

/// Share of the pairs of a source with at most the error of a step.
fn share(step: &Step, steps: &[Step]) -> f64 {
    step.n_cumulative as f64 / steps.last().map_or(1, |last| last.n_cumulative) as f64
}

/// Coordinates at which the line rises and the height to which it does, from the left edge on; steps that lie closer
/// together than [`FINEST_STEP`] are one.
fn corners(plot: &Plot, steps: &[Step]) -> Vec<(f64, f64)> {
    let mut corners = vec![(plot.left(), plot.y(0.0))];
    for step in steps {
        let (x, y) = (plot.x(step.hours), plot.y(100.0 * share(step, steps)));
        match corners.last_mut() {
            Some(last) if x - last.0 < FINEST_STEP => last.1 = y,
            _ => corners.push((x, y)),
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::gallery;

    fn figure(errors: &[f64]) -> ErrorCdfFigure {
        ErrorCdfFigure { series: vec![ErrorCdfSeries::new("one", errors.to_vec()).unwrap()] }
    }

    #[test]
    fn ties_are_one_step_and_zero_errors_start_the_line() {
        let table = figure(&[24.0, 0.0, -0.0, 24.0, 8766.0]).data().unwrap();
        let csv = "source,abs_error_hours,n_pairs,n_cumulative,cumulative_share\n\
                   one,0.0,2,2,0.4\none,24.0,2,4,0.8\none,8766.0,1,5,1.0\n";
        assert_eq!(table.to_csv().unwrap(), csv);
    }

    #[test]
    fn every_row_of_the_table_lies_on_the_line() {
        let view = gallery::error_cdf(3);
        let svg = view.draw().unwrap();
        assert_eq!(svg, view.draw().unwrap());
        let all: Vec<&[Step]> = view.series.iter().map(|line| line.steps.as_slice()).collect();
        let longest = all.iter().copied().flatten().map(|step| step.hours).fold(0.0, f64::max);
        let scale = Scale::Linear(Axis::fixed(0.0, 100.0, 25.0), "%");
        let plot = Plot::open(&mut String::new(), Scale::log_hours(longest), "", scale, "");
        let paths = svg.as_str().lines().filter(|line| line.starts_with("<path class=\"az-path") && line.contains('V'));
        for (steps, path) in all.iter().zip(paths) {
            let data = path.split(" d=\"").nth(1).unwrap().trim_end_matches("\"/>");
            let mut line: Vec<(f64, f64)> = Vec::new();
            for piece in data[1..].split('H') {
                match piece.split_once(['V', ' ']) {
                    Some((x, y)) => line.push((x.parse().unwrap(), y.parse().unwrap())),
                    None => assert_eq!(piece.parse::<f64>().unwrap(), plot.right()),
                }
            }
            for step in *steps {
                let x = plot.x(step.hours);
                let (_, y) = line[..line.partition_point(|corner| corner.0 <= x + 0.006)].last().unwrap();
                // What the joined steps hide: those within a quarter of a unit to the right.
                let joined = steps.iter().filter(|other| (plot.x(other.hours) - x).abs() < FINEST_STEP + 0.01);
                let reach = joined.map(|other| (plot.y(100.0 * share(other, steps)) - y).abs()).fold(f64::INFINITY, f64::min);
                assert!(reach < 0.011, "{} h", step.hours);
            }
            let last = line.last().unwrap();
            assert!((last.1 - plot.y(100.0)).abs() < 0.011);
        }
    }

    #[test]
    fn many_distinct_errors_make_a_small_drawing() {
        let errors: Vec<f64> = (0..200_000u32).map(|i| f64::from(i) / 7.0).collect();
        let view = figure(&errors);
        assert!(view.draw().unwrap().as_str().len() < 60_000);
        assert_eq!(view.data().unwrap().rows().len(), 200_000);
    }

    #[test]
    fn what_is_no_error_is_refused_and_the_huge_is_drawn() {
        assert!(matches!(figure(&[]).draw(), Err(ReportError::EmptyFigure { .. })));
        let refused = |errors: &[f64]| ErrorCdfSeries::new("one", errors.to_vec()).unwrap_err();
        assert!(matches!(refused(&[1.0, f64::NAN]), ReportError::NotFinite { .. }));
        assert!(matches!(refused(&[f64::INFINITY]), ReportError::NotFinite { .. }));
        assert!(matches!(refused(&[-1.0]), ReportError::OutOfRange { .. }));
        assert!(figure(&[0.0]).draw().is_ok());
        assert!(!figure(&[0.0, f64::MAX]).draw().unwrap().as_str().contains("NaN"));
        let mut two = figure(&[1.0]);
        two.series.push(ErrorCdfSeries::new("two", vec![]).unwrap());
        assert!(two.draw().unwrap().as_str().contains("two (n = 0)"));
    }
}
