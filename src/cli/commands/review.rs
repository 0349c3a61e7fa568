//! `assize review`: packets for the reviewers of findings, and the statistics of the filled ones.

use super::handout;
use crate::cli::args::{ReviewCommand, ReviewSampleArgs, ReviewStatsArgs};
use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::pipelines::review::{
    Filled, JudgedFinding, KeyRow, Protocol, Quota, ReviewSettings, Reviewer, StatsSettings, draw, instructions, packet,
    read_filled, read_findings, read_key, read_strata, reveal, review_key, strata_table, tables,
};
use crate::report::{Cell, Column, Table};
use std::collections::HashSet;
use std::path::Path;

/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;

/// Name of the judge when there is one table of findings and it was not named.
const ONLY_JUDGE: &str = "judge";

pub fn run(command: &ReviewCommand, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    match command {
        ReviewCommand::Sample(args) => sample(args, as_json, remarks),
        ReviewCommand::Stats(args) => stats(args, as_json, remarks),
    }
}

/// The findings of every judge.
fn findings(args: &ReviewSampleArgs) -> Result<Vec<JudgedFinding>, Failure> {
    let mut names = HashSet::new();
    let mut findings = Vec::new();
    for named in &args.findings {
        let judge = match &named.judge {
            Some(judge) => judge.as_str(),
            None if args.findings.len() == 1 => ONLY_JUDGE,
            None => {
                return Err(Failure::usage(format_args!(
                    "expected JUDGE=FILE for each of several tables, got {}",
                    named.path.display()
                )));
            }
        };
        if !names.insert(judge) {
            return Err(Failure::usage(format_args!("expected a different judge for each table, got {judge} twice")));
        }
        let text = handout::read(&named.path)?;
        findings.extend(read_findings(judge, &text).map_err(|faults| handout::faults(&named.path, &faults))?);
    }
    Ok(findings)
}

fn sample(args: &ReviewSampleArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let findings = findings(args)?;
    let protocol = if args.show_verdict { Protocol::VerdictShown } else { Protocol::Blinded };
    let quota = match (args.per_stratum, args.total) {
        (Some(n), None) => Quota::PerStratum(n),
        (None, Some(n)) => Quota::Total(n),
        _ => return Err(Failure::usage("expected one of --per-stratum and --total")),
    };
    let settings =
        ReviewSettings { by: args.by, quota, n_second: args.second, swap_sides: protocol == Protocol::Blinded, seed: args.seed };
    let sample = draw(&findings, settings);
    if sample.items.is_empty() {
        return Err(Failure::usage("there are no findings to draw from, or none was asked for"));
    }
    let cases = sample.items.iter().map(|item| findings[item.finding].case.as_str());
    let reports = handout::read_reports(&args.reports, cases, remarks)?;
    let of = |reviewer| packet(&findings, &sample, &reports, protocol, reviewer);
    let mut files = vec![
        ("reviewer-1.csv", of(Reviewer::First)),
        ("instructions.txt", instructions(protocol)),
        ("key.csv", review_key(&findings, &sample, args.by)),
        ("strata.csv", strata_table(&sample)),
    ];
    if !sample.second.is_empty() {
        files.push(("reviewer-2.csv", of(Reviewer::Second)));
    }
    handout::write_new(&args.out, &files)?;
    for said in sample.shortfalls(quota) {
        remarks.say(format_args!("note: {said}"));
    }
    let columns = vec![
        Column::text("judge", "Judge"),
        Column::text("stratum", "Stratum"),
        Column::text("pairing", "Pairing"),
        Column::number("n_findings", "Findings"),
        Column::number("n_drawn", "Drawn"),
    ];
    let mut table = Table::new("review_sample", "Findings drawn", columns)?;
    for cell in &sample.cells {
        let [judge, stratum, pairing] = [&cell.judge, &cell.stratum, &cell.pairing].map(Cell::text);
        table.push(vec![judge, stratum, pairing, Cell::count(cell.n_findings), Cell::count(cell.n_drawn)])?;
    }
    let table = table.with_note(format!(
        "{} findings for the first reviewer, {} for the second. Seed {}, {}.",
        sample.items.len(),
        sample.second.len(),
        args.seed,
        crate::pipelines::draw::GENERATOR
    ));
    super::print_table(&table, as_json)?;
    remarks.say(format_args!(
        "give each reviewer a packet and instructions.txt from {}; keep key.csv to yourself",
        args.out.display()
    ));
    Ok(ExitStatus::Ok)
}

/// A filled packet; what it leaves open is said.
fn filled(path: &Path, key: &[KeyRow], reviewer: Reviewer, remarks: Remarks) -> Result<(String, Filled), Failure> {
    let text = handout::read_filled(path)?;
    let filled = read_filled(&text, key, reviewer).map_err(|faults| handout::faults(path, &faults))?;
    handout::say_left_out(path, &filled.unknown, &filled.repeated, remarks);
    Ok((text, filled))
}

fn stats(args: &ReviewStatsArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let [key_path, strata_path] = ["key.csv", "strata.csv"].map(|name| args.review.join(name));
    let key = read_key(&handout::read(&key_path)?).map_err(|faults| handout::faults(&key_path, &faults))?;
    let strata = read_strata(&handout::read(&strata_path)?).map_err(|faults| handout::faults(&strata_path, &faults))?;
    let (text, first) = filled(&args.sheet, &key, Reviewer::First, remarks)?;
    let second = args.second.as_ref().map(|path| filled(path, &key, Reviewer::Second, remarks)).transpose()?;
    let second = second.map(|(_, filled)| filled);
    let settings = StatsSettings { level: LEVEL, n_resamples: args.resamples, seed: args.seed };
    let tables = tables(&key, &strata, &first, second.as_ref(), settings)?;
    handout::give_tables(&tables, args.out.as_deref(), as_json)?;
    if let Some(path) = &args.reveal {
        let shown = reveal(&text, &key, &first).map_err(|faults| handout::faults(&args.sheet, &faults))?;
        handout::write_new(path.parent().unwrap_or(Path::new("")), &[(file_name(path)?, shown)])?;
        remarks.say(format_args!("{}: give it back to the first reviewer to fill in error_type", path.display()));
    }
    let n_open_first = first.answers.iter().filter(|answer| answer.is_none()).count();
    let n_open_second = second
        .as_ref()
        .map_or(0, |second| key.iter().zip(&second.answers).filter(|(row, answer)| row.in_second && answer.is_none()).count());
    if n_open_first + n_open_second > 0 {
        remarks.say(format_args!("without an answer yet: {n_open_first} of the first reviewer, {n_open_second} of the second"));
    }
    let n_unknown = first.unknown.len() + second.as_ref().map_or(0, |second| second.unknown.len());
    Ok(if n_open_first + n_open_second + n_unknown > 0 { ExitStatus::FailedItems } else { ExitStatus::Ok })
}

fn file_name(path: &Path) -> Result<&str, Failure> {
    path.file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| Failure::usage(format_args!("expected a file to write, got {}", path.display())))
}
