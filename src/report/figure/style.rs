//! The style sheet of every drawing: colours for light, dark and paper, and the classes that use them.
//!
//! A browser gets the sheet with variables, which follow the reader's scheme. A rasteriser knows neither variables nor
//! media queries and gets the light colours written out, so that both show the same picture on white.

use super::raster::FONT_FAMILY;

/// Each colour on a light page, on a dark page, and on paper.
///
/// `s1` to `s8` tell series apart. They differ in lightness as well as in hue, and stay apart for readers without red or
/// green cones (tested below); markers and dashes tell the same without colour.
const COLOURS: [(&str, [&str; 3]); 24] = [
    ("ink", ["#1b2a33", "#e4ebee", "#000"]),
    ("soft", ["#5a6b75", "#9fb0b9", "#444"]),
    ("line", ["#d3dbdf", "#3a4850", "#bbb"]),
    ("track", ["#eef2f3", "#243038", "#eee"]),
    ("dot", ["#17606e", "#62bccb", "#17606e"]),
    ("back", ["#fff", "#182127", "#fff"]),
    ("1", ["#7d2f63", "#b85a9b", "#7d2f63"]),
    ("2", ["#c890b5", "#e0b3d3", "#c890b5"]),
    ("3", ["#b8500f", "#e0762f", "#b8500f"]),
    ("4", ["#efae63", "#f4c184", "#efae63"]),
    ("5", ["#17527e", "#3f87bf", "#17527e"]),
    ("6", ["#5695c4", "#7fb7de", "#5695c4"]),
    ("7", ["#aed0e6", "#c4e0f2", "#aed0e6"]),
    ("s1", ["#0068a8", "#3b8fd0", "#0068a8"]),
    ("s2", ["#d45500", "#f0762a", "#d45500"]),
    ("s3", ["#0a9a70", "#19b088", "#0a9a70"]),
    ("s4", ["#8a2a6a", "#b04f94", "#8a2a6a"]),
    ("s5", ["#c99700", "#f0dc5a", "#c99700"]),
    ("s6", ["#5ab4e6", "#8fd2ff", "#5ab4e6"]),
    ("s7", ["#1b2a33", "#ffffff", "#1b2a33"]),
    ("s8", ["#dd8fbd", "#f3a9d0", "#dd8fbd"]),
    ("heat", ["#0f3f66", "#9fd0f2", "#0f3f66"]),
    ("faint", ["#0b1419", "#e4ebee", "#000"]),
    ("strong", ["#fff", "#0b1419", "#fff"]),
];

/// Typefaces of the reader's system.
const SYSTEM_FAMILY: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// The classes. The `az-` prefix keeps the rules from touching the page around an inlined figure.
const RULES: &str = "\
.az-fig text{fill:var(--az-ink);font-size:15px;font-variant-numeric:tabular-nums}\
.az-fig .az-soft{fill:var(--az-soft);font-size:13px}\
.az-fig .az-num{text-anchor:end;font-size:14px}.az-fig .az-mid{text-anchor:middle}\
.az-fig .az-end{text-anchor:end}\
.az-fig .az-back{fill:var(--az-back)}\
.az-fig .az-track{fill:var(--az-track)}.az-fig .az-grid{stroke:var(--az-line);stroke-width:1}\
.az-fig .az-base{stroke:var(--az-soft);stroke-width:1}\
.az-fig .az-ref{stroke:var(--az-soft);stroke-width:1.5;stroke-dasharray:3 3}\
.az-fig .az-whisker{stroke:var(--az-dot);stroke-width:2.5;stroke-linecap:round}\
.az-fig .az-dot{fill:var(--az-dot);stroke:var(--az-back);stroke-width:1.5}\
.az-fig .az-key{font-size:13px}\
.az-fig .az-note{fill:var(--az-ink);font-size:12px;stroke:var(--az-back);stroke-width:3;paint-order:stroke}\
.az-fig .az-tiny{fill:var(--az-soft);font-size:11px}\
.az-fig .az-path{fill:none;stroke-width:2;stroke-linejoin:round}\
.az-fig .az-dash2{stroke-dasharray:7 4}.az-fig .az-dash3{stroke-dasharray:2 3}\
.az-fig .az-mark{stroke:var(--az-back);stroke-width:1}\
.az-fig .az-heat{fill:var(--az-heat);shape-rendering:crispEdges}\
.az-fig .az-cell{text-anchor:middle}\
.az-fig .az-faint{fill:var(--az-faint)}.az-fig .az-strong{fill:var(--az-strong)}";

