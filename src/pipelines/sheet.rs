//! Review sheets as CSV text: written so that a spreadsheet shows them as they are, read back however it saved them. It knows no
//! column's meaning.

use crate::measure::MeasureError;
use crate::report::{ReportError, from_spreadsheet};

/// Longest answer that a message repeats; longer texts may be somebody's notes on a case.
const MAX_REPEATED: usize = 24;

/// One thing that is wrong with a sheet, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: expected {expected}, got {got}", self.place())]
pub struct SheetFault {
    /// Line of the file on which the row starts, counted from one.
    pub line: usize,
    /// Name of the column, when one is concerned.
    pub column: Option<String>,
    /// What would fit.
    pub expected: String,
    /// What is there.
    pub got: String,
}

impl SheetFault {
    fn place(&self) -> String {
        self.column.as_ref().map_or_else(String::new, |column| format!(", column `{column}`"))
    }

    /// A field that does not fit its column. Long texts are not repeated.
    pub fn field(line: usize, column: &str, expected: impl Into<String>, got: &str) -> Self {
        let n_chars = got.chars().count();
        let got = match n_chars {
            0 => "nothing".to_owned(),
            1..=MAX_REPEATED => format!("`{}`", got.escape_debug()),
            _ => format!("a text of {n_chars} characters"),
        };
        Self { line, column: Some(column.to_owned()), expected: expected.into(), got }
    }
}

/// Why the tables of a review could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// A statistic refused its input.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A table could not be built.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// A sheet as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    columns: Vec<String>,
    /// Rows with at least one field that is not blank.
    pub rows: Vec<SheetRow>,
}

/// One row of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetRow {
    /// Line of the file on which the row starts, counted from one.
    pub line: usize,
    fields: Vec<String>,
}

impl SheetRow {
    /// The field of a column without outer white space; empty for a column that the sheet or the row lacks.
    pub fn field(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.fields.get(column)).map_or("", |field| field.trim())
    }

    /// The field with its outer white space.
    pub fn exact(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", String::as_str)
    }
}

impl Sheet {
    /// Splits a text into rows. Commas, semicolons and tabs separate (whichever the header has most of), a byte order mark is
    /// skipped, blank rows are dropped, and a row may end early: spreadsheets leave all of these behind. The apostrophe that protects a
    /// text from being taken for a formula goes.
    ///
    /// # Errors
    /// No header, a column that is in it twice, or rows with more fields than it.
    pub fn read(text: &str) -> Result<Self, Vec<SheetFault>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let header = text.lines().next().unwrap_or_default();
        // Names of columns hold none of the three.
        let delimiter = *b",;\t"
            .iter()
            .rev()
            .max_by_key(|&&mark| header.bytes().filter(|&byte| byte == mark).count())
            .expect("three separators are listed");
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
        let (mut columns, mut rows, mut faults) = (None, Vec::new(), Vec::new());
        let (mut line, mut counted_to) = (1, 0);
        // Reading text from memory cannot fail, so nothing is dropped by flatten.
        for record in reader.records().flatten() {
            // The position of a record lies before the empty lines that were passed over.
            let at = record.position().map_or(0, csv::Position::byte) as usize;
            let blank = text.as_bytes()[at..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            line += text.as_bytes()[counted_to..at + blank].iter().filter(|&&byte| byte == b'\n').count();
            counted_to = at + blank;
            let fields: Vec<String> = record.iter().map(|field| from_spreadsheet(field).to_owned()).collect();
            if fields.iter().all(|field| field.trim().is_empty()) {
                continue;
            }
            let Some(columns) = &columns else {
                columns = Some(fields.iter().map(|name| name.trim().to_lowercase()).collect::<Vec<_>>());
                continue;
            };
            if fields.iter().skip(columns.len()).any(|field| !field.trim().is_empty()) {
                faults.push(SheetFault {
                    line,
                    column: None,
                    expected: format!("{} fields", columns.len()),
                    got: format!("{}; hint: a text that holds a separator needs quotation marks around it", fields.len()),
                });
            }
            rows.push(SheetRow { line, fields });
        }
        let Some(columns) = columns else {
            let (expected, got) = ("a line with the names of the columns".to_owned(), "an empty file".to_owned());
            return Err(vec![SheetFault { line: 1, column: None, expected, got }]);
        };
        let twice = columns.iter().enumerate().filter(|(i, name)| !name.is_empty() && columns[..*i].contains(name));
        let fault = |(_, name): (usize, &String)| SheetFault {
            line: 1,
            column: Some(name.clone()),
            expected: "this column once in the header".to_owned(),
            got: "it again".to_owned(),
        };
        faults.extend(twice.map(fault));
        if faults.is_empty() { Ok(Self { columns, rows }) } else { Err(faults) }
    }

