//! One setting beside the reference, over the same games. Texts go in; only places, counts and sizes come out.

use crate::measure::MeasureError;
use crate::measure::finding::{FindingType, Polarity, Verdict};
use crate::measure::levenshtein::LevenshteinPattern;
use crate::measure::points::PerSide;
use crate::pipelines::gavel::{Docket, Finding, Game, GameOutcome, ScoringSettings, score};
use crate::store::{Outcome, Record};
use std::collections::BTreeMap;

/// What the judge answered to one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Reasoning, where there is any, and reply.
    pub text: String,
    pub outcome: Outcome,
    /// Smallest lead of a chosen token over the runner-up.
    pub min_margin: Option<f32>,
}

impl Reply {
    #[must_use]
    pub fn of(record: Record) -> Self {
        let mut text = record.reasoning.unwrap_or_default();
        text.push_str(&record.reply);
        Self { text, outcome: record.outcome, min_margin: record.min_margin }
    }
}

/// A game as one setting judged it.
#[derive(Debug, Clone)]
pub struct Judged {
    pub outcome: GameOutcome,
    /// One for each attempt; `None` where the engine gave no reply.
    pub replies: Vec<Option<Reply>>,
}

/// Two replies to one prompt that are not the same.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyDifference {
    pub game: Game,
    /// 1 for the first try.
    pub attempt: usize,
    /// The reference's outcome and this one's.
    pub outcomes: [Outcome; 2],
    pub min_margins: [Option<f32>; 2],
    /// Bytes that the two have in common from their beginning.
    pub first_byte: usize,
    /// Fewest characters put in, taken out or replaced that turn one into the other.
    pub n_chars_changed: usize,
}

/// What a setting changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    pub n_games: usize,
    /// Pairs of replies to one prompt.
    pub n_replies: usize,
    /// Prompts that one side or both could not answer.
    pub n_unanswered: usize,
    pub differing: Vec<ReplyDifference>,
    /// Replies with equal text whose smallest margins are not equal to the last bit.
    pub n_other_margins: usize,
    /// Characters of the reference's replies.
    pub n_chars: usize,
    /// The reference's smallest margins where the replies agree.
    pub agreeing_margins: Vec<f32>,
    /// Findings of the reference.
    pub n_findings: usize,
    /// Findings of the reference alone. A finding is known by its type, its rows and its polarity.
    pub n_findings_lost: usize,
    /// Findings of this setting alone.
    pub n_findings_gained: usize,
    /// Findings of both with another verdict.
    pub n_verdicts_changed: usize,
    /// Games with other points, or scored on one side only.
    pub n_scores_changed: usize,
    /// Largest change of a rating; `None` where one of the two has no rating.
    pub largest_rating_change: Option<f64>,
    pub ranking_changed: bool,
}

impl Comparison {
    /// Whether what both sides answered is the same to the last bit.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differing.is_empty() && self.n_other_margins == 0
    }

    /// Differing replies of which one was taken otherwise than the other.
    #[must_use]
    pub fn n_outcomes_changed(&self) -> usize {
        self.differing.iter().filter(|difference| difference.outcomes[0] != difference.outcomes[1]).count()
    }
}

/// Compares `other` with `reference`, game by game in the same order, and their scores under the study's first rubric.
///
/// # Errors
/// As [`score`].
///
/// # Panics
/// When the two are not over the same games.
pub fn compare(
    docket: &Docket,
    scoring: &ScoringSettings,
    reference: &[Judged],
    other: &[Judged],
) -> Result<Comparison, MeasureError> {
    assert!(
        reference.iter().map(|judged| judged.outcome.game).eq(other.iter().map(|judged| judged.outcome.game)),
        "the same games in the same order"
    );
    let mut comparison = Comparison { n_games: reference.len(), ..Comparison::default() };
    for (reference, other) in reference.iter().zip(other) {
        compare_replies(reference, other, &mut comparison);
        compare_findings(&reference.outcome.findings, &other.outcome.findings, &mut comparison);
    }
    compare_scores(docket, scoring, reference, other, &mut comparison)?;
    Ok(comparison)
}

