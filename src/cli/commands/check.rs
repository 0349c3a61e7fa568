//! `assize check`: the whole study read and validated, every problem at once, no weights loaded.

use crate::cli::args::StudyArgs;
use crate::cli::console::{Failure, Remarks};
use crate::cli::resolve;
use crate::data::study::MANIFEST_NAME;
use crate::data::{Problem, Study};
use crate::error::ExitStatus;
use crate::models::{ModelCard, locate};
use crate::prompts::Prompt;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(args: &StudyArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let loaded = Study::load(&args.study);
    let named = card_and_prompt_problems(args);
    let study = match loaded {
        Ok(study) if named.is_empty() => study,
        other => {
            let mut problems = named;
            problems.extend(other.map_or_else(|problems| problems, |study| study.warnings));
            problems.sort_by_key(|problem| problem.severity);
            return refuse(&problems, as_json);
        }
    };
    let warnings = study.warnings.clone();
    let plan = resolve::plan(args, study)?;
    // A missing model stops no check: it can be fetched while the study is mended.
    let model = if plan.judged_by.card.served.is_some() {
        "served elsewhere".to_string()
    } else {
        locate(&plan.judged_by.card, &plan.judged_by.model_dir)
            .map_or_else(|error| error.to_string(), |_| "files are here".to_string())
    };
    if as_json {
        let settings: serde_json::Map<String, Value> =
            resolve::settings_shown(&plan).into_iter().map(|(name, value)| (name, json!(value))).collect();
        let rows: Value = serde_json::from_str(&plan.intake.to_json()?).unwrap_or(Value::Null);
        let out = json!({
            "ok": true,
            "cases": plan.docket.reports.len(),
            "sources": plan.docket.sources.len(),
            "games": plan.games.len(),
            "left_out": plan.left_out,
            "model": model,
            "settings": settings,
            "input": rows,
            "problems": warnings.iter().map(problem_json).collect::<Vec<_>>(),
        });
        super::print_out(&format!("{out:#}"))?;
        return Ok(ExitStatus::Ok);
    }
    for warning in &warnings {
        remarks.say(format_args!("warning: {warning}"));
    }
    for left_out in &plan.left_out {
        remarks.say(format_args!("left out: {left_out}"));
    }
    super::print_table(&plan.intake, false)?;
    super::print_out(&format!(
        "{}: {} cases, {} sources, {} games; model {}: {model}",
        plan.name,
        plan.docket.reports.len(),
        plan.docket.sources.len(),
        plan.games.len(),
        plan.judged_by.card.name,
    ))?;
    Ok(ExitStatus::Ok)
}

fn refuse(problems: &[Problem], as_json: bool) -> Result<ExitStatus, Failure> {
    if !as_json {
        return Err(Failure::problems(problems));
    }
    let list: Vec<Value> = problems.iter().map(problem_json).collect();
    super::print_out(&format!("{:#}", json!({"ok": false, "problems": list})))?;
    Ok(ExitStatus::Usage)
}

/// What is wrong with the card and the prompt that the manifest names, also where the rest of the study is faulty. A manifest that
/// cannot be read is the study's own problem.
fn card_and_prompt_problems(args: &StudyArgs) -> Vec<Problem> {
    let path = if args.study.is_dir() { args.study.join(MANIFEST_NAME) } else { args.study.clone() };
    let Some((text, table)) =
        std::fs::read_to_string(&path).ok().and_then(|text| text.parse::<toml::Table>().ok().map(|table| (text, table)))
    else {
        return Vec::new();
    };
    let root = path.parent().unwrap_or(Path::new(""));
    let name = |key: &str| table.get("judge").and_then(|judge| judge.get(key)).and_then(toml::Value::as_str);
    let line =
        |key: &str| text.lines().position(|line| line.split('=').next().is_some_and(|left| left.trim() == key)).map(|i| i + 1);
    let mut problems = Vec::new();
    let mut add = |key: &str, what: String| {
        problems.push(Problem::error(&path, line(key), format!("judge.{key}: {what}"), "correct the name or the file"));
    };
    if let (None, Some(card)) = (&args.judge.card, name("card"))
        && let Err(error) = ModelCard::find(card, root)
    {
        add("card", error.to_string());
    }
    if let Some(prompt) = name("prompt")
        && let Err(error) = Prompt::find(prompt, root)
    {
        add("prompt", error.to_string());
    }
    problems
}

fn problem_json(problem: &Problem) -> Value {
    json!({
        "path": problem.path.display().to_string(),
        "line": problem.line,
        "severity": if problem.is_error() { "error" } else { "warning" },
        "what": problem.what,
        "remedy": problem.remedy,
    })
}
