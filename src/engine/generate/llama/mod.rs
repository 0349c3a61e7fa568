//! GGUF judges through llama.cpp. The only place that names `llama_cpp_2`.
//!
//! One thread owns model and context and runs either the exact loop (one sequence at a time, a fresh cache for each) or the fast
//! loop (several sequences, common beginnings of prompts computed once, drafts from the prompt). Jobs come in over a channel; each is answered once.

mod exact;
mod fast;
mod grammar;
mod inspect;
mod mask;
mod model;
mod reply;

pub use inspect::{GgufFacts, inspect};
pub use model::LoadError;

use super::{Generated, Generator, Job};
use crate::data::Numerics;
use crate::engine::stats::EngineStats;
use crate::engine::{ENGINE_VERSION, EngineIdentity};
use crate::models::{LocalModel, ModelCard};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Tokens computed in one pass over the weights.
const UBATCH: u32 = 512;

/// Settings of a judge on this machine.
#[derive(Debug, Clone)]
pub struct LlamaSettings {
    pub numerics: Numerics,
    /// Longest prompt with reply, in tokens; at most the card's.
    pub context_tokens: u32,
    /// Sequences decoded together in fast mode.
    pub slots: u32,
    pub threads: u32,
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

/// A judge that runs in a thread of this process.
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
        let stats: Arc<EngineStats> = Arc::default();
        let (sender, receiver) = channel();
        let thread = {
            let stats = Arc::clone(&stats);
            std::thread::Builder::new()
                .name("judge".into())
                .spawn(move || run(&loaded, &settings, &receiver, &stats, &stop))
                .map_err(|error| LoadError::Thread { reason: error.to_string() })?
        };
        Ok(Self { jobs: Mutex::new(Some(sender)), stats, thread: Some(thread) })
    }
}

fn run(loaded: &model::Loaded, settings: &LlamaSettings, jobs: &Receiver<Job>, stats: &EngineStats, stop: &AtomicBool) {
    let ended = match settings.numerics {
        Numerics::Exact => exact::run(loaded, settings, jobs, stats, stop),
        Numerics::Fast => fast::run(loaded, settings, jobs, stats, stop),
    };
    if let Err(reason) = ended {
        // Whatever still comes in gets the reason instead of silence.
        while let Ok(job) = jobs.recv() {
            let _ = job.done.send(Generated::Lost { reason: reason.clone() });
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
