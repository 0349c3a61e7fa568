//! Figures: SVG drawings written by hand, scaled by their `viewBox`, for light and dark; PNG made from them.
//!
//! A figure must not know what a source or a category is; it draws names and numbers. Every drawing carries its own
//! style sheet, so that it can be a file of its own or a part of a page. Names are drawn on their own line above
//! their mark: long ones then need no left margin, and narrow screens keep readable type.

mod axis;
mod error_cdf;
mod error_profile;
#[cfg(test)]
mod gallery;
mod leaderboard;
mod lettering;
#[cfg(test)]
mod overlap;
mod plot;
mod raster;
mod series;
mod stage_histogram;
mod style;
mod sweep;
mod transition_map;

pub use error_cdf::{ErrorCdfFigure, ErrorCdfSeries};
pub use error_profile::{ErrorProfileFigure, ProfileBar};
pub use leaderboard::{LeaderboardFigure, LeaderboardMark, LeaderboardScale};
pub use stage_histogram::{N_STAGE_BARS, StageHistogramFigure, StageSeries, StageUnit};
pub use sweep::{SweepFigure, SweepForm, SweepPoint, SweepSeries};
pub use transition_map::{MapCells, TransitionMapFigure};

use std::fmt::Write as _;
use std::ops::Range;

use super::error::ReportError;
use super::table::Table;
use axis::Axis;
use lettering::escape;

/// Width of every drawing in user units.
const WIDTH: f64 = 600.0;
/// Free space left and right of the plot, wide enough for half a tick label.
const MARGIN: f64 = 24.0;

/// A figure with the table that it draws; files of both take the name of the table.
#[derive(Debug)]
pub struct DrawnFigure {
    pub svg: Svg,
    pub data: Table,
}

/// A finished drawing: well-formed SVG in which every piece of data is escaped.
///
/// Only the figures of this module make one, so a page may insert it without escaping it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Svg {
    text: String,
    /// Where the style sheet lies in `text`.
    sheet: Range<usize>,
    width: f64,
    height: f64,
}

impl Svg {
    /// The drawing as text, ready to be written to a `.svg` file.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Wraps `body` in the root element.
    fn finish(label: &str, height: f64, body: &str) -> Self {
        let (label, shown) = (escape(label), coordinate(height));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"az-fig\" role=\"img\" aria-label=\"{label}\" \
             width=\"{WIDTH}\" height=\"{shown}\" viewBox=\"0 0 {WIDTH} {shown}\">\n<style>"
        );
        let start = text.len();
        text.push_str(&style::adaptive());
        let sheet = start..text.len();
        write!(text, "</style>\n<rect class=\"az-back\" width=\"{WIDTH}\" height=\"{shown}\"/>\n{body}</svg>\n")
            .expect("writing to a string cannot fail");
        Self { text, sheet, width: WIDTH, height }
    }

    /// The drawing in its light colours and the bundled typeface, with nothing that only a browser understands.
    fn plain(&self) -> String {
        format!("{}{}{}", &self.text[..self.sheet.start], style::plain(), &self.text[self.sheet.end..])
    }
}

/// A coordinate with at most two decimals, so that the bytes do not carry rounding noise.
fn coordinate(value: f64) -> String {
    let text = super::table::fixed(value, 2);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Draws a grid line for every tick between two heights.
fn grid(body: &mut String, axis: &Axis, top: f64, bottom: f64) {
    for tick in axis.ticks() {
        line(body, "az-grid", axis.x(tick), top, axis.x(tick), bottom);
    }
}

/// Draws tick labels and the name of the axis below `top`.
fn axis_labels(body: &mut String, axis: &Axis, top: f64, name: &str, suffix: &str) {
    for tick in axis.ticks() {
        let label = format!("{}{suffix}", super::table::fixed(tick, axis.decimals()));
        text(body, "az-soft az-mid", axis.x(tick), top + 13.0, &label);
    }
    text(body, "az-soft az-mid", WIDTH / 2.0, top + 33.0, name);
}

/// Draws one line.
fn line(body: &mut String, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
    let (x1, y1, x2, y2) = (coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
    writeln!(body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
        .expect("writing to a string cannot fail");
}

/// Draws one escaped text.
fn text(body: &mut String, class: &str, x: f64, y: f64, content: &str) {
    let (x, y) = (coordinate(x), coordinate(y));
    writeln!(body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(content))
        .expect("writing to a string cannot fail");
}

/// Draws one rectangle given by its corners; `hint` is shown by a pointer that rests on it.
fn bar(body: &mut String, class: &str, corners: [f64; 4], hint: Option<&str>) {
    let [left, top, right, bottom] = corners;
    let (x, y) = (coordinate(left), coordinate(top));
    let (width, height) = (coordinate(right - left), coordinate(bottom - top));
    let title = hint.map_or_else(String::new, |hint| format!("<title>{}</title>", escape(hint)));
    writeln!(body, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\">{title}</rect>")
        .expect("writing to a string cannot fail");
}

/// Draws a name at the left and a reading at the right of one line. A long name is set smaller, and shortened where
/// even that does not fit; resting on it shows it in full.
fn caption(body: &mut String, y: f64, name: &str, reading: &str) {
    let free = WIDTH - 2.0 * MARGIN - lettering::width(reading, 14.0) - 14.0;
    let fits = |size: &f64| lettering::width(name, *size) <= free;
    let size = [15.0, 14.0, 13.0, 12.0].into_iter().find(fits).unwrap_or(12.0);
    let (x, right, base) = (coordinate(MARGIN), coordinate(WIDTH - MARGIN), coordinate(y));
    let shown = lettering::shorten(name, size, free);
    writeln!(
        body,
        "<text style=\"font-size:{size}px\" x=\"{x}\" y=\"{base}\"><title>{}</title>{}</text>\n\
         <text class=\"az-num\" x=\"{right}\" y=\"{base}\">{}</text>",
        escape(name),
        escape(&shown),
        escape(reading)
    )
    .expect("writing to a string cannot fail");
}

/// Refuses a number that a figure cannot place.
fn finite(figure: &'static str, name: &str, value: f64) -> Result<f64, ReportError> {
    match value.is_finite() {
        true => Ok(value),
        false => Err(ReportError::NotFinite { place: format!("{figure}, source {name:?}"), value }),
    }
}
