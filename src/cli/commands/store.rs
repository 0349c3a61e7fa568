//! `assize store`: verify, merge, export.

use crate::cli::args::StoreCommand;
use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::report::{Cell, Column, Table};
use crate::store::{Store, export, merge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub fn run(command: &StoreCommand, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    match command {
        StoreCommand::Verify { store } => verify(store, as_json),
        StoreCommand::Merge { store, from } => {
            let from: Vec<&Path> = from.iter().map(PathBuf::as_path).collect();
            let summary = merge(store, &from)?;
            let columns = vec![Column::text("what", "What"), Column::number("n", "Number")];
            let mut table = Table::new("merged", "Merged store", columns)?;
            for (what, n) in [
                ("records", summary.n_records),
                ("records_added", summary.n_new_records),
                ("segments_before", summary.n_segments_before),
                ("damaged_lines_left_behind", summary.n_damaged_lines_left_behind),
            ] {
                table.push(vec![what.into(), Cell::count(n)])?;
            }
            super::print_table(&table, as_json)?;
            Ok(ExitStatus::Ok)
        }
        StoreCommand::Export { store, format, out } => {
            let store = Store::open_read_only(store)?;
            remarks.store(store.open_report());
            let n_records = export(&store, *format, out)?;
            remarks.say(format_args!("{n_records} records written to {}", out.display()));
            Ok(ExitStatus::Ok)
        }
    }
}

fn verify(root: &Path, as_json: bool) -> Result<ExitStatus, Failure> {
    let store = Store::open_read_only(root)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in store.records() {
        *counts.entry(format!("outcome_{}", record?.outcome.name())).or_default() += 1;
    }
    let report = store.open_report();
    let columns = vec![Column::text("what", "What"), Column::number("n", "Number")];
    let mut table = Table::new("store", "Store", columns)?;
    let mut push = |what: &str, n: usize| table.push(vec![what.into(), Cell::count(n)]);
    push("segments", report.n_segments)?;
    push("live_writers", report.n_live_writers)?;
    push("items_answered", report.n_records)?;
    for (what, n) in &counts {
        push(what, *n)?;
    }
    push("damaged_lines", report.damage.len())?;
    super::print_table(&table, as_json)?;
    for damage in &report.damage {
        crate::cli::console::complain(format_args!("warning: {damage}"));
    }
    Ok(if report.damage.is_empty() { ExitStatus::Ok } else { ExitStatus::FailedItems })
}
