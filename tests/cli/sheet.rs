//! A sheet as a reviewer or a spreadsheet edits it. Knows no column.

use crate::program::Folder;

/// What a spreadsheet puts before UTF-8.
pub const BOM: &str = "\u{feff}";

/// Columns and rows of a CSV file.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    pub fn read(folder: &Folder, name: &str) -> Self {
        let text = folder.read(name);
        let mut reader = csv::Reader::from_reader(text.strip_prefix(BOM).unwrap_or(&text).as_bytes());
        let columns = reader.headers().unwrap().iter().map(String::from).collect();
        let rows = reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect();
        Self { columns, rows }
    }

    fn place(&self, column: &str) -> usize {
        self.columns.iter().position(|name| name == column).unwrap_or_else(|| panic!("no column {column} in {:?}", self.columns))
    }

    pub fn get(&self, row: usize, column: &str) -> &str {
        &self.rows[row][self.place(column)]
    }

    pub fn set(&mut self, row: usize, column: &str, field: &str) {
        let place = self.place(column);
        self.rows[row][place] = field.to_owned();
    }

    /// Every field of a column.
    pub fn column(&self, column: &str) -> Vec<&str> {
        let place = self.place(column);
        self.rows.iter().map(|row| row[place].as_str()).collect()
    }

    /// The file with fields separated by `mark` and lines ended by `end`.
    pub fn text(&self, mark: u8, end: &str) -> String {
        let terminator = csv::Terminator::Any(b'\n');
        let mut writer = csv::WriterBuilder::new().delimiter(mark).terminator(terminator).from_writer(Vec::new());
        writer.write_record(&self.columns).unwrap();
        self.rows.iter().for_each(|row| writer.write_record(row).unwrap());
        String::from_utf8(writer.into_inner().unwrap()).unwrap().replace('\n', end)
    }

    pub fn write(&self, folder: &Folder, name: &str) {
        folder.write(name, self.text(b',', "\n"));
    }
}

/// A text as spreadsheets save "Unicode text".
pub fn utf_16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}
