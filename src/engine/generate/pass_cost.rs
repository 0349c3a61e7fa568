//! What one more token costs in a pass, measured while passes are made: the price that drafts are weighed against.
//!
//! A pass reads the weights once whatever it computes, and then pays for each token: `ms = fixed + each * n_tokens`, fitted by least
//! squares over the last passes. This file must not know what a token is or where the times come from.

/// What an observation still weighs one pass later; about the last hundred passes count.
const KEEP: f64 = 0.99;

/// Passes that each point of the guess stands for.
const GUESS_WEIGHT: f64 = 1.0;

/// Before any observation: one token takes as long as ten units, each further one three.
const GUESS: [(f64, f64); 2] = [(1.0, 10.0), (9.0, 34.0)];

/// A pass that took this many times what was expected says something of the machine's other work, not of the pass.
const OUTLIER: f64 = 4.0;

/// The running fit.
#[derive(Debug, Clone)]
pub struct PassCost {
    weight: f64,
    tokens: f64,
    ms: f64,
    tokens_squared: f64,
    tokens_ms: f64,
    n_observed: u64,
}

impl Default for PassCost {
    fn default() -> Self {
        let mut cost = Self { weight: 0.0, tokens: 0.0, ms: 0.0, tokens_squared: 0.0, tokens_ms: 0.0, n_observed: 0 };
        for (tokens, ms) in GUESS {
            cost.add(GUESS_WEIGHT, tokens, ms);
        }
        cost
    }
}

impl PassCost {
    /// Notes that a pass of `n_tokens` took `ms` milliseconds.
    pub fn observe(&mut self, n_tokens: usize, ms: f64) {
        let tokens = n_tokens as f64;
        let (fixed, each) = self.fit();
        if self.n_observed == 0 {
            // The first pass tells the machine's speed: the guess keeps its shape and takes that scale.
            let scale = ms / (fixed + each * tokens);
            self.ms *= scale;
            self.tokens_ms *= scale;
        } else if ms > OUTLIER * (fixed + each * tokens) {
            return;
        }
        self.n_observed += 1;
        for sum in [&mut self.weight, &mut self.tokens, &mut self.ms, &mut self.tokens_squared, &mut self.tokens_ms] {
            *sum *= KEEP;
        }
        self.add(1.0, tokens, ms);
    }

    fn add(&mut self, weight: f64, tokens: f64, ms: f64) {
        self.weight += weight;
        self.tokens += weight * tokens;
        self.ms += weight * ms;
        self.tokens_squared += weight * tokens * tokens;
        self.tokens_ms += weight * tokens * ms;
    }

    /// Fixed part and price of a token, in milliseconds; neither is negative.
    fn fit(&self) -> (f64, f64) {
        let spread = self.weight * self.tokens_squared - self.tokens * self.tokens;
        let each = if spread > 1e-9 { (self.weight * self.tokens_ms - self.tokens * self.ms) / spread } else { 0.0 };
        let each = each.clamp(0.0, self.ms / self.tokens);
        ((self.ms - each * self.tokens) / self.weight, each)
    }

    /// What one further token of a sequence costs, as a part of the sequence's share of a pass without drafts, in which each of
    /// `n_sequences` has one token.
    #[must_use]
    pub fn marginal(&self, n_sequences: usize) -> f32 {
        let (fixed, each) = self.fit();
        let share = fixed / n_sequences.max(1) as f64 + each;
        if share > 0.0 { (each / share).clamp(0.01, 1.0) as f32 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f32, b: f32) {
        assert!((a - b).abs() < 0.02, "{a} is not near {b}");
    }

    #[test]
    fn the_guess_holds_until_something_is_known() {
        near(PassCost::default().marginal(1), 0.3);
        let mut cost = PassCost::default();
        cost.observe(1, 500.0);
        near(cost.marginal(1), 0.3);
    }

    #[test]
    fn the_price_of_a_token_is_learnt() {
        let mut cost = PassCost::default();
        for i in 0..200 {
            let n = 4 + i % 7;
            cost.observe(n, 20.0 + 2.0 * n as f64);
        }
        near(cost.marginal(1), 2.0 / 22.0);
        near(cost.marginal(4), 2.0 / 7.0);
    }

    #[test]
    fn a_pass_that_stood_still_for_a_while_does_not_count() {
        let mut cost = PassCost::default();
        for i in 0..200 {
            let n = 1 + i % 5;
            cost.observe(n, if i % 50 == 49 { 9_000.0 } else { 10.0 + n as f64 });
        }
        near(cost.marginal(1), 1.0 / 11.0);
    }

    #[test]
    fn passes_of_one_size_keep_a_sane_price() {
        let mut cost = PassCost::default();
        for _ in 0..5_000 {
            cost.observe(3, 12.0);
        }
        let marginal = cost.marginal(1);
        assert!((0.01..=1.0).contains(&marginal), "{marginal}");
    }
}
