//! The results as tables. No timings, dates or paths: two runs can be compared byte for byte.

use super::ask::time_text;
use super::game::Docket;
use super::judge::{GameOutcome, GameStatus, Limit, n_at_limit, n_closed, unnamed_marks};
use super::reply::Finding;
use super::score::{RubricScores, Scores};
use crate::data::Timeline;
use crate::measure::bradley_terry::NoFit;
use crate::measure::finding::Side;
use crate::measure::points::charge;
use crate::measure::quotes::Located;
use crate::measure::resample::Interval;
use crate::measure::rubric::{Category, PerCategory, Rubric};
use crate::report::{Cell, Column, ReportError, Table};
use crate::store::Outcome;
use std::collections::BTreeMap;

const PER_GAME: &str = "per game";
const PER_REPORT: &str = "per report";

/// Every table of a run, the leaderboard first. With `no_text` the findings table carries no event text, evidence or rationale.
///
/// # Errors
/// A number that is not finite.
pub fn tables(docket: &Docket, outcomes: &[GameOutcome], scores: &Scores, no_text: bool) -> Result<Vec<Table>, ReportError> {
    let Some(first) = scores.rubrics.first() else { return Ok(Vec::new()) };
    Ok(vec![
        leaderboard(docket, scores)?,
        rubrics(docket, scores)?,
        head_to_head(docket, scores, first)?,
        error_profile(docket, scores)?,
        conformance(outcomes, scores)?,
        games(docket, outcomes, first)?,
        findings(docket, outcomes, first, no_text)?,
    ])
}

fn ends(interval: Option<Interval>, scale: f64, decimals: usize) -> [Cell; 2] {
    [
        Cell::maybe(interval.map(|interval| scale * interval.lo), decimals),
        Cell::maybe(interval.map(|interval| scale * interval.hi), decimals),
    ]
}

/// The ranking: rating with interval, mean point share with interval, games won, lost and tied, points.
///
/// # Errors
/// A number that is not finite.
pub fn leaderboard(docket: &Docket, scores: &Scores) -> Result<Table, ReportError> {
    let columns = vec![
        Column::number("rank", "Rank"),
        Column::text("source", "Source"),
        Column::number("rating", "Rating"),
        Column::number("rating_lo", "95% low"),
        Column::number("rating_hi", "95% high"),
        Column::number("share", "Mean point share").with_unit("%"),
        Column::number("share_lo", "95% low").with_unit("%"),
        Column::number("share_hi", "95% high").with_unit("%"),
        Column::number("games", "Games"),
        Column::number("won", "Won"),
        Column::number("lost", "Lost"),
        Column::number("tied", "Tied"),
        Column::number("points_for", "Points for"),
        Column::number("points_against", "Points against"),
    ];
    let mut table = Table::new("leaderboard", "Leaderboard", columns)?;
    let Some(first) = scores.rubrics.first() else { return Ok(table) };
    for (place, &source) in scores.ranking.iter().enumerate() {
        let record = first.head_to_head.overall(source);
        let count = |n: Option<u32>| n.map_or(Cell::Missing, |n| Cell::Int(n.into()));
        let [rating_lo, rating_hi] = ends(first.rating_intervals[source].filter(|_| first.bradley_terry.mle_exists()), 1.0, 0);
        let [share_lo, share_hi] = ends(first.share_intervals[source], 100.0, 1);
        table.push(vec![
            Cell::count(place + 1),
            docket.sources[source].as_str().into(),
            Cell::maybe(first.bradley_terry.fit.as_ref().map(|fit| fit.ratings[source]), 0),
            rating_lo,
            rating_hi,
            Cell::maybe(first.mean_shares[source].map(|share| 100.0 * share), 1),
            share_lo,
            share_hi,
            count(record.map(|record| record.n_games)),
            count(record.map(|record| record.wins)),
            count(record.map(|record| record.losses)),
            count(record.map(|record| record.ties)),
            Cell::number(first.charged[source].1, 1),
            Cell::number(first.charged[source].0, 1),
        ])?;
    }
    let n_scored = first.points.iter().flatten().count();
    let why = no_rating(docket, first)
        .map(|why| format!("{why} {} of {n_scored} scored games have a decisive finding.", first.n_games_in_fit));
    let note = why.unwrap_or_else(|| {
        format!(
            "Bradley-Terry ratings centred on 1500 from {} games; intervals from {} case resamples, {} of them without a fit.",
            first.n_games_in_fit, first.bootstrap.n_resamples, first.bootstrap.n_failed
        )
    });
    Ok(table.with_note(note))
}