/// Numbers of the colours that fill categories, and of those that draw series.
const N_CATEGORIES: usize = 7;
pub(super) const N_SERIES_COLOURS: usize = 8;

/// Classes made of a letter and a number: `c1` fills a category, `l1` draws a line, `f1` fills a marker or a bar.
fn numbered_rules() -> String {
    let category = (1..=N_CATEGORIES).map(|i| format!(".az-fig .az-c{i}{{fill:var(--az-{i})}}"));
    let series = (1..=N_SERIES_COLOURS)
        .map(|i| format!(".az-fig .az-l{i}{{stroke:var(--az-s{i})}}.az-fig .az-f{i}{{fill:var(--az-s{i})}}"));
    category.chain(series).collect()
}

/// The sheet for a browser: follows the reader's light or dark scheme, and returns to light colours on paper.
pub(super) fn adaptive() -> String {
    let variables = |scheme: usize| -> String {
        COLOURS.iter().map(|(name, by_scheme)| format!("--az-{name}:{};", by_scheme[scheme])).collect()
    };
    format!(
        ".az-fig{{{}font-family:{SYSTEM_FAMILY}}}\
         @media (prefers-color-scheme:dark){{.az-fig{{{}}}}}\
         @media print{{.az-fig{{{}}}}}{RULES}{}",
        variables(0),
        variables(1),
        variables(2),
        numbered_rules()
    )
}

/// The sheet for a rasteriser: the light colours and the bundled typeface, without variables and media queries.
pub(super) fn plain() -> String {
    let mut rules = format!(".az-fig{{font-family:'{FONT_FAMILY}'}}{RULES}{}", numbered_rules());
    for (name, by_scheme) in COLOURS {
        rules = rules.replace(&format!("var(--az-{name})"), by_scheme[0]);
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Vision without green and without red cones.
    ///
    /// # Source
    /// Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
    const DEFICIENCIES: [Matrix; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    ];

    fn apply(matrix: &Matrix, v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    fn linear(hex: &str) -> [f64; 3] {
        let digits = hex.trim_start_matches('#');
        let digits = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
        [0, 2, 4].map(|at| {
            let c = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// OKLab coordinates, in which distances are near to seen differences.
    fn oklab(rgb: [f64; 3]) -> [f64; 3] {
        let cones = [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ];
        let lab = [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ];
        apply(&lab, apply(&cones, rgb).map(f64::cbrt))
    }

    fn luminance(hex: &str) -> f64 {
        let [r, g, b] = linear(hex);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    #[test]
    fn series_colours_stay_apart_without_red_or_green_cones() {
        for scheme in 0..2 {
            let series: Vec<&str> =
                COLOURS.iter().filter(|(name, _)| name.starts_with('s') && name.len() == 2).map(|(_, by)| by[scheme]).collect();
            assert_eq!(series.len(), N_SERIES_COLOURS);
            for matrix in &DEFICIENCIES {
                for (i, a) in series.iter().enumerate() {
                    for b in &series[..i] {
                        let (p, q) = (oklab(apply(matrix, linear(a))), oklab(apply(matrix, linear(b))));
                        let apart = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
                        assert!(apart > 0.06, "{a} and {b} in scheme {scheme}: {apart}");
                    }
                }
            }
            let back = luminance(COLOURS[5].1[scheme]);
            for colour in &series {
                let (low, high) = (back.min(luminance(colour)), back.max(luminance(colour)));
                assert!((high + 0.05) / (low + 0.05) > 2.2, "{colour} fades into the ground of scheme {scheme}");
            }
        }
    }

    #[test]
    fn the_plain_sheet_has_no_variable_left() {
        assert!(!plain().contains("var(") && !plain().contains("@media"));
        let defined: Vec<String> = COLOURS.iter().map(|(name, _)| format!("var(--az-{name})")).collect();
        let sheet = adaptive();
        for (at, _) in sheet.match_indices("var(") {
            assert!(defined.iter().any(|name| sheet[at..].starts_with(name.as_str())), "{}", &sheet[at..at + 16]);
        }
    }
}
