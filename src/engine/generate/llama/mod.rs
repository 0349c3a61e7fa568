//! GGUF judges through llama.cpp. The only place that names `llama_cpp_2`.
//!
//! One thread owns model and context and runs the loop of `batching`. Jobs come in over a channel; each is answered once.

mod backend;
mod inspect;
mod model;
mod reply;
mod token_trie;

pub use inspect::{GgufFacts, inspect};
pub use model::LoadError;

use super::batching::{self, Batching};
use super::schedule::Limits;
use super::trace::Trace;
use super::{Generated, Generator, Job};
use crate::data::Numerics;
use crate::engine::stats::EngineStats;
use crate::engine::{ENGINE_VERSION, EngineIdentity};
use crate::models::{LocalModel, ModelCard};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Tokens computed in one pass over the weights.
const UBATCH: u32 = 512;

/// Settings of a judge on this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LlamaSettings {
    pub numerics: Numerics,
    /// Longest prompt with reply, in tokens; at most the card's.
    pub context_tokens: u32,
    /// Sequences decoded together in fast mode.
    pub slots: u32,
    pub threads: u32,
    /// Where to keep what was computed when, if anywhere.
    pub trace: Option<PathBuf>,
    /// Whether fast mode drafts passages that are copied from the prompt.
    pub drafts: bool,
    /// Whether fast mode computes common beginnings of prompts once.
    pub sharing: bool,
}

impl LlamaSettings {
    /// The part of the settings that can change a reply.
    #[must_use]
    pub fn identity(&self) -> EngineIdentity {
        EngineIdentity {
            numerics: self.numerics,
            backend: "llama.cpp".into(),
            device_class: device_class().into(),
            kv_type: "f16".into(),
            flash_attention: FLASH_ATTENTION,
            ubatch: UBATCH,
            split_mode: "none".into(),
            // Exact mode knows neither, so they leave its keys alone.
            drafts: self.numerics == Numerics::Fast && self.drafts,
            sharing: self.numerics == Numerics::Fast && self.sharing,
            version: ENGINE_VERSION.into(),
        }
    }
}

/// Whether attention is computed in one fused step.
const FLASH_ATTENTION: bool = true;

/// The instruction set that llama.cpp was compiled for: sums are rounded differently in wider registers.
fn device_class() -> &'static str {
    if cfg!(target_feature = "avx512f") {
        "cpu x86-64 avx512"
    } else if cfg!(target_feature = "avx2") {
        "cpu x86-64 avx2"
    } else if cfg!(target_arch = "x86_64") {
        "cpu x86-64"
    } else {
        std::env::consts::ARCH
    }
}

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
    let has_cells = !loaded.model.is_recurrent() && !loaded.model.is_hybrid();
    let is_fast = settings.numerics == Numerics::Fast;
    if is_fast && !has_cells {
        tracing::warn!("this model keeps a recurrent state: beginnings of prompts are not shared and nothing is drafted");
    }
    let share = is_fast && has_cells && settings.sharing;
    let slots = if is_fast { settings.slots } else { 1 };
    let cells = if is_fast { settings.context_tokens.saturating_mul(2) } else { settings.context_tokens };
    Batching {
        limits: Limits {
            slots: slots as usize,
            sequences: (if share { slots + RESTING_SEQUENCES } else { slots }) as usize,
            cells: cells as usize,
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
