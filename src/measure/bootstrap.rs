//! Case bootstrap of ratings and mean point shares.
//!
//! Games are summed per case first, so that a resample costs entrants squared a case and not its
//! games; a drawn case brings all its games, as often as it is drawn.

use rayon::prelude::*;
use serde::Serialize;

use super::bradley_terry::rating;
use super::error::MeasureError;
use super::game::Game;
use super::newton::Solver;
use super::resample::{CaseResampler, Interval, check_indices, percentile_interval};

/// Summed shares of every case.
///
/// # Shapes
/// [cases, N, N] row-major; element (c, i, j) is what i earned against j in case c.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseShares {
    n_entrants: usize,
    n_cases: usize,
    won: Vec<f64>,
}

impl CaseShares {
    /// Sums the games of each case. A case without games still takes part in resampling.
    ///
    /// # Errors
    /// An entrant or case out of range, an entrant against itself, a share that is no number in [0, 1].
    pub fn from_games(n_entrants: usize, n_cases: usize, games: &[Game]) -> Result<Self, MeasureError> {
        let n = n_entrants;
        let mut won = vec![0.0; n_cases * n * n];
        for (position, game) in games.iter().enumerate() {
            game.check(position, n)?;
            game.check_case(position, n_cases)?;
            let case = &mut won[game.case * n * n..][..n * n];
            case[game.a * n + game.b] += game.share_a;
            case[game.b * n + game.a] += 1.0 - game.share_a;
        }
        Ok(Self { n_entrants, n_cases, won })
    }

    /// Adds every case as often as it was drawn.
    fn sum_into(&self, drawn: &[u32], won: &mut [f64]) {
        won.fill(0.0);
        let n_pairs = self.n_entrants * self.n_entrants;
        if n_pairs == 0 {
            return;
        }
        for (case, &times) in self.won.chunks_exact(n_pairs).zip(drawn) {
            if times > 0 {
                let times = f64::from(times);
                for (sum, share) in won.iter_mut().zip(case) {
                    *sum += times * share;
                }
            }
        }
    }
}

/// Resampled values of one statistic, entrant by entrant, in the order of the resamples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntrantDraws {
    /// The values of the resamples where the statistic is defined.
    pub values: Vec<Vec<f64>>,
    /// Resamples left out, by entrant.
    pub n_undefined: Vec<usize>,
}

impl EntrantDraws {
    /// Takes one column range of the result table; NaN marks an undefined statistic there.
    fn gather(n_entrants: usize, rows: &[f64], first: usize) -> Self {
        let mut draws = Self { values: vec![Vec::new(); n_entrants], n_undefined: vec![0; n_entrants] };
        for row in rows.chunks_exact((2 * n_entrants).max(1)) {
            for (entrant, &value) in row[first..first + n_entrants].iter().enumerate() {
                if value.is_nan() {
                    draws.n_undefined[entrant] += 1;
                } else {
                    draws.values[entrant].push(value);
                }
            }
        }
        draws
    }

    /// Percentile interval of each entrant; None where no resample defines the statistic.
    ///
    /// # Errors
    /// A level outside (0, 1).
    pub fn intervals(&self, level: f64) -> Result<Vec<Option<Interval>>, MeasureError> {
        self.values.iter().map(|values| percentile_interval(values, level)).collect()
    }
}

/// What resampling the cases gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bootstrap {
    /// Resamples drawn.
    pub n_resamples: usize,
    /// Resamples without a finite rating fit; they are in no rating interval.
    pub n_failed: usize,
    /// Ratings, on the scale of [`rating`].
    pub ratings: EntrantDraws,
    /// Mean point share over an entrant's games; defined whenever it has one, fit or no fit.
    pub mean_shares: EntrantDraws,
}

/// Resamples the cases `n_resamples` times.
///
/// # Numerics
/// Resample r depends on the seed and r alone: equal bytes for any number of threads.
///
/// # Source
/// gavel.txt, "Scoring": 2,000 report-level resamples that keep all pairings of a report together.
pub fn bootstrap(cases: &CaseShares, n_resamples: usize, seed: u64) -> Bootstrap {
    let sampler = CaseResampler { seed, n_cases: cases.n_cases };
    run(cases, n_resamples, |resample, drawn| {
        for case in sampler.indices(resample as u64) {
            drawn[case] += 1;
        }
    })
}

