//! The transition figure: a map of cells, darker where a column follows a row more often.

use std::fmt::Write as _;

use super::axis::Axis;
use super::lettering::{self, escape};
use super::{MARGIN, ReportError, Svg, WIDTH, coordinate, line, text};
use crate::report::table::{Cell, Column, Table, fixed};

const FIGURE: &str = "transition figure";
/// More rows or columns leave cells in which no number can be read.
const MAX_COLUMNS: usize = 20;
const MAX_ROWS: usize = 40;
const LABEL_SIZE: f64 = 13.0;
const LABEL_LINE: f64 = 15.0;
/// Widest and narrowest column of row labels, and how many lines a label may take.
const WIDEST_LABELS: f64 = 210.0;
const NARROWEST_LABELS: f64 = 150.0;
const LABEL_LINES: usize = 2;
const HEADING_LINES: usize = 3;
/// Least opacity of a cell with a positive value, so that it differs from an empty one.
const FAINTEST: f64 = 0.06;
/// Above this part of the scale the number in a cell is set in the light ink.
const STRONG: f64 = 0.62;
const SCALE_WIDTH: f64 = 200.0;

/// The numbers of a map: one inner list a row.
#[derive(Debug, Clone, PartialEq)]
pub enum MapCells {
    /// Counts.
    Counts(Vec<Vec<u64>>),
    /// Fractions of one, drawn as percentages; `None` where undefined.
    Shares(Vec<Vec<Option<f64>>>),
}

/// A transition map to be drawn; the order of rows and columns is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionMapFigure {
    /// What the rows are, such as `first symptom`.
    pub row_axis: String,
    /// What the columns are, such as `later symptom`.
    pub column_axis: String,
    /// What the numbers are, such as `reports` or `share of the reports of a row`; the drawing adds `(%)` to shares.
    pub value_axis: String,
    /// Labels of the rows from top to bottom, at most 40.
    pub rows: Vec<String>,
    /// Labels of the columns from left to right, at most 20.
    pub columns: Vec<String>,
    /// One number for each row and column.
    pub cells: MapCells,
}

/// Where the map lies.
struct Layout {
    /// Left edge of the cells, their width and height.
    left: f64,
    width: f64,
    height: f64,
    /// Row labels in lines, and whether columns are headed by numbers that stand before the row labels or in a key.
    labels: Vec<Vec<String>>,
    headings: Option<Vec<Vec<String>>>,
    same: bool,
}

