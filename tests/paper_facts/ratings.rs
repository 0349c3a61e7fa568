//! Printed ratings taken through the rating fit.

use assize::measure::bradley_terry::{PairShares, RATING_CENTRE, fit};
use assize::measure::game::Game;

/// Ratings as the fit gives them back.
pub struct Refit {
    /// Mean of the printed ratings: the fit's own centre plus what the printed ones lie above the fitted ones.
    pub mean: f64,
    /// The fitted ratings on the printed scale.
    pub ratings: Vec<f64>,
}

impl Refit {
    /// Places of the entrants, best first.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.ratings.len()).collect();
        order.sort_by(|&i, &j| self.ratings[j].total_cmp(&self.ratings[i]));
        order
    }
}

/// Plays a round robin whose shares follow the printed ratings, fits it, and checks that the ratings come back with
/// their distances and around the fit's centre.
pub fn refit(printed: &[f64]) -> Refit {
    let mut games = Vec::new();
    for a in 0..printed.len() {
        for b in a + 1..printed.len() {
            let share_a = 1.0 / (1.0 + 10f64.powf((printed[b] - printed[a]) / 400.0));
            games.push(Game { case: 0, a, b, share_a });
        }
    }
    let fitted = fit(&PairShares::from_games(printed.len(), &games).unwrap()).unwrap().fit.unwrap().ratings;
    let above = printed[0] - fitted[0];
    for (printed, fitted) in printed.iter().zip(&fitted) {
        assert!((printed - fitted - above).abs() < 1e-6, "expected {printed}, the fit gives {} back", fitted + above);
    }
    assert!((fitted.iter().sum::<f64>() / fitted.len() as f64 - RATING_CENTRE).abs() < 1e-9);
    Refit { mean: RATING_CENTRE + above, ratings: fitted.iter().map(|fitted| fitted + above).collect() }
}