/// The ranking as people read it: intervals and games won, lost and tied in one cell each.
///
/// # Errors
/// A number that is not finite.
pub fn leaderboard_shown(docket: &Docket, scores: &Scores) -> Result<Table, ReportError> {
    let whole = leaderboard(docket, scores)?;
    let columns = vec![
        Column::number("rank", "Rank"),
        Column::text("source", "Source"),
        Column::number("rating", "Rating"),
        Column::number("rating_interval", "95% interval"),
        Column::number("share", "Mean point share").with_unit("%"),
        Column::number("share_interval", "95% interval").with_unit("%"),
        Column::number("record", "Won-lost-tied"),
        Column::number("points", "Points for : against"),
    ];
    let mut table = Table::new("leaderboard", "Leaderboard", columns)?;
    for row in whole.rows() {
        let joined = |cells: &[Cell], mark: &str| {
            let missing = cells.contains(&Cell::Missing);
            if missing { Cell::Missing } else { cells.iter().map(Cell::display).collect::<Vec<_>>().join(mark).into() }
        };
        table.push(vec![
            row[0].clone(),
            row[1].clone(),
            row[2].clone(),
            joined(&row[3..5], " to "),
            row[5].clone(),
            joined(&row[6..8], " to "),
            joined(&row[9..12], "-"),
            joined(&row[12..14], " : "),
        ])?;
    }
    Ok(match whole.note() {
        Some(note) => table.with_note(note),
        None => table,
    })
}

/// Why there is no rating, with the separated sources named; `None` when there is one.
pub(super) fn no_rating(docket: &Docket, scores: &RubricScores) -> Option<String> {
    let names = |group: &Vec<usize>| group.iter().map(|source| docket.sources[*source].as_str()).collect::<Vec<_>>().join(", ");
    match scores.bradley_terry.reason? {
        NoFit::Disconnected => {
            let groups: Vec<String> = scores.bradley_terry.components.iter().map(names).collect();
            Some(format!(
                "No rating: some sources never met in a scored game, so they cannot be compared. Groups: {}. Ranked by mean point share.",
                groups.join(" | ")
            ))
        }
        NoFit::NotStronglyConnected => {
            let groups: Vec<String> = scores.bradley_terry.tiers.iter().map(names).collect();
            Some(format!(
                "No rating: no source of a later group took a point from an earlier one, so the likelihood has no maximum. \
                 Groups, best first: {}. Ranked by mean point share.",
                groups.join(" > ")
            ))
        }
    }
}

fn rubrics(docket: &Docket, scores: &Scores) -> Result<Table, ReportError> {
    let mut columns = vec![Column::text("source", "Source")];
    for rubric in &scores.rubrics {
        let key = rubric.scheme.as_str();
        let label = key.replace('_', " ");
        columns.push(Column::number(format!("{key}_rating"), format!("{label}: rating")));
        columns.push(Column::number(format!("{key}_rating_lo"), "95% low"));
        columns.push(Column::number(format!("{key}_rating_hi"), "95% high"));
        columns.push(Column::number(format!("{key}_share"), "share").with_unit("%"));
        columns.push(Column::number(format!("{key}_resamples_without_fit"), "resamples without a fit"));
    }
    let mut table = Table::new("rubrics", "The ranking under other rubrics", columns)?;
    for &source in &scores.ranking {
        let mut row = vec![docket.sources[source].as_str().into()];
        for rubric in &scores.rubrics {
            row.push(Cell::maybe(rubric.bradley_terry.fit.as_ref().map(|fit| fit.ratings[source]), 0));
            row.extend(ends(rubric.rating_intervals[source].filter(|_| rubric.bradley_terry.mle_exists()), 1.0, 0));
            row.push(Cell::maybe(rubric.mean_shares[source].map(|share| 100.0 * share), 1));
            row.push(Cell::count(rubric.bootstrap.n_failed));
        }
        table.push(row)?;
    }
    Ok(table)
}

