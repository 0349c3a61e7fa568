//! `assize requests` and `assize replies`: prompts out and replies in, in the OpenAI-batch format.

mod batch;
mod completion;

use super::docket::{engine, judge_all};
use crate::cli::args::StudyArgs;
use crate::cli::console::{Failure, Remarks};
use crate::cli::resolve::{self, Plan};
use crate::cli::results::is_same_path;
use crate::engine::generate::Finished;
use crate::engine::{PendingItem, imported_record};
use crate::error::ExitStatus;
use crate::json;
use crate::report::{Cell, Column, Table};
use crate::store::{FinishReason, ItemKey, Outcome, Store};
use batch::{Line, read_line, request_line};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The items that wait for a reply, each once.
fn pending(plan: &Plan, store: &Arc<Store>) -> Result<Vec<PendingItem>, Failure> {
    let engine = engine(plan, store, None, Arc::default());
    judge_all(plan, &engine, &|| {})?;
    let mut seen = HashSet::new();
    Ok(engine.take_pending().into_iter().filter(|item| seen.insert(item.key)).collect())
}

pub fn requests(args: &StudyArgs, index: Option<&Path>, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let plan = resolve::resolve(args, remarks)?;
    let store = Arc::new(Store::open(&plan.store_dir)?);
    remarks.store(store.open_report());
    let items = pending(&plan, &store)?;
    let model = plan.judged_by.card.served.as_ref().map_or(plan.judged_by.card.name.as_str(), |served| served.model.as_str());
    // The index first: a reader of the prompts may go away early.
    if let Some(path) = index {
        if plan.input_files.iter().any(|input| is_same_path(input, path)) {
            return Err(Failure::usage(format_args!("--index: {} is read by this study; name another file", path.display())));
        }
        write_index(path, &items)?;
    }
    for item in &items {
        super::print_out(&json::escape_line_ends(request_line(item, model).to_string()))?;
    }
    remarks.say(format_args!("{} pending prompts of {} games", items.len(), plan.games.len()));
    Ok(ExitStatus::Ok)
}

fn write_index(path: &Path, items: &[PendingItem]) -> Result<(), Failure> {
    let columns = ["custom_id", "case", "source_a", "source_b", "attempt"];
    let mut table = Table::new("index", "Requests", columns.map(|name| Column::text(name, name)).to_vec())?;
    for item in items {
        let label = |name: &str| Cell::from(item.request.labels.get(name).cloned().unwrap_or_default());
        table.push(vec![
            item.key.to_string().into(),
            label("case"),
            label("a"),
            label("b"),
            item.request.attempt.to_string().into(),
        ])?;
    }
    std::fs::write(path, table.to_csv()?)
        .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))
}

/// What became of the lines of a results file.
#[derive(Default)]
struct Taken {
    accepted: usize,
    accepted_truncated: usize,
    accepted_invalid: usize,
    /// Of the accepted, replies that began with reasoning by a mark that the card does not name.
    reasoning_taken_off: usize,
    already_on_record: usize,
    duplicates: usize,
    unknown: usize,
    errors: usize,
    malformed: usize,
}

