//! GGUF judges through llama.cpp. The only place that names `llama_cpp_2`.
//!
//! One thread owns model and context and runs the loop of `batching`. Jobs come in over a channel; each is answered once.

mod backend;
#[cfg(own_cpu_kernels)]
mod cpu;
mod device;
mod gguf_file;
mod grammar;
mod inspect;
mod mask;
mod model;
mod reply;
mod settings;
mod token_trie;
mod vocabulary;

pub use device::{Gpu, Placement, gpus};
pub use gguf_file::check as check_gguf;
pub use inspect::{GgufFacts, inspect};
pub use model::LoadError;
pub use settings::{LlamaSettings, SettingsError};
pub use vocabulary::LlamaVocabulary;

use super::batching::{self, Batching};
use super::schedule::Limits;
use super::trace::Trace;
use super::{Generated, Generator, Job};
use crate::data::Numerics;
use crate::engine::stats::EngineStats;
use crate::models::{LocalModel, ModelCard};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Tokens computed in one pass over the weights.
const UBATCH: u32 = 512;

/// A judge that runs in a thread of this process. What can end the process ends the judge too: `engine::worker` runs it in a process
/// of its own.
pub struct LlamaJudge {
    jobs: Mutex<Option<Sender<Job>>>,
    stats: Arc<EngineStats>,
    thread: Option<JoinHandle<()>>,
}

impl LlamaJudge {
    /// Loads the weights of `card` and starts the decoding thread. Setting `stop` lets running sequences finish and answers every
    /// other job with [`Generated::Interrupted`].
    ///
    /// # Errors
    /// [`LoadError`] when the files cannot be loaded or are not what the card says.
    pub fn start(
        card: &ModelCard,
        files: &LocalModel,
        settings: LlamaSettings,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, LoadError> {
        let loaded = model::load(card, files, &settings)?;
        let trace = Trace::start(settings.trace.as_deref())
            .map_err(|error| LoadError::Trace { path: settings.trace.clone().unwrap_or_default(), reason: error.to_string() })?;
        let stats: Arc<EngineStats> = Arc::default();
        let (sender, receiver) = channel();
        let thread = {
            let stats = Arc::clone(&stats);
            std::thread::Builder::new()
                .name("judge".into())
                .spawn(move || run(&loaded, &settings, &receiver, &stats, &stop, trace))
                .map_err(|error| LoadError::Thread { reason: error.to_string() })?
        };
        Ok(Self { jobs: Mutex::new(Some(sender)), stats, thread: Some(thread) })
    }
}

/// Sequences of the cache beyond the slots: finished prompts that another may begin with.
const RESTING_SEQUENCES: u32 = 8;

/// Cells that finished prompts may keep beyond what the next prompt needs. On a CPU every cell in use costs a look at its mask.
const IDLE_CELLS: usize = 2_048;

/// How the loop works for a model; one that keeps a state instead of cells can neither fork it nor take a draft back.
fn batching(loaded: &model::Loaded, settings: &LlamaSettings) -> Batching {
    let has_cells = loaded.can_share();
    let is_fast = settings.numerics == Numerics::Fast;
    let share = is_fast && has_cells && settings.sharing;
    let slots = if is_fast { settings.slots } else { 1 };
    Batching {
        limits: Limits {
            slots: slots as usize,
            sequences: (if share { slots + RESTING_SEQUENCES } else { slots }) as usize,
            cells: settings.kv_cells as usize,
            idle_cells: IDLE_CELLS,
            share,
        },
        context_tokens: settings.context_tokens as usize,
        pass_tokens: UBATCH as usize,
        drafts: is_fast && has_cells && settings.drafts,
    }
}

fn run(
    loaded: &model::Loaded,
    settings: &LlamaSettings,
    jobs: &Receiver<Job>,
    stats: &EngineStats,
    stop: &AtomicBool,
    trace: Trace,
) {
    let batching = batching(loaded, settings);
    if settings.numerics == Numerics::Fast && !loaded.can_share() {
        tracing::warn!("this model keeps a recurrent state: beginnings of prompts are not shared and nothing is drafted");
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    match loaded.context(settings, count(batching.limits.cells), count(batching.limits.sequences)) {
        Ok(context) => {
            let backend = backend::LlamaBackend::new(loaded, context, batching.pass_tokens);
            batching::run(backend, batching, jobs, stats, stop, trace);
        }
        Err(reason) => {
            // Whatever comes in gets the reason instead of silence.
            while let Ok(job) = jobs.recv() {
                let _ = job.done.send(Generated::Lost { reason: reason.clone() });
            }
        }
    }
}

impl Generator for LlamaJudge {
    fn submit(&self, job: Job) {
        let jobs = self.jobs.lock().expect("no thread panics while it holds the job queue");
        if let Some(jobs) = jobs.as_ref()
            && let Err(refused) = jobs.send(job)
        {
            let _ = refused.0.done.send(Generated::Lost { reason: "the judge's thread has ended".into() });
        }
    }

    fn stats(&self) -> Arc<EngineStats> {
        Arc::clone(&self.stats)
    }
}

impl Drop for LlamaJudge {
    fn drop(&mut self) {
        if let Ok(jobs) = self.jobs.get_mut() {
            jobs.take();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
