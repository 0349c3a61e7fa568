//! Driving every game of a plan through an engine, many at a time.

use crate::cli::console::Failure;
use crate::cli::resolve::Plan;
use crate::data::Numerics;
use crate::engine::Engine;
use crate::engine::generate::Generator;
use crate::pipelines::gavel::{Game, GameOutcome, judge};
use crate::store::Store;
use futures::stream::{self, StreamExt, TryStreamExt};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An engine for `plan` over `store`; without `generator`, unknown items become pending.
pub fn engine(plan: &Plan, store: &Arc<Store>, generator: Option<Box<dyn Generator>>, stop: Arc<AtomicBool>) -> Engine {
    Engine::new(Arc::clone(store), plan.model(), plan.engine(), generator, stop)
}

/// Judges every game, `on_done` after each; outcomes in the order of the games.
pub fn judge_all(plan: &Plan, engine: &Engine, on_done: &dyn Fn()) -> Result<Vec<GameOutcome>, Failure> {
    judge_games(plan, engine, &plan.games, on_done)
}

/// Games that are before the engine at a time: enough that it sees which prompts belong together.
pub fn n_in_flight(plan: &Plan) -> usize {
    match plan.llama.numerics {
        Numerics::Exact => 2,
        Numerics::Fast => 64 + 4 * plan.llama.slots as usize,
    }
}

/// Judges some of the plan's `games`, `on_done` after each; outcomes in their order.
pub fn judge_games(plan: &Plan, engine: &Engine, games: &[Game], on_done: &dyn Fn()) -> Result<Vec<GameOutcome>, Failure> {
    let games = stream::iter(games.iter().copied())
        .map(|game| async move {
            let outcome = judge(engine, &plan.prompt, &plan.judge, &plan.docket, game).await;
            on_done();
            outcome
        })
        .buffered(n_in_flight(plan))
        .try_collect();
    Ok(futures::executor::block_on(games)?)
}
