//! The body of a chat request, field by field. What would change a reply in a way that a greedy judge on this machine cannot do is
//! refused by the name of its field, never with its value; what changes nothing (null, `n: 1`, `temperature: 0`) is taken.

use crate::engine::generate::{Constraint, Message, Role};
use serde_json::{Map, Value, json};

/// What a request asks for.
pub(super) struct Body {
    pub messages: Vec<Message>,
    /// `None` where the request sets no limit.
    pub max_tokens: Option<u32>,
    pub constraint: Option<Constraint>,
}

/// Fields that change no greedy reply, whatever they say.
const WITHOUT_EFFECT: [&str; 11] = [
    "model",
    "seed",
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "parallel_tool_calls",
    // Of candidates that are all equally likely to begin with, greedy decoding takes the likeliest.
    "top_p",
    "top_k",
];

/// Whether a value asks for nothing.
type Fits = fn(&Value) -> bool;

/// Fields that must say that nothing of the kind is wanted, with what they may say.
const NEUTRAL: [(&str, &str, Fits); 11] = [
    ("temperature", "0 (decoding is greedy)", is_zero),
    ("presence_penalty", "0", is_zero),
    ("frequency_penalty", "0", is_zero),
    ("n", "1", |value| value.as_f64() == Some(1.0)),
    ("stream", "false", is_false),
    ("logprobs", "false", is_false),
    ("top_logprobs", "0", is_zero),
    ("stop", "null or an empty list", is_empty),
    ("tools", "null or an empty list", is_empty),
    ("tool_choice", "\"none\"", |value| value == "none"),
    ("logit_bias", "null or nothing in it", is_empty),
];

fn is_zero(value: &Value) -> bool {
    value.as_f64() == Some(0.0)
}

fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

/// Reads a body.
///
/// # Errors
/// The field that is wrong and what it may be.
pub(super) fn read(body: &Map<String, Value>) -> Result<Body, String> {
    const READ: [&str; 5] = ["messages", "max_tokens", "max_completion_tokens", "response_format", "structured_outputs"];
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        let name = name.as_str();
        if let Some((_, expected, fits)) = NEUTRAL.iter().find(|(known, ..)| *known == name) {
            if !fits(value) {
                return Err(format!("{name}: expected {expected}"));
            }
        } else if !READ.contains(&name) && !WITHOUT_EFFECT.contains(&name) {
            return Err(format!("unknown field `{name}`: a judge here cannot do what it may ask for; remove it"));
        }
    }
    let given = |name: &str| body.get(name).filter(|value| !value.is_null());
    let constraint = match (given("response_format"), given("structured_outputs")) {
        (None, None) => None,
        (Some(format), None) => response_format(format)?,
        (format, Some(outputs)) => {
            if format.is_some_and(|format| format.get("type").is_none_or(|kind| kind != "text")) {
                return Err("response_format and structured_outputs: expected one of them".into());
            }
            let grammar = outputs.get("grammar").and_then(Value::as_str);
            let is_alone =
                outputs.as_object().is_some_and(|outputs| outputs.values().filter(|value| !value.is_null()).count() == 1);
            let grammar =
                grammar.filter(|_| is_alone).ok_or("structured_outputs: expected a grammar (a text) and nothing else")?;
            Some(Constraint::grammar("grammar", grammar))
        }
    };
    Ok(Body {
        messages: messages(given("messages"))?,
        max_tokens: limit(given("max_tokens"), given("max_completion_tokens"))?,
        constraint,
    })
}

/// The one limit that is set, under whichever name.
fn limit(max_tokens: Option<&Value>, max_completion_tokens: Option<&Value>) -> Result<Option<u32>, String> {
    let number = |name: &str, value: Option<&Value>| match value {
        None => Ok(None),
        Some(value) => {
            let n = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
            n.map(Some).ok_or_else(|| format!("{name}: expected a whole number of at least 1"))
        }
    };
    match (number("max_tokens", max_tokens)?, number("max_completion_tokens", max_completion_tokens)?) {
        (Some(a), Some(b)) if a != b => Err("max_tokens and max_completion_tokens: expected one of them, or equal ones".into()),
        (a, b) => Ok(a.or(b)),
    }
}

fn response_format(format: &Value) -> Result<Option<Constraint>, String> {
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(Constraint::new("json_object", json!({"type": "object"})))),
        Some("json_schema") => {
            let named = format.get("json_schema").and_then(Value::as_object);
            let named = named.ok_or("response_format.json_schema: expected an object with name and schema")?;
            let name = named.get("name").and_then(Value::as_str).unwrap_or("reply");
            let schema = named.get("schema").filter(|schema| schema.is_object());
            let schema = schema.ok_or("response_format.json_schema.schema: expected a JSON schema (an object)")?;
            Ok(Some(Constraint::new(name, schema.clone())))
        }
        _ => Err("response_format.type: expected text, json_object or json_schema".into()),
    }
}

