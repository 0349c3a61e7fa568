//! `assize measure`: every measure of the papers for any program that can write JSON.

use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::measure::call::{CATALOGUE, Computation, find};
use crate::report::{Column, Table};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

pub fn run(name: Option<&str>, list: bool, input: &Path, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    match name {
        None => catalogue(as_json),
        Some(_) if list => catalogue(as_json),
        Some(name) => {
            let computation = find(name).ok_or_else(|| {
                let known = CATALOGUE.iter().map(|computation| computation.name).collect::<Vec<_>>().join(", ");
                Failure::usage(format_args!("unknown computation `{name}`; known: {known}"))
            })?;
            compute(computation, input, remarks)
        }
    }
}

fn catalogue(as_json: bool) -> Result<ExitStatus, Failure> {
    let columns = ["name", "about", "input", "output"].map(|name| Column::text(name, name));
    let mut table = Table::new("computations", "What can be computed", columns.to_vec())?;
    for computation in CATALOGUE {
        table.push(vec![
            computation.name.into(),
            computation.about.into(),
            computation.input.into(),
            computation.output.into(),
        ])?;
    }
    super::print_table(&table, as_json)?;
    Ok(ExitStatus::Ok)
}

/// Runs every case; one that does not fit gets an error entry, the others still run.
fn compute(computation: &Computation, input: &Path, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let (place, text) = read(input)?;
    let document: Value =
        serde_json::from_str(&text).map_err(|error| Failure::usage(format_args!("{place}: expected JSON: {error}")))?;
    let Some(cases) = document.get("cases").and_then(Value::as_array) else {
        return Err(Failure::usage(format_args!("{place}: expected an object with a list `cases` of {{\"id\", \"input\"}}")));
    };
    let answers: Vec<Result<Value, (Value, String)>> = cases
        .par_iter()
        .enumerate()
        .map(|(i, case)| {
            let id = case.get("id").cloned().unwrap_or(json!(i + 1));
            let Some(input) = case.get("input") else { return Err((id, "the case has no `input`".to_string())) };
            match (computation.call)(input) {
                Ok(output) => Ok(json!({"id": id, "output": output})),
                Err(reason) => Err((id, reason)),
            }
        })
        .collect();
    let n_errors = answers.iter().filter(|answer| answer.is_err()).count();
    let cases: Vec<Value> =
        answers.into_iter().map(|answer| answer.unwrap_or_else(|(id, error)| json!({"id": id, "error": error}))).collect();
    super::print_out(&format!("{:#}", json!({"computation": computation.name, "cases": cases})))?;
    if n_errors > 0 {
        remarks.say(format_args!("{n_errors} of {} inputs do not fit; their entries have an `error`", cases.len()));
        return Ok(ExitStatus::FailedItems);
    }
    Ok(ExitStatus::Ok)
}

fn read(input: &Path) -> Result<(String, String), Failure> {
    let (place, text) = if input == Path::new("-") {
        let mut text = String::new();
        ("stdin".to_string(), std::io::stdin().read_to_string(&mut text).map(|_| text))
    } else {
        (input.display().to_string(), std::fs::read_to_string(input))
    };
    text.map(|text| (place.clone(), text)).map_err(|error| Failure::usage(format_args!("cannot read {place}: {error}")))
}