/// The same for resamples given by their case indices.
///
/// # Errors
/// A case index out of range.
pub fn bootstrap_indices(cases: &CaseShares, resamples: &[Vec<usize>]) -> Result<Bootstrap, MeasureError> {
    check_indices(resamples, cases.n_cases)?;
    Ok(run(cases, resamples.len(), |resample, drawn| {
        for &case in &resamples[resample] {
            drawn[case] += 1;
        }
    }))
}

/// Working memory of one thread.
struct Workspace {
    solver: Solver,
    drawn: Vec<u32>,
    beta: Vec<f64>,
}

fn run(cases: &CaseShares, n_resamples: usize, draw: impl Fn(usize, &mut [u32]) + Sync) -> Bootstrap {
    let n = cases.n_entrants;
    let start = full_sample_beta(cases);
    // One row a resample: N ratings, then N mean shares, NaN where undefined.
    let mut rows = vec![f64::NAN; n_resamples * 2 * n];
    rows.par_chunks_mut((2 * n).max(1)).enumerate().for_each_init(
        || Workspace { solver: Solver::new(n), drawn: vec![0; cases.n_cases], beta: vec![0.0; n] },
        |work, (resample, row)| {
            work.drawn.fill(0);
            draw(resample, &mut work.drawn);
            cases.sum_into(&work.drawn, work.solver.won_mut());
            let (ratings, shares) = row.split_at_mut(n);
            for (entrant, share) in shares.iter_mut().enumerate() {
                *share = work.solver.mean_share(entrant).unwrap_or(f64::NAN);
            }
            if work.solver.mle_exists() {
                work.beta.copy_from_slice(&start);
                if work.solver.maximise(&mut work.beta).is_ok() {
                    for (out, &beta) in ratings.iter_mut().zip(&work.beta) {
                        *out = rating(beta);
                    }
                }
            }
        },
    );
    let ratings = EntrantDraws::gather(n, &rows, 0);
    Bootstrap {
        n_resamples,
        n_failed: ratings.n_undefined.first().copied().unwrap_or(0),
        ratings,
        mean_shares: EntrantDraws::gather(n, &rows, n),
    }
}

/// Where every resample's fit starts: the whole sample's abilities, which save it iterations, or
/// zeros when there are none. The maximum is unique, so the start moves no digit that is reported.
fn full_sample_beta(cases: &CaseShares) -> Vec<f64> {
    let n = cases.n_entrants;
    let mut solver = Solver::new(n);
    let mut beta = vec![0.0; n];
    cases.sum_into(&vec![1; cases.n_cases], solver.won_mut());
    if !solver.mle_exists() || solver.maximise(&mut beta).is_err() {
        beta.fill(0.0);
    }
    beta
}

#[cfg(test)]
mod tests {
    use super::super::bradley_terry::{PairShares, fit};
    use super::*;

    fn games(n_entrants: usize, n_cases: usize) -> Vec<Game> {
        let mut games = Vec::new();
        for case in 0..n_cases {
            for a in 0..n_entrants {
                for b in a + 1..n_entrants {
                    let share_a = ((a * 11 + b * 5 + case * 7) % 23) as f64 / 22.0;
                    games.push(Game { case, a, b, share_a });
                }
            }
        }
        games
    }

