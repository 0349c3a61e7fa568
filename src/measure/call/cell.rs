//! A cell of a table in JSON: text, or a number as its text; null is a blank cell.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Number;

/// The text of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell(pub(super) String);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellVisitor;

        impl Visitor<'_> for CellVisitor {
            type Value = Cell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number or null")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Cell, E> {
                Ok(Cell(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Cell, E> {
                Ok(Cell(Number::from_f64(number).map_or_else(String::new, |number| number.to_string())))
            }

            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell(String::new()))
            }
        }

        deserializer.deserialize_any(CellVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn texts_numbers_and_null_are_cells_and_nothing_else() {
        for (value, text) in [(json!(" a "), " a "), (json!(-3), "-3"), (json!(3.5), "3.5"), (json!(7), "7"), (json!(null), "")] {
            assert_eq!(from_value::<Cell>(value).unwrap().0, text);
        }
        for value in [json!(true), json!([1]), json!({})] {
            assert!(from_value::<Cell>(value).unwrap_err().to_string().contains("a text, a number or null"));
        }
    }
}
