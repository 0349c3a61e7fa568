//! JSON in which every key of an object stands once, and JSON lines that every reader splits alike.
//!
//! serde_json lets the last of two equal keys win, so that of two verdicts one goes unsaid. What people and models write is read by
//! [`parse`] instead. This file must not know what a value means.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

/// How the message of a repeated key begins.
const REPEATED: &str = "the key ";

/// Reads one JSON value in which no object repeats a key.
///
/// # Errors
/// Broken JSON, more text behind the value, or a repeated key: [`is_repeated_key`] tells which.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Unique(value)| value)
}

/// The same for an object.
///
/// # Errors
/// As [`parse`], and a value that is no object.
pub fn parse_object(text: &str) -> serde_json::Result<Map<String, Value>> {
    match parse(text)? {
        Value::Object(object) => Ok(object),
        _ => Err(serde_json::Error::custom("expected a JSON object")),
    }
}

/// Whether an error of [`parse`] is a repeated key. Its message then names the key.
#[must_use]
pub fn is_repeated_key(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with(REPEATED)
}

/// The length of the JSON value that `text` begins with; what stands behind it does not matter. Unit: bytes.
///
/// # Errors
/// Broken JSON.
pub fn length_of_first(text: &str) -> serde_json::Result<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => Err(error),
        None => Err(serde_json::Error::custom("expected a JSON value, got nothing")),
    }
}

/// `value` as one line of JSON, without its line feed.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escape_line_ends)
}

/// Escapes the characters that JSON allows in a text and that Python's `splitlines` and others take for a line end: U+0085, U+2028 and
/// U+2029. Outside texts JSON has none of them.
#[must_use]
pub fn escape_line_ends(json: String) -> String {
    const ESCAPED: [(char, &str); 3] = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    if !json.contains(ESCAPED.map(|(c, _)| c)) {
        return json;
    }
    ESCAPED.iter().fold(json, |json, (c, escaped)| json.replace(*c, escaped))
}

/// A value without repeated keys.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Seed.deserialize(deserializer).map(Self)
    }
}

struct Seed;

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Seed)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("{REPEATED}{key:?} stands twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde_json() {
        for text in
            ["null", "[1, -2, 1.5, 1e300, 18446744073709551615, \"\\u00e9\\n\", true]", r#"{"b": {"a": [{}]}, "a": {"a": 0.1}}"#]
        {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["", "{", "[1] 2", "{\"a\": 1e999}", "nan"] {
            assert!(parse(text).is_err_and(|error| !is_repeated_key(&error)), "{text}");
        }
    }

    #[test]
    fn a_key_stands_once_at_any_depth() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"x": {"a": 1, "b": 2, "a": 3}}]"#, r#"{"\u0061": 1, "a": 2}"#] {
            let error = parse(text).unwrap_err();
            assert!(is_repeated_key(&error) && error.to_string().contains("\"a\""), "{error}");
        }
        assert!(parse_object("[]").is_err_and(|error| !is_repeated_key(&error)));
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        assert_eq!(length_of_first("{\"a\": \"}\"} and more {").unwrap(), 10);
        assert_eq!(length_of_first("[]]").unwrap(), 2);
        assert!(length_of_first("[1, ").is_err() && length_of_first(" ").is_err());
    }

    #[test]
    fn a_line_is_one_line_to_everybody() {
        let value = serde_json::json!({"a": "x\u{2028}y\u{2029}z\u{85}\n"});
        let line = line(&value).unwrap();
        assert_eq!(line, "{\"a\":\"x\\u2028y\\u2029z\\u0085\\n\"}");
        assert_eq!(parse(&line).unwrap(), value);
    }
}
