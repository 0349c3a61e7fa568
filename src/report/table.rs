//! Tables: one set of rows, written as aligned text, CSV and JSON.
//!
//! A table must not know what its numbers mean. Text is for people (rounded), CSV and JSON are for programs (every
//! number in the shortest decimal form that reads back to the same bits). The bytes depend on the table alone.

use std::collections::HashSet;

use comfy_table::{CellAlignment, ContentArrangement, TableComponent};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::error::ReportError;
use crate::json::escape_line_ends;

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name for programs: the CSV header and the JSON key.
    pub key: String,
    /// Name for people.
    pub label: String,
    /// Unit shown after the label, such as `%`.
    pub unit: Option<String>,
    /// Alignment of label and cells.
    pub align: Align,
}

impl Column {
    /// A column of words.
    pub fn text(key: impl Into<String>, label: impl Into<String>) -> Self {
        Self { key: key.into(), label: label.into(), unit: None, align: Align::Left }
    }

    /// A column of numbers.
    pub fn number(key: impl Into<String>, label: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::text(key, label) }
    }

    /// The same column with a unit.
    #[must_use]
    pub fn with_unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Label and unit as one heading.
    pub fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Int(i64),
    /// A finite number; `decimals` rounds it for people only.
    Number {
        /// The number in full.
        value: f64,
        /// Digits after the point in text and HTML.
        decimals: usize,
    },
    /// Undefined, or not measured.
    Missing,
}

impl Cell {
    /// A text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number cell.
    pub fn number(value: f64, decimals: usize) -> Self {
        Self::Number { value, decimals }
    }

    /// A number cell, or a missing one.
    pub fn maybe(value: Option<f64>, decimals: usize) -> Self {
        value.map_or(Self::Missing, |value| Self::Number { value, decimals })
    }

    /// A count cell.
    ///
    /// Counts past `i64::MAX` do not occur: they would outnumber the addressable bytes.
    pub fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).expect("a count of things in memory fits i64"))
    }

    /// What people read: rounded, a dash when missing.
    pub fn display(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(n) => n.to_string(),
            Self::Number { value, decimals } => fixed(*value, *decimals),
            Self::Missing => "–".to_owned(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Int(n) => serializer.serialize_i64(*n),
            Self::Number { value, .. } => serializer.serialize_f64(*value),
            Self::Missing => serializer.serialize_unit(),
        }
    }
}

