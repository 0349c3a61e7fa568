//! `assize plan`: what a run of a study would take, without running it.
//!
//! The games go through an engine without a judge, case by case, so that no more than one case's prompts are held. Their tokens need the
//! judge's vocabulary alone.

mod count;
mod estimate;
mod memory;
mod probe;

use crate::cli::args::{GlobalArgs, StudyArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::judge_plan::MOST_SLOTS;
use crate::cli::resolve::{self, Plan};
use crate::data::Numerics;
use crate::engine::generate::llama::LlamaVocabulary;
use crate::engine::generate::slots_that_fit;
use crate::error::ExitStatus;
use crate::models::locate;
use crate::report::{Cell, Column, Table};
use crate::store::Store;
use count::{Counts, Tokens};
use estimate::{RunRecord, Speed};
use std::sync::Arc;

/// Tokens of a reply, at most, where no run has told how long replies are.
const SUPPOSED_REPLY: u32 = 2_048;

pub fn run(args: &StudyArgs, memory: Option<u64>, measure: bool, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let plan = resolve::resolve(args, remarks)?;
    let store = Arc::new(Store::open_read_only_or_empty(&plan.store_dir)?);
    remarks.store(store.open_report());
    let vocabulary = vocabulary(&plan)?;
    let record = RunRecord::newest(&plan.store_dir, &plan.judged_by.model(), plan.judged_by.engine().as_ref());
    let supposed =
        record.as_ref().map_or(plan.judge.reply_limit.most().min(SUPPOSED_REPLY) as usize, RunRecord::reply_tokens_an_item);
    let counts = Counts::of(&plan, &store, vocabulary.as_ref().ok(), supposed, remarks)?;
    let mut said = Said::default();
    say_items(&counts, &mut said);
    match (&vocabulary, &counts.tokens) {
        (Ok(vocabulary), Some(tokens)) => {
            say_tokens(&plan, tokens, supposed, record.is_some(), &mut said);
            say_memory(&plan, vocabulary, tokens, memory, &mut said)?;
            let speed = match record {
                Some(record) => Some(record.speed(&plan)),
                None if measure && tokens.volume.n_prompts() > 0 => Some(probe::measure(&plan, global)?),
                None => None,
            };
            say_hours(&plan, tokens, speed, &mut said);
        }
        (Err(reason), _) => said.explain(format!("prompt tokens, memory and hours are not known: {reason}")),
        (Ok(_), None) => {}
    }
    said.print(&plan.name, global.json)?;
    Ok(ExitStatus::Ok)
}

/// The judge's vocabulary, or why there is none here. A file that is not the card's is a failure.
fn vocabulary(plan: &Plan) -> Result<Result<LlamaVocabulary, String>, Failure> {
    if let Some(served) = &plan.judged_by.card.served {
        return Ok(Err(format!("{} is served elsewhere; only its server can count its tokens", served.model)));
    }
    match locate(&plan.judged_by.card, &plan.judged_by.model_dir) {
        Err(error) => Ok(Err(error.to_string())),
        Ok(files) => {
            Ok(Ok(LlamaVocabulary::open(&plan.judged_by.card, &files, &plan.judged_by.llama).map_err(Failure::verification)?))
        }
    }
}

fn say_items(counts: &Counts, said: &mut Said) {
    said.count("games", counts.games, "games");
    said.count("items_on_record", counts.on_record, "items");
    said.count("pending_first_tries", counts.first_tries, "items");
    said.count("pending_further_tries", counts.further_tries, "items");
    said.count("pending_prompt_text", counts.text_bytes, "bytes");
    if counts.on_record > 0 {
        said.explain("what follows is about the pending items alone");
    }
}

fn say_tokens(plan: &Plan, tokens: &Tokens, supposed: usize, is_seen: bool, said: &mut Said) {
    said.count("prompt_tokens_submitted", tokens.volume.n_submitted(), "tokens");
    said.count("prompt_tokens_least", tokens.volume.least(), "tokens");
    said.count("prompt_tokens_expected", tokens.expected, "tokens");
    said.count("longest_prompt", tokens.volume.longest(), "tokens");
    said.count("prompts_too_long", tokens.too_long, "items");
    said.explain("prompt_tokens_least: every beginning that prompts share computed once");
    said.explain(match plan.judged_by.llama.numerics {
        Numerics::Exact => "prompt_tokens_expected: exact numerics computes every prompt as a whole".to_string(),
        Numerics::Fast => format!(
            "prompt_tokens_expected: fast numerics with {} slots and {} cells, replies of {supposed} passes ({})",
            plan.judged_by.llama.slots,
            plan.judged_by.llama.kv_cells,
            if is_seen { "as in the newest run" } else { "supposed: no run is on record" },
        ),
    });
    if tokens.too_long > 0 {
        said.explain(format!(
            "prompts_too_long: prompt and max_reply_tokens are more than the context of {} tokens; they are refused and not counted",
            plan.judged_by.llama.context_tokens
        ));
    }
}

fn say_memory(
    plan: &Plan,
    vocabulary: &LlamaVocabulary,
    tokens: &Tokens,
    asked: Option<u64>,
    said: &mut Said,
) -> Result<(), Failure> {
    let model_bytes: u64 = plan.judged_by.card.files.iter().map(|file| file.bytes).sum();
    said.bytes("model", model_bytes);
    let shape = match vocabulary.kv_shape() {
        Ok(shape) => shape,
        Err(key) => {
            said.explain(format!("the size of the cache is not known: the judge's file has no single number for {key}"));
            return Ok(());
        }
    };
    let a_token = shape.bytes_a_token(plan.judged_by.llama.kv_type);
    let longest = tokens.volume.longest() as u64 + u64::from(plan.judge.reply_limit.most());
    let a_sequence = a_token * longest.min(u64::from(plan.judged_by.llama.context_tokens));
    said.bytes("kv_a_token", a_token);
    said.bytes("kv_a_sequence", a_sequence);
    said.bytes("kv_cache", a_token * u64::from(plan.judged_by.llama.kv_cells));
    said.explain(format!(
        "kv_a_token: {} layers x {} heads x ({} + {}) numbers as {}; kv_a_sequence: longest prompt and max_reply_tokens; kv_cache: {} cells",
        shape.n_layers, shape.n_heads, shape.key_length, shape.value_length, plan.judged_by.llama.kv_type, plan.judged_by.llama.kv_cells
    ));
    if !shape.heads_stated {
        said.explain(
            "kv_a_token: the file has no single number of heads for keys and values; that of the queries is taken, so at most",
        );
    }
    if let Some(window) = shape.sliding_window {
        said.explain(format!(
            "kv_a_token: some layers look back {window} tokens only; all are kept, since a beginning can be forked only while its cells are there"
        ));
    }
    if shape.recurrent {
        said.explain(
            "kv_a_token: some layers keep a recurrent state, which is not counted and comes on top for every slot; prompts are not shared",
        );
    }
    let (bytes, source) = memory::of(asked, &plan.judged_by.llama.placement)?;
    said.bytes("memory", bytes);
    said.explain(format!("memory: {source}"));
    if a_sequence > 0 && tokens.volume.n_prompts() > 0 {
        let fit = slots_that_fit(bytes, model_bytes, a_sequence);
        said.count("slots_that_fit", usize::try_from(fit).unwrap_or(usize::MAX), "slots");
        said.explain(format!(
            "slots_that_fit: sequences of the longest prompt, nothing shared, beside all weights; buffers of a pass come on top; {}",
            match plan.judged_by.llama.numerics {
                Numerics::Exact => "exact numerics has one sequence".to_string(),
                Numerics::Fast => format!("slots is {}, and at most {MOST_SLOTS}", plan.judged_by.llama.slots),
            }
        ));
    }
    Ok(())
}

fn say_hours(plan: &Plan, tokens: &Tokens, speed: Option<Speed>, said: &mut Said) {
    let n_items = tokens.volume.n_prompts();
    if n_items == 0 {
        said.push("hours", Cell::number(0.0, 2), "hours");
        said.explain("hours: nothing is pending that fits the context");
        return;
    }
    let Some(speed) = speed else {
        said.push("hours", Cell::Missing, "hours");
        said.explain(format!(
            "no estimate: {} holds no run of this judge with these settings; run a part of the study, or add --measure",
            plan.store_dir.join("runs").display()
        ));
        return;
    };
    said.push("hours", Cell::number(speed.hours(tokens.expected, n_items), 2), "hours");
    for (what, rate) in speed.rates() {
        said.push(what, Cell::number(rate, 1), "tokens/s");
    }
    said.explain(format!("hours: {}; each pending item is counted once, further tries come on top", speed.basis()));
}

/// What the command has found out, in the order of saying.
#[derive(Default)]
struct Said {
    rows: Vec<(&'static str, Cell, &'static str)>,
    explanations: Vec<String>,
}

impl Said {
    fn push(&mut self, what: &'static str, value: Cell, unit: &'static str) {
        self.rows.push((what, value, unit));
    }

    fn count(&mut self, what: &'static str, n: usize, unit: &'static str) {
        self.push(what, Cell::count(n), unit);
    }

    fn bytes(&mut self, what: &'static str, n: u64) {
        self.push(what, Cell::count(usize::try_from(n).unwrap_or(usize::MAX)), "bytes");
    }

    fn explain(&mut self, text: impl Into<String>) {
        self.explanations.push(text.into());
    }

    fn print(self, study: &str, as_json: bool) -> Result<(), Failure> {
        let columns = vec![Column::text("what", "What"), Column::number("value", "Value"), Column::text("unit", "Unit")];
        let mut table = Table::new("plan", format!("Plan of {study}"), columns)?;
        for (what, value, unit) in self.rows {
            table.push(vec![what.into(), value, unit.into()])?;
        }
        if as_json {
            let rows: serde_json::Value = serde_json::from_str(&table.to_json()?).unwrap_or_default();
            let out = serde_json::json!({"study": study, "plan": rows, "explanations": self.explanations});
            return super::print_out(&format!("{out:#}"));
        }
        super::print_out(&table.to_text())?;
        super::print_out(&format!("\n{}", self.explanations.join("\n")))
    }
}