impl TransitionMapFigure {
    /// Draws the figure.
    ///
    /// Column labels that are too long for their cells are replaced by numbers: those of the rows when both have the
    /// same labels, else those of a key below.
    ///
    /// # Errors
    /// No rows or columns, or too many; cells that do not match them; a share that is not finite or not a fraction.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check()?;
        let layout = self.layout();
        let (top_value, axis, unit) = self.scale();
        let mut body = String::new();
        let n_lines = layout.headings.as_ref().map_or(1, |headings| headings.iter().map(Vec::len).max().unwrap_or(1));
        let middle = layout.left + layout.width * self.columns.len() as f64 / 2.0;
        let room = 2.0 * (WIDTH - MARGIN - middle).min(middle - MARGIN);
        text(&mut body, "az-soft az-mid", middle, 17.0, &lettering::shorten(&self.column_axis, LABEL_SIZE, room));
        let top = 26.0 + LABEL_LINE * n_lines as f64 + 4.0;
        let axis_room = layout.left - MARGIN - 10.0;
        text(
            &mut body,
            "az-soft az-end",
            layout.left - 10.0,
            top - 8.0,
            &lettering::shorten(&self.row_axis, LABEL_SIZE, axis_room),
        );
        for k in 0..self.columns.len() {
            let x = layout.left + layout.width * (k as f64 + 0.5);
            let lines = match &layout.headings {
                Some(headings) => headings[k].clone(),
                None => vec![(k + 1).to_string()],
            };
            for (at, shown) in lines.iter().rev().enumerate() {
                text(&mut body, "az-soft az-mid", x, top - 8.0 - LABEL_LINE * at as f64, shown);
            }
        }
        let size = self.number_size(&layout);
        for (r, lines) in layout.labels.iter().enumerate() {
            let y = top + layout.height * r as f64;
            self.row_label(&mut body, &layout, r, lines, y);
            for c in 0..self.columns.len() {
                let x = layout.left + layout.width * c as f64;
                self.cell(&mut body, [x, y, x + layout.width, y + layout.height], (r, c), top_value, size);
            }
        }
        let bottom = top + layout.height * self.rows.len() as f64;
        let bottom = if layout.headings.is_none() && !layout.same { self.key(&mut body, bottom + 8.0) } else { bottom };
        let bottom = self.colour_scale(&mut body, bottom + 12.0, &axis, unit, size.is_none());
        let label = format!("{} by {} and {}", self.value_axis, self.row_axis, self.column_axis);
        Ok(Svg::finish(&label, bottom + 10.0, &body))
    }

    /// The cells: one row a cell; an undefined share is missing.
    ///
    /// # Errors
    /// As [`TransitionMapFigure::draw`].
    pub fn data(&self) -> Result<Table, ReportError> {
        self.check()?;
        let key = if matches!(self.cells, MapCells::Counts(_)) { "count" } else { "share" };
        let columns = vec![
            Column::text("row", &self.row_axis),
            Column::text("column", &self.column_axis),
            Column::number(key, &self.value_axis),
        ];
        let title = format!("{} by {} and {}", self.value_axis, self.row_axis, self.column_axis);
        let mut table = Table::new("transitions", title, columns)?;
        for (r, row) in self.rows.iter().enumerate() {
            for (c, column) in self.columns.iter().enumerate() {
                let cell = match &self.cells {
                    // Counts beyond i64 cannot be counted one by one; the table must not wrap them.
                    MapCells::Counts(counts) => Cell::Int(i64::try_from(counts[r][c]).unwrap_or(i64::MAX)),
                    MapCells::Shares(shares) => Cell::maybe(shares[r][c], 3),
                };
                table.push(vec![Cell::text(row), Cell::text(column), cell])?;
            }
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), ReportError> {
        for (labels, item, items, expected) in
            [(&self.rows, "row", "rows", MAX_ROWS), (&self.columns, "column", "columns", MAX_COLUMNS)]
        {
            if labels.is_empty() {
                return Err(ReportError::EmptyFigure { figure: FIGURE, item });
            }
            if labels.len() > expected {
                return Err(ReportError::MapSize { figure: FIGURE, item: items, expected, got: labels.len() });
            }
        }
        let widths: Vec<usize> = match &self.cells {
            MapCells::Counts(counts) => counts.iter().map(Vec::len).collect(),
            MapCells::Shares(shares) => shares.iter().map(Vec::len).collect(),
        };
        let shape = |place: String, expected, got| ReportError::MapShape { figure: FIGURE, place, expected, got };
        if widths.len() != self.rows.len() {
            return Err(shape("rows of cells".to_owned(), self.rows.len(), widths.len()));
        }
        for (r, &got) in widths.iter().enumerate() {
            if got != self.columns.len() {
                return Err(shape(format!("cells of row {}", r + 1), self.columns.len(), got));
            }
        }
        let MapCells::Shares(shares) = &self.cells else {
            return Ok(());
        };
        for (r, row) in shares.iter().enumerate() {
            for value in row.iter().flatten().copied() {
                let place = format!("{FIGURE}, row {}", r + 1);
                if !value.is_finite() {
                    return Err(ReportError::NotFinite { place, value });
                }
                if !(0.0..=1.0).contains(&value) {
                    let hint = "a share is a fraction, not a percentage";
                    return Err(ReportError::OutOfRange { place, value, low: 0.0, high: 1.0, hint });
                }
            }
        }
        Ok(())
    }

    fn layout(&self) -> Layout {
        let n = self.columns.len() as f64;
        let whole = WIDTH - 2.0 * MARGIN;
        let same = self.rows == self.columns;
        // First without numbers before the row labels; with them if the headings do not fit.
        let longest = self.rows.iter().chain([&self.row_axis]).map(|row| lettering::width(row, LABEL_SIZE)).fold(0.0, f64::max);
        let room = (whole - 34.0 * n).clamp(NARROWEST_LABELS, WIDEST_LABELS).min(longest + 2.0);
        let narrow = |gutter: f64| ((whole - gutter) / n).min(64.0);
        let wrapped: Option<Vec<Vec<String>>> = self
            .columns
            .iter()
            .map(|column| lettering::wrap(column, LABEL_SIZE, narrow(room + 10.0) - 4.0, HEADING_LINES))
            .collect();
        let numbers = if wrapped.is_none() && same { number_room() } else { 0.0 };
        let labels: Vec<Vec<String>> = self.rows.iter().map(|row| lettering::fit(row, LABEL_SIZE, room, LABEL_LINES)).collect();
        let left = MARGIN + numbers + room + 10.0;
        let width = narrow(numbers + room + 10.0);
        let tall = if labels.iter().any(|lines| lines.len() > 1) { 2.0 * LABEL_LINE + 4.0 } else { LABEL_LINE + 9.0 };
        Layout { left, width, height: tall.max(width.min(34.0)), labels, headings: wrapped, same }
    }

    fn row_label(&self, body: &mut String, layout: &Layout, r: usize, lines: &[String], y: f64) {
        let middle = y + layout.height / 2.0 + 4.5;
        let first = middle - LABEL_LINE * (lines.len() - 1) as f64 / 2.0;
        let mut right = layout.left - 10.0;
        if layout.headings.is_none() && layout.same {
            text(body, "az-soft az-end", right, middle, &(r + 1).to_string());
            right -= number_room();
        }
        for (k, shown) in lines.iter().enumerate() {
            let (x, base) = (coordinate(right), coordinate(first + LABEL_LINE * k as f64));
            writeln!(
                body,
                "<text class=\"az-key az-end\" x=\"{x}\" y=\"{base}\"><title>{}</title>{}</text>",
                escape(&self.rows[r]),
                escape(shown)
            )
            .expect("writing to a string cannot fail");
        }
    }

    /// The value of a cell in the unit of the scale.
    fn value(&self, (r, c): (usize, usize)) -> Option<f64> {
        match &self.cells {
            MapCells::Counts(counts) => Some(counts[r][c] as f64),
            MapCells::Shares(shares) => shares[r][c].map(|share| 100.0 * share),
        }
    }

    /// What is written into a cell; a zero leaves it empty, which lets the pattern stand out.
    fn number(&self, at: (usize, usize)) -> String {
        match (self.value(at), &self.cells) {
            (None, _) => "–".to_owned(),
            (Some(0.0), _) => String::new(),
            (Some(value), MapCells::Counts(_)) => compact(value),
            (Some(value), MapCells::Shares(_)) if value < 0.5 => "<1".to_owned(),
            (Some(value), MapCells::Shares(_)) => fixed(value, 0),
        }
    }

    /// The largest size at which every number fits its cell; none if even the smallest does not.
    fn number_size(&self, layout: &Layout) -> Option<f64> {
        let places = || (0..self.rows.len()).flat_map(|r| (0..self.columns.len()).map(move |c| (r, c)));
        let widest = places().map(|at| lettering::width(&self.number(at), 1.0)).fold(0.0, f64::max);
        [13.0, 12.0, 11.0, 10.0, 9.0].into_iter().find(|size| widest * size <= layout.width - 3.0)
    }

    /// Value at the strong end of the scale, the axis of the scale, and the unit of its ticks.
    fn scale(&self) -> (f64, Axis, &'static str) {
        let places = (0..self.rows.len()).flat_map(|r| (0..self.columns.len()).map(move |c| (r, c)));
        let highest = places.filter_map(|at| self.value(at)).fold(0.0, f64::max);
        let (axis, unit) = match &self.cells {
            MapCells::Counts(_) => (Axis::covering(0.0, highest.max(4.0)), ""),
            MapCells::Shares(_) => (Axis::percentages(0.0, highest), "%"),
        };
        (axis.ends().1, axis, unit)
    }

    fn cell(&self, body: &mut String, corners: [f64; 4], at: (usize, usize), top_value: f64, size: Option<f64>) {
        let [left, top, right, bottom] = corners;
        let part = self.value(at).map(|value| value / top_value);
        let (row, column) = (&self.rows[at.0], &self.columns[at.1]);
        let exact = match &self.cells {
            MapCells::Counts(counts) => counts[at.0][at.1].to_string(),
            MapCells::Shares(_) => self.value(at).map_or_else(|| "undefined".to_owned(), |value| format!("{}%", fixed(value, 1))),
        };
        let hint = escape(&format!("{row}, {column}: {exact}"));
        let (x, y) = (coordinate(left), coordinate(top));
        let (width, height) = (coordinate(right - left - 1.0), coordinate(bottom - top - 1.0));
        let opacity = match part {
            None | Some(0.0) => None,
            Some(part) => Some(coordinate(opacity(part))),
        };
        let fill = match opacity {
            Some(opacity) => format!("class=\"az-heat\" fill-opacity=\"{opacity}\""),
            None => "class=\"az-track\"".to_owned(),
        };
        writeln!(body, "<rect {fill} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><title>{hint}</title></rect>")
            .expect("writing to a string cannot fail");
        let shown = self.number(at);
        if let Some(size) = size.filter(|_| !shown.is_empty()) {
            let ink = if part.is_some_and(|part| part > STRONG) { "az-strong" } else { "az-faint" };
            let (x, y) =
                (coordinate(f64::midpoint(left, right) - 0.5), coordinate(f64::midpoint(top, bottom) + 0.35 * size - 0.5));
            writeln!(
                body,
                "<text class=\"az-cell {ink}\" style=\"font-size:{size}px\" x=\"{x}\" y=\"{y}\">{}</text>",
                escape(&shown)
            )
            .expect("writing to a string cannot fail");
        }
    }

    /// Names the numbers of the columns, in two columns where the names are short.
    fn key(&self, body: &mut String, top: f64) -> f64 {
        let room = WIDTH - 2.0 * MARGIN;
        let entry = |(k, column): (usize, &String)| format!("{}. {column}", k + 1);
        let entries: Vec<String> = self.columns.iter().enumerate().map(entry).collect();
        let widest = entries.iter().map(|entry| lettering::width(entry, LABEL_SIZE)).fold(0.0, f64::max);
        let n_columns = ((room / (widest + 18.0)) as usize).clamp(1, 3);
        let n_rows = entries.len().div_ceil(n_columns);
        for (k, entry) in entries.iter().enumerate() {
            let x = MARGIN + room / n_columns as f64 * (k / n_rows) as f64;
            let y = top + 14.0 + 18.0 * (k % n_rows) as f64;
            text(body, "az-soft", x, y, &lettering::shorten(entry, LABEL_SIZE, room / n_columns as f64 - 8.0));
        }
        top + 18.0 * n_rows as f64
    }

    /// Draws the colour scale with its ticks and what the numbers are.
    fn colour_scale(&self, body: &mut String, top: f64, axis: &Axis, unit: &str, unwritten: bool) -> f64 {
        let steps = 40u32;
        for k in 0..steps {
            let part = (f64::from(k) + 0.5) / f64::from(steps);
            let x = MARGIN + SCALE_WIDTH / f64::from(steps) * f64::from(k);
            writeln!(
                body,
                "<rect class=\"az-heat\" fill-opacity=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\"/>",
                coordinate(opacity(part)),
                coordinate(x),
                coordinate(top),
                coordinate(SCALE_WIDTH / f64::from(steps))
            )
            .expect("writing to a string cannot fail");
        }
        let mut free = f64::NEG_INFINITY;
        for tick in axis.ticks() {
            let x = MARGIN + SCALE_WIDTH * axis.part(tick);
            line(body, "az-base", x, top + 12.0, x, top + 16.0);
            let shown = if unit.is_empty() && tick >= 1e4 { compact(tick) } else { fixed(tick, axis.decimals()) };
            let shown = format!("{shown}{unit}");
            let half = lettering::width(&shown, LABEL_SIZE) / 2.0;
            if x - half >= free {
                text(body, "az-soft az-mid", x, top + 30.0, &shown);
                free = x + half + 4.0;
            }
        }
        let mut title = self.value_axis.clone();
        if !unit.is_empty() {
            title.push_str(" (%)");
        }
        let x = MARGIN + SCALE_WIDTH + 20.0;
        let room = WIDTH - MARGIN - x;
        for (k, shown) in lettering::fit(&title, LABEL_SIZE, room, LABEL_LINES).iter().enumerate() {
            text(body, "az-soft", x, top + 11.0 + LABEL_LINE * k as f64, shown);
        }
        let note = match unwritten {
            true => "The cells are too narrow for their numbers, which are in the table.",
            false => "An empty cell is 0.",
        };
        text(body, "az-tiny", MARGIN, top + 50.0, note);
        top + 54.0
    }
}

