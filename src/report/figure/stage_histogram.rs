//! The stage figure: how many stages timelines have, as bars grouped by number of stages.

use super::axis::Axis;
use super::plot::{Plot, Scale};
use super::series::{self, Sample};
use super::{ReportError, Svg, bar, lettering, text};
use crate::report::table::{Cell, Column, Table, fixed};

const FIGURE: &str = "stage figure";
/// Bars of a series: 1 to 5 stages, and six or more.
pub const N_STAGE_BARS: usize = 6;
const LABELS: [&str; N_STAGE_BARS] = ["1", "2", "3", "4", "5", "6+"];
/// Part of a group that its bars fill.
const GROUP_FILL: f64 = 0.84;
/// A bar is no wider than this, so that a single series does not look like a wall.
const WIDEST_BAR: f64 = 42.0;
const NUMBER_SIZE: f64 = 11.0;

/// What the height of a bar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageUnit {
    /// Number of timelines.
    Timelines,
    /// Percentage of the timelines of the series, for series of different sizes.
    Share,
}

/// The bars of one series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSeries {
    /// Name of the series.
    pub name: String,
    /// Timelines with 1, 2, 3, 4, 5, and six or more stages.
    pub counts: [u64; N_STAGE_BARS],
}

/// A stage histogram to be drawn; the order of the series is kept, in the groups and in the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageHistogramFigure {
    /// What the height of a bar is.
    pub unit: StageUnit,
    /// Series from left to right in each group, at most eight.
    pub series: Vec<StageSeries>,
}

impl StageHistogramFigure {
    /// Draws the figure.
    ///
    /// # Errors
    /// No series, or none with a timeline; more than eight series; repeated names.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check()?;
        let bars = || self.series.iter().flat_map(|series| series.counts.iter().map(|&count| self.height(series, count)));
        let tallest = bars().fold(0.0, f64::max);
        if tallest == 0.0 {
            return Err(ReportError::EmptyFigure { figure: FIGURE, item: "timeline" });
        }
        let (y, y_title, decimals, suffix) = match self.unit {
            StageUnit::Timelines => (Axis::covering(0.0, tallest.max(4.0)), "timelines", 0, ""),
            StageUnit::Share => (Axis::percentages(0.0, tallest), "share of the timelines of a series (%)", 1, "%"),
        };
        let mut body = String::new();
        let plot = Plot::open_grouped(&mut body, "stages of a timeline", &LABELS, Scale::Linear(y, suffix), y_title);
        let group = (plot.right() - plot.left()) / N_STAGE_BARS as f64;
        let width = (GROUP_FILL * group / self.series.len() as f64).min(WIDEST_BAR);
        let written = bars().all(|height| lettering::width(&fixed(height, decimals), NUMBER_SIZE) <= width - 1.0);
        for (k, label) in LABELS.iter().enumerate() {
            let start = plot.left() + group * (k as f64 + 0.5) - width * self.series.len() as f64 / 2.0;
            for (i, series) in self.series.iter().enumerate() {
                let height = self.height(series, series.counts[k]);
                let left = start + width * i as f64;
                let top = plot.y(height);
                if height > 0.0 {
                    let hint = format!(
                        "{}: {label} stages in {} of {} timelines, {}%",
                        series.name,
                        series.counts[k],
                        total(series),
                        fixed(100.0 * share(series, series.counts[k]), 1)
                    );
                    let gap = if width > 4.0 { 1.0 } else { 0.0 };
                    let class = series::fill_class(i);
                    bar(&mut body, &class, [left, top, left + width - gap, plot.bottom()], Some(&hint));
                }
                if written {
                    text(&mut body, "az-tiny az-mid", left + width / 2.0, top - 4.0, &fixed(height, decimals));
                }
            }
        }
        let entries: Vec<(&str, String)> =
            self.series.iter().map(|series| (series.name.as_str(), format!("n = {}", total(series)))).collect();
        let bottom = series::legend(&mut body, plot.below(), Sample::Bar, &entries);
        let label = format!("{y_title} by stages of a timeline, of {} series", self.series.len());
        Ok(Svg::finish(&label, bottom + 10.0, &body))
    }

    /// The bars: one row a series and number of stages. The share is missing in a series without timelines.
    ///
    /// # Errors
    /// As [`StageHistogramFigure::draw`], but a figure without any timeline has a table.
    pub fn data(&self) -> Result<Table, ReportError> {
        self.check()?;
        let columns = vec![
            Column::text("series", "Series"),
            Column::text("stages", "Stages"),
            Column::number("n_timelines", "Timelines"),
            Column::number("share", "Share"),
        ];
        let mut table = Table::new("stage_histogram", "Stages of a timeline", columns)?;
        for series in &self.series {
            for (label, &count) in LABELS.iter().zip(&series.counts) {
                // Counts beyond i64 cannot be counted one by one; the table must not wrap them.
                let counted = i64::try_from(count).unwrap_or(i64::MAX);
                let share = (total(series) > 0).then(|| share(series, count));
                table.push(vec![Cell::text(&series.name), Cell::text(*label), Cell::Int(counted), Cell::maybe(share, 3)])?;
            }
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), ReportError> {
        series::check_names(FIGURE, self.series.iter().map(|series| series.name.as_str()), series::MAX_BARS)
    }

    /// The height of a bar in the unit of the axis.
    fn height(&self, series: &StageSeries, count: u64) -> f64 {
        match self.unit {
            StageUnit::Timelines => count as f64,
            StageUnit::Share => 100.0 * share(series, count),
        }
    }
}