fn compare_replies(reference: &Judged, other: &Judged, into: &mut Comparison) {
    for attempt in 0..reference.replies.len().max(other.replies.len()) {
        let of = |judged: &Judged| judged.replies.get(attempt).cloned().flatten();
        let (Some(x), Some(y)) = (of(reference), of(other)) else {
            into.n_unanswered += 1;
            return;
        };
        into.n_replies += 1;
        let pattern = LevenshteinPattern::new(&x.text);
        into.n_chars += pattern.n_chars();
        if (&x.text, x.outcome) == (&y.text, y.outcome) {
            into.n_other_margins += usize::from(x.min_margin.map(f32::to_bits) != y.min_margin.map(f32::to_bits));
            into.agreeing_margins.extend(x.min_margin);
            continue;
        }
        into.differing.push(ReplyDifference {
            game: reference.outcome.game,
            attempt: attempt + 1,
            outcomes: [x.outcome, y.outcome],
            min_margins: [x.min_margin, y.min_margin],
            first_byte: x.text.bytes().zip(y.text.bytes()).take_while(|(x, y)| x == y).count(),
            n_chars_changed: pattern.distance(&y.text),
        });
        // The next prompt holds this reply: it is another prompt on each side.
        return;
    }
}

/// What a finding is about.
type About = (FindingType, Option<usize>, Option<usize>, Polarity);

fn verdicts(findings: &[Finding]) -> BTreeMap<About, BTreeMap<Verdict, usize>> {
    let mut verdicts: BTreeMap<About, BTreeMap<Verdict, usize>> = BTreeMap::new();
    for finding in findings {
        let about = (finding.kind, finding.a, finding.b, finding.polarity);
        *verdicts.entry(about).or_default().entry(finding.verdict).or_default() += 1;
    }
    verdicts
}

fn compare_findings(reference: &[Finding], other: &[Finding], into: &mut Comparison) {
    into.n_findings += reference.len();
    let (mut reference, mut other) = (verdicts(reference), verdicts(other));
    let mut abouts: Vec<About> = reference.keys().chain(other.keys()).copied().collect();
    abouts.sort_unstable();
    abouts.dedup();
    for about in abouts {
        let (x, y) = (reference.remove(&about).unwrap_or_default(), other.remove(&about).unwrap_or_default());
        let (n_x, n_y) = (x.values().sum::<usize>(), y.values().sum::<usize>());
        let n_same = x.iter().map(|(verdict, n)| y.get(verdict).copied().unwrap_or(0).min(*n)).sum::<usize>();
        into.n_findings_lost += n_x.saturating_sub(n_y);
        into.n_findings_gained += n_y.saturating_sub(n_x);
        into.n_verdicts_changed += n_x.min(n_y) - n_same;
    }
}

fn compare_scores(
    docket: &Docket,
    scoring: &ScoringSettings,
    reference: &[Judged],
    other: &[Judged],
    into: &mut Comparison,
) -> Result<(), MeasureError> {
    // Intervals are no part of the question.
    let rubrics = scoring.rubrics.iter().take(1).copied().collect();
    let scoring = ScoringSettings { rubrics, bootstrap_resamples: 0, ..scoring.clone() };
    let scores = |judged: &[Judged]| {
        let outcomes: Vec<GameOutcome> = judged.iter().map(|judged| judged.outcome.clone()).collect();
        score(docket, &outcomes, &scoring)
    };
    let (x, y) = (scores(reference)?, scores(other)?);
    into.ranking_changed = x.ranking != y.ranking;
    for (x, y) in x.rubrics.iter().zip(&y.rubrics) {
        let charged = |points: &Option<crate::measure::points::GamePoints>| -> Option<(PerSide<f64>, bool)> {
            points.as_ref().map(|points| (points.charged, points.empty))
        };
        into.n_scores_changed = x.points.iter().zip(&y.points).filter(|(x, y)| charged(x) != charged(y)).count();
        if let (Some(x), Some(y)) = (&x.bradley_terry.fit, &y.bradley_terry.fit) {
            let changes = x.ratings.iter().zip(&y.ratings).map(|(x, y)| (x - y).abs());
            into.largest_rating_change = Some(changes.fold(0.0, f64::max));
        }
    }
    Ok(())
}
