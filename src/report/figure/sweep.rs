//! The sweep figure: one line a source over the distance thresholds of a matching.

use std::fmt::Write as _;

use super::axis::Axis;
use super::plot::{Plot, Scale};
use super::series::{self, MARK_RADIUS, Sample};
use super::{ReportError, Svg, coordinate, finite, lettering, text};
use crate::report::table::{Cell, Column, Table, fixed};

const FIGURE: &str = "sweep figure";
/// Size of the thresholds written beside markers.
const NOTE_SIZE: f64 = 12.0;

/// What is drawn against what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepForm {
    /// Concordance against event match rate; thresholds are written beside some markers.
    RateConcordance,
    /// AULTC against event match rate; thresholds are written beside some markers.
    RateAultc,
    /// Event match rate against the threshold.
    ThresholdRate,
    /// Concordance against the threshold.
    ThresholdConcordance,
    /// AULTC against the threshold.
    ThresholdAultc,
}

/// The measures of one source at one threshold, each a fraction of one; `None` where undefined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// Distance below which a matched pair was kept.
    pub threshold: f64,
    /// Kept pairs over reference events.
    pub match_rate: Option<f64>,
    /// Concordance of the times.
    pub concordance: Option<f64>,
    /// Area under the log-time curve.
    pub aultc: Option<f64>,
}

/// The line of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSeries {
    /// Name of the source.
    pub source: String,
    /// Points in rising order of the threshold.
    pub points: Vec<SweepPoint>,
}

/// A sweep to be drawn; the order of the series is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepFigure {
    /// What is drawn against what.
    pub form: SweepForm,
    /// Name of the distance that the thresholds bound, such as `cosine distance`.
    pub distance: String,
    /// Lines, the last one drawn on top.
    pub series: Vec<SweepSeries>,
}

/// Up to so many lines have a threshold beside each marker; more have them only at their ends.
const FEW_LINES: usize = 4;

/// A point in the units of the axes.
#[derive(Debug, Clone, Copy)]
struct Place {
    threshold: f64,
    x: f64,
    y: f64,
}