/// A rectangular table with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    name: String,
    title: String,
    note: Option<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    ///
    /// `name` is for files and anchors (`leaderboard`), `title` for people.
    ///
    /// # Errors
    /// No column at all, or two columns with the same key.
    pub fn new(name: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Result<Self, ReportError> {
        let name = name.into();
        if columns.is_empty() {
            return Err(ReportError::NoColumns { table: name });
        }
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|column| !seen.insert(&column.key)) {
            let key = twice.key.clone();
            return Err(ReportError::DuplicateColumn { table: name, key });
        }
        Ok(Self { name, title: title.into(), note: None, columns, rows: Vec::new() })
    }

    /// The same table with a remark below it (text and HTML only).
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Adds a row. Negative zero is stored as zero, so that a sign never depends on the order of a sum.
    ///
    /// # Errors
    /// A wrong number of cells, or a number that is not finite.
    pub fn push(&mut self, mut row: Vec<Cell>) -> Result<(), ReportError> {
        let number = self.rows.len() + 1;
        if row.len() != self.columns.len() {
            return Err(ReportError::RowWidth {
                table: self.name.clone(),
                row: number,
                expected: self.columns.len(),
                got: row.len(),
            });
        }
        for (cell, column) in row.iter_mut().zip(&self.columns) {
            let Cell::Number { value, .. } = cell else {
                continue;
            };
            if !value.is_finite() {
                return Err(ReportError::NotFinite {
                    place: format!("table {:?} row {number} column {:?}", self.name, column.key),
                    value: *value,
                });
            }
            if *value == 0.0 {
                *value = 0.0;
            }
        }
        self.rows.push(row);
        Ok(())
    }

    /// Name for files and anchors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Title for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Remark below the table.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Columns in order; never empty.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Rows in order, each as long as [`Table::columns`].
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The table as aligned text: title, heading, rule, rows, note; no escape sequences, no trailing spaces.
    ///
    /// Control characters in cells are replaced, so that data cannot steer a terminal.
    pub fn to_text(&self) -> String {
        let mut text = comfy_table::Table::new();
        text.force_no_tty();
        text.load_preset(comfy_table::presets::NOTHING);
        text.set_style(TableComponent::HeaderLines, '─');
        text.set_content_arrangement(ContentArrangement::Disabled);
        text.set_header(self.columns.iter().map(|column| printable(&column.heading())));
        for row in &self.rows {
            text.add_row(row.iter().map(|cell| printable(&cell.display())));
        }
        let last = self.columns.len() - 1;
        for (i, rendered) in text.column_iter_mut().enumerate() {
            rendered.set_padding((0, if i == last { 0 } else { 2 }));
            rendered.set_cell_alignment(match self.columns[i].align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        let mut out = format!("{}\n", printable(&self.title));
        for line in text.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if let Some(note) = &self.note {
            out.push_str(&printable(note));
            out.push('\n');
        }
        out
    }

    /// The table as CSV: a header of keys, then the rows; `\n` line ends; a missing cell is empty. A text that a spreadsheet would take for
    /// a formula is protected by an apostrophe; JSON has it as it is.
    ///
    /// # Numerics
    /// Numbers are written in the shortest decimal form that reads back to the same `f64`.
    ///
    /// # Errors
    /// Only if the CSV writer itself fails.
    pub fn to_csv(&self) -> Result<String, ReportError> {
        let failed = |source: csv::Error| ReportError::Csv { table: self.name.clone(), source };
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.key)).map_err(failed)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(exact)).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(error.into_error().into()))?;
        Ok(String::from_utf8(bytes).expect("every field written is UTF-8"))
    }

    /// The table as a JSON array with one object a row, keyed by column key in column order; missing is `null`.
    ///
    /// # Errors
    /// Only if the JSON writer itself fails.
    pub fn to_json(&self) -> Result<String, ReportError> {
        let mut json = serde_json::to_string_pretty(&Rows(self))
            .map_err(|source| ReportError::Json { place: format!("table {:?}", self.name), source })?;
        json.push('\n');
        Ok(escape_line_ends(json))
    }
}

/// The rows of a table as JSON objects.
struct Rows<'t>(&'t Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for row in &self.0.rows {
            rows.serialize_element(&Object(&self.0.columns, row))?;
        }
        rows.end()
    }
}

/// One row as a JSON object in column order (a map type would depend on a serde_json feature for its order).
struct Object<'t>(&'t [Column], &'t [Cell]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            object.serialize_entry(&column.key, cell)?;
        }
        object.end()
    }
}

/// A cell for programs.
fn exact(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => spreadsheet_text(text),
        Cell::Int(n) => n.to_string(),
        Cell::Number { value, .. } => {
            serde_json::Number::from_f64(*value).expect("Table::push refuses numbers that are not finite").to_string()
        }
        Cell::Missing => String::new(),
    }
}

/// A text for a CSV cell: one that a spreadsheet would take for a formula gets an apostrophe before it. Numbers stay numbers.
#[must_use]
pub fn spreadsheet_text(text: &str) -> String {
    let is_formula = text.starts_with(FORMULA_STARTS) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// What [`spreadsheet_text`] was made of.
#[must_use]
pub fn from_spreadsheet(text: &str) -> &str {
    text.strip_prefix('\'').filter(|rest| rest.starts_with(FORMULA_STARTS)).unwrap_or(text)
}

/// What a formula begins with.
const FORMULA_STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A number with a fixed count of decimals and no negative zero.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|b| b == b'0' || b == b'.') => digits.to_owned(),
        _ => text,
    }
}

