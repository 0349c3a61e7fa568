//! Generation: what a backend must offer, and the parts that all backends share.

pub mod batching;
mod chat;
mod closing;
mod constraint;
mod draft;
mod dry_run;
mod kv_shape;
pub mod llama;
mod pass_cost;
pub mod prefix_tree;
mod reasoning;
mod repetition;
mod reply_limit;
pub mod schedule;
mod scripted;
mod trace;
mod volume;

pub use chat::{ChatError, ChatTemplate, Message, Role};
pub use constraint::{Constraint, Form};
pub use dry_run::DryRun;
pub use kv_shape::{KvShape, slots_that_fit};
pub use reasoning::{Thoughts, take_reasoning_off};
pub use reply_limit::{DEFAULT_REPLY_TOKENS, ReplyLimit};
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
    pub reply_limit: ReplyLimit,
    /// Called when the backend begins to compute it, before anything that could end the process.
    pub began: Box<dyn Fn() + Send>,
    /// Most tokens of reasoning before the reply; `None` for a judge that does not think aloud.
    pub max_reasoning_tokens: Option<u32>,
    pub done: oneshot::Sender<Generated>,
}

impl Job {
    /// Most tokens that may follow the prompt: reasoning, the mark that ends it, reply.
    #[must_use]
    pub fn most_tokens(&self) -> u32 {
        most_tokens(self.reply_limit.most(), self.max_reasoning_tokens)
    }
}

/// Most tokens of a reply with the reasoning before it and the mark that ends it.
#[must_use]
pub fn most_tokens(max_reply_tokens: u32, max_reasoning_tokens: Option<u32>) -> u32 {
    let reasoning = max_reasoning_tokens.map_or(0, |n| n.saturating_add(reasoning::CLOSING_TOKENS));
    reasoning.saturating_add(max_reply_tokens)
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
    /// The request cannot be answered as it is: its form does not compile, or the chat template refuses its messages.
    Refused {
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
    pub reasoning: Option<Thoughts>,
    /// The mark of the reasoning that the reply began with, where the judge's card names no such mark.
    #[serde(default)]
    pub unnamed_mark: Option<String>,
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
            unnamed_mark: None,
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
