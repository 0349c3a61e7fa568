//! What becomes of the items when the judge's process ends or hangs.
//!
//! Items at work when it ended are suspects. Each is tried alone, before anything else: one with which the process ends again has
//! failed, the others are answered like any item. Jobs that had not begun are simply submitted again.
//!
//! This file must not know how a process is started or how lines reach it.

use super::WorkerError;
use super::protocol::{Computed, FromWorker, JobId, Question, Start, ToWorker};
use crate::engine::generate::{Generated, Job};
use crate::engine::stats::EngineStats;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often the supervisor looks at the clock and at the wish to stop.
const TICK: Duration = Duration::from_millis(100);

/// So many items that fail alone, and none that is answered in between: it is not the items.
const MOST_FAILED_IN_A_ROW: u32 = 3;

/// What a supervisor hears.
pub(super) enum Event {
    Submitted(Job),
    /// Nobody waits for an answer any more.
    Closed,
    Said {
        number: u64,
        said: FromWorker,
    },
    /// A worker says no more: it ended, or said what is no message.
    Gone {
        number: u64,
        garbled: bool,
    },
}

/// A worker as its supervisor sees it.
pub(super) trait Worker: Send {
    /// Queues `message`; never waits for the worker.
    fn tell(&mut self, message: &ToWorker) -> Result<(), String>;
    fn kill(&mut self);
    /// How it ended. Waits for it.
    fn wait(&mut self) -> String;
}

/// Starts a worker under a number that its events carry.
pub(super) type Launch = Box<dyn Fn(u64) -> std::io::Result<Box<dyn Worker>> + Send>;

/// What stays the same over all workers of a run.
pub(super) struct Run {
    pub launch: Launch,
    pub start: Start,
    pub hang_timeout: Duration,
    pub stats: Arc<EngineStats>,
    pub stop: Arc<AtomicBool>,
    pub say: Box<dyn Fn(&str) + Send>,
}

/// The worker of the moment.
struct Current {
    worker: Box<dyn Worker>,
    ready: bool,
    /// Killed because nothing came from it.
    hung: bool,
    /// What it said it had computed.
    computed: Computed,
    /// How long nothing has come from it while it had jobs.
    silent: Duration,
}

/// A job that the worker has.
struct Sent {
    job: Job,
    begun: bool,
}

pub(super) struct Supervisor {
    run: Run,
    events: Receiver<Event>,
    /// Workers started so far; the number of the last.
    n_started: u64,
    current: Option<Current>,
    n_jobs: JobId,
    sent: BTreeMap<JobId, Sent>,
    /// Jobs that no worker has, in the order in which they are to be sent.
    waiting: VecDeque<(JobId, Job)>,
    suspects: VecDeque<(JobId, Job)>,
    /// The suspect that the worker has alone.
    on_trial: Option<JobId>,
    n_failed_in_a_row: u32,
    /// Ends in a row before any job was begun.
    n_idle_ends: u32,
    draining: bool,
    /// Why no job can be answered any more.
    lost: Option<String>,
}

impl Supervisor {
    /// Starts the first worker and waits until it is ready.
    pub fn start(run: Run, events: Receiver<Event>) -> Result<Self, WorkerError> {
        let mut supervisor = Self {
            run,
            events,
            n_started: 0,
            current: None,
            n_jobs: 0,
            sent: BTreeMap::new(),
            waiting: VecDeque::new(),
            suspects: VecDeque::new(),
            on_trial: None,
            n_failed_in_a_row: 0,
            n_idle_ends: 0,
            draining: false,
            lost: None,
        };
        let mut first = supervisor.launch().map_err(|reason| WorkerError::Start { reason })?;
        loop {
            // The run keeps a sender, so there is always another event: at the latest that the worker is gone.
            let event = supervisor.events.recv().map_err(|error| WorkerError::Start { reason: error.to_string() })?;
            match event {
                Event::Said { said: FromWorker::Ready, .. } => break,
                Event::Said { said: FromWorker::Failed { message }, .. } => {
                    end(&mut *first.worker);
                    return Err(WorkerError::Load { message });
                }
                Event::Gone { .. } => return Err(WorkerError::Ended { ending: end(&mut *first.worker) }),
                Event::Said { .. } | Event::Submitted(_) | Event::Closed => {}
            }
        }
        first.ready = true;
        supervisor.current = Some(first);
        Ok(supervisor)
    }