impl SweepFigure {
    /// Draws the figure.
    ///
    /// A line is interrupted where a value is undefined. Markers stand at the multiples of 0.1, or at about six
    /// thresholds when these are not among them.
    ///
    /// # Errors
    /// No series, or none with a defined point; too many or repeated names; a value that is not finite or not a
    /// fraction; thresholds that do not rise.
    pub fn draw(&self) -> Result<Svg, ReportError> {
        self.check()?;
        let lines: Vec<Vec<Option<Place>>> = self.series.iter().map(|line| self.places(line)).collect();
        let defined = || lines.iter().flatten().flatten();
        if defined().next().is_none() {
            return Err(ReportError::EmptyFigure { figure: FIGURE, item: "defined point" });
        }
        let range = |value: fn(&Place) -> f64| {
            let values = || defined().map(value);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        let (left, right) = range(|place| place.x);
        let (low, high) = range(|place| place.y);
        let x = match self.by_rate() {
            true => Scale::Linear(Axis::percentages(left, right), "%"),
            false => Scale::Linear(Axis::close(left.min(0.0), right), ""),
        };
        let (y, y_title) = match self.form {
            SweepForm::ThresholdRate => {
                (Scale::Linear(Axis::percentages(low, high), "%"), "event match rate (% of reference events)")
            }
            SweepForm::RateConcordance | SweepForm::ThresholdConcordance => {
                (Scale::Linear(Axis::fractions(low, high), ""), "concordance of event times (fraction of comparable pairs)")
            }
            SweepForm::RateAultc | SweepForm::ThresholdAultc => {
                (Scale::Linear(Axis::fractions(low, high), ""), "AULTC, area under the log-time curve (0 to 1)")
            }
        };
        let threshold_title = format!("threshold on the {}", self.distance);
        let x_title = if self.by_rate() { "event match rate (% of reference events)" } else { &threshold_title };
        let mut body = String::new();
        let plot = Plot::open(&mut body, x, x_title, y, y_title);
        for (i, line) in lines.iter().enumerate() {
            for stretch in line.split(Option::is_none).filter(|stretch| stretch.len() > 1) {
                let mut data = String::new();
                for (k, place) in stretch.iter().flatten().enumerate() {
                    let command = if k == 0 { 'M' } else { 'L' };
                    write!(data, "{command}{} {}", coordinate(plot.x(place.x)), coordinate(plot.y(place.y)))
                        .expect("writing to a string cannot fail");
                }
                series::path(&mut body, i, &data);
            }
        }
        let marked: Vec<Vec<Place>> = lines.iter().enumerate().map(|(i, line)| self.marked(i, line)).collect();
        for (i, places) in marked.iter().enumerate() {
            for place in places {
                let hint = self.hint(&self.series[i].source, place);
                series::marker(&mut body, i, plot.x(place.x), plot.y(place.y), &hint);
            }
        }
        let mut bottom = plot.below();
        if self.by_rate() {
            Notes::new(&plot, &lines, &marked).write(&mut body);
            let note = format!("Numbers beside markers: {threshold_title}, which rises along each line; left out where crowded.");
            for shown in lettering::fit(&note, 11.0, super::WIDTH - 2.0 * super::MARGIN, 2) {
                text(&mut body, "az-tiny", super::MARGIN, bottom + 10.0, &shown);
                bottom += 14.0;
            }
            bottom += 6.0;
        }
        let entries: Vec<(&str, String)> = self
            .series
            .iter()
            .zip(&lines)
            .map(|(line, places)| {
                let reading = if places.iter().all(Option::is_none) { "undefined" } else { "" };
                (line.source.as_str(), reading.to_owned())
            })
            .collect();
        let bottom = series::legend(&mut body, bottom, Sample::Line, &entries);
        let label = format!("{y_title} against {x_title} of {} sources", self.series.len());
        Ok(Svg::finish(&label, bottom + 10.0, &body))
    }

    /// The points that [`SweepFigure::draw`] draws: one row a source and threshold, with only the measures drawn.
    ///
    /// # Errors
    /// As [`SweepFigure::draw`], but a figure without any defined point has a table.
    pub fn data(&self) -> Result<Table, ReportError> {
        self.check()?;
        let rate = Column::number("match_rate", "Event match rate");
        let concordance = Column::number("concordance", "Concordance");
        let aultc = Column::number("aultc", "AULTC");
        let mut columns = vec![Column::text("source", "Source"), Column::number("threshold", "Threshold")];
        let (name, measures) = match self.form {
            SweepForm::RateConcordance => ("sweep_rate_concordance", vec![rate, concordance]),
            SweepForm::RateAultc => ("sweep_rate_aultc", vec![rate, aultc]),
            SweepForm::ThresholdRate => ("sweep_match_rate", vec![rate]),
            SweepForm::ThresholdConcordance => ("sweep_concordance", vec![concordance]),
            SweepForm::ThresholdAultc => ("sweep_aultc", vec![aultc]),
        };
        columns.extend(measures);
        let title = format!("Sweep over the threshold on the {}", self.distance);
        let mut table = Table::new(name, title, columns)?;
        for line in &self.series {
            for point in &line.points {
                let mut row = vec![Cell::text(&line.source), Cell::number(point.threshold, 2)];
                if self.by_rate() {
                    row.push(Cell::maybe(point.match_rate, 3));
                }
                row.push(Cell::maybe(self.measure(point), 3));
                table.push(row)?;
            }
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), ReportError> {
        series::check_names(FIGURE, self.series.iter().map(|line| line.source.as_str()), series::MAX_LINES)?;
        for line in &self.series {
            let mut before = f64::NEG_INFINITY;
            for point in &line.points {
                finite(FIGURE, &line.source, point.threshold)?;
                if point.threshold <= before {
                    let (name, after) = (line.source.clone(), point.threshold);
                    return Err(ReportError::ThresholdOrder { figure: FIGURE, name, before, after });
                }
                before = point.threshold;
                let in_range = |value: f64, high: f64, hint| match (0.0..=high).contains(&value) {
                    true => Ok(()),
                    false => {
                        let place = format!("{FIGURE}, source {:?}", line.source);
                        Err(ReportError::OutOfRange { place, value, low: 0.0, high, hint })
                    }
                };
                in_range(point.threshold, 1e9, "a threshold bounds a distance")?;
                for value in [point.match_rate, point.concordance, point.aultc].into_iter().flatten() {
                    finite(FIGURE, &line.source, value)?;
                    in_range(value, 1.0, "a fraction, not a percentage")?;
                }
            }
        }
        Ok(())
    }

    fn by_rate(&self) -> bool {
        matches!(self.form, SweepForm::RateConcordance | SweepForm::RateAultc)
    }

    /// The measure on the vertical axis.
    fn measure(&self, point: &SweepPoint) -> Option<f64> {
        match self.form {
            SweepForm::RateConcordance | SweepForm::ThresholdConcordance => point.concordance,
            SweepForm::RateAultc | SweepForm::ThresholdAultc => point.aultc,
            SweepForm::ThresholdRate => point.match_rate,
        }
    }

    fn places(&self, line: &SweepSeries) -> Vec<Option<Place>> {
        let unit = if self.form == SweepForm::ThresholdRate { 100.0 } else { 1.0 };
        let place = |point: &SweepPoint| {
            let x = if self.by_rate() { 100.0 * point.match_rate? } else { point.threshold };
            Some(Place { threshold: point.threshold, x, y: unit * self.measure(point)? })
        };
        line.points.iter().map(place).collect()
    }

    /// Places with a marker: round thresholds, and points that no line touches. Over the threshold, where round ones
    /// of all sources would stand above each other, each source has its own offset.
    fn marked(&self, i: usize, line: &[Option<Place>]) -> Vec<Place> {
        let round = |place: &Place| {
            let tenths = place.threshold * 10.0;
            tenths > 0.5 && (tenths - tenths.round()).abs() < 1e-6
        };
        let n_round = line.iter().flatten().filter(|place| round(place)).count();
        let every = line.len().div_ceil(6).max(1);
        let alone = |k: usize| {
            let empty = |k: Option<usize>| k.and_then(|k| line.get(k)).is_none_or(Option::is_none);
            empty(k.checked_sub(1)) && empty(Some(k + 1))
        };
        line.iter()
            .enumerate()
            .filter_map(|(k, place)| place.map(|place| (k, place)))
            .filter(|(k, place)| {
                alone(*k)
                    || match self.by_rate() && n_round >= 2 {
                        true => round(place),
                        false => (k + i) % every == every - 1,
                    }
            })
            .map(|(_, place)| place)
            .collect()
    }

    fn hint(&self, source: &str, place: &Place) -> String {
        let threshold = fixed(place.threshold, 2);
        match self.form {
            SweepForm::ThresholdRate => format!("{source}: {}% at threshold {threshold}", fixed(place.y, 1)),
            SweepForm::ThresholdConcordance | SweepForm::ThresholdAultc => {
                format!("{source}: {} at threshold {threshold}", fixed(place.y, 3))
            }
            SweepForm::RateConcordance | SweepForm::RateAultc => {
                format!("{source}: {} at match rate {}%, threshold {threshold}", fixed(place.y, 3), fixed(place.x, 1))
            }
        }
    }
}

/// A rectangle: left, top, right, bottom.
type Box4 = [f64; 4];

/// Thresholds beside markers, each put only where it hides no line, marker or other threshold.
struct Notes<'p> {
    plot: &'p Plot,
    segments: Vec<[f64; 4]>,
    marks: Vec<Vec<(f64, f64, f64)>>,
}

impl<'p> Notes<'p> {
    fn new(plot: &'p Plot, lines: &[Vec<Option<Place>>], marked: &[Vec<Place>]) -> Self {
        let at = |place: &Place| (plot.x(place.x), plot.y(place.y));
        let segments = lines
            .iter()
            .flat_map(|line| line.windows(2))
            .filter_map(|pair| Some((at(&pair[0]?), at(&pair[1]?))))
            .map(|((x1, y1), (x2, y2))| [x1, y1, x2, y2])
            .collect();
        let marks = marked
            .iter()
            .map(|places| {
                places
                    .iter()
                    .map(|place| {
                        let (x, y) = at(place);
                        (x, y, place.threshold)
                    })
                    .collect()
            })
            .collect();
        Self { plot, segments, marks }
    }