/// Room for the number between a row label and its cells.
fn number_room() -> f64 {
    lettering::width("00", LABEL_SIZE) + 8.0
}

/// Opacity of a positive part of the scale; one colour over the ground of the page serves light and dark.
fn opacity(part: f64) -> f64 {
    FAINTEST + (1.0 - FAINTEST) * part
}

/// A count of at most four or five characters: 9999, 12k, 3.4M.
fn compact(count: f64) -> String {
    let units = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| count >= *unit * 0.9995) {
        Some((unit, name)) if count >= 9999.5 => {
            let scaled = count / unit;
            format!("{}{name}", fixed(scaled, usize::from(scaled < 9.95)))
        }
        _ => fixed(count, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::gallery;

    #[test]
    fn every_cell_of_the_table_is_drawn_with_its_number() {
        let figure = gallery::transition_map(5, false);
        let (svg, table) = (figure.draw().unwrap(), figure.data().unwrap());
        assert_eq!(svg, figure.draw().unwrap());
        assert_eq!(table.rows().len(), 25);
        for row in table.rows() {
            let [row, column, count] = row.as_slice() else { panic!("a row has three cells") };
            let hint = escape(&format!("{}, {}: {}", row.display(), column.display(), count.display()));
            assert!(svg.as_str().contains(&format!("<title>{hint}</title></rect>")), "{hint}");
        }
        let shares = gallery::transition_map(3, true);
        assert!(shares.data().unwrap().to_csv().unwrap().starts_with("row,column,share\n"));
        assert!(shares.draw().unwrap().as_str().contains("(%)"));
    }

    #[test]
    fn counts_are_shortened_and_keep_three_digits() {
        let shown = [0.0, 999.0, 9999.0, 10_000.0, 123_456.0, 999_950.0, 1.84e19].map(compact);
        assert_eq!(shown, ["0", "999", "9999", "10k", "123k", "1.0M", "18E"]);
    }

    #[test]
    fn undefined_and_small_shares_are_told_apart() {
        let mut figure = gallery::transition_map(2, true);
        figure.cells = MapCells::Shares(vec![vec![None, Some(0.0)], vec![Some(0.002), Some(1.0)]]);
        let numbers = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|at| figure.number(at));
        assert_eq!(numbers, ["–", "", "<1", "100"]);
        assert!(figure.draw().unwrap().as_str().contains(": undefined</title>"));
        figure.cells = MapCells::Shares(vec![vec![None; 2]; 2]);
        assert!(figure.draw().is_ok());
        figure.cells = MapCells::Counts(vec![vec![0, u64::MAX], vec![1, 2]]);
        assert!(figure.draw().is_ok());
    }

    #[test]
    fn what_is_no_map_is_refused() {
        let with = |edit: fn(&mut TransitionMapFigure)| {
            let mut figure = gallery::transition_map(3, true);
            edit(&mut figure);
            figure.draw()
        };
        assert!(with(|_| ()).is_ok());
        assert!(matches!(with(|f| f.rows.clear()), Err(ReportError::EmptyFigure { item: "row", .. })));
        assert!(matches!(with(|f| f.columns.clear()), Err(ReportError::EmptyFigure { item: "column", .. })));
        assert!(matches!(with(|f| f.columns = vec!["x".to_owned(); 21]), Err(ReportError::MapSize { got: 21, .. })));
        assert!(matches!(with(|f| f.columns.truncate(2)), Err(ReportError::MapShape { expected: 2, got: 3, .. })));
        assert!(matches!(with(|f| f.rows.truncate(2)), Err(ReportError::MapShape { expected: 2, got: 3, .. })));
        let share = |value| {
            let mut figure = gallery::transition_map(1, true);
            figure.cells = MapCells::Shares(vec![vec![Some(value)]]);
            figure.draw()
        };
        assert!(matches!(share(f64::NAN), Err(ReportError::NotFinite { .. })));
        assert!(matches!(share(12.0), Err(ReportError::OutOfRange { .. })));
    }
}
