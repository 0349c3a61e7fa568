//! The results as one HTML page: translates this pipeline's types into the views of `report`.

use super::figures::GavelFigures;
use super::game::Docket;
use super::judge::{GameOutcome, GameStatus, Limit, n_at_limit, n_closed, unnamed_marks};
use super::reply::Finding;
use super::score::Scores;
use super::tables::{conformance, error_profile_shown, head_to_head_matrix, leaderboard_shown, no_rating};
use crate::data::{Event, Hours};
use crate::measure::finding::{FindingType, Polarity, Side, Verdict};
use crate::measure::points::charge;
use crate::measure::quotes::Located;
use crate::measure::rubric::Rubric;
use crate::report::page::{
    CaseView, EvidenceLocation, FailureView, FindingSideView, FindingView, GameStatus as StatusView, GameView, JudgeView,
    NoticeLevel, NoticeView, SidePoints, TimelineRowView, TimelineView, Utf16Span,
};
use crate::report::{GavelPage, ReportError, Table};
use std::fmt::Display;
use std::str::FromStr;

/// What the page says besides the results.
pub struct PageFacts {
    pub study: String,
    pub judge: String,
    pub judge_lines: Vec<String>,
    pub settings: Vec<(String, String)>,
    pub intake: Table,
    pub figures: GavelFigures,
    pub no_text: bool,
}

/// The page of a run as HTML.
///
/// # Errors
/// A number that is not finite, or evidence that lies outside its report.
pub fn page(docket: &Docket, outcomes: &[GameOutcome], scores: &Scores, facts: PageFacts) -> Result<String, ReportError> {
    let first = scores.rubrics.first();
    let page = GavelPage {
        title: format!("{}: judged timelines", facts.study),
        study: facts.study,
        judge: JudgeView { name: facts.judge, description: facts.judge_lines },
        settings: facts.settings,
        notices: notices(docket, outcomes, scores),
        leaderboard: leaderboard_shown(docket, scores)?,
        leaderboard_figure: facts.figures.leaderboard,
        error_profile: Some(error_profile_shown(docket, scores)?),
        error_profile_figure: facts.figures.error_profile,
        head_to_head: first.map(|first| head_to_head_matrix(docket, scores, first)).transpose()?,
        tables: vec![conformance(outcomes, scores)?, facts.intake],
        cases: docket
            .reports
            .iter()
            .map(|report| CaseView { id: report.case.to_string(), report_text: Some(report.text.clone()) })
            .collect(),
        timelines: timelines(docket),
        games: outcomes.iter().enumerate().map(|(i, outcome)| game(docket, outcome, i, scores)).collect::<Result<_, _>>()?,
        no_text: facts.no_text,
    };
    page.render()
}

/// Things a reader must know before reading numbers.
#[must_use]
pub fn notices(docket: &Docket, outcomes: &[GameOutcome], scores: &Scores) -> Vec<NoticeView> {
    let mut notices = Vec::new();
    let mut add = |level, text: String| notices.push(NoticeView { level, text });
    if let Some(reason) = scores.rubrics.first().and_then(|first| no_rating(docket, first)) {
        add(NoticeLevel::Warning, reason);
    }
    let count = |wanted: fn(GameStatus) -> bool| outcomes.iter().filter(|outcome| wanted(outcome.status)).count();
    let n_games = outcomes.len();
    let pending = count(|status| status == GameStatus::Pending);
    if pending > 0 {
        add(
            NoticeLevel::Warning,
            format!("{pending} of {n_games} games are still to be judged; everything below is without them."),
        );
    }
    let failed = count(|status| matches!(status, GameStatus::Failed(_)));
    if failed > 0 {
        add(
            NoticeLevel::Error,
            format!("{failed} of {n_games} games have no usable reply and count for nothing; their raw replies are shown."),
        );
    }
    let partial = count(|status| status == GameStatus::Partial);
    if partial > 0 {
        add(NoticeLevel::Warning, format!("{partial} of {n_games} games are partial: some of their findings break a rule."));
    }
    let closed = n_closed(outcomes);
    if closed > 0 {
        add(
            NoticeLevel::Warning,
            format!(
                "{closed} replies reached their token limit and were closed there: they are valid as far as they go, and may lack \
                 findings; raise max_reply_tokens."
            ),
        );
    }
    let at_limit = n_at_limit(outcomes, Limit::Findings);
    if at_limit > 0 {
        add(
            NoticeLevel::Warning,
            format!("{at_limit} of {n_games} games have as many findings as max_findings allows, and may lack some; raise it."),
        );
    }
    if let Some((n, mark)) = unnamed_marks(outcomes) {
        add(
            NoticeLevel::Info,
            format!(
                "{n} replies began with reasoning (marked by {mark}), which was kept apart from the answer; describe the mark under \
                 [reasoning] in the judge's card."
            ),
        );
    }
    notices
}

