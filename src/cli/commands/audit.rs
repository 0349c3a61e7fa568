//! `assize audit matcher`: the sheet and page of a matcher audit, and its rates.

mod determinism;

use super::handout;
use crate::cli::args::{AuditCommand, GlobalArgs, MatcherCommand, MatcherRatesArgs, MatcherSampleArgs};
use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::pipelines::matcher_audit::{
    AuditSettings, audit_key, band_name, band_rates, draw, read_key, read_labels, read_pairs, review_page, review_sheet,
};
use crate::report::{Cell, Column, Table};

/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;

pub fn run(command: &AuditCommand, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let (as_json, remarks) = (global.json, Remarks { quiet: global.quiet });
    match command {
        AuditCommand::Matcher(MatcherCommand::Sample(args)) => sample(args, as_json, remarks),
        AuditCommand::Matcher(MatcherCommand::Rates(args)) => rates(args, as_json, remarks),
        AuditCommand::Determinism(args) => determinism::run(args, global),
    }
}

fn sample(args: &MatcherSampleArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let pairs = read_pairs(&handout::read(&args.pairs)?).map_err(|faults| handout::faults(&args.pairs, &faults))?;
    let settings = AuditSettings { n_per_band: args.per_band, seed: args.seed };
    let sample = draw(&pairs, settings);
    if sample.items.is_empty() {
        return Err(Failure::usage(format_args!("{}: no pair lies in any band, or none was asked for", args.pairs.display())));
    }
    let cases = sample.items.iter().map(|item| pairs[item.pair].case.as_str());
    let reports = handout::read_reports(&args.reports, cases, remarks)?;
    let files = [
        ("sheet.csv", review_sheet(&pairs, &sample)),
        ("review.html", review_page(&pairs, &sample, &reports)?),
        ("key.csv", audit_key(&pairs, &sample)),
    ];
    handout::write_new(&args.out, &files)?;
    let dropped = [sample.n_not_finite, sample.n_repeated, sample.n_out_of_range];
    if dropped.iter().any(|&n| n > 0) {
        let [not_finite, repeated, out_of_range] = dropped;
        remarks.say(format_args!(
            "note: {not_finite} pairs without a finite distance, {repeated} repeated and {out_of_range} outside the bands \
             are left out"
        ));
    }
    for said in sample.shortfalls(settings) {
        remarks.say(format_args!("note: {said}"));
    }
    let columns =
        vec![Column::text("band", "Distance"), Column::number("n_in_band", "Pairs"), Column::number("n_drawn", "Drawn")];
    let mut table = Table::new("audit_sample", "Pairs drawn", columns)?;
    for (band, drawn) in sample.bands.iter().enumerate() {
        table.push(vec![band_name(band).into(), Cell::count(drawn.n_pooled), Cell::count(drawn.n_drawn)])?;
    }
    let table = table.with_note(format!(
        "{} pairs read; left out: {} without a finite distance, {} repeated, {} outside the bands. Seed {}, {}.",
        sample.n_pairs,
        sample.n_not_finite,
        sample.n_repeated,
        sample.n_out_of_range,
        args.seed,
        crate::pipelines::draw::GENERATOR
    ));
    super::print_table(&table, as_json)?;
    remarks.say(format_args!("give the reviewer sheet.csv or review.html from {}; keep key.csv to yourself", args.out.display()));
    Ok(ExitStatus::Ok)
}

fn rates(args: &MatcherRatesArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let key = read_key(&handout::read(&args.key)?).map_err(|faults| handout::faults(&args.key, &faults))?;
    let labels =
        read_labels(&handout::read_filled(&args.sheet)?, &key).map_err(|faults| handout::faults(&args.sheet, &faults))?;
    let table = band_rates(&key, &labels, LEVEL)?;
    handout::give_tables(std::slice::from_ref(&table), args.out.as_deref(), as_json)?;
    handout::say_left_out(&args.sheet, &labels.unknown, &labels.repeated, remarks);
    let n_open = labels.n_unlabelled();
    if n_open > 0 {
        remarks.say(format_args!("{n_open} of {} pairs have no label yet", key.len()));
    }
    Ok(if n_open > 0 || !labels.unknown.is_empty() { ExitStatus::FailedItems } else { ExitStatus::Ok })
}
