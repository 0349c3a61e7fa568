//! A scored game as the statistics see it: two entrants of one case and a share, all by index.

use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// One judged pair of sources on one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Game {
    /// Index of the case.
    pub case: usize,
    /// Index of the source that was timeline A.
    pub a: usize,
    /// Index of the source that was timeline B.
    pub b: usize,
    /// A's share of the points, in [0, 1].
    pub share_a: f64,
}

impl Game {
    /// Refuses what no statistic can take; `position` is the game's place in its list.
    pub(crate) fn check(&self, position: usize, n_entrants: usize) -> Result<(), MeasureError> {
        check_pair(position, self.a, self.b, n_entrants)?;
        check_share(position, self.share_a)
    }

    pub(crate) fn check_case(&self, position: usize, n_cases: usize) -> Result<(), MeasureError> {
        if self.case >= n_cases {
            return Err(MeasureError::CaseOutOfRange { position, case: self.case, n_cases });
        }
        Ok(())
    }
}

pub(crate) fn check_pair(game: usize, a: usize, b: usize, n_entrants: usize) -> Result<(), MeasureError> {
    for entrant in [a, b] {
        if entrant >= n_entrants {
            return Err(MeasureError::EntrantOutOfRange { game, entrant, n_entrants });
        }
    }
    if a == b {
        return Err(MeasureError::SelfGame { game, entrant: a });
    }
    Ok(())
}

pub(crate) fn check_share(position: usize, share: f64) -> Result<(), MeasureError> {
    // A NaN is in no range.
    if !(0.0..=1.0).contains(&share) {
        return Err(MeasureError::ShareOutOfRange { position, share });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_possible_games_pass() {
        let game = Game { case: 0, a: 0, b: 1, share_a: 0.5 };
        assert!(game.check(0, 2).is_ok());
        assert!(game.check(0, 1).is_err());
        assert!(Game { b: 0, ..game }.check(0, 2).is_err());
        for share_a in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert!(Game { share_a, ..game }.check(0, 2).is_err());
        }
        assert!(game.check_case(0, 0).is_err());
    }
}
