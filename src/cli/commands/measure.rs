//! `assize measure`: every measure of the papers for any program that can write JSON.

use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::json;
use crate::measure::call::{CATALOGUE, Computation, find};
use crate::report::{Column, Table};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

pub fn run(name: Option<&str>, list: bool, input: &Path, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let found = name.map(|name| {
        find(name).ok_or_else(|| {
            let known = CATALOGUE.iter().map(|computation| computation.name).collect::<Vec<_>>().join(", ");
            Failure::usage(format_args!("unknown computation `{name}`; known: {known}"))
        })
    });
    match found.transpose()? {
        None => describe(CATALOGUE.iter().collect(), as_json),
        Some(computation) if list => describe(vec![computation], as_json),
        Some(computation) => compute(computation, input, remarks),
    }
}

fn describe(computations: Vec<&Computation>, as_json: bool) -> Result<ExitStatus, Failure> {
    if !as_json {
        // Lists of fields are too long for the columns of a table.
        let described = computations.iter().map(|computation| {
            let Computation { name, about, input, output, .. } = computation;
            format!("{name}: {about}\n    in:  {input}\n    out: {output}\n")
        });
        super::print_out(&described.collect::<Vec<_>>().join("\n"))?;
        return Ok(ExitStatus::Ok);
    }
    let columns = ["name", "about", "input", "output"].map(|name| Column::text(name, name));
    let mut table = Table::new("computations", "What can be computed", columns.to_vec())?;
    for computation in computations {
        table.push(vec![
            computation.name.into(),
            computation.about.into(),
            computation.input.into(),
            computation.output.into(),
        ])?;
    }
    super::print_table(&table, true)?;
    Ok(ExitStatus::Ok)
}

/// The input. A case is read on its own, so that one that does not fit leaves the others alone.
#[derive(Deserialize)]
struct Document<'t> {
    #[serde(borrow)]
    cases: Vec<Case<'t>>,
}

#[derive(Deserialize)]
struct Case<'t> {
    /// As written, so that an id of any form comes back unchanged.
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    #[serde(borrow)]
    input: Option<&'t RawValue>,
}

#[derive(Serialize)]
struct Answer<'t> {
    id: Cow<'t, RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Runs every case; one that does not fit gets an error entry, the others still run.
fn compute(computation: &Computation, input: &Path, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let (place, text) = read(input)?;
    let document: Document<'_> = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        Failure::usage(format_args!(
            "{place}: expected an object with a list `cases` of {{\"id\", \"input\"}}: {error}; NaN and Infinity are not JSON, an \
             undefined number is null"
        ))
    })?;
    let answers = document.cases.par_iter().enumerate().map(|(i, case)| {
        let result = match case.input {
            None => Err("the case has no `input`".to_string()),
            Some(input) => json::parse(input.get())
                .map_err(|error| error.to_string())
                .and_then(|input| (computation.call)(&with_whole_numbers(input))),
        };
        let id = case.id.map_or_else(|| Cow::Owned(position(i)), Cow::Borrowed);
        let (output, error) = match result {
            Ok(output) => (Some(output), None),
            Err(reason) => (None, Some(reason)),
        };
        Answer { id, output, error }
    });
    let cases: Vec<Answer<'_>> = answers.collect();
    let n_errors = cases.iter().filter(|case| case.error.is_some()).count();
    let n_cases = cases.len();
    let answered = serde_json::to_string_pretty(&Answers { computation: computation.name, cases })
        .map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    super::print_out(&answered)?;
    if n_errors > 0 {
        remarks.say(format_args!("{n_errors} of {n_cases} inputs do not fit; their entries have an `error`"));
        return Ok(ExitStatus::FailedItems);
    }
    Ok(ExitStatus::Ok)
}

#[derive(Serialize)]
struct Answers<'t> {
    computation: &'static str,
    cases: Vec<Answer<'t>>,
}

/// The id of a case without one: its place, from 1.
fn position(i: usize) -> Box<RawValue> {
    serde_json::value::to_raw_value(&(i + 1)).expect("a number is JSON")
}

/// Writes 2.0 as 2: data frames hold whole numbers as floating point where a column has gaps.
fn with_whole_numbers(value: Value) -> Value {
    const LARGEST: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Array(values) => values.into_iter().map(with_whole_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_whole_numbers(value))).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() && x.fract() == 0.0 && x.abs() < LARGEST && !(x == 0.0 && x.is_sign_negative()) => {
                json!(x as i64)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
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
