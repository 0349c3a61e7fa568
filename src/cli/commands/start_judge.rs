//! Starting a judge in a process of its own.

use super::worker;
use crate::cli::args::GlobalArgs;
use crate::cli::console::{Failure, Remarks};
use crate::cli::judge_plan::JudgePlan;
use crate::engine::generate::Generator;
use crate::engine::generate::llama::LlamaSettings;
use crate::engine::worker::{Supervision, WorkerError, WorkerJudge};
use crate::error::ExitStatus;
use crate::models::{locate, verify_hashes};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Starts the judge of `plan` with `settings` in a process of its own.
pub fn start_judge(
    plan: &JudgePlan,
    settings: LlamaSettings,
    stop: &Arc<AtomicBool>,
    global: &GlobalArgs,
) -> Result<Box<dyn Generator>, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let files = locate(&plan.card, &plan.model_dir).map_err(Failure::verification)?;
    let bytes: u64 = plan.card.files.iter().map(|file| file.bytes).sum();
    remarks.say(format_args!("loading {} ({:.1} GB) from {}", plan.card.name, bytes as f64 / 1e9, plan.model_dir.display()));
    verify_hashes(&files, &plan.model_dir, true).map_err(Failure::verification)?;
    let supervision = Supervision {
        arguments: worker::arguments(global.log.as_deref()),
        hang_timeout: plan.hang_timeout,
        say: Box::new(move |restart| remarks.say(format_args!("warning: {restart}"))),
    };
    let judge = WorkerJudge::start(&plan.card, &files, settings, supervision, Arc::clone(stop)).map_err(|error| match error {
        WorkerError::Load { .. } => Failure::verification(error),
        WorkerError::Start { .. } | WorkerError::Ended { .. } => Failure::new(ExitStatus::Internal, error),
    })?;
    Ok(Box::new(judge))
}
