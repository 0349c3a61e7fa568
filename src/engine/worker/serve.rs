//! The judge's process from inside: one judge, answers over stdout, and an end as soon as nobody is at the other end of stdin.

use super::protocol::{Computed, FromWorker, JobId, Question, ToWorker, line_of, message_of};
use crate::engine::generate::llama::LlamaJudge;
use crate::engine::generate::{Constraint, Generator, Job};
use crate::engine::stats::EngineStats;
use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use std::io::{BufRead, StdinLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thiserror::Error;

/// How often counters are told while they change.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// Why this process cannot serve.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(
        "expected the first line of a run on stdin, got something else; `assize run` starts this command, nobody else needs it"
    )]
    NoStart,
    #[error("the worker's threads cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Loads the judge that the first line of stdin names and answers jobs until stdin ends. A judge that cannot be loaded is an
/// answer too.
///
/// # Errors
/// [`ServeError`] where no run is at the other end.
pub fn serve() -> Result<(), ServeError> {
    end_at_a_panic();
    // What `ps` shows instead of the name of the link that was started. Only a nicety.
    let _ = std::fs::write("/proc/self/comm", "assize worker");
    let mut first = String::new();
    let start = match std::io::stdin().read_line(&mut first) {
        Ok(0) => return Ok(()),
        Ok(_) => message_of(&first),
        Err(_) => None,
    };
    let Some(ToWorker::Start(start)) = start else { return Err(ServeError::NoStart) };
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, questions) = mpsc::unbounded();
    {
        let stop = Arc::clone(&stop);
        // From here on, also while the model is loaded, the end of the run is the end of this process.
        spawn("stdin", move || {
            listen(std::io::stdin().lock(), &sender, &stop);
            leave(0)
        })?;
    }
    let out = Arc::new(Out(Mutex::default()));
    let judge = match LlamaJudge::start(&start.card, &start.files, start.settings, stop) {
        Ok(judge) => judge,
        Err(error) => {
            out.say(&FromWorker::Failed { message: error.to_string() });
            return Ok(());
        }
    };
    out.say(&FromWorker::Ready);
    let stats = judge.stats();
    {
        let (out, stats) = (Arc::clone(&out), Arc::clone(&stats));
        spawn("heartbeat", move || {
            loop {
                std::thread::sleep(HEARTBEAT);
                out.say_computed(&stats);
            }
        })?;
    }
    futures::executor::block_on(questions.for_each_concurrent(None, |question| answer(&judge, question, &out, &stats)));
    Ok(())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
    std::thread::Builder::new().name(name.into()).spawn(run).map(drop).map_err(ServeError::Thread)
}

/// Ends the process at once: nothing is left to do, and what llama.cpp would tidy up is in use by its threads.
fn leave(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}

/// A panic of any thread ends the process. Only its place is told: its message could quote a case.
fn end_at_a_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("the judge's process panicked at {place}");
        leave(101)
    }));
}

/// Takes lines in until there are no more.
fn listen(stdin: StdinLock<'static>, questions: &mpsc::UnboundedSender<Question>, stop: &AtomicBool) {
    for line in stdin.lines() {
        match line.ok().as_deref().and_then(message_of) {
            Some(ToWorker::Job(question)) => {
                // Fails only when the other threads have ended, and with them the process.
                let _ = questions.unbounded_send(question);
            }
            Some(ToWorker::Stop) => stop.store(true, Ordering::Relaxed),
            Some(ToWorker::Start(_)) | None => {
                tracing::error!("the judge's process was told what it does not understand");
                leave(1);
            }
        }
    }
}

async fn answer(judge: &LlamaJudge, question: Question, out: &Arc<Out>, stats: &EngineStats) {
    let id: JobId = question.id;
    let (done, reply) = oneshot::channel();
    let began = {
        let out = Arc::clone(out);
        Box::new(move || out.say(&FromWorker::Began { id }))
    };
    judge.submit(Job {
        messages: question.messages,
        constraint: question.constraint.map(|named| Arc::new(Constraint::from(named))),
        reply_limit: question.reply_limit,
        max_reasoning_tokens: question.max_reasoning_tokens,
        began,
        done,
    });
    // Its thread answers every job, or ends the process with a panic.
    let generated = reply.await.expect("the judge answers every job");
    out.say_computed(stats);
    out.say(&FromWorker::Done { id, generated });
}

/// Stdout, with the counters that were told last.
struct Out(Mutex<Computed>);

impl Out {
    fn say(&self, message: &FromWorker) {
        let _turn = self.0.lock().expect("a panic ends the process");
        Self::write(message);
    }

    fn say_computed(&self, stats: &EngineStats) {
        let mut told = self.0.lock().expect("a panic ends the process");
        let now = stats.snapshot();
        let now = Computed { tokens_passed: now.tokens_passed, reply_passes: now.reply_passes };
        if now != *told {
            *told = now;
            Self::write(&FromWorker::Stats(now));
        }
    }

    /// Writes a whole line. Without a reader this process has no purpose.
    fn write(message: &FromWorker) {
        let line = line_of(message).expect("messages to the run hold no paths");
        let mut out = std::io::stdout().lock();
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            leave(0);
        }
    }
}