    /// Passes jobs and answers on until nobody waits for any.
    pub fn run(mut self) {
        let mut looked = Instant::now();
        loop {
            match self.events.recv_timeout(TICK) {
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.run.stop.load(Ordering::Relaxed) {
                self.drain();
            }
            self.feed();
            // Time in which this process did not run itself (suspended, stopped by Ctrl-Z) is not the worker's silence.
            let waited = looked.elapsed().min(2 * TICK);
            looked = Instant::now();
            self.watch(waited);
        }
        if let Some(mut current) = self.current {
            end(&mut *current.worker);
        }
    }

    fn launch(&mut self) -> Result<Current, String> {
        self.n_started += 1;
        let mut worker = (self.run.launch)(self.n_started).map_err(|error| error.to_string())?;
        let told = worker.tell(&ToWorker::Start(Box::new(self.run.start.clone())));
        if let Err(reason) = told {
            end(&mut *worker);
            return Err(reason);
        }
        Ok(Current { worker, ready: false, hung: false, computed: Computed::default(), silent: Duration::ZERO })
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Submitted(job) => {
                self.n_jobs += 1;
                match &self.lost {
                    Some(reason) => answer(job, Generated::Lost { reason: reason.clone() }),
                    None => self.waiting.push_back((self.n_jobs, job)),
                }
            }
            Event::Said { number, said } if number == self.n_started => self.hear(said),
            Event::Gone { number, garbled } if number == self.n_started => self.gone(garbled),
            Event::Said { .. } | Event::Gone { .. } | Event::Closed => {}
        }
    }

    fn hear(&mut self, said: FromWorker) {
        let Some(current) = self.current.as_mut() else { return };
        current.silent = Duration::ZERO;
        match said {
            FromWorker::Ready => current.ready = true,
            FromWorker::Failed { message } => self.lose(format!("the model could not be loaded again: {message}")),
            FromWorker::Stats(now) => {
                let before = std::mem::replace(&mut current.computed, now);
                self.run.stats.add_passed(now.tokens_passed.saturating_sub(before.tokens_passed));
                self.run.stats.add_reply_passes(now.reply_passes.saturating_sub(before.reply_passes));
            }
            FromWorker::Began { id } => {
                self.n_idle_ends = 0;
                if let Some(sent) = self.sent.get_mut(&id) {
                    sent.begun = true;
                    (sent.job.began)();
                }
            }
            FromWorker::Done { id, generated } => {
                self.n_idle_ends = 0;
                self.n_failed_in_a_row = 0;
                self.on_trial = self.on_trial.filter(|on_trial| *on_trial != id);
                if let Some(sent) = self.sent.remove(&id) {
                    answer(sent.job, generated);
                }
            }
        }
    }

    /// Gives the worker what it may have: one suspect alone, or everything that waits.
    fn feed(&mut self) {
        let Some(current) = self.current.as_mut().filter(|current| current.ready && !current.hung) else { return };
        if self.on_trial.is_some() {
            return;
        }
        let suspect = self.suspects.pop_front();
        self.on_trial = suspect.as_ref().map(|(id, _)| *id);
        // A suspect is there only after a restart, when the worker has nothing else.
        let jobs = if suspect.is_some() { &mut VecDeque::from_iter(suspect) } else { &mut self.waiting };
        for (id, job) in jobs.drain(..) {
            match current.worker.tell(&ToWorker::Job(Question::of(id, &job))) {
                Ok(()) => drop(self.sent.insert(id, Sent { job, begun: false })),
                Err(reason) => answer(job, Generated::Crashed { reason }),
            }
        }
    }