/// Text without control characters: white ones become a space, the rest the replacement character.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Table {
        let mut table = Table::new(
            "scores",
            "Scores",
            vec![
                Column::text("source", "Source"),
                Column::number("games", "Games"),
                Column::number("share", "Mean share").with_unit("%"),
            ],
        )
        .unwrap()
        .with_note("Two resamples had no fit.");
        table.push(vec!["beta, \"b\"".into(), Cell::count(12), Cell::number(100.0 / 3.0, 1)]).unwrap();
        table.push(vec!["alpha".into(), Cell::Int(-3), Cell::number(-0.0, 1)]).unwrap();
        table.push(vec!["日本 🩺".into(), Cell::Missing, Cell::maybe(None, 1)]).unwrap();
        table
    }

    #[test]
    fn csv_keeps_every_bit_and_leaves_missing_empty() {
        let csv = scores().to_csv().unwrap();
        assert_eq!(csv, "source,games,share\n\"beta, \"\"b\"\"\",12,33.333333333333336\nalpha,-3,0.0\n日本 🩺,,\n");
        for value in [0.1 + 0.2, 1e300, 5e-324, f64::MAX, 1500.0, -1.0 / 3.0] {
            let mut table = Table::new("t", "T", vec![Column::number("x", "X")]).unwrap();
            table.push(vec![Cell::number(value, 2)]).unwrap();
            let csv = table.to_csv().unwrap();
            let read: f64 = csv.lines().nth(1).unwrap().parse().unwrap();
            assert_eq!(read.to_bits(), value.to_bits());
            let json: serde_json::Value = serde_json::from_str(&table.to_json().unwrap()).unwrap();
            assert_eq!(json[0]["x"].as_f64().unwrap().to_bits(), value.to_bits());
        }
    }

    #[test]
    fn json_is_an_array_of_objects_in_column_order() {
        let json = scores().to_json().unwrap();
        assert!(json.starts_with(
            "[\n  {\n    \"source\": \"beta, \\\"b\\\"\",\n    \"games\": 12,\n    \"share\": 33.333333333333336\n  }"
        ));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(read[2]["games"].is_null() && read[2]["share"].is_null());
        let empty = Table::new("t", "T", vec![Column::text("x", "X")]).unwrap();
        assert_eq!(empty.to_json().unwrap(), "[]\n");
        assert_eq!(empty.to_csv().unwrap(), "x\n");
    }

    #[test]
    fn text_is_aligned_and_free_of_escape_sequences() {
        let mut table = scores();
        table.push(vec!["\u{1b}[31mred\nline".into(), Cell::Int(1), Cell::number(2.25, 1)]).unwrap();
        let text = table.to_text();
        assert!(!text.contains('\u{1b}'));
        assert!(text.lines().all(|line| line == line.trim_end()));
        let expected = [
            "Scores",
            "Source         Games  Mean share (%)",
            "────────────────────────────────────",
            "beta, \"b\"         12            33.3",
            "alpha             -3             0.0",
            "日本 🩺            –               –",
            "\u{fffd}[31mred line      1             2.2",
            "Two resamples had no fit.",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(text, table.to_text());
    }

    #[test]
    fn ill_formed_rows_and_columns_are_refused() {
        assert!(matches!(Table::new("t", "T", vec![]), Err(ReportError::NoColumns { .. })));
        assert!(matches!(
            Table::new("t", "T", vec![Column::text("x", "X"), Column::number("x", "Y")]),
            Err(ReportError::DuplicateColumn { key, .. }) if key == "x"
        ));
        let mut table = scores();
        assert!(matches!(table.push(vec![Cell::Missing]), Err(ReportError::RowWidth { row: 4, expected: 3, got: 1, .. })));
        for value in [f64::NAN, f64::INFINITY] {
            let row = vec!["x".into(), Cell::Int(1), Cell::number(value, 1)];
            assert!(matches!(table.push(row), Err(ReportError::NotFinite { .. })));
        }
        assert_eq!(table.rows().len(), 3);
    }

    #[test]
    fn rounding_never_prints_a_negative_zero() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.4, 0), "0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
        assert_eq!(fixed(1500.0, 0), "1500");
    }
}
