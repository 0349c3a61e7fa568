//! From the text of a reply to findings, with every rule checked.

use super::ask::time_text;
use crate::data::{FindingSchema, Timeline};
use crate::measure::extra_side::{EventCounts, extra_side};
use crate::measure::finding::{Discrepancy, FindingType, Polarity, Side, Verdict};
use crate::measure::quotes::{Located, QuoteIndex};
use crate::measure::tolerance::{ToleranceRule, times_differ};
use crate::pipelines::ask::json::{self, ReplyFault, ReplyValues};
use serde_json::{Map, Value};
use std::str::FromStr;

/// A finding that keeps every rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub kind: FindingType,
    pub verdict: Verdict,
    pub polarity: Polarity,
    /// 0-based row of timeline A.
    pub a: Option<usize>,
    /// 0-based row of timeline B.
    pub b: Option<usize>,
    pub evidence: String,
    pub rationale: String,
    /// Where the evidence stands in the report. An unlocated quotation is reported and the finding stands.
    pub located: Located,
    /// The side with the additional row of a DUPLICATE, derived from the timelines.
    pub extra_side: Option<Side>,
    /// A TIMING finding whose two times are the same under the tolerance; reported, the finding stands.
    pub within_tolerance: bool,
}

impl Finding {
    /// What scoring needs.
    #[must_use]
    pub fn discrepancy(&self) -> Discrepancy {
        Discrepancy { kind: self.kind, verdict: self.verdict, polarity: self.polarity, extra_side: self.extra_side }
    }
}

/// A finding that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidFinding {
    /// 1-based place in the reply.
    pub number: usize,
    pub raw: Value,
    pub errors: Vec<String>,
}

/// A reply that has the right form as a whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedReply {
    pub findings: Vec<Finding>,
    pub invalid: Vec<InvalidFinding>,
}

impl ParsedReply {
    /// The messages of all invalid findings, as the judge is told them.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        let message = |finding: &InvalidFinding| {
            finding.errors.iter().map(|e| format!("finding {}: {e}", finding.number)).collect::<Vec<_>>()
        };
        self.invalid.iter().flat_map(message).collect()
    }
}

/// Why a reply as a whole cannot be used, in words for the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyError {
    /// It has not the form asked for.
    Form(Vec<String>),
    /// It has more findings than were asked for.
    TooMany(String),
    /// It ends inside its reasoning.
    NoReply(String),
}

impl ReplyError {
    /// The messages.
    #[must_use]
    pub fn messages(self) -> Vec<String> {
        match self {
            Self::Form(messages) => messages,
            Self::TooMany(message) | Self::NoReply(message) => vec![message],
        }
    }
}

/// What a reply is checked against: the two timelines and the report, prepared once a game.
pub struct Checker<'a> {
    schema: FindingSchema,
    a: Sheet<'a>,
    b: Sheet<'a>,
    report: QuoteIndex<'a>,
    tolerance: ToleranceRule,
    max_findings: usize,
}

struct Sheet<'a> {
    timeline: &'a Timeline,
    counts: EventCounts,
}

impl<'a> Sheet<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, counts: EventCounts::new(timeline.events.iter().map(|event| event.text.as_str())) }
    }

    fn text(&self, row: Option<usize>) -> Option<&str> {
        row.map(|row| self.timeline.events[row].text.as_str())
    }

    fn hours(&self, row: usize) -> Option<f64> {
        self.timeline.events[row].time.hours().map(crate::data::Hours::get)
    }
}

impl<'a> Checker<'a> {
    /// A checker for replies about `report`, `a` and `b`.
    #[must_use]
    pub fn new(
        schema: FindingSchema,
        report: &'a str,
        a: &'a Timeline,
        b: &'a Timeline,
        tolerance: ToleranceRule,
        max_findings: u32,
    ) -> Self {
        Self {
            schema,
            a: Sheet::new(a),
            b: Sheet::new(b),
            report: QuoteIndex::new(report),
            tolerance,
            max_findings: max_findings as usize,
        }
    }

