//! `assize models`: cards and whether their files are what they name.

mod fetch;
mod pin;

use crate::cli::args::ModelsCommand;
use crate::cli::console::{Failure, Remarks};
use crate::engine::generate::llama::inspect;
use crate::error::ExitStatus;
use crate::models::{BUILTIN_CARDS, FileError, Lock, LockedModel, ModelCard, ModelKind, locate, verify_hashes};
use crate::report::{Cell, Column, Table};
use std::path::Path;

pub fn run(command: &ModelsCommand, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    match command {
        ModelsCommand::Fetch { card, model_dir, endpoint } => fetch::run(card, model_dir, endpoint, as_json, remarks),
        ModelsCommand::List { model_dir } => list(model_dir, as_json),
        ModelsCommand::Pin { card, model_dir, files, out } => pin::run(card, model_dir, files, out.as_deref(), as_json, remarks),
        ModelsCommand::Verify { cards, model_dir } => verify(cards, model_dir, as_json, remarks),
    }
}

fn find(name: &str) -> Result<ModelCard, Failure> {
    ModelCard::find(name, Path::new("")).map_err(Failure::verification)
}

fn kind(card: &ModelCard) -> &'static str {
    match card.kind {
        ModelKind::Judge => "judge",
        ModelKind::Encoder => "encoder",
    }
}

fn list(model_dir: &Path, as_json: bool) -> Result<ExitStatus, Failure> {
    let columns = vec![
        Column::text("card", "Card"),
        Column::text("kind", "Kind"),
        Column::text("architecture", "Architecture"),
        Column::number("megabytes", "Size").with_unit("MB"),
        Column::number("context_tokens", "Context").with_unit("tokens"),
        Column::text("licence", "Licence"),
        Column::text("state", "State"),
    ];
    let mut table = Table::new("models", "Model cards", columns)?;
    let lock = Lock::read(model_dir).map_err(Failure::verification)?;
    for (name, _) in BUILTIN_CARDS {
        let card = find(name)?;
        let state = if let Some(model) = lock.of(name) {
            format!("fetched, revision {}", model.revision)
        } else if card.hub.is_some() {
            "not fetched".to_string()
        } else if !card.pinned {
            "files to be pinned".to_string()
        } else if card.served.is_some() {
            "served elsewhere".to_string()
        } else {
            match locate(&card, model_dir) {
                Ok(_) => "files are here".to_string(),
                Err(FileError::Missing { .. }) => "not fetched".to_string(),
                Err(error) => error.to_string(),
            }
        };
        let bytes: u64 = card.files.iter().map(|file| file.bytes).sum();
        table.push(vec![
            name.into(),
            kind(&card).into(),
            card.architecture.as_str().into(),
            if card.files.is_empty() { Cell::Missing } else { Cell::number(bytes as f64 / 1e6, 1) },
            card.context_tokens.map_or(Cell::Missing, |n| Cell::Int(n.into())),
            card.licence.as_str().into(),
            state.into(),
        ])?;
    }
    super::print_table(&table, as_json)?;
    Ok(ExitStatus::Ok)
}

fn verify(names: &[String], model_dir: &Path, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let columns = ["card", "result", "template_sha256", "trained_context"].map(|name| Column::text(name, name.replace('_', " ")));
    let mut table = Table::new("verified", "Verified models", columns.to_vec())?;
    let lock = Lock::read(model_dir).map_err(Failure::verification)?;
    let mut failed = false;
    let chosen: Vec<String> =
        if names.is_empty() { BUILTIN_CARDS.iter().map(|(name, _)| (*name).to_string()).collect() } else { names.to_vec() };
    for name in chosen {
        let card = find(&name)?;
        if let Some(model) = lock.of(&card.name) {
            let (result, is_good) = locked(model, model_dir);
            failed |= !is_good;
            table.push(vec![card.name.as_str().into(), result.into(), Cell::Missing, Cell::Missing])?;
            continue;
        }
        if names.is_empty() && !card.pinned {
            continue;
        }
        card.require_pinned().map_err(Failure::verification)?;
        if card.served.is_some() {
            if !names.is_empty() {
                table.push(vec![
                    card.name.as_str().into(),
                    "served elsewhere: nothing to verify".into(),
                    Cell::Missing,
                    Cell::Missing,
                ])?;
            }
            continue;
        }
        if names.is_empty() && matches!(locate(&card, model_dir), Err(FileError::Missing { .. })) {
            table.push(vec![card.name.as_str().into(), "not fetched".into(), Cell::Missing, Cell::Missing])?;
            continue;
        }
        remarks.say(format_args!("reading {}", card.name));
        let (result, template, context) = match verify_card(&card, model_dir) {
            Ok(Some((template, context))) => ("ok".to_string(), Cell::from(template), Cell::from(context)),
            Ok(None) => ("ok".to_string(), Cell::Missing, Cell::Missing),
            Err(reason) => {
                failed = true;
                (reason, Cell::Missing, Cell::Missing)
            }
        };
        table.push(vec![card.name.as_str().into(), result.into(), template, context])?;
    }
    super::print_table(&table, as_json)?;
    Ok(if failed { ExitStatus::Verification } else { ExitStatus::Ok })
}

/// What the files of a fetched model are like, and whether they are as they were fetched.
fn locked(model: &LockedModel, model_dir: &Path) -> (String, bool) {
    for file in &model.files {
        match file.is_there(model_dir) {
            Ok(true) => {}
            Ok(false) => return (format!("{} is missing; fetch the card again", file.path.display()), false),
            Err(error) => return (error.to_string(), false),
        }
    }
    ("ok".into(), true)
}

/// Hash of the template and trained context of a judge; nothing for an encoder.
fn verify_card(card: &ModelCard, model_dir: &Path) -> Result<Option<(String, String)>, String> {
    let files = locate(card, model_dir).map_err(|error| error.to_string())?;
    verify_hashes(&files, model_dir, false).map_err(|error| error.to_string())?;
    if card.kind == ModelKind::Encoder {
        return Ok(None);
    }
    let path = &files.files[0].path;
    let facts = inspect(path).map_err(|error| error.to_string())?;
    facts.check(card, path).map_err(|error| error.to_string())?;
    Ok(Some((facts.template_sha256.unwrap_or_default(), facts.trained_context.to_string())))
}
