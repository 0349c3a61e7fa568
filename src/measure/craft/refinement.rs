//! Where a refinement loop stops, and what it would have returned under a smaller budget.

use serde::{Deserialize, Serialize};

use crate::measure::error::MeasureError;

/// When a candidate is accepted, and how many are tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoopRule {
    /// Smallest score that is accepted.
    pub theta: f64,
    /// Most iterations.
    pub t_max: usize,
}

impl LoopRule {
    /// Accept at 3 of 5 points, four iterations (craft.txt, section 5.3).
    pub const CRAFT: Self = Self { theta: 3.0, t_max: 4 };
}

/// How one report's loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoopEnd {
    /// Iterations run, from 1.
    pub iterations: usize,
    /// Whether the last of them was accepted.
    pub accepted: bool,
}

impl LoopEnd {
    /// Finds the first accepted score. Entries past it, or past the budget, play no part; None is a
    /// candidate without a valid score and is never accepted.
    ///
    /// # Errors
    /// A budget of 0, a threshold that is no number, or a trace that ends unaccepted before the budget: then
    /// the loop was cut off, and what it would have returned is not known.
    ///
    /// # Source
    /// craft.txt, algorithm 5.1.
    pub fn find(scores: &[Option<f64>], rule: &LoopRule) -> Result<Self, MeasureError> {
        let out_of_range = |what, expected, got| Err(MeasureError::NumberOutOfRange { what, expected, got });
        if rule.t_max == 0 {
            return out_of_range("t_max", "1 or more", 0.0);
        }
        if rule.theta.is_nan() {
            return out_of_range("theta", "a number", rule.theta);
        }
        let tried = &scores[..scores.len().min(rule.t_max)];
        match tried.iter().position(|score| score.is_some_and(|score| score >= rule.theta)) {
            Some(at) => Ok(Self { iterations: at + 1, accepted: true }),
            None if tried.len() == rule.t_max => Ok(Self { iterations: rule.t_max, accepted: false }),
            None => out_of_range("the length of a trace without acceptance", "t_max iterations", tried.len() as f64),
        }
    }

    /// Position in the trace, from 0, of the candidate returned under a budget of `t` iterations: the
    /// accepted one if it came by then, else number `t`.
    ///
    /// # Source
    /// craft.txt, Table 6.1.
    pub fn returned_at(&self, t: usize) -> usize {
        self.iterations.min(t.max(1)) - 1
    }
}

/// Mean number of iterations; None without reports.
///
/// # Source
/// craft.txt, Table 6.1 (AvgIters).
pub fn mean_iterations(ends: &[LoopEnd]) -> Option<f64> {
    let total: usize = ends.iter().map(|end| end.iterations).sum();
    (!ends.is_empty()).then(|| total as f64 / ends.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(scores: &[f64]) -> Result<LoopEnd, MeasureError> {
        let scores: Vec<_> = scores.iter().map(|&score| (!score.is_nan()).then_some(score)).collect();
        LoopEnd::find(&scores, &LoopRule::CRAFT)
    }

    #[test]
    fn the_first_accepted_candidate_ends_the_loop() {
        let ended = end(&[2.0, 3.0, 0.0, 5.0]).unwrap();
        assert_eq!(ended, LoopEnd { iterations: 2, accepted: true });
        assert_eq!([1, 2, 3, 4].map(|t| ended.returned_at(t)), [0, 1, 1, 1]);
        assert_eq!(end(&[2.0, 3.0]).unwrap(), ended);
    }

    #[test]
    fn without_acceptance_the_last_candidate_is_returned() {
        let ended = end(&[2.0, f64::NAN, 0.0, 2.99, 5.0]).unwrap();
        assert_eq!(ended, LoopEnd { iterations: 4, accepted: false });
        assert_eq!(ended.returned_at(3), 2);
        assert_eq!(ended.returned_at(9), 3);
        assert_eq!(end(&[0.0, 0.0, 0.0, 3.0]).unwrap(), LoopEnd { iterations: 4, accepted: true });
    }

    #[test]
    fn a_cut_off_trace_and_a_bad_rule_are_refused() {
        assert!(end(&[]).is_err());
        assert!(end(&[2.0, 1.0, 0.0]).unwrap_err().to_string().contains("t_max iterations"));
        assert!(LoopEnd::find(&[Some(5.0)], &LoopRule { theta: 3.0, t_max: 0 }).is_err());
        assert!(LoopEnd::find(&[Some(5.0)], &LoopRule { theta: f64::NAN, t_max: 4 }).is_err());
    }

    #[test]
    fn mean_of_nothing_is_undefined() {
        assert_eq!(mean_iterations(&[]), None);
        let ends = [end(&[3.0]).unwrap(), end(&[0.0; 4]).unwrap()];
        assert_eq!(mean_iterations(&ends), Some(2.5));
    }
}
