//! `assize check`: the whole study read and validated, every problem at once, no weights loaded.

use crate::cli::args::StudyArgs;
use crate::cli::console::{Failure, Remarks};
use crate::cli::resolve;
use crate::data::{Problem, Study};
use crate::error::ExitStatus;
use crate::models::locate;
use serde_json::{Value, json};

pub fn run(args: &StudyArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let study = match Study::load(&args.study) {
        Ok(study) => study,
        Err(problems) if as_json => {
            let list: Vec<Value> = problems.iter().map(problem_json).collect();
            super::print_out(&format!("{:#}", json!({"ok": false, "problems": list})))?;
            return Ok(ExitStatus::Usage);
        }
        Err(problems) => return Err(Failure::problems(&problems)),
    };
    let warnings = study.warnings.clone();
    let plan = resolve::plan(args, study)?;
    // A missing model stops no check: it can be fetched while the study is mended.
    let model = if plan.card.served.is_some() {
        "served elsewhere".to_string()
    } else {
        locate(&plan.card, &plan.model_dir).map_or_else(|error| error.to_string(), |_| "files are here".to_string())
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
        plan.card.name,
    ))?;
    Ok(ExitStatus::Ok)
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