    /// Most findings of a reply.
    #[must_use]
    pub fn max_findings(&self) -> usize {
        self.max_findings
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// [`ReplyError`] when the reply as a whole has not the form asked for.
    pub fn parse(&self, reply: &str) -> Result<ParsedReply, ReplyError> {
        let items = finding_values(reply)?;
        if items.len() > self.max_findings {
            return Err(ReplyError::TooMany(format!("expected at most {} findings, got {}", self.max_findings, items.len())));
        }
        let mut parsed = ParsedReply::default();
        for (i, item) in items.into_iter().enumerate() {
            match self.finding(&item) {
                Ok(finding) => parsed.findings.push(finding),
                Err(errors) => parsed.invalid.push(InvalidFinding { number: i + 1, raw: item, errors }),
            }
        }
        Ok(parsed)
    }

    fn finding(&self, value: &Value) -> Result<Finding, Vec<String>> {
        let Some(object) = value.as_object() else {
            return Err(vec![format!("expected a JSON object, got {}", json_kind(value))]);
        };
        let mut errors = Vec::new();
        self.check_names(object, &mut errors);
        let kind = label::<FindingType>(object, "type", &mut errors);
        let polarity = label::<Polarity>(object, "polarity", &mut errors);
        let verdict = label::<Verdict>(object, "verdict", &mut errors);
        let evidence = text(object, "evidence", &mut errors);
        let rationale = text(object, "rationale", &mut errors);
        if rationale.as_ref().is_some_and(|rationale| rationale.trim().is_empty()) {
            errors.push("rationale is empty".into());
        }
        let a = self.row(object, Side::A, &mut errors);
        let b = self.row(object, Side::B, &mut errors);
        if let (Some(kind), Some(a), Some(b)) = (kind, a, b) {
            side_rule(kind, a.is_some(), b.is_some(), &mut errors);
        }
        match (kind, polarity, verdict, evidence, rationale, a, b) {
            (Some(kind), Some(polarity), Some(verdict), Some(evidence), Some(rationale), Some(a), Some(b))
                if errors.is_empty() =>
            {
                Ok(Finding {
                    kind,
                    verdict,
                    polarity,
                    a,
                    b,
                    located: self.report.locate(Some(&evidence)),
                    extra_side: (kind == FindingType::Duplicate)
                        .then(|| extra_side(self.a.text(a), self.b.text(b), &self.a.counts, &self.b.counts))
                        .flatten(),
                    within_tolerance: kind == FindingType::Timing
                        && a.zip(b).is_some_and(|(a, b)| !times_differ(self.a.hours(a), self.b.hours(b), &self.tolerance)),
                    evidence,
                    rationale,
                })
            }
            _ => Err(errors),
        }
    }

    fn side_names(&self, side: Side) -> Vec<String> {
        let letter = side_letter(side);
        match self.schema {
            FindingSchema::Rows => vec![format!("{letter}_row")],
            FindingSchema::Published => vec![format!("{letter}_event"), format!("{letter}_time")],
        }
    }

    fn check_names(&self, object: &Map<String, Value>, errors: &mut Vec<String>) {
        let mut known: Vec<String> = ["type", "polarity", "evidence", "rationale", "verdict"].map(String::from).to_vec();
        known.extend(self.side_names(Side::A));
        known.extend(self.side_names(Side::B));
        errors.extend(known.iter().filter(|name| !object.contains_key(*name)).map(|name| format!("{name} is missing")));
        errors.extend(object.keys().filter(|name| !known.contains(name)).map(|name| format!("unknown field {name}")));
    }

    /// `Some(None)` when the side is null, `Some(Some(row))` when it names a row, `None` with a message otherwise.
    fn row(&self, object: &Map<String, Value>, side: Side, errors: &mut Vec<String>) -> Option<Option<usize>> {
        let letter = side_letter(side);
        let sheet = match side {
            Side::A => &self.a,
            Side::B => &self.b,
        };
        let events = &sheet.timeline.events;
        match self.schema {
            FindingSchema::Rows => {
                let value = object.get(&format!("{letter}_row"))?;
                if value.is_null() {
                    return Some(None);
                }
                let row = value.as_u64().and_then(|row| usize::try_from(row).ok()).filter(|row| (1..=events.len()).contains(row));
                if row.is_none() {
                    errors.push(format!("{letter}_row is {value}; timeline {side} has rows 1 to {}", events.len()));
                }
                row.map(|row| Some(row - 1))
            }
            FindingSchema::Published => {
                let event = object.get(&format!("{letter}_event"))?;
                let time = object.get(&format!("{letter}_time"))?;
                if event.is_null() && time.is_null() {
                    return Some(None);
                }
                let wanted = event.as_str().map(folded);
                let row = events.iter().position(|row| wanted.as_ref() == Some(&folded(&row.text)) && same_time(row, time));
                if row.is_none() {
                    errors.push(format!("{letter}_event {event} at {letter}_time {time} is no row of timeline {side}"));
                }
                row.map(Some)
            }
        }
    }
}

fn side_letter(side: Side) -> &'static str {
    match side {
        Side::A => "a",
        Side::B => "b",
    }
}

