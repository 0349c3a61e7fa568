//! What the judge is asked: the prompt with report and timelines, and the schema of a reply.

use super::settings::JudgeSettings;
use crate::data::{Event, EventTime, FindingSchema, Timeline};
use crate::engine::generate::Constraint;
use crate::measure::finding::{FindingType, Polarity, Verdict};
use crate::prompts::{Prompt, PromptError};
use serde_json::{Value, json};

/// A time as the judge sees it: whole hours without a decimal point.
pub(super) fn time_text(time: EventTime) -> String {
    time.hours().map_or_else(|| "N/A".into(), |hours| hours.get().to_string())
}

fn timeline_text(timeline: &Timeline, schema: FindingSchema) -> String {
    // One line a row: a line end inside an event text would let it pose as a row of its own.
    let line = |(i, event): (usize, &Event)| {
        let text = event.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match schema {
            FindingSchema::Rows => format!("{}. {}: {text}", i + 1, time_text(event.time)),
            FindingSchema::Published => format!("{}: {text}", time_text(event.time)),
        }
    };
    timeline.events.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The prompt of one game.
pub(super) fn prompt_text(
    prompt: &Prompt,
    settings: &JudgeSettings,
    report: &str,
    a: &Timeline,
    b: &Timeline,
) -> Result<String, PromptError> {
    prompt.render(minijinja::context! {
        tolerance_hours => settings.tolerance_floor_hours.to_string(),
        finding_schema => match settings.finding_schema {
            FindingSchema::Rows => "rows",
            FindingSchema::Published => "published",
        },
        max_findings => settings.max_findings,
        max_evidence_chars => JudgeSettings::MAX_EVIDENCE_CHARS,
        max_rationale_chars => JudgeSettings::MAX_RATIONALE_CHARS,
        report,
        timeline_a => timeline_text(a, settings.finding_schema),
        timeline_b => timeline_text(b, settings.finding_schema),
    })
}

/// The schema of a reply about timelines `a` and `b`: only findings whose sides fit their type can be written.
pub(super) fn reply_schema(settings: &JudgeSettings, a: &Timeline, b: &Timeline) -> Constraint {
    let side = |timeline: &Timeline| match settings.finding_schema {
        FindingSchema::Rows => Side::rows(timeline),
        FindingSchema::Published => Side::published(timeline),
    };
    let (a, b) = (side(a), side(b));
    let both = |kinds: &[FindingType]| item(kinds, settings.finding_schema, a.given.as_ref(), b.given.as_ref());
    let mut items = vec![
        both(&[FindingType::Value, FindingType::Timing, FindingType::SharedUnsupported, FindingType::Duplicate]),
        item(&[FindingType::AOnly, FindingType::Duplicate], settings.finding_schema, a.given.as_ref(), Some(&b.null)),
        item(&[FindingType::BOnly, FindingType::Duplicate], settings.finding_schema, Some(&a.null), b.given.as_ref()),
    ];
    items.retain(|item| !item.is_null());
    let findings = if items.is_empty() {
        json!({"type": "array", "maxItems": 0})
    } else {
        json!({"type": "array", "maxItems": settings.max_findings, "items": {"anyOf": items}})
    };
    Constraint::new(
        "gavel_findings",
        json!({"type": "object", "properties": {"findings": findings}, "required": ["findings"], "additionalProperties": false}),
    )
}

/// How a side is written when it has the event (`None`: its timeline is empty) and when it has not.
struct Side {
    given: Option<Vec<Value>>,
    null: Vec<Value>,
}

impl Side {
    fn rows(timeline: &Timeline) -> Self {
        let n_rows = timeline.events.len();
        Self {
            given: (n_rows > 0).then(|| vec![json!({"type": "integer", "minimum": 1, "maximum": n_rows})]),
            null: vec![json!({"type": "null"})],
        }
    }

    fn published(timeline: &Timeline) -> Self {
        let mut times: Vec<Value> = Vec::new();
        for event in &timeline.events {
            let time = event.time.hours().map_or_else(|| json!("N/A"), |hours| number(hours.get()));
            if !times.contains(&time) {
                times.push(time);
            }
        }
        let text = json!({"type": "string", "minLength": 1, "maxLength": JudgeSettings::MAX_EVIDENCE_CHARS});
        Self {
            given: (!times.is_empty()).then(|| vec![text, json!({"enum": times})]),
            null: vec![json!({"type": "null"}), json!({"type": "null"})],
        }
    }
}

/// A JSON number without a decimal point where it is whole.
#[expect(clippy::cast_possible_truncation, reason = "guarded: whole and within the range that doubles hold exactly")]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// One form of a finding; null when a side cannot be given.
fn item(kinds: &[FindingType], schema: FindingSchema, a: Option<&Vec<Value>>, b: Option<&Vec<Value>>) -> Value {
    let (Some(a), Some(b)) = (a, b) else { return Value::Null };
    let text = |max_chars: u32| json!({"type": "string", "minLength": 1, "maxLength": max_chars});
    let names = match schema {
        FindingSchema::Rows => &["row"][..],
        FindingSchema::Published => &["event", "time"][..],
    };
    let mut properties = serde_json::Map::new();
    properties.insert("type".into(), json!({"enum": kinds}));
    for (side, values) in [("a", a), ("b", b)] {
        for (name, value) in names.iter().zip(values) {
            properties.insert(format!("{side}_{name}"), value.clone());
        }
    }
    properties.insert("polarity".into(), json!({"enum": Polarity::ALL}));
    properties.insert("evidence".into(), text(JudgeSettings::MAX_EVIDENCE_CHARS));
    properties.insert("rationale".into(), text(JudgeSettings::MAX_RATIONALE_CHARS));
    properties.insert("verdict".into(), json!({"enum": Verdict::ALL}));
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}
