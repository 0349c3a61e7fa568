//! Records as a table for other programs.

mod parquet;

use super::{Record, Store, StoreError};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Form of an exported table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// One row a record, one column a field, labels joined as `name=value;`.
    Csv,
    /// The same columns, typed, compressed with Snappy.
    Parquet,
    /// One JSON record a line, as stored.
    Jsonl,
}

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Int,
    Real,
}

/// A field of a record as a cell of a table.
enum Field {
    Text(Option<String>),
    Int(i64),
    Real(Option<f64>),
}

/// Writes every record of `store` to `path` (readable by its owner only) in key order; returns their number.
///
/// # Errors
/// [`StoreError::Export`] when the file cannot be written, or as [`Store::records`].
pub fn export(store: &Store, format: ExportFormat, path: &Path) -> Result<usize, StoreError> {
    let failed = |reason: String| StoreError::Export { path: path.to_path_buf(), reason };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(error.to_string()))?;
    // A file that was there keeps its mode when it is opened; a device such as /dev/stdout is not ours to change.
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| failed(error.to_string()))?;
    }
    match format {
        ExportFormat::Jsonl => jsonl(store, file, &failed),
        ExportFormat::Csv => csv(store, file, &failed),
        ExportFormat::Parquet => parquet::write(store, file, &failed),
    }
}

fn jsonl(store: &Store, file: File, failed: &dyn Fn(String) -> StoreError) -> Result<usize, StoreError> {
    let mut out = BufWriter::new(file);
    let mut n_records = 0;
    for record in store.records() {
        serde_json::to_writer(&mut out, &record?).map_err(|error| failed(error.to_string()))?;
        out.write_all(b"\n").map_err(|error| failed(error.to_string()))?;
        n_records += 1;
    }
    out.flush().map_err(|error| failed(error.to_string()))?;
    Ok(n_records)
}

fn csv(store: &Store, file: File, failed: &dyn Fn(String) -> StoreError) -> Result<usize, StoreError> {
    let mut out = ::csv::Writer::from_writer(file);
    let mut n_records = 0;
    out.write_record(COLUMNS.map(|(name, _)| name)).map_err(|error| failed(error.to_string()))?;
    for record in store.records() {
        let cells = fields(&record?).map(|field| match field {
            Field::Text(text) => text.unwrap_or_default(),
            Field::Int(n) => n.to_string(),
            Field::Real(value) => value.map(|value| value.to_string()).unwrap_or_default(),
        });
        out.write_record(cells).map_err(|error| failed(error.to_string()))?;
        n_records += 1;
    }
    out.flush().map_err(|error| failed(error.to_string()))?;
    Ok(n_records)
}

/// The columns by name, each of one kind in every record.
const COLUMNS: [(&str, Kind); 18] = [
    ("key", Kind::Text),
    ("stage", Kind::Text),
    ("labels", Kind::Text),
    ("attempt", Kind::Int),
    ("outcome", Kind::Text),
    ("finish", Kind::Text),
    ("prompt_tokens", Kind::Int),
    ("reused_tokens", Kind::Int),
    ("reply_tokens", Kind::Int),
    ("batch_width", Kind::Int),
    ("min_margin", Kind::Real),
    ("prompt_ms", Kind::Real),
    ("reply_ms", Kind::Real),
    ("origin", Kind::Text),
    ("reply", Kind::Text),
    ("reasoning", Kind::Text),
    ("reasoning_cut", Kind::Int),
    ("detail", Kind::Text),
];

/// The fields of `record` in the order of [`COLUMNS`].
fn fields(record: &Record) -> [Field; 18] {
    let text = |text: &str| Field::Text(Some(text.to_string()));
    [
        Field::Text(Some(record.key.to_string())),
        text(&record.stage),
        Field::Text(Some(record.labels.iter().map(|(name, value)| format!("{name}={value};")).collect())),
        Field::Int(record.attempt.into()),
        text(record.outcome.name()),
        text(record.finish.name()),
        Field::Int(record.usage.prompt_tokens.into()),
        Field::Int(record.usage.reused_tokens.into()),
        Field::Int(record.usage.reply_tokens.into()),
        Field::Int(record.batch_width.into()),
        Field::Real(record.min_margin.map(f64::from)),
        Field::Real(Some(record.timings.prompt_ms)),
        Field::Real(Some(record.timings.reply_ms)),
        text(record.origin.name()),
        text(&record.reply),
        Field::Text(record.reasoning.clone()),
        Field::Int(record.reasoning_cut.into()),
        Field::Text(record.detail.clone()),
    ]
}
