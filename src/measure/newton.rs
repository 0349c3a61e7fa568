//! Newton's method for the Bradley-Terry likelihood, with working memory to use again.

use super::connectivity::mark_reachable;
use super::error::MeasureError;

/// Most Newton steps; a fit in reach of double precision takes under twenty.
const MAX_ITERATIONS: usize = 200;

/// Largest change of an ability difference at which the fit has settled. Convergence is quadratic, so the error
/// left is its square.
const SETTLED: f64 = 1e-9;

/// A full Newton step is safe when it changes no compared ability difference by more than this.
const FULL_STEP: f64 = 0.3;

/// Newton's method for one number of entrants, with its working memory, so that a bootstrap
/// allocates nothing per resample.
pub(super) struct Solver {
    n: usize,
    /// [N, N]: what each earned against each.
    won: Vec<f64>,
    /// Added to the gradient: the part of the scores that `won` does not hold.
    offset: Vec<f64>,
    odds: Vec<f64>,
    step: Vec<f64>,
    hessian: Vec<f64>,
    seen: Vec<bool>,
    pending: Vec<usize>,
}

impl Solver {
    pub(super) fn new(n: usize) -> Self {
        Self {
            n,
            won: vec![0.0; n * n],
            offset: vec![0.0; n],
            odds: vec![0.0; n],
            step: vec![0.0; n],
            hessian: vec![0.0; n * n],
            seen: vec![false; n],
            pending: Vec::with_capacity(n),
        }
    }

    /// The summed shares of every ordered pair, [N, N], to be filled in.
    pub(super) fn won_mut(&mut self) -> &mut [f64] {
        &mut self.won
    }

    /// Takes total scores and the games of every pair, [N, N], when nobody knows who earned what
    /// from whom: halves stand in for the shares, and the scores correct the gradient.
    pub(super) fn load_totals(&mut self, scores: &[f64], games: &[f64]) {
        for (won, games) in self.won.iter_mut().zip(games) {
            *won = games / 2.0;
        }
        for (i, offset) in self.offset.iter_mut().enumerate() {
            *offset = scores[i] - self.won[i * self.n..][..self.n].iter().sum::<f64>();
        }
    }

    /// Whether a finite maximum exists for these shares.
    pub(super) fn mle_exists(&mut self) -> bool {
        let n = self.n;
        if n == 0 {
            return true;
        }
        let (won, seen, pending) = (&self.won, &mut self.seen, &mut self.pending);
        mark_reachable(0, |i, j| won[i * n + j] > 0.0, seen, pending);
        if seen.contains(&false) {
            return false;
        }
        mark_reachable(0, |i, j| won[j * n + i] > 0.0, seen, pending);
        !seen.contains(&false)
    }

    /// Mean share of an entrant's games; None without games.
    pub(super) fn mean_share(&self, entrant: usize) -> Option<f64> {
        let n = self.n;
        let earned: f64 = self.won[entrant * n..][..n].iter().sum();
        let given: f64 = (0..n).map(|j| self.won[j * n + entrant]).sum();
        (earned + given > 0.0).then(|| earned / (earned + given))
    }

    /// Moves `beta` to the maximum and centres it. The maximum must exist.
    pub(super) fn maximise(&mut self, beta: &mut [f64]) -> Result<(), MeasureError> {
        if self.n < 2 {
            beta.fill(0.0);
            return Ok(());
        }
        let mut last_step = f64::INFINITY;
        let mut n_iterations = 0;
        while n_iterations < MAX_ITERATIONS {
            n_iterations += 1;
            self.build(beta);
            if !solve_in_place(self.n, &mut self.hessian, &mut self.step) {
                break;
            }
            last_step = self.largest_change();
            // Damping by ln(1 + d) / d never overshoots a logistic likelihood (generalised
            // self-concordance: Sun and Tran-Dinh 2019, doi:10.1007/s10107-018-1282-4).
            let scale = if last_step <= FULL_STEP { 1.0 } else { last_step.ln_1p() / last_step };
            for (b, s) in beta.iter_mut().zip(&self.step) {
                *b += scale * s;
            }
            let mean = beta.iter().sum::<f64>() / self.n as f64;
            beta.iter_mut().for_each(|b| *b -= mean);
            if last_step < SETTLED {
                return Ok(());
            }
        }
        Err(MeasureError::NotConverged { n_iterations, last_step })
    }

    /// Gradient into `step` and negative Hessian into the lower triangle of `hessian`.
    fn build(&mut self, beta: &[f64]) {
        let n = self.n;
        for (odds, b) in self.odds.iter_mut().zip(beta) {
            *odds = b.exp();
        }
        self.step.copy_from_slice(&self.offset);
        self.hessian.fill(0.0);
        for i in 1..n {
            for j in 0..i {
                let (won_i, won_j) = (self.won[i * n + j], self.won[j * n + i]);
                let games = won_i + won_j;
                if games > 0.0 {
                    let inverse = 1.0 / (self.odds[i] + self.odds[j]);
                    let (p_i, p_j) = (self.odds[i] * inverse, self.odds[j] * inverse);
                    // Score less expectation, written without a difference of nearly equal numbers
                    // when one side takes nearly everything.
                    let residual = won_i * p_j - won_j * p_i;
                    self.step[i] += residual;
                    self.step[j] -= residual;
                    let curvature = games * p_i * p_j;
                    self.hessian[i * n + j] = -curvature;
                    self.hessian[i * n + i] += curvature;
                    self.hessian[j * n + j] += curvature;
                }
            }
        }
        // Only differences matter, so the Hessian is flat along (1, .., 1). A constant added to
        // every element lifts that direction alone; the step stays free of it as the gradient sums to 0.
        let mut lift = 0.0;
        for i in 0..n {
            lift += self.hessian[i * n + i];
        }
        lift /= (n * n) as f64;
        for i in 0..n {
            for j in 0..=i {
                self.hessian[i * n + j] += lift;
            }
        }
    }

    /// Largest change the step makes to an ability difference between entrants that met.
    fn largest_change(&self) -> f64 {
        let n = self.n;
        let mut largest = 0.0_f64;
        for i in 1..n {
            for j in 0..i {
                if self.won[i * n + j] + self.won[j * n + i] > 0.0 {
                    largest = largest.max((self.step[i] - self.step[j]).abs());
                }
            }
        }
        largest
    }
}

/// Solves M x = rhs by Cholesky, M given by its lower triangle and overwritten; false when M is not
/// positive definite in doubles.
fn solve_in_place(n: usize, lower: &mut [f64], rhs: &mut [f64]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = lower[i * n + j];
            for k in 0..j {
                sum -= lower[i * n + k] * lower[j * n + k];
            }
            if i == j {
                if !(sum.is_finite() && sum > 0.0) {
                    return false;
                }
                lower[i * n + i] = sum.sqrt();
            } else {
                lower[i * n + j] = sum / lower[j * n + j];
            }
        }
    }
    for i in 0..n {
        let mut sum = rhs[i];
        for k in 0..i {
            sum -= lower[i * n + k] * rhs[k];
        }
        rhs[i] = sum / lower[i * n + i];
    }
    for i in (0..n).rev() {
        let mut sum = rhs[i];
        for k in i + 1..n {
            sum -= lower[k * n + i] * rhs[k];
        }
        rhs[i] = sum / lower[i * n + i];
    }
    true
}