    /// Position of a column, if the sheet has it.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Positions of columns that must be there.
    ///
    /// # Errors
    /// Every column that is not.
    pub fn require<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], Vec<SheetFault>> {
        let found = names.map(|name| self.find(name));
        let missing: Vec<&str> = names.iter().zip(found).filter(|(_, place)| place.is_none()).map(|(name, _)| *name).collect();
        if missing.is_empty() {
            return Ok(found.map(|place| place.expect("no column is missing")));
        }
        let fault = |name: &str| SheetFault {
            line: 1,
            column: Some(name.to_owned()),
            expected: "this column in the header".to_owned(),
            got: format!("the columns {}", self.columns.join(", ")),
        };
        Err(missing.into_iter().map(fault).collect())
    }

    /// The names of the columns, in lower case.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person with a spreadsheet: a byte order mark says that it is UTF-8.
    Person,
    /// A program.
    Program,
}

/// CSV text with a header.
pub fn write(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>, reader: Reader) -> String {
    const TO_MEMORY: &str = "writing to memory cannot fail";
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    writer.write_record(columns).expect(TO_MEMORY);
    for row in rows {
        writer.write_record(row).expect("every row has one field a column");
    }
    let bytes = writer.into_inner().expect(TO_MEMORY);
    let text = String::from_utf8(bytes).expect("every field written is UTF-8");
    if reader == Reader::Person { format!("\u{feff}{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::spreadsheet_text;

    #[test]
    fn sheets_are_read_as_spreadsheets_save_them() {
        let base = Sheet::read("id,label,comment\nx-1,same,\"two\nlines\"\nx-2,unsure,\n").unwrap();
        for other in [
            "\u{feff}ID , Label,comment\r\nx-1,same,\"two\nlines\"\r\nx-2,unsure\r\n",
            "id;label;comment\nx-1;same;\"two\nlines\"\nx-2;unsure;\n",
            "id\tlabel\tcomment\nx-1\tsame\t\"two\nlines\"\nx-2\tunsure\t\n",
        ] {
            let read = Sheet::read(other).unwrap();
            assert_eq!(read.columns(), base.columns());
            for (row, expected) in read.rows.iter().zip(&base.rows) {
                assert_eq!(row.line, expected.line, "{other:?}");
                assert_eq!([0, 1, 2].map(|i| row.field(Some(i))), [0, 1, 2].map(|i| expected.field(Some(i))));
            }
        }
        assert_eq!(base.rows[1].line, 4);
    }

    #[test]
    fn blank_rows_do_not_shift_the_lines() {
        let sheet = Sheet::read("id,label\n\n\nx-1,same\n,\n\nx-2,\n").unwrap();
        assert_eq!(sheet.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [4, 7]);
    }

    #[test]
    fn faults_say_line_and_column() {
        let faults = Sheet::read("id,comment\nx-1,one, two\nx-2,,,\nx-3,a,b\n").unwrap_err();
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 4]);
        assert!(Sheet::read(" \n").unwrap_err()[0].to_string().contains("empty file"));
        let missing = Sheet::read("id,label\n").unwrap().require(["id", "distance"]).unwrap_err();
        assert_eq!(missing.len(), 1);
        assert_eq!(
            missing[0].to_string(),
            "line 1, column `distance`: expected this column in the header, got the columns id, label"
        );
        let long = SheetFault::field(3, "label", "same", &"a long note on a patient ".repeat(2));
        assert!(long.to_string().ends_with("got a text of 50 characters"), "{long}");
    }

    #[test]
    fn what_is_written_reads_back_and_is_no_formula() {
        let written = "=HYPERLINK(\"x\"), \"q\"\nnext";
        let text = spreadsheet_text(written);
        let csv = write(&["id", "event"], [vec!["x".to_owned(), text.clone()]], Reader::Person);
        assert!(csv.starts_with('\u{feff}'));
        let sheet = Sheet::read(&csv).unwrap();
        assert_eq!(sheet.rows[0].exact(1), written);
        assert!(text.starts_with("'="));
        assert_eq!(["fever", "-72", "'tis"].map(spreadsheet_text), ["fever", "-72", "'tis"]);
    }
}