fn timelines(docket: &Docket) -> Vec<TimelineView> {
    let mut views = Vec::new();
    for (case, timelines) in docket.timelines.iter().enumerate() {
        for (source, timeline) in docket.sources.iter().zip(timelines) {
            let Some(timeline) = timeline else { continue };
            let row = |(i, event): (usize, &Event)| TimelineRowView {
                row: i + 1,
                event: Some(event.text.clone()),
                time: event.time.hours().map(Hours::get),
                line: Some(event.line),
            };
            views.push(TimelineView {
                case,
                source: source.to_string(),
                rows: timeline.events.iter().enumerate().map(row).collect(),
            });
        }
    }
    views
}

fn game(docket: &Docket, outcome: &GameOutcome, index: usize, scores: &Scores) -> Result<GameView, ReportError> {
    let first = scores.rubrics.first();
    let points = first.and_then(|first| first.points[index]);
    let rubric = first.map(|first| Rubric::from(first.scheme));
    let mut findings = Vec::new();
    for finding in &outcome.findings {
        findings.push(valid_finding(docket, outcome, finding, rubric.as_ref())?);
    }
    findings.extend(outcome.invalid.iter().map(|invalid| FindingView {
        kind: label_in::<FindingType>(&invalid.raw, "type"),
        verdict: label_in::<Verdict>(&invalid.raw, "verdict"),
        polarity: label_in::<Polarity>(&invalid.raw, "polarity"),
        a: None,
        b: None,
        category: None,
        charged: None,
        points: 0.0,
        rationale: invalid.raw.get("rationale").and_then(|text| text.as_str()).map(String::from),
        evidence: invalid.raw.get("evidence").and_then(|text| text.as_str()).map(String::from),
        location: EvidenceLocation::None,
        span: None,
        valid: false,
        errors: invalid.errors.clone(),
    }));
    Ok(GameView {
        case: outcome.game.case,
        a: docket.sources[outcome.game.a].to_string(),
        b: docket.sources[outcome.game.b].to_string(),
        status: match outcome.status {
            GameStatus::Ok => StatusView::Ok,
            GameStatus::Partial => StatusView::Partial,
            GameStatus::Failed(_) => StatusView::Failed,
            GameStatus::Pending => StatusView::Pending,
        },
        attempts: u32::try_from(outcome.attempts.len()).unwrap_or(u32::MAX),
        points: points.map(|points| SidePoints { a: points.charged.a, b: points.charged.b }),
        share_a: points.map(|points| points.share_a),
        failure: outcome.attempts.last().filter(|_| outcome.raw.is_some()).map(|attempt| FailureView {
            outcome: attempt.outcome.name().into(),
            errors: attempt.errors.clone(),
            raw: outcome.raw.clone(),
        }),
        findings,
    })
}

/// A label of an invalid finding where it is one; whatever else stands there is text of the reply and only in its messages.
fn label_in<T: FromStr + Display>(raw: &serde_json::Value, name: &str) -> String {
    let label = raw.get(name).and_then(|value| value.as_str()).and_then(|text| text.parse::<T>().ok());
    label.map_or_else(|| "?".to_string(), |label| label.to_string())
}

fn valid_finding(
    docket: &Docket,
    outcome: &GameOutcome,
    finding: &Finding,
    rubric: Option<&Rubric>,
) -> Result<FindingView, ReportError> {
    let game = outcome.game;
    let side = |source: usize, row: Option<usize>| {
        let event = &docket.timelines[game.case][source].as_ref()?.events[row?];
        Some(FindingSideView {
            row: row.map(|row| row + 1),
            event: Some(event.text.clone()),
            time: event.time.hours().map(Hours::get),
        })
    };
    let charge = charge(&finding.discrepancy());
    let (location, bytes) = match finding.located {
        Located::ByteExact { start, end } => (EvidenceLocation::ByteExact, Some((start, end))),
        Located::Normalised { start, end } => (EvidenceLocation::Normalised, Some((start, end))),
        Located::Unlocated => (EvidenceLocation::Unlocated, None),
        Located::NoQuote => (EvidenceLocation::None, None),
    };
    let report = &docket.reports[game.case].text;
    Ok(FindingView {
        kind: finding.kind.to_string(),
        verdict: finding.verdict.to_string(),
        polarity: finding.polarity.to_string(),
        a: side(game.a, finding.a),
        b: side(game.b, finding.b),
        category: charge.map(|charge| charge.category.label().to_string()),
        charged: charge.map(|charge| {
            let source = match charge.side {
                Side::A => game.a,
                Side::B => game.b,
            };
            docket.sources[source].to_string()
        }),
        points: charge.zip(rubric).map_or(0.0, |(charge, rubric)| rubric.weights()[charge.category]),
        rationale: Some(finding.rationale.clone()),
        evidence: Some(finding.evidence.clone()),
        location,
        span: bytes.map(|(start, end)| Utf16Span::from_bytes(report, start, end)).transpose()?,
        valid: true,
        errors: if finding.within_tolerance { vec!["the two times are the same under the tolerance".into()] } else { Vec::new() },
    })
}
