//! Texts to embed, one after the other: lines, JSON lines or a column of a CSV file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the texts of a file stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextFormat {
    /// One a line, an empty line being an empty text.
    Lines,
    /// `{"text": …}` a line; other keys are passed over.
    JsonLines,
    /// The column of this name.
    Csv { column: String },
}

/// Why texts cannot be read.
#[derive(Debug, Error)]
pub enum TextError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: {reason}")]
    Line { path: PathBuf, line: usize, reason: String },
    #[error("{path}: {reason}")]
    Form { path: PathBuf, reason: String },
}

impl TextFormat {
    /// The format by a file's ending; a CSV needs its column, as `csv:event`.
    ///
    /// # Errors
    /// What is expected.
    pub fn of(path: &Path, named: Option<&str>) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match named.unwrap_or(&ending) {
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "txt" | "lines" => Ok(Self::Lines),
            "csv" => Err("a CSV file needs the name of its column: --format csv:COLUMN".into()),
            other => match other.strip_prefix("csv:") {
                Some(column) if !column.is_empty() => Ok(Self::Csv { column: column.into() }),
                _ => Err(format!("expected texts as txt, jsonl or csv:COLUMN, got `{other}`; say which with --format")),
            },
        }
    }
}

/// Reads the texts of a file one by one.
pub struct TextReader {
    path: PathBuf,
    line: usize,
    source: Source,
}

enum Source {
    Lines { reader: BufReader<Box<dyn Read + Send>>, json: bool },
    Csv { records: csv::StringRecordsIntoIter<Box<dyn Read + Send>>, column: usize },
}

impl TextReader {
    /// Opens a file; `-` is stdin.
    ///
    /// # Errors
    /// [`TextError`]: no such file, no such column.
    pub fn open(path: &Path, format: &TextFormat) -> Result<Self, TextError> {
        let input: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(std::io::stdin())
        } else {
            Box::new(File::open(path).map_err(|source| TextError::Read { path: path.to_path_buf(), source })?)
        };
        let source = match format {
            TextFormat::Lines | TextFormat::JsonLines => {
                Source::Lines { reader: BufReader::with_capacity(1 << 18, input), json: *format == TextFormat::JsonLines }
            }
            TextFormat::Csv { column } => {
                let mut reader = csv::ReaderBuilder::new().from_reader(input);
                let form = |reason: String| TextError::Form { path: path.to_path_buf(), reason };
                let headers = reader.headers().map_err(|error| form(error.to_string()))?;
                let at = headers.iter().position(|name| name.trim_start_matches('\u{feff}') == column);
                let names: Vec<&str> = headers.iter().collect();
                let at = at.ok_or_else(|| form(format!("no column `{column}`; its columns are {}", names.join(", "))))?;
                Source::Csv { records: reader.into_records(), column: at }
            }
        };
        Ok(Self { path: path.to_path_buf(), line: 0, source })
    }

    fn line_error(&self, reason: impl ToString) -> TextError {
        TextError::Line { path: self.path.clone(), line: self.line, reason: reason.to_string() }
    }

    fn next_line(&mut self) -> Result<Option<String>, TextError> {
        let Source::Lines { reader, json } = &mut self.source else { return Ok(None) };
        let json = *json;
        let mut bytes = Vec::new();
        let n = reader.read_until(b'\n', &mut bytes).map_err(|source| TextError::Read { path: self.path.clone(), source })?;
        if n == 0 {
            return Ok(None);
        }
        self.line += 1;
        let mut text = String::from_utf8(bytes).map_err(|_| self.line_error("not UTF-8; save the file as UTF-8"))?;
        let kept = text.trim_end_matches(['\n', '\r']).len();
        text.truncate(kept);
        if self.line == 1 && text.starts_with('\u{feff}') {
            text.remove(0);
        }
        if !json {
            return Ok(Some(text));
        }
        if text.trim().is_empty() {
            return self.next_line();
        }
        #[derive(serde::Deserialize)]
        struct Line {
            text: String,
        }
        match serde_json::from_str::<Line>(&text) {
            Ok(line) => Ok(Some(line.text)),
            Err(error) => Err(self.line_error(format_args!("expected {{\"text\": \"…\"}}: {error}"))),
        }
    }
}

impl Iterator for TextReader {
    type Item = Result<String, TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Source::Csv { records, column } = &mut self.source {
            let record = records.next()?;
            return Some(match record {
                Ok(record) => {
                    self.line = record.position().map_or(0, |position| position.line() as usize);
                    let text = record.get(*column).map(str::to_string);
                    text.ok_or_else(|| self.line_error("a row without this column"))
                }
                Err(error) => Err(TextError::Form { path: self.path.clone(), reason: error.to_string() }),
            });
        }
        self.next_line().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str, format: &TextFormat) -> Vec<Result<String, String>> {
        let path = std::env::temp_dir().join(format!("assize-texts-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("a file");
        let reader = TextReader::open(&path, format);
        let texts = match reader {
            Ok(reader) => reader.map(|text| text.map_err(|error| error.to_string())).collect(),
            Err(error) => vec![Err(error.to_string())],
        };
        std::fs::remove_file(&path).expect("removed");
        texts
    }

    #[test]
    fn lines_keep_empty_texts_and_lose_line_ends() {
        let texts = read("lines.txt", "\u{feff}septic shock\r\n\n fever \n", &TextFormat::Lines);
        assert_eq!(texts, [Ok("septic shock".into()), Ok(String::new()), Ok(" fever ".into())]);
    }

    #[test]
    fn json_lines_say_which_line_is_wrong() {
        let texts = read("lines.jsonl", "{\"text\": \"a\\nb\", \"id\": 3}\n{\"txt\": 1}\n", &TextFormat::JsonLines);
        assert_eq!(texts[0], Ok("a\nb".into()));
        assert!(texts[1].as_ref().is_err_and(|error| error.contains(":2:") && error.contains("\"text\"")), "{texts:?}");
    }

    #[test]
    fn a_column_of_a_csv_is_read_by_name() {
        let format = |column: &str| TextFormat::Csv { column: column.into() };
        let content = "time,event\n3,\"fever, chills\"\n4,rash\n";
        assert_eq!(read("a.csv", content, &format("event")), [Ok("fever, chills".into()), Ok("rash".into())]);
        let missing = read("b.csv", content, &format("text"));
        assert!(missing[0].as_ref().is_err_and(|error| error.contains("time, event")), "{missing:?}");
    }

    #[test]
    fn the_format_follows_the_ending_unless_said() {
        assert_eq!(TextFormat::of(Path::new("a.TXT"), None), Ok(TextFormat::Lines));
        assert_eq!(TextFormat::of(Path::new("a.dat"), Some("jsonl")), Ok(TextFormat::JsonLines));
        assert_eq!(TextFormat::of(Path::new("a.csv"), Some("csv:event")), Ok(TextFormat::Csv { column: "event".into() }));
        assert!(TextFormat::of(Path::new("a.csv"), None).is_err());
        assert!(TextFormat::of(Path::new("a.pdf"), None).is_err());
    }
}
