//! One game before the judge: ask, check, ask again, and what became of it.

use super::ask::{prompt_text, reply_schema};
use super::game::{Docket, Game};
use super::reply::{Checker, Finding, InvalidFinding, ReplyError};
use super::settings::JudgeSettings;
use crate::data::{FindingSchema, ReplyMode};
use crate::engine::generate::Message;
use crate::engine::{Engine, GenerateError, Request};
use crate::measure::tolerance::{DistanceReading, ToleranceRule};
use crate::prompts::{Prompt, PromptError};
use crate::store::{FinishReason, ItemKey, Outcome, Record, Usage};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// How a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameStatus {
    /// Every finding is valid.
    Ok,
    /// The last reply had invalid findings; its valid ones are kept.
    Partial,
    /// No usable reply, for this reason.
    Failed(Outcome),
    /// A reply is still to come.
    Pending,
}

impl GameStatus {
    /// The name used in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Failed(outcome) => outcome.name(),
            Self::Pending => "pending",
        }
    }
}

/// One reply and what was wrong with it.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Under which the store holds the reply.
    pub key: ItemKey,
    pub outcome: Outcome,
    /// The validator's messages, or the engine's.
    pub errors: Vec<String>,
    /// How the reply came to its end.
    pub finish: FinishReason,
    /// The limit that it met.
    pub limit: Option<Limit>,
    /// The mark of reasoning that it began with and the judge's card does not name.
    pub unnamed_mark: Option<String>,
    pub usage: Usage,
}

/// A limit that a reply met: findings may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Tokens of the reply.
    Tokens,
    /// Findings.
    Findings,
}

/// What became of a game.
#[derive(Debug, Clone)]
pub struct GameOutcome {
    pub game: Game,
    pub status: GameStatus,
    pub attempts: Vec<Attempt>,
    pub findings: Vec<Finding>,
    pub invalid: Vec<InvalidFinding>,
    /// The last reply as it came, where it was not valid as a whole.
    pub raw: Option<String>,
}

/// Games whose last reply met `limit`.
pub(super) fn n_at_limit(outcomes: &[GameOutcome], limit: Limit) -> usize {
    outcomes.iter().filter(|outcome| outcome.attempts.last().is_some_and(|attempt| attempt.limit == Some(limit))).count()
}

/// Replies that began with reasoning by a mark that the judge's card does not name, with the first such mark.
pub(super) fn unnamed_marks(outcomes: &[GameOutcome]) -> Option<(usize, &str)> {
    let mut marks = outcomes.iter().flat_map(|outcome| &outcome.attempts).filter_map(|attempt| attempt.unnamed_mark.as_deref());
    let first = marks.next()?;
    Some((1 + marks.count(), first))
}

/// Replies that were ended by closing their JSON at the limit.
pub(super) fn n_closed(outcomes: &[GameOutcome]) -> usize {
    outcomes.iter().flat_map(|outcome| &outcome.attempts).filter(|attempt| attempt.finish == FinishReason::Closed).count()
}