fn head_to_head(docket: &Docket, scores: &Scores, first: &RubricScores) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("source", "Source"),
        Column::text("opponent", "Opponent"),
        Column::number("games", "Games"),
        Column::number("won", "Won"),
        Column::number("lost", "Lost"),
        Column::number("tied", "Tied"),
        Column::number("share", "Mean point share").with_unit("%"),
    ];
    let mut table = Table::new("head_to_head", "Head to head", columns)?;
    for (i, &source) in scores.ranking.iter().enumerate() {
        for &opponent in &scores.ranking[i + 1..] {
            let Some(record) = first.head_to_head.record(source, opponent) else { continue };
            table.push(vec![
                docket.sources[source].as_str().into(),
                docket.sources[opponent].as_str().into(),
                Cell::Int(record.n_games.into()),
                Cell::Int(record.wins.into()),
                Cell::Int(record.losses.into()),
                Cell::Int(record.ties.into()),
                Cell::maybe(record.mean_share.map(|share| 100.0 * share), 1),
            ])?;
        }
    }
    Ok(table)
}

/// Mean point shares as a matrix, for the page.
pub(super) fn head_to_head_matrix(docket: &Docket, scores: &Scores, first: &RubricScores) -> Result<Table, ReportError> {
    let mut columns = vec![Column::text("source", "Source")];
    columns.extend(scores.ranking.iter().map(|source| {
        let name = docket.sources[*source].as_str();
        Column::number(format!("versus {name}"), name).with_unit("%")
    }));
    let mut table = Table::new("head_to_head_matrix", "Head to head", columns)?;
    for &source in &scores.ranking {
        let mut row = vec![docket.sources[source].as_str().into()];
        row.extend(scores.ranking.iter().map(|opponent| {
            let share =
                first.head_to_head.record(source, *opponent).filter(|_| source != *opponent).and_then(|record| record.mean_share);
            Cell::maybe(share.map(|share| 100.0 * share), 1)
        }));
        table.push(row)?;
    }
    Ok(table.with_note("Mean share of the points of the source in the row against the source in the column."))
}

/// Discrepancies charged to each source, per game and per report.
fn error_profile(docket: &Docket, scores: &Scores) -> Result<Table, ReportError> {
    error_rates(docket, scores, true)
}

/// Discrepancies charged to each source per game, for people.
///
/// # Errors
/// A number that is not finite.
pub fn error_profile_shown(docket: &Docket, scores: &Scores) -> Result<Table, ReportError> {
    error_rates(docket, scores, false)
}

fn error_rates(docket: &Docket, scores: &Scores, per_report: bool) -> Result<Table, ReportError> {
    let profile = &scores.profile;
    let mut columns = vec![Column::text("source", "Source")];
    if per_report {
        columns.push(Column::text("rate", "Rate"));
    }
    columns.extend(Category::ALL.map(|category| Column::number(category.as_str(), category.label())));
    columns.push(Column::number("total", "Total"));
    let mut table = Table::new("error_profile", "Discrepancies charged to each source", columns)?;
    let mut push = |source: &str, rate: &str, values: Option<PerCategory<f64>>| {
        let mut row: Vec<Cell> = vec![source.into()];
        if per_report {
            row.push(rate.into());
        } else if rate != PER_GAME {
            return Ok(());
        }
        match values {
            Some(values) => {
                row.extend(values.iter().map(|(_, value)| Cell::number(*value, 2)));
                row.push(Cell::number(values.iter().map(|(_, value)| value).sum(), 2));
            }
            None => row.extend(std::iter::repeat_n(Cell::Missing, Category::ALL.len() + 1)),
        }
        table.push(row)
    };
    for &source in &scores.ranking {
        push(docket.sources[source].as_str(), PER_GAME, profile.per_matchup(source))?;
        push(docket.sources[source].as_str(), PER_REPORT, profile.per_report(source))?;
    }
    push("(mean of sources)", PER_GAME, profile.mean_per_matchup())?;
    push("(mean of sources)", PER_REPORT, profile.mean_per_report())?;
    push("(all games pooled)", PER_GAME, profile.pooled_per_matchup())?;
    Ok(table.with_note(format!(
        "Instances in pairings, not distinct errors: one error can count against several opponents. {}",
        if per_report { "Per report sums over opponents." } else { "Rates per game." }
    )))
}

