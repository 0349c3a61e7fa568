//! The judge in a process of its own, so that an abort in llama.cpp, a kill for want of memory or a hang costs one item and not the
//! run. The run's own process never holds a model.
//!
//! [`WorkerJudge`] starts this program anew as `assize worker`, where [`serve`] runs the judge. A supervisor thread passes jobs and
//! answers on, and when the process ends or hangs it starts another and finds the item that did it.

mod process;
mod protocol;
mod serve;
mod supervisor;
mod wait_policy;

pub use serve::{ServeError, serve};

use super::generate::llama::LlamaSettings;
use super::generate::{Generated, Generator, Job};
use super::stats::EngineStats;
use crate::models::{LocalModel, ModelCard};
use process::Process;
use protocol::Start;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use supervisor::{Event, Run, Supervisor};
use thiserror::Error;

/// Why no judge's process could be started.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The judge's own message.
    #[error("{message}")]
    Load { message: String },
    #[error("the judge's process cannot be started: {reason}")]
    Start { reason: String },
    #[error("the judge's process ended while it loaded the model ({ending}); is there memory enough for its weights?")]
    Ended { ending: String },
}

/// How the judge's process is started and watched.
pub struct Supervision {
    /// Arguments with which this program serves: see [`serve`].
    pub arguments: Vec<OsString>,
    /// Items are at work and no token was computed for so long: the process hangs.
    pub hang_timeout: Duration,
    /// Told once for each restart, in one line without case text.
    pub say: Box<dyn Fn(&str) + Send>,
}

/// A judge that runs in a process of its own.
pub struct WorkerJudge {
    events: Mutex<Sender<Event>>,
    stats: Arc<EngineStats>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerJudge {
    /// Starts the process and waits until the weights of `card` are loaded. Setting `stop` lets running items finish and answers
    /// every other job with [`Generated::Interrupted`].
    ///
    /// # Errors
    /// [`WorkerError::Load`] when the files cannot be loaded or are not what the card says; the others when there is no process.
    pub fn start(
        card: &ModelCard,
        files: &LocalModel,
        settings: LlamaSettings,
        supervision: Supervision,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, WorkerError> {
        let Supervision { arguments, hang_timeout, say } = supervision;
        let (sender, events) = channel();
        let stats: Arc<EngineStats> = Arc::default();
        let launch = {
            let sender = sender.clone();
            Box::new(move |number| Ok(Box::new(Process::start(&arguments, number, sender.clone())?) as _))
        };
        let run = Run {
            launch,
            start: Start { card: card.clone(), files: files.clone(), settings },
            hang_timeout,
            stats: Arc::clone(&stats),
            stop,
            say,
        };
        let supervisor = Supervisor::start(run, events)?;
        let thread = std::thread::Builder::new()
            .name("supervisor".into())
            .spawn(move || supervisor.run())
            .map_err(|error| WorkerError::Start { reason: error.to_string() })?;
        Ok(Self { events: Mutex::new(sender), stats, thread: Some(thread) })
    }

    /// Tells the supervisor; gives `event` back where it has ended.
    fn send(&self, event: Event) -> Option<Event> {
        let events = self.events.lock().expect("no thread panics while it holds the way to the supervisor");
        events.send(event).err().map(|refused| refused.0)
    }
}

impl Generator for WorkerJudge {
    fn submit(&self, job: Job) {
        if let Some(Event::Submitted(job)) = self.send(Event::Submitted(job)) {
            let _ = job.done.send(Generated::Lost { reason: "the supervisor of the judge's process has ended".into() });
        }
    }

    fn stats(&self) -> Arc<EngineStats> {
        Arc::clone(&self.stats)
    }
}

impl Drop for WorkerJudge {
    fn drop(&mut self) {
        let _ = self.send(Event::Closed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
