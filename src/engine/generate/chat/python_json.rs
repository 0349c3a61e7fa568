//! JSON as Python's `json.dumps` writes it, which chat templates expect of `tojson`: a space after commas and colons, other letters as
//! they are, nothing escaped for HTML.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// The filter `tojson`, with Hugging Face's arguments.
pub(super) fn filter(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ascii: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let failed = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let mut out = Vec::new();
    match indent {
        Some(n) => value.serialize(&mut Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(&vec![b' '; n]))),
        None => value.serialize(&mut Serializer::with_formatter(&mut out, OneLine)),
    }
    .map_err(failed)?;
    let text = String::from_utf8_lossy(&out);
    Ok(Value::from(if ascii == Some(true) { escaped(&text) } else { text.into_owned() }))
}

/// `{"a": 1, "b": [2, 3]}`
struct OneLine;

impl Formatter for OneLine {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Letters beyond ASCII, which stand only inside strings, as escapes.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}
