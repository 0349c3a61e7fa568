//! Generation: what a backend must offer, and the parts that all backends share.

pub mod batching;
mod chat;
mod constraint;
mod draft;
mod dry_run;
mod kv_shape;
pub mod llama;
mod pass_cost;
pub mod prefix_tree;
pub mod schedule;
mod scripted;
mod trace;
mod volume;

pub use chat::{ChatError, ChatTemplate, Message, Role};
pub use constraint::Constraint;
pub use dry_run::DryRun;
pub use kv_shape::{KvShape, slots_that_fit};
pub use scripted::Scripted;
pub use trace::Trace;
pub use volume::PromptVolume;

use super::stats::EngineStats;
use crate::store::{FinishReason, Origin, Timings, Usage};
use futures::channel::oneshot;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One prompt for a backend.
pub struct Job {
    pub messages: Vec<Message>,
    pub constraint: Option<Arc<Constraint>>,
    pub max_reply_tokens: u32,
    /// Called when the backend begins to compute it, before anything that could end the process.
    pub began: Box<dyn Fn() + Send>,
    pub done: oneshot::Sender<Generated>,
}

/// What became of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generated {
    Finished(Finished),
    /// Prompt and reserve do not fit; `reason` names the sizes.
    TooLong {
        reason: String,
    },
    /// This item failed; the next one may work.
    Crashed {
        reason: String,
    },
    /// The engine as a whole cannot go on.
    Lost {
        reason: String,
    },
    /// The engine was told to stop before the job was begun.
    Interrupted,
}

/// A generated reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finished {
    pub reply: String,
    pub reasoning: Option<String>,
    pub finish: FinishReason,
    pub usage: Usage,
    pub batch_width: u32,
    pub min_margin: Option<f32>,
    pub timings: Timings,
    pub origin: Origin,
}

impl Finished {
    /// A reply of which only the text and its end are known.
    #[must_use]
    pub fn of_text(reply: String, finish: FinishReason, origin: Origin) -> Self {
        Self {
            reply,
            reasoning: None,
            finish,
            usage: Usage::default(),
            batch_width: 0,
            min_margin: None,
            timings: Timings::default(),
            origin,
        }
    }
}

/// A backend: takes jobs in any number, answers each once, in any order.
pub trait Generator: Send + Sync {
    /// Queues `job`.
    fn submit(&self, job: Job);

    /// The counters that the backend advances.
    fn stats(&self) -> Arc<EngineStats>;
}