/// Numbers of games by how they ended, of findings, and of evidence found: what the paper reports as schema conformance and
/// evidence rates.
pub(super) fn conformance(outcomes: &[GameOutcome], scores: &Scores) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("measure", "Measure"),
        Column::number("n", "Number"),
        Column::number("percent", "Share").with_unit("%"),
    ];
    let mut table = Table::new("conformance", "Replies and evidence", columns)?;
    let mut push = |name: &str, n: usize, of: Option<usize>| {
        let percent = of.filter(|of| *of > 0).map(|of| 100.0 * n as f64 / of as f64);
        table.push(vec![name.into(), Cell::count(n), Cell::maybe(percent, 1)])
    };
    let n_games = outcomes.len();
    push("games", n_games, None)?;
    let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in outcomes {
        *by_status.entry(outcome.status.name()).or_default() += 1;
    }
    push("games: every finding valid", by_status.remove("ok").unwrap_or(0), Some(n_games))?;
    push("games: partial (some findings invalid)", by_status.remove("partial").unwrap_or(0), Some(n_games))?;
    for (status, n) in by_status {
        push(&format!("games: {status}"), n, Some(n_games))?;
    }
    let max_attempts = outcomes.iter().map(|outcome| outcome.attempts.len()).max().unwrap_or(0);
    for attempt in 1..=max_attempts {
        let n = outcomes.iter().filter(|o| o.status == GameStatus::Ok && o.attempts.len() == attempt).count();
        push(&format!("games: valid at attempt {attempt}"), n, Some(n_games))?;
    }
    push("games: met the limit of reply tokens", n_at_limit(outcomes, Limit::Tokens), Some(n_games))?;
    push("games: met the limit of findings", n_at_limit(outcomes, Limit::Findings), Some(n_games))?;
    let n_replies: usize = outcomes.iter().map(|outcome| outcome.attempts.len()).sum();
    push("replies", n_replies, None)?;
    // Evidence that must be verbatim is not asked for here.
    for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::EvidenceInvalid) {
        let n = outcomes.iter().flat_map(|o| &o.attempts).filter(|attempt| attempt.outcome == outcome).count();
        push(&format!("replies: {}", outcome.name()), n, Some(n_replies))?;
    }
    if n_closed(outcomes) > 0 {
        push("replies: closed at the token limit", n_closed(outcomes), Some(n_replies))?;
    }
    if let Some((n, _)) = unnamed_marks(outcomes) {
        push("replies: reasoning taken off by a mark that the card does not name", n, Some(n_replies))?;
    }
    let findings: Vec<&Finding> = outcomes.iter().flat_map(|outcome| &outcome.findings).collect();
    let n_findings = findings.len();
    push("findings: valid", n_findings, None)?;
    push("findings: invalid", outcomes.iter().map(|outcome| outcome.invalid.len()).sum(), None)?;
    push("findings: with verdict A or B", findings.iter().filter(|f| f.verdict.is_decisive()).count(), Some(n_findings))?;
    push("findings: TIMING within the tolerance", findings.iter().filter(|f| f.within_tolerance).count(), Some(n_findings))?;
    let quotes = &scores.quotes;
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let n_quoted = size(quotes.n_quoted);
    push("findings: with quoted evidence", n_quoted, Some(n_findings))?;
    push("evidence: byte for byte in the report", size(quotes.n_byte_exact), Some(n_quoted))?;
    push("evidence: in the report, quotes and spaces alike", size(quotes.n_normalised), Some(n_quoted))?;
    push("evidence: not in the report", n_quoted - size(quotes.n_normalised), Some(n_quoted))?;
    Ok(table)
}

