//! What the GAVEL page shows, as plain structs.
//!
//! These views know no other layer: whoever judged the games translates its own types into names, numbers and texts.
//! Everything that a reader sees comes from here, and [`GavelPage::withheld`] is the one place that removes text.

use serde::Serialize;

use super::span::{Utf16Span, utf16_len};
use crate::report::error::ReportError;
use crate::report::figure::Svg;
use crate::report::table::Table;

/// A whole page.
#[derive(Debug, Clone)]
pub struct GavelPage {
    /// Heading of the page.
    pub title: String,
    /// Name of the study.
    pub study: String,
    /// Who judged.
    pub judge: JudgeView,
    /// Settings of the run as label and value, in the order shown.
    pub settings: Vec<(String, String)>,
    /// Remarks above the results, for instance why there is no rating.
    pub notices: Vec<NoticeView>,
    /// Ranking of the sources.
    pub leaderboard: Table,
    /// Ranking as a drawing.
    pub leaderboard_figure: Option<Svg>,
    /// Discrepancies by category and source.
    pub error_profile: Option<Table>,
    /// Discrepancies as a drawing.
    pub error_profile_figure: Option<Svg>,
    /// Matrix of sources: the first column holds the source of the row, the label of every further column is the
    /// opposing source, a cell is the mean point share of the row's source. A column with the unit `%` is shaded
    /// around 50.
    pub head_to_head: Option<Table>,
    /// Further tables, such as schema conformance and input counts.
    pub tables: Vec<Table>,
    /// Cases, referred to by index.
    pub cases: Vec<CaseView>,
    /// Timelines, found by case and source.
    pub timelines: Vec<TimelineView>,
    /// Games. Game `n` of the page, and of a `#game=n` link, is `games[n - 1]`.
    pub games: Vec<GameView>,
    /// Withhold report text, event text, rationales, evidence, raw replies and validator messages, whatever the views
    /// hold.
    pub no_text: bool,
}

/// The judge.
#[derive(Debug, Clone)]
pub struct JudgeView {
    /// Name of the model.
    pub name: String,
    /// Lines such as file, quantisation, device and decoding.
    pub description: Vec<String>,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// Worth knowing.
    Info,
    /// Changes how results should be read.
    Warning,
    /// Something is missing or failed.
    Error,
}

/// A remark above the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoticeView {
    /// How much it matters.
    pub level: NoticeLevel,
    /// One or two sentences.
    pub text: String,
}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseView {
    /// Id of the case.
    pub id: String,
    /// The report; `None` when withheld.
    pub report_text: Option<String>,
}

/// The timeline of one case by one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineView {
    /// Index into [`GavelPage::cases`].
    pub case: usize,
    /// Name of the source.
    pub source: String,
    /// Rows in the order the judge saw them.
    pub rows: Vec<TimelineRowView>,
}

/// One event of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineRowView {
    /// 1-based number by which findings refer to the row.
    pub row: usize,
    /// The event; `None` when withheld.
    pub event: Option<String>,
    /// Hours from the index time; `None` is N/A.
    pub time: Option<f64>,
    /// 1-based line in the file that the timeline was read from.
    pub line: Option<usize>,
}

/// How far a game got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GameStatus {
    /// Every finding is valid.
    Ok,
    /// Some findings are invalid and count for nothing.
    Partial,
    /// No usable reply.
    Failed,
    /// Not judged yet.
    Pending,
}

/// Two numbers, one a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SidePoints {
    /// Side A.
    pub a: f64,
    /// Side B.
    pub b: f64,
}

/// Two sources on one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GameView {
    /// Index into [`GavelPage::cases`].
    pub case: usize,
    /// Source shown to the judge as A.
    pub a: String,
    /// Source shown to the judge as B.
    pub b: String,
    /// How far the game got.
    pub status: GameStatus,
    /// Number of replies asked for.
    pub attempts: u32,
    /// Points charged *against* each side: the other side earns them.
    pub points: Option<SidePoints>,
    /// Share of the points that A earned, from 0 to 1; `None` when the game has no result.
    pub share_a: Option<f64>,
    /// Why a game failed, or what the last failed attempt returned.
    pub failure: Option<FailureView>,
    /// Findings in the order of the reply.
    pub findings: Vec<FindingView>,
}

/// A reply that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureView {
    /// Typed outcome, such as `truncated`.
    pub outcome: String,
    /// Messages of the validator.
    pub errors: Vec<String>,
    /// The reply as it came; `None` when withheld or lost.
    pub raw: Option<String>,
}

/// One side of a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingSideView {
    /// 1-based row of the timeline that the finding speaks of; `None` when it could not be found.
    pub row: Option<usize>,
    /// The event as the judge gave it; `None` when withheld.
    pub event: Option<String>,
    /// Hours from the index time; `None` is N/A.
    pub time: Option<f64>,
}

/// Where the evidence was found in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceLocation {
    /// The quotation is in the report byte for byte.
    ByteExact,
    /// It is there once quotation marks and spaces are made alike.
    Normalised,
    /// It is not in the report.
    Unlocated,
    /// The judge gave no quotation.
    None,
}