/// Why judging stops altogether.
#[derive(Debug, Error)]
pub enum JudgeError {
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Engine(#[from] GenerateError),
    #[error("game {game:?} names a timeline that its case has not")]
    NoTimeline { game: Game },
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
}

/// Judges one game. A pure function of the replies: with the same replies it gives the same outcome.
///
/// # Errors
/// [`JudgeError`] for what no other try of this game could mend. A bad reply is no error: it is an outcome.
pub async fn judge(
    engine: &Engine,
    prompt: &Prompt,
    settings: &JudgeSettings,
    docket: &Docket,
    game: Game,
) -> Result<GameOutcome, JudgeError> {
    let report = &docket.reports[game.case];
    let timeline = |source: usize| docket.timelines[game.case][source].as_ref().ok_or(JudgeError::NoTimeline { game });
    let (a, b) = (timeline(game.a)?, timeline(game.b)?);
    let tolerance = ToleranceRule::new(settings.tolerance_floor_hours, DistanceReading::MaxAbs)?;
    let checker = Arc::new(OwnedChecker {
        schema: settings.finding_schema,
        report: report.text.clone(),
        a: a.clone(),
        b: b.clone(),
        tolerance,
        max_findings: settings.max_findings,
    });
    let constraint = Arc::new(reply_schema(settings, a, b));
    let labels = BTreeMap::from([
        ("case".to_string(), report.case.to_string()),
        ("a".to_string(), docket.sources[game.a].to_string()),
        ("b".to_string(), docket.sources[game.b].to_string()),
    ]);
    let mut messages = vec![Message::user(prompt_text(prompt, settings, &report.text, a, b)?)];
    let mut outcome = GameOutcome {
        game,
        status: GameStatus::Pending,
        attempts: Vec::new(),
        findings: Vec::new(),
        invalid: Vec::new(),
        raw: None,
    };
    for attempt in 1..=settings.max_attempts {
        let request = Request {
            prompt: prompt.id().clone(),
            labels: labels.clone(),
            messages: messages.clone(),
            constraint: (settings.reply == ReplyMode::Constrained).then(|| Arc::clone(&constraint)),
            reply_limit: settings.reply_limit,
            max_reasoning_tokens: settings.max_reasoning_tokens,
            attempt,
            classify: {
                let checker = Arc::clone(&checker);
                Arc::new(move |reply| checker.classify(reply))
            },
        };
        let record = match engine.generate(request).await {
            Ok(record) => record,
            Err(GenerateError::Pending { .. }) => {
                outcome.status = GameStatus::Pending;
                return Ok(outcome);
            }
            Err(error) => return Err(error.into()),
        };
        let errors = take_reply(&checker.borrow(), &record, &mut outcome);
        if outcome.status == GameStatus::Ok || matches!(outcome.status, GameStatus::Failed(failed) if !failed.answers()) {
            break;
        }
        messages.push(Message::assistant(record.reply));
        messages.push(Message::user(retry_text(&errors)));
    }
    Ok(outcome)
}

/// Reads one record into `outcome`; returns the messages for the judge.
fn take_reply(checker: &Checker<'_>, record: &Record, outcome: &mut GameOutcome) -> Vec<String> {
    let mut finish = record.finish;
    let mut limit = matches!(finish, FinishReason::Length | FinishReason::Closed).then_some(Limit::Tokens);
    let (status, errors) = match (record.outcome, record.finish) {
        (failed, _) if !failed.answers() => (GameStatus::Failed(record.outcome), vec![record.detail.clone().unwrap_or_default()]),
        (_, FinishReason::Length) => {
            let error = "the reply was cut at the token limit before its JSON was complete; write fewer or shorter findings";
            (GameStatus::Failed(Outcome::Truncated), vec![error.to_string()])
        }
        (_, FinishReason::Loop) => {
            let error = "the reply repeated the same words over and over and was ended; write each finding once, in short";
            (GameStatus::Failed(Outcome::Truncated), vec![error.to_string()])
        }
        (_, FinishReason::NoReply) => {
            let error = "the turn was ended inside the reasoning; write the JSON object after it";
            (GameStatus::Failed(Outcome::SchemaInvalid), vec![error.to_string()])
        }
        _ => match checker.parse(&record.reply) {
            Err(error) => {
                match error {
                    ReplyError::NoReply(_) => finish = FinishReason::NoReply,
                    ReplyError::TooMany(_) => limit = Some(Limit::Findings),
                    ReplyError::Form(_) => {}
                }
                (GameStatus::Failed(Outcome::SchemaInvalid), error.messages())
            }
            Ok(parsed) => {
                if parsed.findings.len() + parsed.invalid.len() >= checker.max_findings() {
                    limit = limit.or(Some(Limit::Findings));
                }
                let errors = parsed.errors();
                let status = match (parsed.invalid.is_empty(), parsed.findings.is_empty()) {
                    (true, _) => GameStatus::Ok,
                    (false, false) => GameStatus::Partial,
                    (false, true) => GameStatus::Failed(Outcome::SchemaInvalid),
                };
                outcome.findings = parsed.findings;
                outcome.invalid = parsed.invalid;
                (status, errors)
            }
        },
    };
    if !matches!(status, GameStatus::Ok | GameStatus::Partial) {
        // An earlier try's findings do not stand for this one's.
        outcome.findings.clear();
        let is_whole = matches!(finish, FinishReason::Stop | FinishReason::Closed);
        outcome.invalid.retain(|_| matches!(status, GameStatus::Failed(Outcome::SchemaInvalid)) && is_whole);
    }
    let attempt_outcome = match status {
        GameStatus::Ok => Outcome::Ok,
        GameStatus::Failed(outcome) => outcome,
        GameStatus::Partial | GameStatus::Pending => Outcome::SchemaInvalid,
    };
    outcome.raw = (status != GameStatus::Ok).then(|| record.reply.clone());
    outcome.attempts.push(Attempt {
        key: record.key,
        outcome: attempt_outcome,
        errors: errors.clone(),
        finish,
        limit,
        unnamed_mark: record.unnamed_mark.clone(),
        usage: record.usage,
    });
    outcome.status = status;
    errors
}

fn retry_text(errors: &[String]) -> String {
    let list: String = errors.iter().map(|error| format!("- {error}\n")).collect();
    format!("This reply breaks the rules:\n{list}Write the whole JSON object again, corrected, and nothing else.")
}

/// A checker that a request can carry to the engine's thread.
struct OwnedChecker {
    schema: FindingSchema,
    report: String,
    a: crate::data::Timeline,
    b: crate::data::Timeline,
    tolerance: ToleranceRule,
    max_findings: u32,
}

impl OwnedChecker {
    fn borrow(&self) -> Checker<'_> {
        Checker::new(self.schema, &self.report, &self.a, &self.b, self.tolerance, self.max_findings)
    }

    fn classify(&self, reply: &str) -> Outcome {
        match self.borrow().parse(reply) {
            Ok(parsed) if parsed.invalid.is_empty() => Outcome::Ok,
            _ => Outcome::SchemaInvalid,
        }
    }
}

#[cfg(test)]
mod tests;
