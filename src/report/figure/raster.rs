//! Pixels: a drawing as PNG, in a typeface that the program carries.
//!
//! No font of the system is asked for, so that a picture is the same on every machine. The typeface is DejaVu Sans
//! Condensed (Bitstream Vera licence, changes in the public domain). It has Latin, Greek, Cyrillic, Hebrew and Arabic
//! letters; a character that it lacks, such as a Chinese one, becomes an empty box in the PNG, while the SVG shows it.

use std::sync::{Arc, LazyLock};

use resvg::{tiny_skia, usvg};

use super::{ReportError, Svg};

/// Family name of the bundled typeface; its name table calls the condensed width a style of the family.
pub(super) const FONT_FAMILY: &str = "DejaVu Sans";

/// Side of the largest picture in pixels; more than any print needs, and below what a decoder may refuse.
const MAX_SIDE: f64 = 16384.0;

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    Arc::new(fonts)
});

impl Svg {
    /// The drawing as PNG bytes on an opaque white ground, in its light colours.
    ///
    /// # Units
    /// `scale` is in pixels a drawing unit: 1 gives a picture 600 pixels wide, 2 suits screens, 4 print.
    ///
    /// # Errors
    /// A scale that is not positive, or with which the picture would have no pixel or a side above 16,384 pixels; a
    /// rasteriser failure.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, ReportError> {
        let (width, height) = (self.width * scale, self.height * scale);
        let sides = 1.0..=MAX_SIDE;
        if !(sides.contains(&width) && sides.contains(&height)) {
            return Err(ReportError::OutOfRange {
                place: "scale of a PNG".to_owned(),
                value: scale,
                low: 1.0 / self.width.min(self.height),
                high: MAX_SIDE / self.width.max(self.height),
                hint: "2 suits screens, 4 print",
            });
        }
        let failed = |reason: String| ReportError::Png { reason };
        let tree = self.tree()?;
        // Checked above: both are at least 1 and far below 2^32.
        let (columns, rows) = (width.round() as u32, height.round() as u32);
        let mut pixels =
            tiny_skia::Pixmap::new(columns, rows).ok_or_else(|| failed(format!("no room for {columns} x {rows} pixels")))?;
        pixels.fill(tiny_skia::Color::WHITE);
        let zoom = tiny_skia::Transform::from_scale(columns as f32 / tree.size().width(), rows as f32 / tree.size().height());
        resvg::render(&tree, zoom, &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| failed(error.to_string()))
    }

    /// The drawing as the rasteriser reads it, with every text laid out in the bundled typeface.
    pub(super) fn tree(&self) -> Result<usvg::Tree, ReportError> {
        let options = usvg::Options { font_family: FONT_FAMILY.to_owned(), fontdb: FONTS.clone(), ..usvg::Options::default() };
        usvg::Tree::from_str(&self.plain(), &options).map_err(|error| ReportError::Png { reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figure::gallery;

    #[test]
    fn the_bundled_typeface_has_the_name_that_the_sheet_asks_for() {
        assert!(FONTS.faces().any(|face| face.families.iter().any(|(name, _)| name == FONT_FAMILY)));
    }

    #[test]
    fn pictures_are_opaque_scaled_and_the_same_each_time() {
        let svg = gallery::leaderboard(3).draw().unwrap();
        let png = svg.to_png(1.5).unwrap();
        assert_eq!(png, svg.to_png(1.5).unwrap());
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(pixels.width(), 900);
        assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() == 255));
        let corner = pixels.pixel(0, 0).unwrap();
        assert_eq!([corner.red(), corner.green(), corner.blue()], [255; 3]);
        assert!(pixels.pixels().iter().any(|pixel| pixel.red() < 64), "no ink");
    }

    #[test]
    fn impossible_scales_are_refused() {
        let svg = gallery::leaderboard(1).draw().unwrap();
        for scale in [0.0, -1.0, 1e-9, 1e9, f64::NAN, f64::INFINITY] {
            assert!(matches!(svg.to_png(scale), Err(ReportError::OutOfRange { .. })), "{scale}");
        }
    }
}
