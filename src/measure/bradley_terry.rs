//! Bradley-Terry abilities by maximum likelihood on fractional point shares, without any penalty.
//!
//! Whether a finite maximum exists is decided before fitting, from the graph of who took points
//! from whom; nothing is ever pulled towards the mean to force an answer.

use serde::{Deserialize, Serialize};

use super::connectivity::{reachable_groups, tiers};
use super::error::MeasureError;
use super::game::{Game, check_pair, check_share};
use super::newton::Solver;

/// Mean of all ratings.
pub const RATING_CENTRE: f64 = 1500.0;

/// Most entrants for which [`fit_totals`] tries every subset.
const MAX_TOTALS_ENTRANTS: usize = 20;

/// Summed shares of every ordered pair: all that the likelihood needs of a list of games.
///
/// # Shapes
/// `won` is [N, N] row-major; element (i, j) is what i earned against j, one unit shared a game.
#[derive(Debug, Clone, PartialEq)]
pub struct PairShares {
    n_entrants: usize,
    won: Vec<f64>,
}

impl PairShares {
    /// Sums the games.
    ///
    /// # Errors
    /// An entrant out of range, an entrant against itself, a share that is no number in [0, 1].
    pub fn from_games(n_entrants: usize, games: &[Game]) -> Result<Self, MeasureError> {
        let mut won = vec![0.0; n_entrants * n_entrants];
        for (position, game) in games.iter().enumerate() {
            game.check(position, n_entrants)?;
            won[game.a * n_entrants + game.b] += game.share_a;
            won[game.b * n_entrants + game.a] += 1.0 - game.share_a;
        }
        Ok(Self { n_entrants, won })
    }

    /// Number of entrants.
    pub const fn n_entrants(&self) -> usize {
        self.n_entrants
    }
}

/// Why no finite maximum exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoFit {
    /// Some entrants never met the others, not even through third parties.
    Disconnected,
    /// Some group never gave up a point to the rest.
    NotStronglyConnected,
}

/// A maximum likelihood fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Log-abilities, mean zero, in entrant order.
    pub beta: Vec<f64>,
    /// 1500 + 400 / ln 10 times the log-ability.
    pub ratings: Vec<f64>,
}

impl Fit {
    fn from_beta(beta: Vec<f64>) -> Self {
        let ratings = beta.iter().map(|&b| rating(b)).collect();
        Self { beta, ratings }
    }
}

/// The answer for one set of games: a fit, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BradleyTerry {
    /// None when a finite maximum exists.
    pub reason: Option<NoFit>,
    /// Entrants linked by games, whoever won; each group and the list in entrant order.
    pub components: Vec<Vec<usize>>,
    /// Groups whose members took points from each other both ways, directly or along a chain, so that ratings
    /// compare inside each. No group took a point from an earlier one. One group when the fit
    /// exists; empty when only totals were known.
    pub tiers: Vec<Vec<usize>>,
    /// The fit, when there is one.
    pub fit: Option<Fit>,
}

impl BradleyTerry {
    /// Whether a finite maximum of the likelihood exists.
    pub const fn mle_exists(&self) -> bool {
        self.reason.is_none()
    }
}

/// A log-ability on the rating scale.
///
/// # Source
/// gavel.txt, "Scoring and Statistical Analysis".
pub fn rating(centred_beta: f64) -> f64 {
    RATING_CENTRE + 400.0 / std::f64::consts::LN_10 * centred_beta
}

/// Fits the games, or says which entrants cannot be compared.
///
/// No entrants, or one, is a fit without any game.
///
/// # Errors
/// Newton's method did not settle: a share so near to 0 or 1 that doubles cannot hold the ratings.
///
/// # Source
/// gavel.txt "Scoring"; the maximum exists exactly when the graph of positive shares is strongly
/// connected (Ford 1957, doi:10.2307/2308513).
///
/// # Numerics
/// Deterministic: fixed order of sums, Newton from zero, steps shortened where the curvature is not yet to be
/// trusted.
pub fn fit(shares: &PairShares) -> Result<BradleyTerry, MeasureError> {
    let n = shares.n_entrants;
    let won = &shares.won;
    let components = reachable_groups(n, |i, j| won[i * n + j] > 0.0 || won[j * n + i] > 0.0);
    let tiers = tiers(n, |i, j| won[i * n + j] > 0.0);
    let reason = match (components.len() > 1, tiers.len() > 1) {
        (true, _) => Some(NoFit::Disconnected),
        (false, true) => Some(NoFit::NotStronglyConnected),
        (false, false) => None,
    };
    let fit = match reason {
        Some(_) => None,
        None => {
            let mut solver = Solver::new(n);
            solver.won_mut().copy_from_slice(won);
            let mut beta = vec![0.0; n];
            solver.maximise(&mut beta)?;
            Some(Fit::from_beta(beta))
        }
    };
    Ok(BradleyTerry { reason, components, tiers, fit })
}