fn games(docket: &Docket, outcomes: &[GameOutcome], first: &RubricScores) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("case", "Case"),
        Column::text("a", "A"),
        Column::text("b", "B"),
        Column::text("status", "Status"),
        Column::number("attempts", "Attempts"),
        Column::number("findings", "Findings"),
        Column::number("invalid", "Invalid"),
        Column::number("decisive", "Decisive"),
        Column::number("charged_a", "Charged to A"),
        Column::number("charged_b", "Charged to B"),
        Column::number("share_a", "Share of A"),
        Column::text("in_fit", "In the fit"),
    ];
    let mut table = Table::new("games", "Games", columns)?;
    for (outcome, points) in outcomes.iter().zip(&first.points) {
        let game = outcome.game;
        let in_fit = match points {
            Some(points) if !points.empty => "yes",
            Some(_) => "no decisive finding",
            None => "no",
        };
        table.push(vec![
            docket.reports[game.case].case.as_str().into(),
            docket.sources[game.a].as_str().into(),
            docket.sources[game.b].as_str().into(),
            outcome.status.name().into(),
            Cell::count(outcome.attempts.len()),
            Cell::count(outcome.findings.len()),
            Cell::count(outcome.invalid.len()),
            points.map_or(Cell::Missing, |points| Cell::Int(points.n_decisive.into())),
            Cell::maybe(points.map(|points| points.charged.a), 1),
            Cell::maybe(points.map(|points| points.charged.b), 1),
            Cell::maybe(points.map(|points| points.share_a), 3),
            in_fit.into(),
        ])?;
    }
    Ok(table)
}

fn findings(docket: &Docket, outcomes: &[GameOutcome], first: &RubricScores, no_text: bool) -> Result<Table, ReportError> {
    let mut columns = vec![
        Column::text("case", "Case"),
        Column::text("a", "A"),
        Column::text("b", "B"),
        Column::number("number", "Finding"),
        Column::text("type", "Type"),
        Column::text("verdict", "Verdict"),
        Column::text("polarity", "Polarity"),
        Column::number("a_row", "A row"),
        Column::text("a_time", "A time").with_unit("h"),
        Column::number("b_row", "B row"),
        Column::text("b_time", "B time").with_unit("h"),
        Column::text("category", "Category"),
        Column::text("charged", "Charged to"),
        Column::number("points", "Points"),
        Column::text("evidence_location", "Evidence"),
        Column::text("within_tolerance", "Within tolerance"),
    ];
    if !no_text {
        columns.extend(["a_event", "b_event", "evidence", "rationale"].map(|name| Column::text(name, name.replace('_', " "))));
    }
    let rubric = Rubric::from(first.scheme);
    let mut table = Table::new("findings", "Findings", columns)?;
    for outcome in outcomes {
        let game = outcome.game;
        for (i, finding) in outcome.findings.iter().enumerate() {
            let [a, b] = [(game.a, finding.a), (game.b, finding.b)].map(|(source, row)| Row::of(docket, game.case, source, row));
            let charge = charge(&finding.discrepancy());
            let charged = charge.map(|charge| match charge.side {
                Side::A => game.a,
                Side::B => game.b,
            });
            let mut row = vec![
                docket.reports[game.case].case.as_str().into(),
                docket.sources[game.a].as_str().into(),
                docket.sources[game.b].as_str().into(),
                Cell::count(i + 1),
                finding.kind.as_str().into(),
                finding.verdict.as_str().into(),
                finding.polarity.as_str().into(),
                a.number,
                a.time,
                b.number,
                b.time,
                charge.map_or(Cell::Missing, |charge| charge.category.as_str().into()),
                charged.map_or(Cell::Missing, |source| docket.sources[source].as_str().into()),
                Cell::number(charge.map_or(0.0, |charge| rubric.weights()[charge.category]), 1),
                location_name(&finding.located).into(),
                if finding.within_tolerance { "yes" } else { "no" }.into(),
            ];
            if !no_text {
                row.extend([a.event, b.event, finding.evidence.as_str().into(), finding.rationale.as_str().into()]);
            }
            table.push(row)?;
        }
    }
    Ok(table)
}

/// One side of a finding as cells.
struct Row {
    number: Cell,
    time: Cell,
    event: Cell,
}

impl Row {
    fn of(docket: &Docket, case: usize, source: usize, row: Option<usize>) -> Self {
        let event = row
            .zip(docket.timelines[case][source].as_ref())
            .map(|(row, timeline): (usize, &Timeline)| (row, &timeline.events[row]));
        match event {
            Some((row, event)) => {
                Self { number: Cell::count(row + 1), time: time_text(event.time).into(), event: event.text.as_str().into() }
            }
            None => Self { number: Cell::Missing, time: Cell::Missing, event: Cell::Missing },
        }
    }
}

fn location_name(located: &Located) -> &'static str {
    match located {
        Located::ByteExact { .. } => "byte_exact",
        Located::Normalised { .. } => "normalised",
        Located::Unlocated => "unlocated",
        Located::NoQuote => "none",
    }
}