pub fn replies(args: &StudyArgs, input: Option<&Path>, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let plan = resolve::resolve(args, remarks)?;
    let store = Arc::new(Store::open(&plan.store_dir)?);
    remarks.store(store.open_report());
    let (name, reader): (String, Box<dyn Read>) = match input {
        Some(path) => {
            let file =
                File::open(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
            (path.display().to_string(), Box::new(file))
        }
        None => ("stdin".into(), Box::new(std::io::stdin())),
    };
    let mut taken = Taken::default();
    let mut waiting = read_lines(&name, reader, &mut taken)?;
    // A reply may belong to a second try whose prompt exists only once the first try's reply is in: go round until nothing fits.
    loop {
        let items: HashMap<ItemKey, PendingItem> = pending(&plan, &store)?.into_iter().map(|item| (item.key, item)).collect();
        let before = waiting.len();
        let mut rest = Vec::new();
        for (number, key, reply) in waiting {
            let Some(item) = items.get(&key) else {
                rest.push((number, key, reply));
                continue;
            };
            let record = imported_record(key, &item.request, reply, plan.judged_by.card.reasoning.as_ref());
            if let Some(mark) = &record.unnamed_mark {
                taken.reasoning_taken_off += 1;
                crate::cli::console::complain(format_args!(
                    "{name}:{number}: the reply begins with reasoning marked by {mark}, which was kept apart; describe the mark under \
                     [reasoning] in the judge's card"
                ));
            }
            match record.outcome {
                Outcome::Ok => {}
                _ if record.finish == FinishReason::NoReply => {
                    taken.accepted_invalid += 1;
                    crate::cli::console::complain(format_args!(
                        "{name}:{number}: the reply ends inside its reasoning (no_reply); taken in, `assize requests` asks again while attempts are left"
                    ));
                }
                Outcome::Truncated => {
                    taken.accepted_truncated += 1;
                    crate::cli::console::complain(format_args!(
                        "{name}:{number}: the reply was cut at its token limit; taken in as truncated"
                    ));
                }
                _ => {
                    taken.accepted_invalid += 1;
                    crate::cli::console::complain(format_args!(
                        "{name}:{number}: the reply breaks the rules of its stage; taken in, `assize requests` asks again while attempts are left"
                    ));
                }
            }
            store.put(&record)?;
            taken.accepted += 1;
        }
        waiting = rest;
        if waiting.is_empty() || waiting.len() == before {
            break;
        }
    }
    store.sync()?;
    for (number, key, _) in waiting {
        if store.get(&key)?.is_some() {
            taken.already_on_record += 1;
        } else {
            taken.unknown += 1;
            crate::cli::console::complain(format_args!(
                "{name}:{number}: custom_id {key} is no item of this study; were study, prompt or card changed since `assize requests`?"
            ));
        }
    }
    let still = pending(&plan, &store)?.len();
    show(&taken, still, as_json)?;
    let clean = taken.unknown + taken.errors + taken.malformed == 0;
    Ok(if clean { ExitStatus::Ok } else { ExitStatus::FailedItems })
}

type WaitingReply = (usize, ItemKey, Finished);

/// The usable lines, the first of each custom_id; everything else is said and counted.
fn read_lines(name: &str, reader: Box<dyn Read>, taken: &mut Taken) -> Result<Vec<WaitingReply>, Failure> {
    let mut replies = Vec::new();
    let mut seen = HashSet::new();
    for (i, line) in BufReader::new(reader).split(b'\n').enumerate() {
        let number = i + 1;
        let line = line.map_err(|error| Failure::new(ExitStatus::Internal, format_args!("cannot read {name}: {error}")))?;
        // Editors and shells of Windows begin a file with a byte order mark.
        let line = if i == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read_line(line) {
            Line::Reply(key, reply) if seen.insert(key) => replies.push((number, key, reply)),
            Line::Reply(..) => {
                taken.duplicates += 1;
                crate::cli::console::complain(format_args!("{name}:{number}: this custom_id came before; the first one counts"));
            }
            Line::Error(reason) => {
                taken.errors += 1;
                crate::cli::console::complain(format_args!("{name}:{number}: {reason}; the item stays pending"));
            }
            Line::Malformed(reason) => {
                taken.malformed += 1;
                crate::cli::console::complain(format_args!("{name}:{number}: {reason}; the line is left out"));
            }
        }
    }
    Ok(replies)
}

fn show(taken: &Taken, still_pending: usize, as_json: bool) -> Result<(), Failure> {
    let columns = vec![Column::text("what", "Lines"), Column::number("n", "Number")];
    let mut table = Table::new("replies", "Replies taken in", columns)?;
    for (what, n) in [
        ("accepted", taken.accepted),
        ("accepted_truncated", taken.accepted_truncated),
        ("accepted_breaking_the_rules", taken.accepted_invalid),
        ("accepted_with_reasoning_taken_off", taken.reasoning_taken_off),
        ("already_on_record", taken.already_on_record),
        ("duplicate_custom_id", taken.duplicates),
        ("unknown_custom_id", taken.unknown),
        ("error_in_result", taken.errors),
        ("malformed", taken.malformed),
        ("still_pending", still_pending),
    ] {
        table.push(vec![what.into(), Cell::count(n)])?;
    }
    super::print_table(&table, as_json)
}
