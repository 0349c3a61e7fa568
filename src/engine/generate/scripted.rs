//! A generator that answers by a function. For unit tests of pipelines; it proves nothing about a model.

use super::{EngineStats, Finished, Generated, Generator, Job, Message};
use crate::store::{FinishReason, Origin};
use std::sync::Arc;

type Script = dyn Fn(&[Message]) -> Generated + Send + Sync;

/// Answers every job by a function of its messages.
pub struct Scripted {
    script: Box<Script>,
    stats: Arc<EngineStats>,
}

impl Scripted {
    /// A generator that answers with what `script` says.
    pub fn new(script: impl Fn(&[Message]) -> Generated + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), stats: Arc::default() }
    }

    /// A complete reply with this text.
    #[must_use]
    pub fn reply(text: impl Into<String>) -> Generated {
        Self::ended(text, FinishReason::Stop)
    }

    /// A reply that ended for the reason given.
    #[must_use]
    pub fn ended(text: impl Into<String>, finish: FinishReason) -> Generated {
        Generated::Finished(Finished::of_text(text.into(), finish, Origin::Engine))
    }
}

impl Generator for Scripted {
    fn submit(&self, job: Job) {
        // A receiver that is gone wants no answer.
        let _ = job.done.send((self.script)(&job.messages));
    }

    fn stats(&self) -> Arc<EngineStats> {
        Arc::clone(&self.stats)
    }
}
