//! Folders of sheets for people: written owner-only and never over a sheet that somebody may have filled; read back with every fault
//! named.

use crate::cli::args::ReportsArgs;
use crate::cli::console::{Failure, Remarks};
use crate::data::{CaseId, read_report};
use crate::error::ExitStatus;
use crate::pipelines::sheet::SheetFault;
use crate::report::Table;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Faults printed of one file.
const MAX_FAULTS: usize = 50;

/// Writes new files into a folder; when one of them exists already, nothing is written.
pub fn write_new(folder: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    make_folder(folder)?;
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        return Err(Failure::usage(format_args!(
            "{} exists already and may have been filled in; nothing was written; choose another folder",
            folder.join(name).display()
        )));
    }
    for (name, text) in files {
        write(&folder.join(name), text, true)?;
    }
    Ok(())
}

/// Writes one file that a command makes anew each time it is run.
pub fn write_again(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, text, false)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::new(ExitStatus::Internal, format_args!("cannot make {}: {error}", folder.display())))
}

fn write(path: &Path, text: &str, new: bool) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600).create(true).truncate(true).create_new(new);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::new(ExitStatus::Internal, format_args!("cannot write {}: {error}", path.display())))
}

/// Reads a file that this program or another wrote: UTF-8.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))
}

/// Reads a sheet that a spreadsheet saved, as UTF-16 too where a byte order mark says so. Ids and answers are ASCII; comments in
/// another encoding do not stop it.
pub fn read_filled(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
    Ok(encoding_rs::UTF_8.decode(&bytes).0.into_owned())
}

/// The faults of a file as the failure of a command.
pub fn faults(path: &Path, faults: &[SheetFault]) -> Failure {
    let mut message = String::new();
    for (i, fault) in faults.iter().take(MAX_FAULTS).enumerate() {
        message.push_str(&format!("{}{}: {fault}", if i > 0 { "\nerror: " } else { "" }, path.display()));
    }
    if faults.len() > MAX_FAULTS {
        message.push_str(&format!("\nerror: {} faults more", faults.len() - MAX_FAULTS));
    }
    Failure::usage(message)
}

/// Says which rows of a filled sheet were left out.
pub fn say_left_out(path: &Path, unknown: &[usize], repeated: &[usize], remarks: Remarks) {
    let said = [
        ("warning", "an id that was not asked for in this packet", unknown),
        ("note", "the id of an earlier row and the same answer or none", repeated),
    ];
    for (severity, what, lines) in said.into_iter().filter(|(_, _, lines)| !lines.is_empty()) {
        let named = lines.iter().take(MAX_FAULTS).map(usize::to_string).collect::<Vec<_>>().join(", ");
        let more = if lines.len() > MAX_FAULTS { ", …" } else { "" };
        remarks.say(format_args!("{severity}: {}: {} rows left out: {what}: line {named}{more}", path.display(), lines.len()));
    }
}

/// The reports of the cases named; those that are not there are said.
pub fn read_reports<'c>(
    ReportsArgs { reports: folder, suffix }: &ReportsArgs,
    cases: impl Iterator<Item = &'c str>,
    remarks: Remarks,
) -> Result<HashMap<String, String>, Failure> {
    let mut reports = HashMap::new();
    let Some(folder) = folder else { return Ok(reports) };
    if !folder.is_dir() {
        return Err(Failure::usage(format_args!("expected a folder of reports, got {}", folder.display())));
    }
    let cases: BTreeSet<&str> = cases.collect();
    let mut missing = Vec::new();
    for case in &cases {
        // A case id is a file name; anything else leads out of the folder.
        let path = CaseId::new(*case).ok().map(|case| folder.join(format!("{case}{suffix}")));
        match path.map(|path| (fs::read(&path), path)) {
            Some((Ok(bytes), path)) => {
                let report = read_report(&bytes, &path);
                for problem in &report.problems {
                    remarks.say(format_args!("warning: {problem}"));
                }
                reports.insert((*case).to_owned(), report.text);
            }
            _ => missing.push(*case),
        }
    }
    if let Some(first) = missing.first() {
        remarks.say(format_args!(
            "note: {} of {} cases have no report in {}, the first of them {first}; looked for CASE{suffix}",
            missing.len(),
            cases.len(),
            folder.display()
        ));
    }
    Ok(reports)
}

/// Prints tables (as one JSON object when asked) and, with `folder`, writes each as CSV and JSON.
pub fn give_tables(tables: &[Table], folder: Option<&Path>, as_json: bool) -> Result<(), Failure> {
    if let Some(folder) = folder {
        make_folder(folder)?;
        for table in tables {
            write_again(&folder.join(format!("{}.csv", table.name())), &table.to_csv()?)?;
            write_again(&folder.join(format!("{}.json", table.name())), &table.to_json()?)?;
        }
    }
    if as_json {
        let mut out = Map::new();
        for table in tables {
            out.insert(table.name().to_owned(), serde_json::from_str(&table.to_json()?).unwrap_or(Value::Null));
        }
        return super::print_out(&format!("{:#}", Value::Object(out)));
    }
    for (i, table) in tables.iter().enumerate() {
        if i > 0 {
            super::print_out("")?;
        }
        super::print_out(&table.to_text())?;
    }
    Ok(())
}