fn total(series: &StageSeries) -> u128 {
    series.counts.iter().map(|&count| u128::from(count)).sum()
}

/// Part of the timelines of a series; 0 where it has none, which draws no bar.
fn share(series: &StageSeries, count: u64) -> f64 {
    match total(series) {
        0 => 0.0,
        total => count as f64 / total as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::gallery;

    /// Heights of the bars of a drawing in drawing order.
    fn heights(svg: &Svg) -> Vec<f64> {
        let bars = svg.as_str().lines().filter(|line| line.starts_with("<rect class=\"az-f") && line.contains("stages in"));
        bars.map(|line| line.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn bars_are_as_tall_as_the_table_says() {
        let figure = gallery::stage_histogram(3, StageUnit::Share);
        let (svg, table) = (figure.draw().unwrap(), figure.data().unwrap());
        assert_eq!(svg, figure.draw().unwrap());
        let mut drawn = heights(&svg).into_iter();
        let mut ratio = None;
        for k in 0..N_STAGE_BARS {
            for i in 0..3 {
                let Cell::Number { value, .. } = table.rows()[i * N_STAGE_BARS + k][3] else { panic!("a share is missing") };
                if value > 0.0 {
                    let one = drawn.next().unwrap() / value;
                    let first = *ratio.get_or_insert(one);
                    assert!((one - first).abs() < 0.02 * first, "group {k}, series {i}");
                }
            }
        }
        assert_eq!(drawn.next(), None);
    }

    #[test]
    fn numbers_stand_on_bars_where_there_is_room() {
        let written = |n, unit| gallery::stage_histogram(n, unit).draw().unwrap().as_str().matches("class=\"az-tiny").count();
        assert_eq!(written(1, StageUnit::Share), N_STAGE_BARS);
        assert_eq!(written(8, StageUnit::Share), 0);
        assert!(gallery::stage_histogram(1, StageUnit::Timelines).draw().unwrap().as_str().contains(">timelines<"));
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let one = |name: &str, counts| StageSeries { name: name.to_owned(), counts };
        let draw = |series| StageHistogramFigure { unit: StageUnit::Share, series }.draw();
        assert!(matches!(draw(vec![]), Err(ReportError::EmptyFigure { item: "series", .. })));
        assert!(matches!(draw(vec![one("a", [0; 6])]), Err(ReportError::EmptyFigure { item: "timeline", .. })));
        assert!(matches!(draw(vec![one("a", [1; 6]), one("a", [1; 6])]), Err(ReportError::RepeatedSeries { .. })));
        let nine = (0..9).map(|i| one(&i.to_string(), [1; 6])).collect();
        assert!(matches!(draw(nine), Err(ReportError::TooManySeries { expected: 8, got: 9, .. })));
        let figure = StageHistogramFigure { unit: StageUnit::Share, series: vec![one("a", [u64::MAX; 6]), one("b", [0; 6])] };
        assert!(figure.draw().unwrap().as_str().contains("b (n = 0)"));
        assert_eq!(figure.data().unwrap().rows()[6][3], Cell::Missing);
    }
}
