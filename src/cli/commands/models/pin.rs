//! `assize models pin`: from a card that leaves its files open to one that names them.

use crate::cli::console::{Failure, Remarks};
use crate::engine::generate::llama::{check_gguf, inspect};
use crate::error::ExitStatus;
use crate::models::{Measured, ModelCard, ModelFile, pin, sha256_of, shard_of};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measures the files of `card` under `folder` and writes the complete card.
pub fn run(
    card: &str,
    folder: &Path,
    chosen: &[PathBuf],
    out: Option<&Path>,
    as_json: bool,
    remarks: Remarks,
) -> Result<ExitStatus, Failure> {
    let open = ModelCard::find(card, Path::new("")).map_err(Failure::verification)?;
    if open.pinned {
        return Err(Failure::usage(format_args!(
            "model card `{card}` names its files already; compare with `assize models verify`"
        )));
    }
    if let Some(path) = out.filter(|path| path.exists()) {
        return Err(Failure::usage(format_args!("{} is there already; remove it or name another file", path.display())));
    }
    let paths = if chosen.is_empty() { only_model(folder)? } else { chosen.to_vec() };
    // What is no GGUF is found before gigabytes are read.
    for path in &paths {
        check_gguf(&folder.join(path)).map_err(Failure::verification)?;
    }
    let mut files = Vec::new();
    for path in paths {
        let full = folder.join(&path);
        let unreadable = |error: std::io::Error| Failure::verification(format_args!("cannot read {}: {error}", full.display()));
        let bytes = fs::metadata(&full).map_err(unreadable)?.len();
        remarks.say(format_args!("reading {} ({:.1} GB)", full.display(), bytes as f64 / 1e9));
        files.push(ModelFile { sha256: sha256_of(&full).map_err(unreadable)?, path, bytes });
    }
    let first = folder.join(&files[0].path);
    let facts = inspect(&first).map_err(Failure::verification)?;
    let template_sha256 = facts.template_sha256.clone().ok_or_else(|| {
        Failure::verification(format_args!("{}: the file has no chat template; a judge needs an instruct model", first.display()))
    })?;
    if facts.architecture != open.architecture {
        remarks.say(format_args!(
            "note: the card says architecture {}, the file says {}; the file's is written",
            open.architecture, facts.architecture
        ));
    }
    let measured = Measured { files, architecture: facts.architecture, template_sha256, trained_context: facts.trained_context };
    let table = pin(card, Path::new(""), &measured).map_err(Failure::verification)?;
    let text = if as_json { format!("{:#}\n", serde_json::json!(table)) } else { table.to_string() };
    match out {
        None => super::super::print_out(text.trim_end()),
        Some(path) => {
            let failed = |error: std::io::Error| Failure::usage(format_args!("cannot write {}: {error}", path.display()));
            fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
            super::super::print_out(&format!("pinned: {}", path.display()))
        }
    }?;
    Ok(ExitStatus::Ok)
}

/// The GGUF files of a folder that holds one model: one file, or every shard of one.
fn only_model(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| Failure::verification(format_args!("cannot read {}: {error}", folder.display()));
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = PathBuf::from(entry.map_err(unreadable)?.file_name());
        if name.extension().is_some_and(|extension| extension == "gguf") {
            names.push(name);
        }
    }
    names.sort();
    let is_whole = |(i, name): (usize, &PathBuf)| match shard_of(name) {
        Some((number, total)) => number == i + 1 && total == names.len(),
        None => names.len() == 1,
    };
    if !names.is_empty() && names.iter().enumerate().all(is_whole) {
        return Ok(names);
    }
    let list = names.iter().map(|name| name.display().to_string()).collect::<Vec<_>>().join(", ");
    Err(Failure::verification(format_args!(
        "{}: expected the GGUF of one model, one file or all of its shards, got {}; name the files with --file",
        folder.display(),
        if list.is_empty() { "none" } else { &list }
    )))
}
