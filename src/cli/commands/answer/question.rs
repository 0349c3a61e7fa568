//! Chat requests in the OpenAI-batch format, as questions to a judge. What a greedy judge on this machine cannot do is refused and
//! never left out in silence.

use crate::cli::console::Failure;
use crate::engine::Request;
use crate::engine::generate::{Constraint, Message, Role};
use crate::models::ModelCard;
use crate::prompts::PromptId;
use crate::store::Outcome;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// One line of a batch.
pub(super) struct Question {
    pub custom_id: String,
    pub request: Request,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    custom_id: String,
    #[serde(default, rename = "method")]
    _method: Option<String>,
    #[serde(default)]
    url: Option<String>,
    body: Body,
}

/// A field that is not here would change a reply in a way that nobody could see.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    /// What a server calls its model; here the card decides.
    #[serde(default, rename = "model")]
    _model: Option<String>,
    messages: Vec<ChatMessage>,
    #[serde(alias = "max_completion_tokens")]
    max_tokens: u32,
    #[serde(default)]
    temperature: Option<f64>,
    /// Greedy decoding needs none.
    #[serde(default, rename = "seed")]
    _seed: Option<i64>,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
    #[serde(default)]
    structured_outputs: Option<StructuredOutputs>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatMessage {
    role: Role,
    content: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    Text,
    JsonSchema { json_schema: NamedSchema },
}

#[derive(Deserialize)]
struct NamedSchema {
    name: String,
    schema: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StructuredOutputs {
    grammar: String,
}

/// Every request of the batch at `path`.
///
/// # Errors
/// The first line that is no request, asks for what cannot be done, or repeats a custom_id. Messages hold no text of a request.
pub(super) fn read_batch(path: &Path, card: &ModelCard) -> Result<Vec<Question>, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
    let reasoning = card.reasoning_tokens(None).map_err(Failure::usage)?;
    let mut questions = Vec::new();
    let mut seen = HashMap::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = i + 1;
        let at = |reason: &str| Failure::usage(format_args!("{}:{number}: {reason}", path.display()));
        let question = question(line, reasoning).map_err(|reason| at(&reason))?;
        if let Some(first) = seen.insert(question.custom_id.clone(), number) {
            return Err(at(&format!("this custom_id came before in line {first}; give every request its own")));
        }
        questions.push(question);
    }
    if questions.is_empty() {
        return Err(Failure::usage(format_args!("{}: expected one request a line, got none", path.display())));
    }
    Ok(questions)
}

fn question(line: &str, max_reasoning_tokens: Option<u32>) -> Result<Question, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| what_is_wrong(&error))?;
    let body = line.body;
    if let Some(url) = line.url.filter(|url| url != "/v1/chat/completions") {
        return Err(format!("url: expected /v1/chat/completions, got {url}"));
    }
    if let Some(temperature) = body.temperature.filter(|temperature| *temperature != 0.0) {
        return Err(format!("temperature: expected 0 (decoding is greedy), got {temperature}"));
    }
    if body.n.is_some_and(|n| n != 1) || body.stream == Some(true) {
        return Err("n and stream: expected one reply that is not streamed".into());
    }
    if body.messages.is_empty() || body.max_tokens == 0 {
        return Err("messages and max_tokens: expected at least one message and one token".into());
    }
    let constraint = match (body.response_format, body.structured_outputs) {
        (Some(ResponseFormat::JsonSchema { json_schema }), None) => Some(Constraint::new(&json_schema.name, json_schema.schema)),
        (None | Some(ResponseFormat::Text), Some(outputs)) => Some(Constraint::grammar("grammar", &outputs.grammar)),
        (None | Some(ResponseFormat::Text), None) => None,
        (Some(_), Some(_)) => return Err("response_format and structured_outputs: expected one of them".into()),
    };
    let is_json = matches!(constraint.as_ref().map(Constraint::form), Some(crate::engine::generate::Form::Schema(_)));
    let messages = body.messages.into_iter().map(|message| Message { role: message.role, content: message.content });
    let request = Request {
        prompt: PromptId { name: "batch/chat".into(), version: 1, sha256: format!("{:x}", Sha256::digest(b"")) },
        labels: BTreeMap::from([("custom_id".to_string(), line.custom_id.clone())]),
        messages: messages.collect(),
        constraint: constraint.map(Arc::new),
        max_reply_tokens: body.max_tokens,
        max_reasoning_tokens,
        attempt: 1,
        classify: Arc::new(move |reply| match is_json && serde_json::from_str::<Value>(reply).is_err() {
            true => Outcome::SchemaInvalid,
            false => Outcome::Ok,
        }),
    };
    Ok(Question { custom_id: line.custom_id, request })
}

/// Which field is wrong, where serde names one; the value could be a text of a case.
fn what_is_wrong(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let names_a_field = ["unknown field", "missing field", "duplicate field"].iter().any(|start| message.starts_with(start));
    if names_a_field {
        let field = message.split(" at line").next().unwrap_or_default().split(", expected").next().unwrap_or_default();
        return format!("{field} (column {}); expected a chat request with a batch's fields", error.column());
    }
    format!("expected a chat request in JSON, got something else at column {}", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(body: Value) -> String {
        json!({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}).to_string()
    }

    #[test]
    fn a_request_is_asked_as_it_stands() {
        let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
        let body = json!({
            "model": "any", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hm?"}],
            "max_tokens": 7, "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}},
        });
        let question = question(&line(body), Some(5)).expect("a request");
        let request = &question.request;
        assert_eq!((request.max_reply_tokens, request.max_reasoning_tokens), (7, Some(5)));
        assert_eq!(request.messages.len(), 2);
        assert_eq!(request.constraint.as_ref().map(|constraint| constraint.key_text()), Some(schema.to_string().as_str()));
        assert_eq!(((request.classify)("{}"), (request.classify)("{")), (Outcome::Ok, Outcome::SchemaInvalid));
    }

    #[test]
    fn what_cannot_be_done_is_refused_without_quoting() {
        let body = |field: &str, value: Value| {
            let mut body = json!({"messages": [{"role": "user", "content": "secret"}], "max_tokens": 7});
            body[field] = value;
            line(body)
        };
        for (field, value) in [
            ("temperature", json!(0.7)),
            ("n", json!(2)),
            ("stream", json!(true)),
            ("tools", json!(["secret"])),
            ("stop", json!("secret")),
            ("response_format", json!({"type": "json_object"})),
            ("messages", json!([])),
            ("max_tokens", json!(0)),
            ("messages", json!([{"role": "secret", "content": "secret"}])),
        ] {
            let error = question(&body(field, value), None).err().unwrap_or_else(|| panic!("{field} was taken"));
            assert!(!error.contains("secret"), "{error}");
        }
        let without = line(json!({"messages": [{"role": "user", "content": "x"}]}));
        assert!(question(&without, None).err().is_some_and(|error| error.contains("max_tokens")));
    }
}