    #[test]
    fn a_resample_equals_the_fit_of_its_games() {
        let games = games(5, 6);
        let cases = CaseShares::from_games(5, 6, &games).unwrap();
        let indices = vec![vec![0, 0, 3, 5, 5, 5], vec![1, 2, 3, 4, 5, 0]];
        let boot = bootstrap_indices(&cases, &indices).unwrap();
        for (r, resample) in indices.iter().enumerate() {
            let drawn: Vec<_> = resample.iter().flat_map(|&c| games.iter().filter(move |g| g.case == c).copied()).collect();
            let fit = fit(&PairShares::from_games(5, &drawn).unwrap()).unwrap().fit.unwrap();
            for entrant in 0..5 {
                assert!((boot.ratings.values[entrant][r] - fit.ratings[entrant]).abs() < 1e-8);
                let shares: Vec<_> = drawn
                    .iter()
                    .filter_map(|g| match entrant {
                        e if e == g.a => Some(g.share_a),
                        e if e == g.b => Some(1.0 - g.share_a),
                        _ => None,
                    })
                    .collect();
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                assert!((boot.mean_shares.values[entrant][r] - mean).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_equal_bytes() {
        let cases = CaseShares::from_games(5, 9, &games(5, 9)).unwrap();
        let with = |n_threads| {
            rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(|| bootstrap(&cases, 300, 20_260_904))
        };
        let one = with(1);
        assert_eq!(one, with(2));
        assert_eq!(one, with(5));
        assert_ne!(one, bootstrap(&cases, 300, 1));
    }

    #[test]
    fn resamples_without_a_fit_are_counted_and_still_give_shares() {
        let lopsided = |case, share_a| Game { case, a: 0, b: 1, share_a };
        let cases = CaseShares::from_games(2, 2, &[lopsided(0, 1.0), lopsided(1, 0.25)]).unwrap();
        let boot = bootstrap_indices(&cases, &[vec![0, 0], vec![0, 1], vec![1, 1]]).unwrap();
        assert_eq!((boot.n_resamples, boot.n_failed), (3, 1));
        assert_eq!(boot.ratings.n_undefined, vec![1, 1]);
        assert_eq!(boot.mean_shares.values[0], vec![1.0, 0.625, 0.25]);

        let never = CaseShares::from_games(2, 2, &[lopsided(0, 1.0), lopsided(1, 1.0)]).unwrap();
        let boot = bootstrap(&never, 20, 7);
        assert_eq!(boot.n_failed, 20);
        assert_eq!(boot.ratings.intervals(0.95).unwrap(), vec![None, None]);
        let shares = boot.mean_shares.intervals(0.95).unwrap();
        assert_eq!(shares[0], Some(Interval { lo: 1.0, hi: 1.0 }));
    }

    #[test]
    fn a_source_absent_from_a_resample_has_no_share_there() {
        let games = [Game { case: 0, a: 0, b: 1, share_a: 0.5 }];
        let cases = CaseShares::from_games(2, 2, &games).unwrap();
        let boot = bootstrap_indices(&cases, &[vec![1, 1], vec![0, 1]]).unwrap();
        assert_eq!(boot.mean_shares.n_undefined, vec![1, 1]);
        assert_eq!(boot.n_failed, 1);
    }

    #[test]
    fn empty_inputs_are_answered_and_bad_ones_refused() {
        let none = CaseShares::from_games(0, 0, &[]).unwrap();
        let boot = bootstrap(&none, 5, 1);
        assert!(boot.ratings.values.is_empty() && boot.n_failed == 0);
        let idle = CaseShares::from_games(3, 4, &[]).unwrap();
        assert_eq!(bootstrap(&idle, 5, 1).n_failed, 5);
        assert_eq!(bootstrap(&idle, 0, 1).n_resamples, 0);
        assert!(bootstrap_indices(&idle, &[vec![4]]).is_err());
        assert!(CaseShares::from_games(5, 1, &games(5, 2)).is_err());
    }

    #[test]
    fn relabelling_and_swapping_leave_the_draws() {
        let games = games(4, 7);
        let label = [2, 0, 3, 1];
        let relabelled: Vec<_> =
            games.iter().map(|g| Game { case: g.case, a: label[g.b], b: label[g.a], share_a: 1.0 - g.share_a }).collect();
        let base = bootstrap(&CaseShares::from_games(4, 7, &games).unwrap(), 50, 3);
        let other = bootstrap(&CaseShares::from_games(4, 7, &relabelled).unwrap(), 50, 3);
        for (entrant, &renamed) in label.iter().enumerate() {
            let pairs = base.ratings.values[entrant].iter().zip(&other.ratings.values[renamed]);
            assert!(pairs.clone().all(|(x, y)| (x - y).abs() < 1e-7));
        }
        assert_eq!(base.n_failed, other.n_failed);
    }
}
