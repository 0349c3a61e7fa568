//! Sizes of memory as people write them.

/// Units by their names in lower case.
const UNITS: [(&str, f64); 9] = [
    ("", 1.0),
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
];

/// Reads `80GiB`, `64 GB` or a number of bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "guarded: from 1 to what doubles hold exactly")]
pub fn parse(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a size as 80GiB, 64GB or a number of bytes, got `{text}`");
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
    let bytes = (number * factor).round();
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_with_and_without_units() {
        for (text, bytes) in
            [("80GiB", 80 << 30), ("64GB", 64_000_000_000), ("1.5 kib", 1536), ("512", 512), ("3mb", 3_000_000), ("1TB", 1 << 40)]
        {
            let expected = if text == "1TB" { 1_000_000_000_000 } else { bytes };
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in ["", "GiB", "0", "-1GB", "80G", "1.2.3GB", "80 gigabytes"] {
            assert!(parse(text).is_err_and(|error| error.contains("80GiB") && error.contains(text)), "{text}");
        }
    }
}