fn messages(value: Option<&Value>) -> Result<Vec<Message>, String> {
    let list = value.and_then(Value::as_array).filter(|list| !list.is_empty());
    list.ok_or("messages: expected a list of at least one message")?
        .iter()
        .enumerate()
        .map(|(i, message)| {
            let at = format!("messages[{i}]");
            let message = message.as_object().ok_or_else(|| format!("{at}: expected an object with role and content"))?;
            for (name, value) in message.iter().filter(|(name, _)| !matches!(name.as_str(), "role" | "content")) {
                // Replies of other servers come back with empty fields for what they did not do.
                if !(value.is_null() || is_empty(value)) {
                    return Err(format!("{at}: unknown field `{name}`; remove it"));
                }
            }
            let role = match message.get("role").and_then(Value::as_str) {
                // What newer models are told by their developer stands where older ones have a system message.
                Some("system" | "developer") => Role::System,
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => return Err(format!("{at}.role: expected system, developer, user or assistant")),
            };
            Ok(Message { role, content: content(message.get("content"), &at)? })
        })
        .collect()
}

/// A text, or text parts, which are joined.
fn content(value: Option<&Value>, at: &str) -> Result<String, String> {
    match value {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let text = |(i, part): (usize, &Value)| -> Result<String, String> {
                let is_text = part.get("type").is_none_or(|kind| kind == "text");
                let text = part.get("text").and_then(Value::as_str).filter(|_| is_text);
                text.map(str::to_owned).ok_or_else(|| format!("{at}.content[{i}]: expected a text part"))
            };
            parts.iter().enumerate().map(text).collect()
        }
        _ => Err(format!("{at}.content: expected a text or a list of text parts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(field: &str, value: Value) -> Map<String, Value> {
        let mut body = json!({"messages": [{"role": "user", "content": "secret"}], "max_tokens": 7});
        body[field] = value;
        body.as_object().cloned().expect("an object")
    }

    #[test]
    fn what_changes_nothing_is_taken() {
        for (field, value) in [
            ("stop", Value::Null),
            ("stop", json!([])),
            ("n", json!(1)),
            ("temperature", json!(0.0)),
            ("max_completion_tokens", json!(7)),
            ("stream", json!(false)),
            ("tools", json!([])),
            ("top_p", json!(1)),
            ("seed", json!(3)),
            ("anything", Value::Null),
        ] {
            let body = read(&with(field, value.clone())).unwrap_or_else(|reason| panic!("{field} {value}: {reason}"));
            assert_eq!((body.max_tokens, body.messages.len(), body.constraint), (Some(7), 1, None), "{field} {value}");
        }
        let body = with("max_tokens", Value::Null);
        assert_eq!(read(&body).expect("a body").max_tokens, None);
    }

    #[test]
    fn roles_parts_and_formats() {
        let messages = json!([
            {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
            {"role": "assistant", "content": "a", "refusal": null, "tool_calls": []},
        ]);
        let body = read(&with("messages", messages)).expect("a body");
        assert_eq!(body.messages, [Message::system("Be brief."), Message::assistant("a")]);
        let object = read(&with("response_format", json!({"type": "json_object"}))).expect("a body");
        assert_eq!(object.constraint, Some(Constraint::new("json_object", json!({"type": "object"}))));
        assert_eq!(read(&with("response_format", json!({"type": "text"}))).expect("a body").constraint, None);
        let grammar = read(&with("structured_outputs", json!({"grammar": "root ::= \"a\""}))).expect("a body");
        assert_eq!(grammar.constraint, Some(Constraint::grammar("grammar", "root ::= \"a\"")));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_field_without_quoting() {
        for (field, value, start) in [
            ("temperature", json!(0.7), "temperature: "),
            ("n", json!(2), "n: "),
            ("stream", json!(true), "stream: "),
            ("tools", json!(["secret"]), "tools: "),
            ("stop", json!("secret"), "stop: "),
            ("max_completion_tokens", json!(8), "max_tokens and max_completion_tokens: "),
            ("max_tokens", json!(0), "max_tokens: "),
            ("max_tokens", json!("secret"), "max_tokens: "),
            ("messages", json!([]), "messages: "),
            ("messages", json!([{"role": "secret", "content": "secret"}]), "messages[0].role: "),
            ("messages", json!([{"role": "user", "content": {"secret": 1}}]), "messages[0].content: "),
            (
                "messages",
                json!([{"role": "user", "content": [{"type": "image_url", "text": "secret"}]}]),
                "messages[0].content[0]: ",
            ),
            ("messages", json!([{"role": "user", "content": "secret", "name": "secret"}]), "messages[0]: unknown field `name`"),
            ("response_format", json!({"type": "secret"}), "response_format.type: "),
            ("response_format", json!({"type": "json_schema"}), "response_format.json_schema: "),
            (
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "n"}}),
                "response_format.json_schema.schema: ",
            ),
            ("structured_outputs", json!({"regex": "secret"}), "structured_outputs: "),
            ("frequency_penalty", json!(1), "frequency_penalty: "),
            ("guided_json", json!({"secret": 1}), "unknown field `guided_json`"),
        ] {
            let error = read(&with(field, value)).err().unwrap_or_else(|| panic!("{field} was taken"));
            assert!(error.starts_with(start) && !error.contains("secret"), "{error}");
        }
    }
}
