//! From outcomes to points, ratings, intervals and profiles.

use super::game::Docket;
use super::judge::{GameOutcome, GameStatus};
use super::settings::ScoringSettings;
use crate::measure::MeasureError;
use crate::measure::bootstrap::{Bootstrap, CaseShares, bootstrap};
use crate::measure::bradley_terry::{BradleyTerry, PairShares, fit};
use crate::measure::error_profile::{ErrorProfile, JudgedGame};
use crate::measure::finding::Discrepancy;
use crate::measure::game::Game as ScoredGame;
use crate::measure::head_to_head::HeadToHead;
use crate::measure::points::GamePoints;
use crate::measure::quotes::QuoteTally;
use crate::measure::resample::Interval;
use crate::measure::rubric::{Rubric, Scheme};

/// Level of every interval.
pub const LEVEL: f64 = 0.95;

/// The results of one rubric.
#[derive(Debug)]
pub struct RubricScores {
    pub scheme: Scheme,
    /// Points of each game in the order of the outcomes; `None` for a game that is out of scoring.
    pub points: Vec<Option<GamePoints>>,
    /// Games that enter the fit.
    pub n_games_in_fit: usize,
    pub bradley_terry: BradleyTerry,
    pub bootstrap: Bootstrap,
    pub rating_intervals: Vec<Option<Interval>>,
    /// Mean point share of each source over its games in the fit.
    pub mean_shares: Vec<Option<f64>>,
    pub share_intervals: Vec<Option<Interval>>,
    pub head_to_head: HeadToHead,
    /// Points charged to each source, and to its opponents.
    pub charged: Vec<(f64, f64)>,
}

/// Everything that the tables show.
#[derive(Debug)]
pub struct Scores {
    /// One for each rubric asked for; the first ranks.
    pub rubrics: Vec<RubricScores>,
    pub profile: ErrorProfile,
    pub quotes: QuoteTally,
    /// Sources from best to worst: by rating, or by mean point share where there is no rating.
    pub ranking: Vec<usize>,
}

/// Scores `outcomes`.
///
/// # Errors
/// [`MeasureError`] for games that name unknown sources; not for games that allow no fit: then `bradley_terry.reason` says why.
pub fn score(docket: &Docket, outcomes: &[GameOutcome], settings: &ScoringSettings) -> Result<Scores, MeasureError> {
    let findings: Vec<Option<Vec<Discrepancy>>> = outcomes
        .iter()
        .map(|outcome| {
            let scored = match outcome.status {
                GameStatus::Ok => true,
                GameStatus::Partial => settings.include_partial_games,
                GameStatus::Failed(_) | GameStatus::Pending => false,
            };
            scored.then(|| outcome.findings.iter().map(super::reply::Finding::discrepancy).collect())
        })
        .collect();
    let rubrics = settings
        .rubrics
        .iter()
        .map(|scheme| rubric_scores(docket, outcomes, &findings, *scheme, settings))
        .collect::<Result<Vec<_>, _>>()?;
    let judged: Vec<JudgedGame<'_>> = outcomes
        .iter()
        .zip(&findings)
        .filter_map(|(outcome, findings)| Some(JudgedGame { a: outcome.game.a, b: outcome.game.b, findings: findings.as_ref()? }))
        .collect();
    let n_reports = u32::try_from(docket.reports.len()).unwrap_or(u32::MAX);
    let mut quotes = QuoteTally::default();
    for finding in outcomes.iter().flat_map(|outcome| &outcome.findings) {
        quotes.add(&finding.located);
    }
    let ranking = rubrics.first().map(ranking).unwrap_or_default();
    Ok(Scores { profile: ErrorProfile::from_games(docket.sources.len(), n_reports, &judged)?, rubrics, quotes, ranking })
}

fn rubric_scores(
    docket: &Docket,
    outcomes: &[GameOutcome],
    findings: &[Option<Vec<Discrepancy>>],
    scheme: Scheme,
    settings: &ScoringSettings,
) -> Result<RubricScores, MeasureError> {
    let n_sources = docket.sources.len();
    let rubric = Rubric::from(scheme);
    let points: Vec<Option<GamePoints>> =
        findings.iter().map(|findings| findings.as_ref().map(|findings| GamePoints::score(findings, &rubric))).collect();
    let mut charged = vec![(0.0, 0.0); n_sources];
    let mut games = Vec::new();
    for (outcome, points) in outcomes.iter().zip(&points) {
        let Some(points) = points else { continue };
        let game = outcome.game;
        charged[game.a].0 += points.charged.a;
        charged[game.a].1 += points.charged.b;
        charged[game.b].0 += points.charged.b;
        charged[game.b].1 += points.charged.a;
        if let Some(share_a) = points.fit_share(settings.empty_games) {
            games.push(ScoredGame { case: game.case, a: game.a, b: game.b, share_a });
        }
    }
    let bradley_terry = fit(&PairShares::from_games(n_sources, &games)?)?;
    let cases = CaseShares::from_games(n_sources, docket.reports.len(), &games)?;
    let bootstrap = bootstrap(&cases, settings.bootstrap_resamples, settings.bootstrap_seed);
    let head_to_head = HeadToHead::from_games(n_sources, &games)?;
    Ok(RubricScores {
        scheme,
        points,
        n_games_in_fit: games.len(),
        rating_intervals: bootstrap.ratings.intervals(LEVEL)?,
        share_intervals: bootstrap.mean_shares.intervals(LEVEL)?,
        mean_shares: (0..n_sources).map(|source| head_to_head.overall(source).and_then(|record| record.mean_share)).collect(),
        bradley_terry,
        bootstrap,
        head_to_head,
        charged,
    })
}

/// Best first; ties keep the order of the manifest.
fn ranking(scores: &RubricScores) -> Vec<usize> {
    let value = |source: usize| match &scores.bradley_terry.fit {
        Some(fit) => fit.ratings[source],
        None => scores.mean_shares[source].unwrap_or(f64::NEG_INFINITY),
    };
    let mut order: Vec<usize> = (0..scores.mean_shares.len()).collect();
    order.sort_by(|x, y| value(*y).total_cmp(&value(*x)));
    order
}