/// One discrepancy and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingView {
    /// Discrepancy type, such as `TIMING`.
    pub kind: String,
    /// `A`, `B`, `BOTH`, `NEITHER` or `UNCLEAR`.
    pub verdict: String,
    /// `present` or `absent`.
    pub polarity: String,
    /// What A says; `None` when A has no such event.
    pub a: Option<FindingSideView>,
    /// What B says; `None` when B has no such event.
    pub b: Option<FindingSideView>,
    /// Label of the scored category; `None` when nobody is charged.
    pub category: Option<String>,
    /// Source that is charged, one of the game's two.
    pub charged: Option<String>,
    /// Points charged; zero when nobody is.
    pub points: f64,
    /// The judge's reason; `None` when withheld.
    pub rationale: Option<String>,
    /// The judge's quotation; `None` when it gave none or when withheld.
    pub evidence: Option<String>,
    /// Whether the quotation was found.
    pub location: EvidenceLocation,
    /// Where in [`CaseView::report_text`] it was found.
    pub span: Option<Utf16Span>,
    /// Whether the finding passed validation and counts.
    pub valid: bool,
    /// Messages of the validator.
    pub errors: Vec<String>,
}

impl GavelPage {
    /// A copy without any text that comes from a report, a timeline or a reply.
    ///
    /// Names, numbers, types, verdicts and rows stay. Messages of the validator go too, for they may quote, and so do
    /// spans, which would tell lengths of a text that is not there.
    #[must_use]
    pub fn withheld(&self) -> Self {
        let mut page = self.clone();
        page.no_text = true;
        for case in &mut page.cases {
            case.report_text = None;
        }
        for row in page.timelines.iter_mut().flat_map(|timeline| &mut timeline.rows) {
            row.event = None;
        }
        for game in &mut page.games {
            if let Some(failure) = &mut game.failure {
                failure.raw = None;
                failure.errors.clear();
            }
            for finding in &mut game.findings {
                finding.rationale = None;
                finding.evidence = None;
                finding.span = None;
                finding.errors.clear();
                for side in [&mut finding.a, &mut finding.b].into_iter().flatten() {
                    side.event = None;
                }
            }
        }
        page
    }

    /// Checks that every reference leads somewhere and every number can be shown.
    ///
    /// # Errors
    /// The first reference to a case or source that is not there, the first span past its report, or the first number
    /// that is not finite.
    pub(super) fn check(&self) -> Result<(), ReportError> {
        for timeline in &self.timelines {
            let place = || format!("timeline of source {:?}", timeline.source);
            self.case(timeline.case, place)?;
            for row in &timeline.rows {
                finite(row.time, || format!("{} row {}", place(), row.row))?;
            }
        }
        for (number, game) in (1..).zip(&self.games) {
            let place = || format!("game {number}");
            let report = self.case(game.case, place)?.report_text.as_deref().map(utf16_len);
            let points = game.points.map(|points| [points.a, points.b]);
            for value in points.into_iter().flatten().chain(game.share_a) {
                finite(Some(value), place)?;
            }
            for (number, finding) in (1..).zip(&game.findings) {
                check_finding(game, finding, report, || format!("{}, finding {number}", place()))?;
            }
        }
        Ok(())
    }

    fn case(&self, index: usize, place: impl Fn() -> String) -> Result<&CaseView, ReportError> {
        self.cases.get(index).ok_or_else(|| ReportError::Reference {
            place: place(),
            expected: format!("a case index below {}", self.cases.len()),
            got: index.to_string(),
            hint: "cases are referred to by their position in the page",
        })
    }
}

/// Checks one finding of a game whose report has `report` UTF-16 units.
fn check_finding(
    game: &GameView,
    finding: &FindingView,
    report: Option<usize>,
    place: impl Fn() -> String,
) -> Result<(), ReportError> {
    let times = [&finding.a, &finding.b].into_iter().flatten().filter_map(|side| side.time);
    for value in times.chain([finding.points]) {
        finite(Some(value), &place)?;
    }
    if let Some(charged) = &finding.charged
        && *charged != game.a
        && *charged != game.b
    {
        return Err(ReportError::Reference {
            place: place(),
            expected: format!("a charge to {:?} or {:?}", game.a, game.b),
            got: format!("{charged:?}"),
            hint: "a charge names a source of the game",
        });
    }
    if let (Some(span), Some(len)) = (finding.span, report)
        && span.end() > len
    {
        return Err(ReportError::Reference {
            place: place(),
            expected: format!("a span that ends within {len} UTF-16 units"),
            got: span.end().to_string(),
            hint: "convert the span with the report of the same case",
        });
    }
    Ok(())
}

fn finite(value: Option<f64>, place: impl Fn() -> String) -> Result<(), ReportError> {
    match value {
        Some(value) if !value.is_finite() => Err(ReportError::NotFinite { place: place(), value }),
        _ => Ok(()),
    }
}
