//! Figures: SVG drawings written by hand, scaled by their `viewBox`, for light and dark.
//!
//! A figure must not know what a source or a category is; it draws names and numbers. Every drawing carries its own
//! style sheet, so that it can be a file of its own or a part of a page. Names are drawn on their own line above
//! their mark: long ones then need no left margin, and narrow screens keep readable type.

mod axis;
mod error_profile;
mod leaderboard;
mod lettering;

pub use error_profile::{ErrorProfileFigure, ProfileBar};
pub use leaderboard::{LeaderboardFigure, LeaderboardMark, LeaderboardScale};

use std::fmt::Write as _;

use super::error::ReportError;
use axis::Axis;
use lettering::escape;

/// Width of every drawing in user units.
const WIDTH: f64 = 600.0;
/// Free space left and right of the plot, wide enough for half a tick label.
const MARGIN: f64 = 24.0;

/// Colours and type of every drawing. The `az-` prefix keeps the rules from touching the page around an inlined
/// figure; the last rule returns to the light colours on paper.
const STYLE: &str = "\
.az-fig{--az-ink:#1b2a33;--az-soft:#5a6b75;--az-line:#d3dbdf;--az-track:#eef2f3;--az-dot:#17606e;--az-back:#fff;\
--az-1:#7d2f63;--az-2:#c890b5;--az-3:#b8500f;--az-4:#efae63;--az-5:#17527e;--az-6:#5695c4;--az-7:#aed0e6;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
@media (prefers-color-scheme:dark){.az-fig{--az-ink:#e4ebee;--az-soft:#9fb0b9;--az-line:#3a4850;--az-track:#243038;\
--az-dot:#62bccb;--az-back:#182127;--az-1:#b85a9b;--az-2:#e0b3d3;--az-3:#e0762f;--az-4:#f4c184;--az-5:#3f87bf;\
--az-6:#7fb7de;--az-7:#c4e0f2}}\
@media print{.az-fig{--az-ink:#000;--az-soft:#444;--az-line:#bbb;--az-track:#eee;--az-dot:#17606e;--az-back:#fff;\
--az-1:#7d2f63;--az-2:#c890b5;--az-3:#b8500f;--az-4:#efae63;--az-5:#17527e;--az-6:#5695c4;--az-7:#aed0e6}}\
.az-fig text{fill:var(--az-ink);font-size:15px;font-variant-numeric:tabular-nums}\
.az-fig .az-soft{fill:var(--az-soft);font-size:13px}\
.az-fig .az-num{text-anchor:end;font-size:14px}.az-fig .az-mid{text-anchor:middle}\
.az-fig .az-back{fill:var(--az-back)}\
.az-fig .az-track{fill:var(--az-track)}.az-fig .az-grid{stroke:var(--az-line);stroke-width:1}\
.az-fig .az-ref{stroke:var(--az-soft);stroke-width:1.5;stroke-dasharray:3 3}\
.az-fig .az-whisker{stroke:var(--az-dot);stroke-width:2.5;stroke-linecap:round}\
.az-fig .az-dot{fill:var(--az-dot);stroke:var(--az-back);stroke-width:1.5}\
.az-fig .az-c1{fill:var(--az-1)}.az-fig .az-c2{fill:var(--az-2)}.az-fig .az-c3{fill:var(--az-3)}\
.az-fig .az-c4{fill:var(--az-4)}.az-fig .az-c5{fill:var(--az-5)}.az-fig .az-c6{fill:var(--az-6)}\
.az-fig .az-c7{fill:var(--az-7)}";

/// A finished drawing: well-formed SVG in which every piece of data is escaped.
///
/// Only the figures of this module make one, so a page may insert it without escaping it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Svg(String);

impl Svg {
    /// The drawing as text, ready to be written to a `.svg` file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps `body` in the root element.
    fn finish(label: &str, height: f64, body: &str) -> Self {
        let (label, height) = (escape(label), coordinate(height));
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"az-fig\" role=\"img\" aria-label=\"{label}\" \
             viewBox=\"0 0 {WIDTH} {height}\">\n<style>{STYLE}</style>\n\
             <rect class=\"az-back\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n"
        ))
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
