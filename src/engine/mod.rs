//! The handle that pipelines see. A request whose key is on record is answered from the store; any other is computed, stored and
//! then answered. So running the same command again after a kill replays what is finished and computes the rest.
//!
//! Pipelines know neither backends nor files: with a scripted generator they run in a unit test.

mod error;
pub mod generate;
mod item;
mod stats;
pub mod worker;

pub use error::GenerateError;
pub use item::{ENGINE_VERSION, EngineIdentity, ModelIdentity, PendingItem, Request};
pub use stats::{EngineStats, StatsSnapshot};

use crate::models::Reasoning;
use crate::store::{FinishReason, ItemKey, Origin, Outcome, Record, Store};
use futures::channel::oneshot;
use generate::{Finished, Generated, Generator, Job, take_reasoning_off};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Requests that wait for one that is being computed.
type Waiters = Vec<oneshot::Sender<Result<Record, GenerateError>>>;

/// Answers requests from the store or a generator.
pub struct Engine {
    store: Arc<Store>,
    model: ModelIdentity,
    identity: Option<EngineIdentity>,
    generator: Option<Box<dyn Generator>>,
    stop: Arc<AtomicBool>,
    stats: Arc<EngineStats>,
    pending: Mutex<Vec<PendingItem>>,
    in_flight: Mutex<HashMap<ItemKey, Waiters>>,
}

impl Engine {
    /// An engine over `store` for the judge `model`. Without a generator, unknown items become pending; setting `stop` lets
    /// running items finish and refuses new ones.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        model: ModelIdentity,
        identity: Option<EngineIdentity>,
        generator: Option<Box<dyn Generator>>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            store,
            model,
            identity,
            stats: generator.as_ref().map_or_else(Arc::default, |generator| generator.stats()),
            generator,
            stop,
            pending: Mutex::default(),
            in_flight: Mutex::default(),
        }
    }

    /// Counters of this run.
    #[must_use]
    pub fn stats(&self) -> &Arc<EngineStats> {
        &self.stats
    }

    /// The items that were asked for, are not on record and could not be computed, in the order asked.
    #[must_use]
    pub fn take_pending(&self) -> Vec<PendingItem> {
        std::mem::take(&mut *self.pending.lock().expect("no thread panics while it holds the pending list"))
    }

    /// The content key of `request` under this engine's model and settings.
    #[must_use]
    pub fn key(&self, request: &Request) -> ItemKey {
        item::key(&self.model, self.identity.as_ref(), request)
    }

    /// The record that answers `request`. A failed generation is a record too: look at its outcome.
    ///
    /// # Errors
    /// [`GenerateError::Pending`] without a generator, [`GenerateError::Interrupted`] once stopped, [`GenerateError::Store`] when
    /// the record cannot be kept, [`GenerateError::Engine`] when the engine as a whole is gone.
    pub async fn generate(&self, request: Request) -> Result<Record, GenerateError> {
        let key = self.key(&request);
        if let Some(record) = self.store.get(&key)? {
            self.stats.add_replayed();
            return Ok(replayed(record, &request));
        }
        let Some(generator) = &self.generator else {
            let item = PendingItem { key, request };
            self.pending.lock().expect("no thread panics while it holds the pending list").push(item);
            return Err(GenerateError::Pending { key });
        };
        if self.stop.load(Ordering::Relaxed) {
            return Err(GenerateError::Interrupted);
        }
        if let Some(waiting) = self.join_in_flight(key) {
            return waiting.await.unwrap_or(Err(GenerateError::Interrupted));
        }
        let result = self.compute(&**generator, key, &request).await;
        let waiters = self.in_flight().remove(&key).unwrap_or_default();
        for waiter in waiters {
            let _ = waiter.send(result.clone());
        }
        result
    }

    fn in_flight(&self) -> std::sync::MutexGuard<'_, HashMap<ItemKey, Waiters>> {
        self.in_flight.lock().expect("no thread panics while it holds the list of items in flight")
    }

    /// Waits for another request with the same key, or notes that this one is now being computed.
    fn join_in_flight(&self, key: ItemKey) -> Option<oneshot::Receiver<Result<Record, GenerateError>>> {
        let mut in_flight = self.in_flight();
        if let Some(waiters) = in_flight.get_mut(&key) {
            let (sender, receiver) = oneshot::channel();
            waiters.push(sender);
            return Some(receiver);
        }
        in_flight.insert(key, Vec::new());
        None
    }

    async fn compute(&self, generator: &dyn Generator, key: ItemKey, request: &Request) -> Result<Record, GenerateError> {
        let (done, reply) = oneshot::channel();
        generator.submit(Job {
            messages: request.messages.clone(),
            constraint: request.constraint.clone(),
            reply_limit: request.reply_limit,
            began: Box::new(|| ()),
            max_reasoning_tokens: request.max_reasoning_tokens,
            done,
        });
        let generated =
            reply.await.map_err(|_| GenerateError::Engine { reason: "its thread ended; see the messages above".into() })?;
        let record = match generated {
            Generated::Interrupted => return Err(GenerateError::Interrupted),
            Generated::Lost { reason } => return Err(GenerateError::Engine { reason }),
            Generated::Finished(finished) => finished_record(key, request, finished),
            Generated::TooLong { reason } => failed_record(key, request, Outcome::PromptTooLong, reason),
            Generated::Refused { reason } => failed_record(key, request, Outcome::RequestInvalid, reason),
            Generated::Crashed { reason } => failed_record(key, request, Outcome::EngineCrash, reason),
        };
        self.store.put(&record)?;
        self.stats.add_computed(&record);
        Ok(record)
    }
}

