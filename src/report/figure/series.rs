//! What tells series apart: a colour, a marker and a dash for each, and the legend that names them.

use std::collections::HashSet;
use std::f64::consts::PI;
use std::fmt::Write as _;

use super::style::N_SERIES_COLOURS;
use super::{MARGIN, ReportError, WIDTH, coordinate, lettering};
use crate::report::figure::lettering::escape;

/// Series that colour, marker and dash together tell apart.
pub(super) const MAX_LINES: usize = 3 * N_SERIES_COLOURS;
/// Series that bars, which have no marker and no dash, tell apart.
pub(super) const MAX_BARS: usize = N_SERIES_COLOURS;
/// Radius of a marker.
pub(super) const MARK_RADIUS: f64 = 5.0;

/// Width of a sample in the legend with the gap after it.
const SAMPLE: f64 = 42.0;
/// Gap between two columns of the legend.
const COLUMN_GAP: f64 = 18.0;
const ROW: f64 = 21.0;
const KEY_SIZE: f64 = 13.0;

/// Refuses names that a legend cannot tell apart.
pub(super) fn check_names<'n>(
    figure: &'static str,
    names: impl ExactSizeIterator<Item = &'n str>,
    expected: usize,
) -> Result<(), ReportError> {
    let got = names.len();
    if got == 0 {
        return Err(ReportError::EmptyFigure { figure, item: "series" });
    }
    if got > expected {
        return Err(ReportError::TooManySeries { figure, expected, got });
    }
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ReportError::RepeatedSeries { figure, name: name.to_owned() });
        }
    }
    Ok(())
}

/// Class of the fill of series number `i`.
pub(super) fn fill_class(i: usize) -> String {
    format!("az-f{}", i % N_SERIES_COLOURS + 1)
}

/// Draws the line of series number `i` along SVG path data.
pub(super) fn path(body: &mut String, i: usize, data: &str) {
    let dash = ["", " az-dash2", " az-dash3"][i / N_SERIES_COLOURS % 3];
    let colour = i % N_SERIES_COLOURS + 1;
    writeln!(body, "<path class=\"az-path az-l{colour}{dash}\" d=\"{data}\"/>").expect("writing to a string cannot fail");
}

/// Draws a marker of series number `i`; `hint` is shown by a pointer that rests on it.
pub(super) fn marker(body: &mut String, i: usize, x: f64, y: f64, hint: &str) {
    let data = outline((i + i / N_SERIES_COLOURS) % N_SERIES_COLOURS, x, y);
    let title = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", escape(hint)) };
    writeln!(body, "<path class=\"az-mark {}\" d=\"{data}\">{title}</path>", fill_class(i))
        .expect("writing to a string cannot fail");
}

/// Path data of one of eight shapes around a point; areas are about equal, so that no series looks heavier.
fn outline(shape: usize, x: f64, y: f64) -> String {
    let r = MARK_RADIUS;
    // Corners as (angle in quarter turns from the top, radius).
    let around = |n: u32, turn: f64, radius: f64| -> Vec<(f64, f64)> {
        (0..n)
            .map(|k| {
                let angle = (turn + f64::from(k) * 4.0 / f64::from(n)) * PI / 2.0;
                (x + radius * angle.sin(), y - radius * angle.cos())
            })
            .collect()
    };
    // An upright plus, or the same turned by half a quarter: arms of length r and half width w.
    let plus = |turn: f64| -> Vec<(f64, f64)> {
        let w = 0.38 * r;
        let corners =
            [(-w, -r), (w, -r), (w, -w), (r, -w), (r, w), (w, w), (w, r), (-w, r), (-w, w), (-r, w), (-r, -w), (-w, -w)];
        let (sin, cos) = (turn * PI / 2.0).sin_cos();
        corners.map(|(a, b)| (x + a * cos - b * sin, y + a * sin + b * cos)).to_vec()
    };
    let corners = match shape {
        0 => return circle(x, y, 0.88 * r),
        1 => around(4, 0.5, 1.1 * r),
        2 => around(3, 0.0, 1.2 * r),
        3 => around(4, 0.0, 1.15 * r),
        4 => around(3, 2.0, 1.2 * r),
        5 => plus(0.0),
        6 => plus(0.5),
        _ => around(5, 0.0, 1.3 * r).into_iter().zip(around(5, 0.4, 0.6 * r)).flat_map(|(tip, notch)| [tip, notch]).collect(),
    };
    let points: Vec<String> = corners.into_iter().map(|(x, y)| format!("{} {}", coordinate(x), coordinate(y))).collect();
    format!("M{}Z", points.join("L"))
}

