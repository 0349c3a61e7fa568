//! Which games are judged several times.

use crate::pipelines::draw::Draw;
use crate::pipelines::gavel::Game;

/// Games of one case that are drawn before another case is: enough of one report for its beginning to be shared, few enough that a
/// sample spreads over cases. These are all pairings of four sources.
const GAMES_PER_CASE: usize = 6;

/// Draws `n` of `games`, or all where there are fewer, in their own order. Cases are drawn first, then games of each.
#[must_use]
pub fn draw_games(games: &[Game], n: usize, seed: u64) -> Vec<Game> {
    let mut cases: Vec<Vec<usize>> = Vec::new();
    for (place, game) in games.iter().enumerate() {
        match cases.iter_mut().find(|case| games[case[0]].case == game.case) {
            Some(case) => case.push(place),
            None => cases.push(vec![place]),
        }
    }
    let mut draw = Draw::new(seed, "determinism audit", 0);
    draw.shuffle(&mut cases);
    cases.iter_mut().for_each(|case| draw.shuffle(case));
    let rounds = cases.iter().map(|case| case.len().div_ceil(GAMES_PER_CASE)).max().unwrap_or(0);
    let by_round = (0..rounds).flat_map(|round| {
        cases.iter().flat_map(move |case| case.iter().skip(round * GAMES_PER_CASE).take(GAMES_PER_CASE).copied())
    });
    let mut drawn: Vec<usize> = by_round.take(n).collect();
    drawn.sort_unstable();
    drawn.into_iter().map(|place| games[place]).collect()
}
