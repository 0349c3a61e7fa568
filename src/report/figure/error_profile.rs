//! The error profile figure: one stacked bar a source, one segment a category.

use super::axis::Axis;
use super::lettering;
use super::{MARGIN, ReportError, Svg, WIDTH, axis_labels, bar, caption, finite, grid, text};
use crate::report::table::{Cell, Column, Table, fixed};

const FIGURE: &str = "error profile figure";
/// Colours that the style sheet has: two for additions, two for wrong details, three for omissions.
const N_COLOURS: usize = 7;
/// Height of one source: its name, then its bar.
const ROW: f64 = 50.0;
/// Height of one line of the legend.
const LEGEND_LINE: f64 = 22.0;

/// The bar of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileBar {
    /// Name of the source.
    pub source: String,
    /// One rate per category, none negative.
    pub values: Vec<f64>,
}

/// An error profile to be drawn; the order of categories and bars is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorProfileFigure {
    /// Name of the axis, such as `discrepancies a game`.
    pub axis: String,
    /// Labels of the categories from left to right, at most seven.
    pub categories: Vec<String>,
    /// Sources from top to bottom.
    pub bars: Vec<ProfileBar>,
}

impl ErrorProfileFigure {
    /// Draws the figure.
    ///
    /// # Errors
    /// No bars or categories, more categories than colours, a bar without one value per category, or a value that is
    /// negative, not finite or absurdly large.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check()?;
        let mut body = String::new();
        let top = self.legend(&mut body);
        let longest = self.bars.iter().map(total).fold(0.0, f64::max);
        let axis = Axis::covering(0.0, if longest > 0.0 { longest } else { 1.0 });
        let decimals = if longest < 1.0 { 3 } else { 1 };
        let mut y = top;
        for source in &self.bars {
            caption(&mut body, y + 16.0, &source.source, &fixed(total(source), decimals));
            let (upper, lower) = (y + 24.0, y + 42.0);
            let (low, high) = axis.ends();
            bar(&mut body, "az-track", [axis.x(low), upper, axis.x(high), lower], None);
            grid(&mut body, &axis, upper, lower);
            let mut sum = 0.0;
            for (i, (value, category)) in source.values.iter().zip(&self.categories).enumerate() {
                let (left, right) = (axis.x(sum), axis.x(sum + value));
                sum += value;
                if right - left < 0.05 {
                    continue;
                }
                let hint = format!("{}: {} {}", source.source, category, fixed(*value, decimals.max(2)));
                // A gap of one unit parts neighbours whose colours are close; a sliver keeps its full width.
                let gap = if right - left > 3.0 { 1.0 } else { 0.0 };
                let class = format!("az-c{}", i + 1);
                bar(&mut body, &class, [left, upper + 1.0, right - gap, lower - 1.0], Some(&hint));
            }
            y += ROW;
        }
        axis_labels(&mut body, &axis, y, &self.axis, "");
        let label = format!("{} of {} sources by category", self.axis, self.bars.len());
        Ok(Svg::finish(&label, y + 42.0, &body))
    }

    /// The segments: one row a source and category.
    ///
    /// # Errors
    /// As [`ErrorProfileFigure::draw`].
    pub fn data(&self) -> Result<Table, ReportError> {
        self.check()?;
        let columns =
            vec![Column::text("source", "Source"), Column::text("category", "Category"), Column::number("rate", &self.axis)];
        let mut table = Table::new("error_profile", format!("Error profile: {}", self.axis), columns)?;
        for source in &self.bars {
            for (category, value) in self.categories.iter().zip(&source.values) {
                table.push(vec![Cell::text(&source.source), Cell::text(category), Cell::number(*value, 2)])?;
            }
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), ReportError> {
        let empty = |item| ReportError::EmptyFigure { figure: FIGURE, item };
        if self.categories.is_empty() {
            return Err(empty("category"));
        }
        if self.bars.is_empty() {
            return Err(empty("source"));
        }
        if self.categories.len() > N_COLOURS {
            return Err(ReportError::TooManyCategories { figure: FIGURE, expected: N_COLOURS, got: self.categories.len() });
        }
        for source in &self.bars {
            if source.values.len() != self.categories.len() {
                return Err(ReportError::ValueCount {
                    figure: FIGURE,
                    name: source.source.clone(),
                    expected: self.categories.len(),
                    got: source.values.len(),
                });
            }
            for &value in &source.values {
                finite(FIGURE, &source.source, value)?;
                if !(0.0..=1e9).contains(&value) {
                    return Err(ReportError::OutOfRange {
                        place: format!("{FIGURE}, source {:?}", source.source),
                        value,
                        low: 0.0,
                        high: 1e9,
                        hint: "a rate is a count a game",
                    });
                }
            }
        }
        Ok(())
    }

    /// Draws the legend over as many lines as it needs and returns the height below it.
    fn legend(&self, body: &mut String) -> f64 {
        let (mut x, mut y) = (MARGIN, 4.0);
        for (i, category) in self.categories.iter().enumerate() {
            let shown = lettering::shorten(category, 13.0, WIDTH - 2.0 * MARGIN - 20.0);
            let width = 20.0 + lettering::width(&shown, 13.0);
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + LEGEND_LINE);
            }
            bar(body, &format!("az-c{}", i + 1), [x, y + 2.0, x + 13.0, y + 15.0], None);
            text(body, "az-soft", x + 19.0, y + 13.0, &shown);
            x += width + 14.0;
        }
        y + LEGEND_LINE + 6.0
    }
}

fn total(source: &ProfileBar) -> f64 {
    source.values.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: &[f64]) -> ErrorProfileFigure {
        ErrorProfileFigure {
            axis: "discrepancies a game".to_owned(),
            categories: (1..=values.len()).map(|i| format!("category {i}")).collect(),
            bars: vec![ProfileBar { source: "a & b".to_owned(), values: values.to_vec() }],
        }
    }

    #[test]
    fn every_positive_category_is_a_segment() {
        let svg = figure(&[1.0, 0.0, 2.5, 0.5, 0.25, 0.125, 4.0]).draw().unwrap();
        let svg = svg.as_str();
        assert_eq!(svg.matches("<rect class=\"az-c").count(), 7 + 6);
        assert!(svg.contains(">8.4<") && svg.contains("a &amp; b: category 3 2.50"));
        assert!(figure(&[0.0; 7]).draw().is_ok());
    }

    #[test]
    fn the_table_holds_every_segment() {
        let csv = figure(&[1.0, 0.0, 2.5]).data().unwrap().to_csv().unwrap();
        assert_eq!(csv, "source,category,rate\na & b,category 1,1.0\na & b,category 2,0.0\na & b,category 3,2.5\n");
        assert!(matches!(figure(&[-1.0]).data(), Err(ReportError::OutOfRange { .. })));
    }

    #[test]
    fn what_cannot_be_stacked_is_refused() {
        assert!(matches!(figure(&[]).draw(), Err(ReportError::EmptyFigure { .. })));
        assert!(matches!(figure(&[1.0; 8]).draw(), Err(ReportError::TooManyCategories { .. })));
        assert!(matches!(figure(&[-1.0]).draw(), Err(ReportError::OutOfRange { .. })));
        assert!(matches!(figure(&[f64::INFINITY]).draw(), Err(ReportError::NotFinite { .. })));
        let mut uneven = figure(&[1.0, 2.0]);
        uneven.bars[0].values.pop();
        assert!(matches!(uneven.draw(), Err(ReportError::ValueCount { expected: 2, got: 1, .. })));
    }
}