fn finished_record(key: ItemKey, request: &Request, mut finished: Finished) -> Record {
    take_reasoning_off(&mut finished, None);
    let (outcome, detail) = match finished.finish {
        FinishReason::Length => (Outcome::Truncated, None),
        FinishReason::Loop => {
            (Outcome::Truncated, Some("the reply repeated the same tokens over and over and was ended".to_string()))
        }
        FinishReason::Stop | FinishReason::Closed | FinishReason::NoReply | FinishReason::None => {
            ((request.classify)(&finished.reply), None)
        }
    };
    record(key, request, outcome, finished, detail)
}

/// An item that got no reply.
fn failed_record(key: ItemKey, request: &Request, outcome: Outcome, reason: String) -> Record {
    let nothing = Finished::of_text(String::new(), FinishReason::None, Origin::Engine);
    record(key, request, outcome, nothing, Some(reason))
}

fn record(key: ItemKey, request: &Request, outcome: Outcome, finished: Finished, detail: Option<String>) -> Record {
    Record {
        key,
        stage: request.stage(),
        labels: request.labels.clone(),
        attempt: request.attempt,
        outcome,
        finish: finished.finish,
        reply: finished.reply,
        reasoning_cut: finished.reasoning.as_ref().is_some_and(|thoughts| thoughts.was_cut),
        reasoning: finished.reasoning.map(|thoughts| thoughts.text),
        unnamed_mark: finished.unnamed_mark,
        usage: finished.usage,
        batch_width: finished.batch_width,
        min_margin: finished.min_margin,
        timings: finished.timings,
        origin: finished.origin,
        detail,
    }
}

/// A record as it is on file, read as one of today's would be: an earlier version may have kept reasoning in the reply.
fn replayed(record: Record, request: &Request) -> Record {
    if !record.outcome.answers() {
        return record;
    }
    let mut finished = Finished::of_text(record.reply.clone(), record.finish, record.origin);
    take_reasoning_off(&mut finished, None);
    let Some(thoughts) = finished.reasoning else { return record };
    let outcome = match finished.finish {
        FinishReason::Length | FinishReason::Loop => record.outcome,
        _ => (request.classify)(&finished.reply),
    };
    let reasoning = [record.reasoning, Some(thoughts.text)].into_iter().flatten().collect::<Vec<_>>().join("\n");
    Record {
        outcome,
        finish: finished.finish,
        reply: finished.reply,
        reasoning: Some(reasoning),
        unnamed_mark: finished.unnamed_mark,
        ..record
    }
}

/// The record of a reply that somebody else computed for `request`, as `assize replies` takes it in. `reasoning` are the marks that
/// the judge's card names.
#[must_use]
pub fn imported_record(key: ItemKey, request: &Request, mut reply: Finished, reasoning: Option<&Reasoning>) -> Record {
    take_reasoning_off(&mut reply, reasoning);
    finished_record(key, request, reply)
}
