//! The figures of a run. What they draw stands in the tables of the same names.

use super::game::Docket;
use super::score::Scores;
use crate::measure::rubric::Category;
use crate::report::figure::{LeaderboardMark, ProfileBar};
use crate::report::{ErrorProfileFigure, LeaderboardFigure, LeaderboardScale, ReportError, Svg};

/// What can be drawn of a run; None where no game counts.
#[derive(Debug, Clone)]
pub struct GavelFigures {
    /// Ratings, or mean shares where no rating exists, with their intervals.
    pub leaderboard: Option<Svg>,
    /// Discrepancies a game by category.
    pub error_profile: Option<Svg>,
}

/// Draws the figures.
///
/// # Errors
/// A number that is not finite.
pub fn figures(docket: &Docket, scores: &Scores) -> Result<GavelFigures, ReportError> {
    Ok(GavelFigures {
        leaderboard: leaderboard_figure(docket, scores).map(|figure| figure.draw()).transpose()?,
        error_profile: profile_figure(docket, scores).map(|figure| figure.draw()).transpose()?,
    })
}

fn leaderboard_figure(docket: &Docket, scores: &Scores) -> Option<LeaderboardFigure> {
    let first = scores.rubrics.first()?;
    let fit = first.bradley_terry.fit.as_ref();
    let marks: Vec<LeaderboardMark> = scores
        .ranking
        .iter()
        .filter_map(|&source| {
            let (value, interval) = match fit {
                Some(fit) => (fit.ratings[source], first.rating_intervals[source]),
                None => (first.mean_shares[source]?, first.share_intervals[source]),
            };
            Some(LeaderboardMark {
                source: docket.sources[source].to_string(),
                value,
                interval: interval.map(|interval| (interval.lo, interval.hi)),
            })
        })
        .collect();
    let scale = if fit.is_some() { LeaderboardScale::Rating } else { LeaderboardScale::MeanShare };
    (!marks.is_empty()).then_some(LeaderboardFigure { scale, marks })
}

fn profile_figure(docket: &Docket, scores: &Scores) -> Option<ErrorProfileFigure> {
    let bars: Vec<ProfileBar> = scores
        .ranking
        .iter()
        .filter_map(|&source| {
            let rates = scores.profile.per_matchup(source)?;
            Some(ProfileBar { source: docket.sources[source].to_string(), values: rates.0.to_vec() })
        })
        .collect();
    (!bars.is_empty()).then(|| ErrorProfileFigure {
        axis: "discrepancies a game".into(),
        categories: Category::ALL.iter().map(|category| category.label().to_string()).collect(),
        bars,
    })
}