/// White space aside, texts must be equal letter by letter.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn same_time(row: &crate::data::Event, time: &Value) -> bool {
    match (row.time.hours(), time) {
        (Some(hours), Value::Number(number)) => number.as_f64() == Some(hours.get()),
        (Some(_), Value::String(text)) => text.trim() == time_text(row.time),
        (None, Value::String(text)) => text.trim() == "N/A",
        (None, Value::Null) => true,
        _ => false,
    }
}

fn side_rule(kind: FindingType, has_a: bool, has_b: bool, errors: &mut Vec<String>) {
    let expected = match kind {
        FindingType::Value | FindingType::Timing | FindingType::SharedUnsupported if !(has_a && has_b) => {
            "a row of A and a row of B"
        }
        FindingType::AOnly if !has_a || has_b => "a row of A and null for B",
        FindingType::BOnly if has_a || !has_b => "null for A and a row of B",
        FindingType::Duplicate if !(has_a || has_b) => "a row of at least one side",
        _ => return,
    };
    errors.push(format!("a {kind} finding needs {expected}"));
}

fn label<T: FromStr>(object: &Map<String, Value>, name: &str, errors: &mut Vec<String>) -> Option<T>
where
    T::Err: std::fmt::Display,
{
    let value = object.get(name)?;
    let parsed = value.as_str().map(T::from_str);
    match parsed {
        Some(Ok(label)) => Some(label),
        Some(Err(error)) => {
            errors.push(format!("{name}: {error}"));
            None
        }
        None => {
            errors.push(format!("{name}: expected a text, got {}", json_kind(value)));
            None
        }
    }
}

fn text(object: &Map<String, Value>, name: &str, errors: &mut Vec<String>) -> Option<String> {
    let value = object.get(name)?;
    match value {
        Value::String(text) => Some(text.clone()),
        // The paper's form of "no passage" is a literal; null says the same.
        Value::Null if name == "evidence" => Some("none found".into()),
        _ => {
            errors.push(format!("{name}: expected a text, got {}", json_kind(value)));
            None
        }
    }
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The findings in a reply: `{"findings": […]}`, a bare list, one finding, or findings as objects one after another; in prose, a code
/// fence or after reasoning. A reply with two answers is refused: nobody can say which one is meant.
fn finding_values(reply: &str) -> Result<Vec<Value>, ReplyError> {
    let form = |message: String| ReplyError::Form(vec![message]);
    let ReplyValues { mut values, is_run } = json::values(reply).map_err(|fault| match fault {
        ReplyFault::NoReply { .. } => ReplyError::NoReply(fault.to_string()),
        _ => form(fault.to_string()),
    })?;
    let n_values = values.len();
    match (n_values, values.pop()) {
        (_, None) => Err(form("expected a JSON object with findings, got no JSON".into())),
        (1, Some(value)) => one_value(value).map_err(form),
        (_, Some(last)) => {
            values.push(last);
            let is_finding = |value: &Value| value.as_object().is_some_and(|object| object.contains_key("type"));
            if is_run && values.iter().all(is_finding) {
                return Ok(values);
            }
            Err(form(format!(
                "expected one JSON object with findings, got {n_values} JSON values; write all findings in one, once"
            )))
        }
    }
}

/// The findings of a reply's only value.
fn one_value(value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Object(mut object) if object.contains_key("findings") => match object.remove("findings") {
            Some(Value::Array(items)) if object.is_empty() => Ok(items),
            Some(Value::Array(_)) => {
                let names: Vec<String> = object.keys().cloned().collect();
                Err(format!("unknown field beside findings: {}", names.join(", ")))
            }
            _ => Err("findings: expected a list".into()),
        },
        object => Ok(vec![object]),
    }
}

#[cfg(test)]
mod tests;