    fn write(&self, body: &mut String) {
        let mut taken: Vec<Box4> = Vec::new();
        // Both ends of every line first; the rest from the right, and only if the lines are few.
        let ends = self.marks.iter().flat_map(|marks| marks.last().into_iter().chain(marks.first().filter(|_| marks.len() > 1)));
        let few = if self.marks.len() <= FEW_LINES { &self.marks[..] } else { &[] };
        let rest = few.iter().flat_map(|marks| marks.get(1..marks.len().saturating_sub(1)).unwrap_or(&[]).iter().rev());
        for &(x, y, threshold) in ends.chain(rest) {
            let label = format!("{threshold}");
            let label = if label.len() > 4 { fixed(threshold, 2) } else { label };
            let (width, height) = (lettering::width(&label, NOTE_SIZE), NOTE_SIZE);
            let (near, half) = (MARK_RADIUS + 3.0, width / 2.0);
            let corners = [
                (x - half, y - near - height),
                (x - half, y + near),
                (x + near, y - height / 2.0),
                (x - near - width, y - height / 2.0),
                (x + near - 2.0, y - near - height + 3.0),
                (x - near - width + 2.0, y - near - height + 3.0),
                (x + near - 2.0, y + near - 3.0),
                (x - near - width + 2.0, y + near - 3.0),
            ];
            let boxes = corners.map(|(left, top)| [left, top, left + width, top + height]);
            let Some(place) = boxes.into_iter().find(|place| self.is_free(place, &taken) && self.is_nearest((x, y), place))
            else {
                continue;
            };
            text(body, "az-note", place[0], place[3] - 2.0, &label);
            taken.push(place);
        }
    }

