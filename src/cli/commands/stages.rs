//! `assize stages`: stage timelines described in tables and figures.

use crate::cli::args::StagesArgs;
use crate::cli::console::{Failure, Remarks};
use crate::cli::results;
use crate::error::ExitStatus;
use crate::measure::craft::progression::TransitionReading;
use crate::pipelines::stages::{StageCorpus, stage_histogram, transition_map};
use serde::Deserialize;
use std::path::Path;

pub fn run(args: &StagesArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let series = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let reading = if args.all_pairs { TransitionReading::EarlierToLater } else { TransitionReading::FirstToLater };
    let histogram = stage_histogram(&series).map_err(Failure::usage)?;
    let mut figures = vec![("stage_histogram".to_string(), histogram)];
    for corpus in &series {
        let n_empty = corpus.timelines.iter().filter(|stages| stages.is_empty()).count();
        if n_empty > 0 {
            remarks.say(format_args!("note: {n_empty} timelines of {} have no stage and are in no bar", corpus.name));
        }
        match transition_map(corpus, reading, args.top.into())? {
            Some(map) => figures.push((format!("transitions_{}", corpus.name), map)),
            None => remarks.say(format_args!("note: no timeline of {} has two stages, so it has no transitions", corpus.name)),
        }
    }
    results::prepare(&args.out)?;
    for (name, figure) in &figures {
        results::write_table(&args.out, name, &figure.data)?;
        results::write_figure(&args.out, name, Some(&figure.svg))?;
    }
    if as_json {
        let tables = figures.iter().map(|(name, figure)| {
            let rows = serde_json::from_str(&figure.data.to_json()?).unwrap_or_default();
            Ok((name.clone(), rows))
        });
        let tables = tables.collect::<Result<serde_json::Map<_, _>, Failure>>()?;
        super::print_out(&format!("{:#}", serde_json::Value::Object(tables)))?;
        return Ok(ExitStatus::Ok);
    }
    super::print_table(&figures[0].1.data, false)?;
    super::print_out(&format!("\nresults: {}", args.out.display()))?;
    Ok(ExitStatus::Ok)
}

/// A line of the input; what else it holds is the business of whoever wrote it.
#[derive(Deserialize)]
struct Line {
    stages: Vec<Vec<String>>,
}

fn read(path: &Path) -> Result<StageCorpus, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
    let mut timelines = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{}", path.display(), at + 1);
            Failure::usage(format_args!("{place}: expected {{\"stages\": [[\"symptom\", …], …]}}: {error}"))
        })?;
        if let Some(empty) = line.stages.iter().position(Vec::is_empty) {
            let place = format!("{}:{}", path.display(), at + 1);
            return Err(Failure::usage(format_args!("{place}: stage {} has no symptom; leave it out", empty + 1)));
        }
        timelines.push(line.stages);
    }
    if timelines.iter().all(Vec::is_empty) {
        return Err(Failure::usage(format_args!("{}: expected at least one timeline with a stage, got none", path.display())));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(StageCorpus { name, timelines })
}
