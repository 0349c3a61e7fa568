//! A short measurement of a judge: a few hundred prompt tokens and a few dozen reply tokens on made-up text.

use super::estimate::Speed;
use crate::cli::args::GlobalArgs;
use crate::cli::commands::start_judge::start_judge;
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::resolve::Plan;
use crate::data::Numerics;
use crate::engine::generate::llama::LlamaSettings;
use crate::engine::generate::{Constraint, Generated, Generator, Job, Message, ReplyLimit};
use crate::error::ExitStatus;
use futures::channel::oneshot;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Lines of a made-up prompt, some 15 tokens each.
const LINES: usize = 16;

/// Reply tokens of each prompt in the round that counts.
const REPLY_TOKENS: u32 = 49;

/// No clock is trusted below this.
const SHORTEST_S: f64 = 1e-3;

/// Most prompts at a time.
const MOST_TOGETHER: u32 = 8;

/// Loads the judge of `plan` and measures it.
pub fn measure(plan: &Plan, global: &GlobalArgs) -> Result<Speed, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let stop = Arc::new(AtomicBool::new(false));
    // Made-up text repeats itself: drafts would make it faster than any report.
    let settings = LlamaSettings { drafts: false, trace: None, ..plan.judged_by.llama.clone() };
    let judge = start_judge(&plan.judged_by, settings, &stop, global)?;
    let n_slots = match plan.judged_by.llama.numerics {
        Numerics::Exact => 1,
        Numerics::Fast => plan.judged_by.llama.slots.min(MOST_TOGETHER),
    };
    let progress =
        Progress::start(Counted { doing: "measuring", things: "rounds", total: 2, judge: Some(judge.stats()) }, remarks.quiet);
    // The first pass of a process pays for what is set up once.
    round(&*judge, "warm", 1, 2)?;
    progress.one_done();
    let measured = round(&*judge, "measured", n_slots, REPLY_TOKENS)?;
    drop(progress);
    let prompt_rate = measured.prompt_tokens / measured.prompt_s.max(SHORTEST_S);
    let reply_rate = measured.reply_tokens / measured.reply_s.max(SHORTEST_S);
    let how = format!(
        "measured on {n_slots} made-up prompt(s) of {:.0} tokens at a time, without drafts and almost without sharing",
        measured.prompt_tokens / f64::from(n_slots)
    );
    Ok(Speed::measured(prompt_rate, reply_rate, plan.judge.reply_limit.most(), &how))
}

/// What a round computed and how long it took.
struct Round {
    prompt_tokens: f64,
    reply_tokens: f64,
    /// Until the last prompt was computed, few of the reply tokens among them.
    prompt_s: f64,
    /// From then on.
    reply_s: f64,
}

/// Asks for `n_slots` replies of exactly `n_reply` tokens at a time.
fn round(judge: &dyn Generator, name: &str, n_slots: u32, n_reply: u32) -> Result<Round, Failure> {
    let failed = |reason: String| Failure::new(ExitStatus::Internal, format_args!("the judge cannot be measured: {reason}"));
    // A text that cannot end early, whatever the judge makes of the prompt.
    let schema = serde_json::json!({"type": "string", "minLength": 2_000, "maxLength": 2_000});
    let constraint = Arc::new(Constraint::new("probe", schema));
    let started = Instant::now();
    let replies: Vec<oneshot::Receiver<Generated>> = (0..n_slots)
        .map(|slot| {
            let line = |i: usize| format!("{name} {slot}, line {i}: fever {} hours before admission\n", i * 7 + slot as usize);
            let (done, reply) = oneshot::channel();
            judge.submit(Job {
                messages: vec![Message::user((0..LINES).map(line).collect::<String>())],
                constraint: Some(Arc::clone(&constraint)),
                reply_limit: ReplyLimit::Fixed(n_reply),
                max_reasoning_tokens: None,
                began: Box::new(|| ()),
                done,
            });
            reply
        })
        .collect();
    let (mut prompt_tokens, mut reply_tokens, mut prompt_s) = (0.0, 0.0, 0.0_f64);
    for reply in replies {
        match futures::executor::block_on(reply) {
            Ok(Generated::Finished(finished)) => {
                prompt_tokens += f64::from(finished.usage.prompt_tokens - finished.usage.reused_tokens);
                reply_tokens += f64::from(finished.usage.reply_tokens);
                prompt_s = prompt_s.max(finished.timings.prompt_ms / 1e3);
            }
            Ok(
                Generated::TooLong { reason }
                | Generated::Refused { reason }
                | Generated::Crashed { reason }
                | Generated::Lost { reason },
            ) => {
                return Err(failed(reason));
            }
            Ok(Generated::Interrupted) | Err(_) => return Err(failed("its thread ended".into())),
        }
    }
    Ok(Round { prompt_tokens, reply_tokens, prompt_s, reply_s: started.elapsed().as_secs_f64() - prompt_s })
}