    /// Kills a worker that has jobs and has said nothing for too long. What it has said before still counts: it is gone when
    /// everything is read.
    fn watch(&mut self, waited: Duration) {
        let Some(current) = self.current.as_mut() else { return };
        if self.sent.is_empty() || current.hung {
            current.silent = Duration::ZERO;
            return;
        }
        current.silent += waited;
        if current.silent >= self.run.hang_timeout {
            current.hung = true;
            current.worker.kill();
        }
    }

    /// Lets what has begun finish and turns everything else away.
    fn drain(&mut self) {
        if !self.draining {
            self.draining = true;
            if let Some(current) = &mut self.current {
                // The message is a constant, so it can be told.
                let _ = current.worker.tell(&ToWorker::Stop);
            }
        }
        for (_, job) in self.suspects.drain(..).chain(self.waiting.drain(..)) {
            answer(job, Generated::Interrupted);
        }
    }

    /// The worker says no more.
    fn gone(&mut self, garbled: bool) {
        let Some(mut current) = self.current.take() else { return };
        let ending = match (end(&mut *current.worker), current.hung, garbled) {
            (_, true, _) => format!("no token for {:?}", self.run.hang_timeout),
            (_, _, true) => "it said what is no message".to_string(),
            (ending, ..) => ending,
        };
        let sent = std::mem::take(&mut self.sent);
        let on_trial = self.on_trial.take();
        if self.draining {
            for (_, Sent { job, .. }) in sent {
                answer(job, Generated::Interrupted);
            }
            return;
        }
        if !current.ready {
            return self.lose(format!("its process ended while it loaded the model again ({ending})"));
        }
        let n_sent = sent.len();
        let n_begun = sent.values().filter(|sent| sent.begun).count();
        let nothing_begun = n_begun == 0 && on_trial.is_none();
        if nothing_begun {
            self.n_idle_ends += 1;
            if self.n_idle_ends > 1 && n_sent == 0 {
                return self.lose(format!("its process ended twice before it began an item ({ending})"));
            }
        }
        // Twice before any item was begun: then it may be one that cannot even be begun.
        let all_are_suspects = nothing_begun && self.n_idle_ends > 1;
        let mut again = VecDeque::new();
        for (id, Sent { job, begun }) in sent {
            if on_trial == Some(id) {
                self.n_failed_in_a_row += 1;
                answer(
                    job,
                    Generated::Crashed {
                        reason: format!("the judge's process ended on this item, also on a retry alone ({ending})"),
                    },
                );
            } else if begun || all_are_suspects {
                self.suspects.push_back((id, job));
            } else {
                again.push_back((id, job));
            }
        }
        again.append(&mut self.waiting);
        self.waiting = again;
        if self.n_failed_in_a_row >= MOST_FAILED_IN_A_ROW {
            return self.lose(format!("its process ended on {MOST_FAILED_IN_A_ROW} items in a row ({ending})"));
        }
        (self.run.say)(&match on_trial {
            Some(_) => {
                format!("the judge's process ended again on the same item ({ending}); the item has failed, the run goes on")
            }
            None => format!(
                "the judge's process ended ({ending}) with {n_begun} item(s) at work; it is started again, and what it may have \
                 ended on is tried alone"
            ),
        });
        match self.launch() {
            Ok(next) => self.current = Some(next),
            Err(reason) => self.lose(format!("its process cannot be started again: {reason}")),
        }
    }

    /// Gives up: every job, now and later, gets the reason.
    fn lose(&mut self, reason: String) {
        if let Some(mut current) = self.current.take() {
            end(&mut *current.worker);
        }
        let sent = std::mem::take(&mut self.sent).into_values().map(|sent| sent.job);
        let others = self.suspects.drain(..).chain(self.waiting.drain(..)).map(|(_, job)| job);
        for job in sent.chain(others) {
            answer(job, Generated::Lost { reason: reason.clone() });
        }
        self.lost = Some(reason);
    }
}

/// Answers a job. A receiver that is gone wants no answer.
fn answer(job: Job, generated: Generated) {
    let _ = job.done.send(generated);
}

/// Ends a worker and says how it ended. One that has ended by itself keeps its own ending.
fn end(worker: &mut dyn Worker) -> String {
    worker.kill();
    worker.wait()
}

#[cfg(test)]
mod tests;
