//! The results folder: tables as CSV and JSON, settings, figures, the page. No timings, dates or paths.

use super::console::Failure;
use crate::error::ExitStatus;
use crate::report::{Svg, Table};
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What is written must not replace what is read.
pub fn refuse_input_folder(name: &str, dir: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    match inputs.iter().find(|input| is_same_path(input, dir)) {
        Some(input) => Err(Failure::usage(format_args!(
            "{name}: {} is a folder of reports or timelines ({}); choose another one",
            dir.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Whether two paths lead to one file or folder, be it there yet or not.
pub fn is_same_path(x: &Path, y: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf());
    real(x) == real(y)
}

/// Makes the results folder, so that a place that cannot be used is known before anything is judged.
pub fn prepare(folder: &Path) -> Result<(), Failure> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Failure::usage(format_args!("results: cannot make {}: {error}", folder.display())))
}

/// Writes tables, settings and page into a prepared folder; each file appears whole or not at all.
pub fn write(
    folder: &Path,
    tables: &[Table],
    settings: &[(String, String)],
    notices: &[String],
    page: &str,
) -> Result<(), Failure> {
    write_tables(folder, tables, settings, notices)?;
    write_file(folder, "report.html", page.as_bytes())
}

/// Writes each table as CSV and JSON, and the settings.
pub fn write_tables(folder: &Path, tables: &[Table], settings: &[(String, String)], notices: &[String]) -> Result<(), Failure> {
    for table in tables {
        write_table(folder, table.name(), table)?;
    }
    let settings: Map<String, Value> = settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let summary = json!({"assize": env!("CARGO_PKG_VERSION"), "settings": settings, "notices": notices});
    write_file(folder, "settings.json", format!("{summary:#}\n").as_bytes())
}

/// Writes a table as CSV and JSON.
pub fn write_table(folder: &Path, name: &str, table: &Table) -> Result<(), Failure> {
    write_file(folder, &format!("{name}.csv"), table.to_csv()?.as_bytes())?;
    write_file(folder, &format!("{name}.json"), table.to_json()?.as_bytes())
}

/// Scale of PNG figures: three pixels for each of the drawing's.
const PNG_SCALE: f64 = 3.0;

/// Writes a figure as SVG and as PNG. Without one, the files of an earlier run go, since they would show other numbers.
pub fn write_figure(folder: &Path, name: &str, figure: Option<&Svg>) -> Result<(), Failure> {
    match figure {
        Some(figure) => {
            write_file(folder, &format!("{name}.svg"), figure.as_str().as_bytes())?;
            write_file(folder, &format!("{name}.png"), &figure.to_png(PNG_SCALE)?)
        }
        None => remove(folder, name, &["svg", "png"]),
    }
}

/// Removes a figure of an earlier run with the table that it drew.
pub fn remove_figure_and_table(folder: &Path, name: &str) -> Result<(), Failure> {
    remove(folder, name, &["svg", "png", "csv", "json"])
}

fn remove(folder: &Path, name: &str, endings: &[&str]) -> Result<(), Failure> {
    let paths = endings.iter().map(|ending| folder.join(format!("{name}.{ending}"))).filter(|path| path.exists());
    paths.into_iter().try_for_each(|path| {
        fs::remove_file(&path)
            .map_err(|error| Failure::new(ExitStatus::Internal, format_args!("cannot remove {}: {error}", path.display())))
    })
}

/// A new file, readable by its owner only, in the place of what was there.
pub fn create_private(path: &Path) -> Result<fs::File, Failure> {
    let opened = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    // A file that was there keeps its rights when it is opened.
    opened
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(0o600)).map(|()| file))
        .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))
}

fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let part = folder.join(format!(".{name}.{}.part", std::process::id()));
    let path = folder.join(name);
    let written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part).and_then(|mut file| {
        std::io::Write::write_all(&mut file, bytes)?;
        fs::rename(&part, &path)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        Failure::new(ExitStatus::Internal, format_args!("cannot write {}: {error}", path.display()))
    })
}