/// How often two entrants met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// One entrant.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Number of games.
    pub n_games: u32,
}

/// The fit from each entrant's mean share and the schedule, which are sufficient for the likelihood;
/// for published tables that print no games. Shares are rescaled to hand out one point a game, since
/// printed means are rounded.
///
/// # Errors
/// As [`PairShares::from_games`] and [`fit`]; more than 20 entrants, whose subsets are too many to try.
pub fn fit_totals(mean_shares: &[f64], schedule: &[Meeting]) -> Result<BradleyTerry, MeasureError> {
    let n = mean_shares.len();
    if n > MAX_TOTALS_ENTRANTS {
        return Err(MeasureError::TooManyEntrants { limit: MAX_TOTALS_ENTRANTS, got: n });
    }
    for (entrant, &share) in mean_shares.iter().enumerate() {
        check_share(entrant, share)?;
    }
    let mut games = vec![0.0; n * n];
    for (position, meeting) in schedule.iter().enumerate() {
        check_pair(position, meeting.a, meeting.b, n)?;
        games[meeting.a * n + meeting.b] += f64::from(meeting.n_games);
        games[meeting.b * n + meeting.a] += f64::from(meeting.n_games);
    }
    let mut scores: Vec<f64> = (0..n).map(|i| mean_shares[i] * games[i * n..(i + 1) * n].iter().sum::<f64>()).collect();
    let n_games = games.iter().sum::<f64>() / 2.0;
    let handed_out: f64 = scores.iter().sum();
    if handed_out > 0.0 {
        scores.iter_mut().for_each(|s| *s *= n_games / handed_out);
    }

    let components = reachable_groups(n, |i, j| games[i * n + j] > 0.0);
    let reason = if components.len() > 1 {
        Some(NoFit::Disconnected)
    } else if !every_group_gives_and_takes(n, &scores, &games) {
        Some(NoFit::NotStronglyConnected)
    } else {
        None
    };
    let fit = match reason {
        Some(_) => None,
        None => {
            let mut solver = Solver::new(n);
            solver.load_totals(&scores, &games);
            let mut beta = vec![0.0; n];
            solver.maximise(&mut beta)?;
            Some(Fit::from_beta(beta))
        }
    };
    Ok(BradleyTerry { reason, components, tiers: Vec::new(), fit })
}