fn circle(x: f64, y: f64, r: f64) -> String {
    let (left, right, y, r) = (coordinate(x - r), coordinate(x + r), coordinate(y), coordinate(r));
    format!("M{left} {y}A{r} {r} 0 0 1 {right} {y}A{r} {r} 0 0 1 {left} {y}Z")
}

/// How a legend shows a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// A piece of line with its marker.
    Line,
    /// A filled square.
    Bar,
}

/// Draws the legend below `top`, in as many equal columns as the longest entry allows, and returns the height below it.
///
/// An entry is a name and a short reading, such as a count; where both do not fit, the name is shortened.
pub(super) fn legend(body: &mut String, top: f64, sample: Sample, entries: &[(&str, String)]) -> f64 {
    let lead = if sample == Sample::Line { SAMPLE } else { 22.0 };
    let room = WIDTH - 2.0 * MARGIN;
    let shown: Vec<String> = entries
        .iter()
        .map(|(name, reading)| {
            let tail = if reading.is_empty() { String::new() } else { format!(" ({reading})") };
            let free = room - lead - lettering::width(&tail, KEY_SIZE);
            format!("{}{tail}", lettering::shorten(name, KEY_SIZE, free))
        })
        .collect();
    let widest = shown.iter().map(|entry| lead + lettering::width(entry, KEY_SIZE)).fold(1.0, f64::max);
    let n_columns = (((room + COLUMN_GAP) / (widest + COLUMN_GAP)).floor() as usize).clamp(1, entries.len().max(1));
    let mut bottom = top;
    for (i, (entry, (name, _))) in shown.iter().zip(entries).enumerate() {
        let x = MARGIN + (widest + COLUMN_GAP) * (i % n_columns) as f64;
        let middle = top + ROW * (i / n_columns) as f64 + ROW / 2.0;
        match sample {
            Sample::Line => {
                path(body, i, &format!("M{} {}H{}", coordinate(x), coordinate(middle), coordinate(x + SAMPLE - 9.0)));
                marker(body, i, x + (SAMPLE - 9.0) / 2.0, middle, "");
            }
            Sample::Bar => super::bar(body, &fill_class(i), [x, middle - 6.5, x + 13.0, middle + 6.5], None),
        }
        let (text_x, base) = (coordinate(x + lead), coordinate(middle + 4.5));
        writeln!(
            body,
            "<text class=\"az-key\" x=\"{text_x}\" y=\"{base}\"><title>{}</title>{}</text>",
            escape(name),
            escape(entry)
        )
        .expect("writing to a string cannot fail");
        bottom = middle + ROW / 2.0;
    }
    bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_looks_different() {
        let mut seen = HashSet::new();
        for i in 0..MAX_LINES {
            let mut body = String::new();
            path(&mut body, i, "M0 0H1");
            marker(&mut body, i, 10.0, 10.0, "");
            assert!(seen.insert(body), "series {i}");
        }
        let shapes: HashSet<String> = (0..8).map(|shape| outline(shape, 0.0, 0.0)).collect();
        assert_eq!(shapes.len(), 8);
    }

    #[test]
    fn names_are_counted_and_distinct() {
        let check = |names: &[&str], most| check_names("figure", names.iter().copied(), most);
        assert!(check(&["a", "b"], 2).is_ok());
        assert!(matches!(check(&[], 2), Err(ReportError::EmptyFigure { .. })));
        assert!(matches!(check(&["a", "b", "c"], 2), Err(ReportError::TooManySeries { expected: 2, got: 3, .. })));
        assert!(matches!(check(&["a", "a"], 2), Err(ReportError::RepeatedSeries { name, .. }) if name == "a"));
    }

    #[test]
    fn short_names_share_a_line_and_long_ones_do_not() {
        let height = |name: &str| {
            let names: Vec<String> = (0..8).map(|i| format!("{name}{i}")).collect();
            let entries: Vec<(&str, String)> = names.iter().map(|name| (name.as_str(), "n = 12".to_owned())).collect();
            let mut body = String::new();
            let bottom = legend(&mut body, 0.0, Sample::Line, &entries);
            super::super::overlap::assert_apart(&body);
            bottom
        };
        assert!(height("s") < 3.0 * ROW + 1.0);
        assert_eq!(height(&"W".repeat(90)), 8.0 * ROW);
    }
}
