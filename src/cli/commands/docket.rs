//! Driving every game of a plan through an engine, many at a time.

use crate::cli::console::Failure;
use crate::cli::resolve::Plan;
use crate::engine::generate::Generator;
use crate::engine::{Engine, GenerateError};
use crate::pipelines::gavel::{Game, GameOutcome, JudgeError, judge};
use crate::store::Store;
use futures::stream::{self, StreamExt, TryStreamExt};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An engine for `plan` over `store`; without `generator`, unknown items become pending.
pub fn engine(plan: &Plan, store: &Arc<Store>, generator: Option<Box<dyn Generator>>, stop: Arc<AtomicBool>) -> Engine {
    Engine::new(Arc::clone(store), plan.judged_by.model(), plan.judged_by.engine(), generator, stop)
}

/// Judges every game, `on_done` after each; outcomes in the order of the games.
pub fn judge_all(plan: &Plan, engine: &Engine, on_done: &dyn Fn()) -> Result<Vec<GameOutcome>, Failure> {
    judge_games(plan, engine, &plan.games, on_done)
}

/// Judges some of the plan's `games`, `on_done` after each; outcomes in their order.
pub fn judge_games(plan: &Plan, engine: &Engine, games: &[Game], on_done: &dyn Fn()) -> Result<Vec<GameOutcome>, Failure> {
    let games = stream::iter(games.iter().copied())
        .map(|game| async move {
            let outcome = judge(engine, &plan.prompt, &plan.judge, &plan.docket, game).await;
            on_done();
            match outcome {
                // Games after an interrupted one may be at work: they finish and are kept.
                Err(JudgeError::Engine(GenerateError::Interrupted)) => Ok(None),
                other => other.map(Some),
            }
        })
        .buffered(plan.judged_by.n_in_flight())
        .try_collect::<Vec<Option<GameOutcome>>>();
    let outcomes = futures::executor::block_on(games)?.into_iter().collect::<Option<Vec<_>>>();
    Ok(outcomes.ok_or(JudgeError::Engine(GenerateError::Interrupted))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Args, Command};
    use crate::cli::console::Remarks;
    use crate::engine::EngineStats;
    use crate::engine::generate::{Generated, Job, Scripted};
    use crate::error::ExitStatus;
    use clap::Parser;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// Turns the first job away and answers the second a little later; by then a stop is wanted.
    struct Draining {
        stop: Arc<AtomicBool>,
        n_jobs: AtomicUsize,
    }

    impl Generator for Draining {
        fn submit(&self, job: Job) {
            if self.n_jobs.fetch_add(1, Ordering::Relaxed) == 0 {
                let _ = job.done.send(Generated::Interrupted);
                return;
            }
            self.stop.store(true, Ordering::Relaxed);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                let _ = job.done.send(Scripted::reply("{}"));
            });
        }

        fn stats(&self) -> Arc<EngineStats> {
            Arc::default()
        }
    }

    #[test]
    fn an_item_at_work_is_kept_although_one_before_it_was_turned_away() {
        let folder = std::env::temp_dir().join(format!("assize-docket-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sample");
        let args = Args::try_parse_from(["assize", "run", sample]).expect("arguments");
        let Command::Run { study, .. } = &args.command else { panic!("a run") };
        let plan = crate::cli::resolve::resolve(study, Remarks { quiet: true }).expect("a plan");
        let store = Arc::new(Store::open(&folder).expect("a store"));
        let stop = Arc::new(AtomicBool::new(false));
        let generator = Draining { stop: Arc::clone(&stop), n_jobs: AtomicUsize::new(0) };
        let engine = engine(&plan, &store, Some(Box::new(generator)), stop);
        let failure = judge_all(&plan, &engine, &|| ()).expect_err("interrupted");
        assert_eq!(failure.status(), ExitStatus::Interrupted);
        assert_eq!(store.records().count(), 1);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