/// Strong connectivity from totals: every proper group must score strictly more than the games
/// played inside it, which it hands out to itself.
fn every_group_gives_and_takes(n: usize, scores: &[f64], games: &[f64]) -> bool {
    let n_groups = 1usize << n;
    let slack = 1e-9 * scores.iter().sum::<f64>();
    let mut surplus = vec![0.0; n_groups];
    for group in 1..n_groups.saturating_sub(1) {
        let first = group.trailing_zeros() as usize;
        let rest = group & (group - 1);
        let inside: f64 = (first + 1..n).filter(|&j| rest >> j & 1 == 1).map(|j| games[first * n + j]).sum();
        surplus[group] = surplus[rest] + scores[first] - inside;
        if surplus[group] <= slack {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(a: usize, b: usize, share_a: f64) -> Game {
        Game { case: 0, a, b, share_a }
    }

    fn answer(n: usize, games: &[Game]) -> BradleyTerry {
        fit(&PairShares::from_games(n, games).unwrap()).unwrap()
    }

    /// A round robin whose shares follow no model exactly.
    fn round_robin(n: usize, n_rounds: usize) -> Vec<Game> {
        let mut games = Vec::new();
        for round in 0..n_rounds {
            for a in 0..n {
                for b in a + 1..n {
                    let share = ((a * 7 + b * 13 + round * 5) % 19) as f64 / 20.0 + 0.025;
                    games.push(game(a, b, share));
                }
            }
        }
        games
    }

    fn assert_near(got: &[f64], want: &[f64], tolerance: f64) {
        assert_eq!(got.len(), want.len());
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            assert!((g - w).abs() <= tolerance, "at {i}: {g} against {w}");
        }
    }

    #[test]
    fn none_and_one_entrant_fit_without_games() {
        assert_eq!(answer(0, &[]).fit.unwrap().ratings, Vec::<f64>::new());
        assert_eq!(answer(1, &[]).fit.unwrap().ratings, vec![1500.0]);
        let two = answer(2, &[]);
        assert_eq!(two.reason, Some(NoFit::Disconnected));
        assert_eq!(two.components, vec![vec![0], vec![1]]);
    }

    #[test]
    fn one_game_has_the_closed_form() {
        let fit = answer(2, &[game(0, 1, 0.75)]).fit.unwrap();
        assert_near(&fit.beta, &[3f64.ln() / 2.0, -(3f64.ln()) / 2.0], 1e-12);
    }

    #[test]
    fn all_draws_are_all_1500() {
        let games: Vec<_> = round_robin(6, 2).into_iter().map(|g| Game { share_a: 0.5, ..g }).collect();
        assert_eq!(answer(6, &games).fit.unwrap().ratings, vec![1500.0; 6]);
    }

    #[test]
    fn separated_entrants_are_named_best_first() {
        let result = answer(4, &[game(2, 3, 0.4), game(0, 1, 0.6), game(2, 0, 1.0), game(1, 3, 0.0)]);
        assert_eq!(result.reason, Some(NoFit::NotStronglyConnected));
        assert_eq!(result.components, vec![vec![0, 1, 2, 3]]);
        assert_eq!(result.tiers, vec![vec![2, 3], vec![0, 1]]);
        assert!(result.fit.is_none() && !result.mle_exists());
    }

    #[test]
    fn impossible_games_are_refused() {
        for bad in [game(0, 2, 0.5), game(1, 1, 0.5), game(0, 1, f64::NAN), game(0, 1, 1.5)] {
            assert!(PairShares::from_games(2, &[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_gradient_vanishes_at_the_fit() {
        let games = round_robin(9, 3);
        let beta = answer(9, &games).fit.unwrap().beta;
        let mut gradient = [0.0; 9];
        for g in &games {
            let p = 1.0 / (1.0 + (beta[g.b] - beta[g.a]).exp());
            gradient[g.a] += g.share_a - p;
            gradient[g.b] += p - g.share_a;
        }
        assert_near(&gradient, &[0.0; 9], 1e-10);
    }

    #[test]
    fn relabelling_reordering_and_swapping_change_nothing() {
        let games = round_robin(7, 3);
        let base = answer(7, &games).fit.unwrap().ratings;

        let reordered: Vec<_> = games.iter().rev().copied().collect();
        assert_near(&answer(7, &reordered).fit.unwrap().ratings, &base, 1e-8);

        let swapped: Vec<_> = games.iter().map(|g| game(g.b, g.a, 1.0 - g.share_a)).collect();
        assert_near(&answer(7, &swapped).fit.unwrap().ratings, &base, 1e-8);

        let label = [3, 6, 0, 5, 1, 4, 2];
        let relabelled: Vec<_> = games.iter().map(|g| game(label[g.a], label[g.b], g.share_a)).collect();
        let ratings = answer(7, &relabelled).fit.unwrap().ratings;
        let back: Vec<_> = label.iter().map(|&l| ratings[l]).collect();
        assert_near(&back, &base, 1e-8);
    }

    #[test]
    fn extreme_shares_and_long_chains_still_settle() {
        for share in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15] {
            let fit = answer(2, &[game(0, 1, share)]).fit.unwrap();
            let log_odds = ((1.0 - share) / share).ln();
            assert_near(&[fit.beta[1] - fit.beta[0]], &[log_odds], 1e-8);
        }
        let chain: Vec<_> = (0..39).map(|i| game(i, i + 1, 0.999)).collect();
        let fit = answer(40, &chain).fit.unwrap();
        assert_near(&[fit.beta[0] - fit.beta[39]], &[39.0 * 999f64.ln()], 1e-5);
    }

    #[test]
    fn totals_agree_with_games_and_see_separation() {
        let games = round_robin(6, 4);
        let by_games = answer(6, &games).fit.unwrap();
        let mut mean = [0.0; 6];
        let mut schedule = Vec::new();
        for g in &games {
            mean[g.a] += g.share_a / 20.0;
            mean[g.b] += (1.0 - g.share_a) / 20.0;
            schedule.push(Meeting { a: g.a, b: g.b, n_games: 1 });
        }
        let by_totals = fit_totals(&mean, &schedule).unwrap();
        assert_near(&by_totals.fit.unwrap().ratings, &by_games.ratings, 1e-8);

        let pair = |a, b, n_games| Meeting { a, b, n_games };
        let one_way = fit_totals(&[1.0, 0.25, 0.25], &[pair(0, 1, 2), pair(0, 2, 2), pair(1, 2, 2)]);
        assert_eq!(one_way.unwrap().reason, Some(NoFit::NotStronglyConnected));
        let apart = fit_totals(&[0.5; 4], &[pair(0, 1, 2), pair(2, 3, 2)]);
        assert_eq!(apart.unwrap().reason, Some(NoFit::Disconnected));
        assert!(fit_totals(&[0.5; 21], &[]).is_err());
        assert!(fit_totals(&[f64::NAN, 0.5], &[pair(0, 1, 1)]).is_err());
        assert_eq!(fit_totals(&[], &[]).unwrap().fit.unwrap().ratings, Vec::<f64>::new());
        assert_eq!(fit_totals(&[0.5], &[]).unwrap().fit.unwrap().ratings, vec![1500.0]);
    }
}