    /// Whether no other marker is as near to the note as its own, so that it cannot be read as another's.
    fn is_nearest(&self, (x, y): (f64, f64), place: &Box4) -> bool {
        let middle = ((place[0] + place[2]) / 2.0, (place[1] + place[3]) / 2.0);
        let far = |(x, y): (f64, f64)| (x - middle.0).hypot(y - middle.1);
        let own = far((x, y));
        self.marks.iter().flatten().all(|mark| (mark.0, mark.1) == (x, y) || far((mark.0, mark.1)) > own + 2.0)
    }

    fn is_free(&self, place: &Box4, taken: &[Box4]) -> bool {
        let [left, top, right, bottom] = *place;
        let inside = left >= self.plot.left()
            && right <= self.plot.right() + 12.0
            && top >= self.plot.top() - 8.0
            && bottom <= self.plot.bottom();
        let apart = |other: &Box4| right + 3.0 <= other[0] || other[2] + 3.0 <= left || bottom <= other[1] || other[3] <= top;
        let r = MARK_RADIUS;
        inside
            && taken.iter().all(apart)
            && self.marks.iter().flatten().all(|&(x, y, _)| x + r <= left || x - r >= right || y + r <= top || y - r >= bottom)
            && self.segments.iter().all(|segment| !crosses(segment, place))
    }
}

/// Whether a segment has a point in a rectangle (Liang and Barsky's clipping).
fn crosses(segment: &[f64; 4], place: &Box4) -> bool {
    let [x1, y1, x2, y2] = *segment;
    let (dx, dy) = (x2 - x1, y2 - y1);
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for (p, q) in [(-dx, x1 - place[0]), (dx, place[2] - x1), (-dy, y1 - place[1]), (dy, place[3] - y1)] {
        if p == 0.0 {
            if q < 0.0 {
                return false;
            }
        } else if p < 0.0 {
            from = from.max(q / p);
        } else {
            to = to.min(q / p);
        }
    }
    from <= to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::gallery;

    const FORMS: [SweepForm; 5] = [
        SweepForm::RateConcordance,
        SweepForm::RateAultc,
        SweepForm::ThresholdRate,
        SweepForm::ThresholdConcordance,
        SweepForm::ThresholdAultc,
    ];

    #[test]
    fn the_table_holds_the_points_of_the_lines() {
        for form in FORMS {
            let figure = gallery::sweep(3, form);
            let (svg, table) = (figure.draw().unwrap(), figure.data().unwrap());
            assert_eq!(svg, figure.draw().unwrap());
            let n_points: usize = svg
                .as_str()
                .lines()
                .filter(|line| line.starts_with("<path class=\"az-path") && !line.contains('H'))
                .map(|line| line.matches(['M', 'L']).count())
                .sum();
            let number = |cell: &Cell| if let Cell::Number { value, .. } = cell { Some(*value) } else { None };
            let drawn: Vec<&Vec<Cell>> =
                table.rows().iter().filter(|row| row.iter().all(|cell| *cell != Cell::Missing)).collect();
            assert_eq!(n_points, drawn.len(), "{form:?}");
            assert_eq!(table.rows().len(), 150);
            for (row, point) in table.rows().iter().zip(figure.series.iter().flat_map(|line| &line.points)) {
                assert_eq!(number(&row[1]), Some(point.threshold));
                assert_eq!(row.last().and_then(number), figure.measure(point));
            }
        }
    }

    #[test]
    fn lines_break_where_a_value_is_undefined_and_lone_points_are_marked() {
        let point =
            |k: u32, concordance| SweepPoint { threshold: f64::from(k) / 100.0, match_rate: Some(0.5), concordance, aultc: None };
        let points = vec![point(1, Some(0.5)), point(2, Some(0.6)), point(3, None), point(4, Some(0.7)), point(5, None)];
        let series = vec![SweepSeries { source: "one".to_owned(), points }];
        let figure = SweepFigure { form: SweepForm::ThresholdConcordance, distance: "cosine distance".to_owned(), series };
        let svg = figure.draw().unwrap();
        let lines: Vec<&str> = svg.as_str().lines().filter(|line| line.contains("az-path") && !line.contains('H')).collect();
        assert_eq!(lines.len(), 1);
        assert!(svg.as_str().contains("one: 0.700 at threshold 0.04"));
        let none = SweepFigure { form: SweepForm::ThresholdAultc, ..figure };
        assert!(matches!(none.draw(), Err(ReportError::EmptyFigure { item: "defined point", .. })));
        assert_eq!(none.data().unwrap().rows().len(), 5);
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        let with = |edit: fn(&mut SweepFigure)| {
            let mut figure = gallery::sweep(2, SweepForm::RateAultc);
            edit(&mut figure);
            figure.draw()
        };
        assert!(with(|_| ()).is_ok());
        assert!(matches!(with(|f| f.series.clear()), Err(ReportError::EmptyFigure { .. })));
        assert!(matches!(with(|f| f.series[1].points[0].aultc = Some(f64::NAN)), Err(ReportError::NotFinite { .. })));
        assert!(matches!(with(|f| f.series[0].points[0].threshold = f64::INFINITY), Err(ReportError::NotFinite { .. })));
        assert!(matches!(with(|f| f.series[0].points[3].match_rate = Some(41.0)), Err(ReportError::OutOfRange { .. })));
        assert!(matches!(with(|f| f.series[0].points.reverse()), Err(ReportError::ThresholdOrder { .. })));
        assert!(matches!(with(|f| f.series[1].source = f.series[0].source.clone()), Err(ReportError::RepeatedSeries { .. })));
    }

    #[test]
    fn thresholds_beside_markers_hide_nothing() {
        let place = [10.0, 10.0, 20.0, 20.0];
        assert!(crosses(&[0.0, 15.0, 30.0, 15.0], &place) && crosses(&[12.0, 12.0, 12.0, 12.0], &place));
        assert!(!crosses(&[0.0, 0.0, 8.0, 30.0], &place) && !crosses(&[0.0, 25.0, 30.0, 25.0], &place));
        for n in [1, 2, 8] {
            let svg = gallery::sweep(n, SweepForm::RateConcordance).draw().unwrap();
            let n_notes = svg.as_str().matches("class=\"az-note\"").count();
            assert!((n..=5 * n).contains(&n_notes), "{n} sources: {n_notes} thresholds");
        }
    }
}
