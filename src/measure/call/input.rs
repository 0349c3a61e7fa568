//! Reading the fields of an input, with messages that name the field. It must not know any measure.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::resample::Interval;

/// The fields of an object, all of them known.
pub(super) struct Fields<'v> {
    map: &'v Map<String, Value>,
}

impl<'v> Fields<'v> {
    /// Takes an object apart.
    ///
    /// # Errors
    /// No object, or a field that is not among `known`.
    pub(super) fn new(input: &'v Value, known: &[&str]) -> Result<Self, String> {
        let Value::Object(map) = input else {
            return Err(format!("expected an object with the fields {}, got {}", known.join(", "), excerpt(input)));
        };
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self { map }),
            Some(key) => Err(format!("unknown field {key:?}, expected {}", known.join(", "))),
        }
    }

    /// Whether the field is there, null or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The field as it is.
    ///
    /// # Errors
    /// A missing field.
    pub(super) fn value(&self, name: &str) -> Result<&'v Value, String> {
        self.map.get(name).ok_or_else(|| format!("expected field {name:?}, got nothing"))
    }

    /// The field as a `T`.
    ///
    /// # Errors
    /// A missing field, or one of another type.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        read(self.value(name)?, || format!("field {name:?}"))
    }

    /// The field as a list, element by element, so that a message can say which one does not fit.
    ///
    /// # Errors
    /// A missing field, one that is no list, or an element of another type.
    pub(super) fn list<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, String> {
        list(self.value(name)?, || format!("field {name:?}"))
    }

    /// The field as a list of lists.
    ///
    /// # Errors
    /// A missing field, one that is no list of lists, or an element of another type.
    pub(super) fn lists<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<Vec<T>>, String> {
        let rows = elements(self.value(name)?, || format!("field {name:?}"))?;
        rows.iter().enumerate().map(|(i, row)| list(row, || format!("field {name:?}[{i}]"))).collect()
    }
}

/// Reads a value; `place` names it in the message.
pub(super) fn read<T: DeserializeOwned>(value: &Value, place: impl Fn() -> String) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("{}: {error}, got {}", place(), excerpt(value)))
}

/// Reads a list element by element.
pub(super) fn list<T: DeserializeOwned>(value: &Value, place: impl Fn() -> String) -> Result<Vec<T>, String> {
    elements(value, &place)?
        .iter()
        .enumerate()
        .map(|(i, element)| T::deserialize(element).map_err(|e| format!("{}[{i}]: {e}, got {}", place(), excerpt(element))))
        .collect()
}

fn elements(value: &Value, place: impl Fn() -> String) -> Result<&[Value], String> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(format!("{}: expected a list, got {}", place(), excerpt(other))),
    }
}

/// The beginning of a value as JSON.
fn excerpt(value: &Value) -> String {
    const N_CHARS: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(N_CHARS) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The place of a name in a list of names; `place` names the value in the message, `list` the list.
pub(super) fn position(names: &[String], name: &str, place: impl Fn() -> String, list: &str) -> Result<usize, String> {
    let found = names.iter().position(|n| n == name);
    found.ok_or_else(|| format!("{}: expected one of {list} ({}), got {name:?}", place(), names.join(", ")))
}

/// Refuses a list of names with one in it twice.
pub(super) fn unique(names: &[String], field: &str) -> Result<(), String> {
    match names.iter().enumerate().find(|&(i, name)| names[..i].contains(name)) {
        None => Ok(()),
        Some((i, name)) => Err(format!("field {field:?}[{i}]: expected each name once, got {name:?} again")),
    }
}

/// Refuses two lists of different lengths.
pub(super) fn equal_lengths(first: (&str, usize), second: (&str, usize)) -> Result<(), String> {
    if first.1 == second.1 {
        return Ok(());
    }
    Err(format!("field {:?}: expected {} elements as in {:?}, got {}", second.0, first.1, first.0, second.1))
}

/// A list of times, N/A as null, together with a second one; pairs with either missing are dropped.
pub(super) fn paired_times(fields: &Fields<'_>) -> Result<Vec<(f64, f64)>, String> {
    let t_ref: Vec<Option<f64>> = fields.list("t_ref")?;
    let t_pred: Vec<Option<f64>> = fields.list("t_pred")?;
    equal_lengths(("t_ref", t_ref.len()), ("t_pred", t_pred.len()))?;
    Ok(t_ref.into_iter().zip(t_pred).filter_map(|(t_ref, t_pred)| t_ref.zip(t_pred)).collect())
}

/// An interval as a list of its ends.
pub(super) fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|i| [i.lo, i.hi])
}

/// An error of a measure as a message.
pub(super) fn refused(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_name_the_place() {
        let value = json!({"x": [1, "a"], "y": [[1], [2, null]], "z": 1.5});
        let fields = Fields::new(&value, &["x", "y", "z"]).unwrap();
        assert!(fields.list::<f64>("x").unwrap_err().starts_with("field \"x\"[1]: "));
        assert!(fields.lists::<f64>("y").unwrap_err().starts_with("field \"y\"[1][1]: "));
        assert!(fields.get::<usize>("z").unwrap_err().starts_with("field \"z\": "));
        assert!(fields.list::<f64>("z").unwrap_err().contains("expected a list, got 1.5"));
        assert!(fields.get::<f64>("w").unwrap_err().contains("\"w\""));
        assert!(Fields::new(&value, &["x"]).err().unwrap().contains("\"y\""));
        assert_eq!(fields.get::<f64>("z").unwrap(), 1.5);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = "é".repeat(500);
        let short = excerpt(&json!(text));
        assert!(short.ends_with("...") && short.chars().count() < 70);
    }
}
