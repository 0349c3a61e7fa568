//! What a run of the engine computed and how long it took: said, and kept beside the store.

use crate::cli::console::Remarks;
use crate::cli::judge_plan::JudgePlan;
use crate::engine::StatsSnapshot;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One line on stderr about what was computed.
pub fn say_speed(stats: StatsSnapshot, wall: Duration, remarks: Remarks) {
    let seconds = wall.as_secs_f64();
    remarks.say(format_args!(
        "judged {} items in {seconds:.1} s ({} more were on record): {} prompt tokens, {} of them shared ({:.0}%), {} reply tokens \
         in {:.2} passes each; {:.0} tokens computed a second",
        stats.items_computed,
        stats.items_replayed,
        stats.prompt_tokens,
        stats.reused_tokens,
        100.0 * stats.reused_tokens as f64 / (stats.prompt_tokens as f64).max(1.0),
        stats.reply_tokens,
        stats.reply_passes as f64 / (stats.reply_tokens as f64).max(1.0),
        stats.tokens_passed as f64 / seconds.max(1e-3),
    ));
}

/// Times and token counts of this run, beside the store: results hold none, so that they can be compared.
pub fn keep_run_record(plan: &JudgePlan, store_dir: &Path, stats: StatsSnapshot, wall: Duration, remarks: Remarks) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let folder = store_dir.join("runs");
    let record = json!({
        "ended_unix_s": now.as_secs(),
        "wall_s": wall.as_secs_f64(),
        "threads": plan.llama.threads,
        "slots": plan.llama.slots,
        "model": plan.model(),
        "engine": plan.engine(),
        "stats": stats,
    });
    let written = std::fs::create_dir_all(&folder).and_then(|()| {
        std::fs::write(folder.join(format!("{}-{}.json", now.as_secs(), std::process::id())), format!("{record:#}\n"))
    });
    if let Err(error) = written {
        remarks.say(format_args!("note: times of this run were not kept: {}: {error}", folder.display()));
    }
}
