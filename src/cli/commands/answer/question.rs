//! Chat requests in the OpenAI-batch format, as questions to a judge. What a greedy judge on this machine cannot do is refused and
//! never left out in silence.

use super::body;
use crate::cli::console::Failure;
use crate::engine::Request;
use crate::engine::generate::{Constraint, DEFAULT_REPLY_TOKENS, Form, ReplyLimit};
use crate::json;
use crate::models::ModelCard;
use crate::prompts::PromptId;
use crate::store::Outcome;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// The fields of a line.
const FIELDS: [&str; 4] = ["custom_id", "method", "url", "body"];

/// One line of a batch.
pub(super) struct Question {
    pub custom_id: String,
    pub request: Request,
}

/// Every request of the batch at `path`.
///
/// # Errors
/// The first line that is no request, asks for what cannot be done, or repeats a custom_id. Messages hold no text of a request.
pub(super) fn read_batch(path: &Path, card: &ModelCard, context_tokens: u32) -> Result<Vec<Question>, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
    let reasoning = card.reasoning_tokens(None).map_err(Failure::usage)?;
    let mut questions = Vec::new();
    let mut seen = HashMap::new();
    // A request without a limit gets what the context leaves.
    let unlimited = ReplyLimit::Context { most: DEFAULT_REPLY_TOKENS, context_tokens };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = i + 1;
        let at = |reason: &str| Failure::usage(format_args!("{}:{number}: {reason}", path.display()));
        let question = question(line, reasoning, unlimited).map_err(|reason| at(&reason))?;
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

fn question(line: &str, max_reasoning_tokens: Option<u32>, unlimited: ReplyLimit) -> Result<Question, String> {
    let line = json::parse_object(line).map_err(|error| match json::is_repeated_key(&error) {
        true => format!("expected every key once, got one twice in an object that ends at column {}", error.column()),
        false => format!("expected a chat request in JSON, got something else at column {}", error.column()),
    })?;
    if let Some((name, _)) = line.iter().find(|(name, value)| !FIELDS.contains(&name.as_str()) && !value.is_null()) {
        return Err(format!("unknown field `{name}`; expected {}", FIELDS.join(", ")));
    }
    let text = |name: &str| match line.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("{name}: expected a text")),
    };
    let custom_id = text("custom_id")?.ok_or("custom_id: expected a text, got none")?.to_owned();
    if let Some(method) = text("method")?.filter(|method| !method.eq_ignore_ascii_case("POST")) {
        return Err(format!("method: expected POST, got {method}"));
    }
    if let Some(url) = text("url")?.filter(|url| !url.ends_with("/chat/completions")) {
        return Err(format!("url: expected /v1/chat/completions, got {url}"));
    }
    let asked = line.get("body").and_then(Value::as_object).ok_or("body: expected an object with messages")?;
    let body = body::read(asked).map_err(|reason| format!("body: {reason}"))?;
    let constraint = body.constraint;
    let is_json = matches!(constraint.as_ref().map(Constraint::form), Some(Form::Schema(_)));
    let request = Request {
        prompt: PromptId { name: "batch/chat".into(), version: 1, sha256: format!("{:x}", Sha256::digest(b"")) },
        labels: BTreeMap::from([("custom_id".to_string(), custom_id.clone())]),
        messages: body.messages,
        constraint: constraint.map(Arc::new),
        reply_limit: body.max_tokens.map_or(unlimited, ReplyLimit::Fixed),
        max_reasoning_tokens,
        attempt: 1,
        classify: Arc::new(move |reply| match is_json && serde_json::from_str::<Value>(reply).is_err() {
            true => Outcome::SchemaInvalid,
            false => Outcome::Ok,
        }),
    };
    Ok(Question { custom_id, request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const UNLIMITED: ReplyLimit = ReplyLimit::Context { most: 16_384, context_tokens: 8_192 };

    fn asked(line: &str) -> Result<Question, String> {
        question(line, None, UNLIMITED)
    }

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
        let question = question(&line(body), Some(5), UNLIMITED).expect("a request");
        let request = &question.request;
        assert_eq!((request.reply_limit, request.max_reasoning_tokens), (ReplyLimit::Fixed(7), Some(5)));
        assert_eq!(request.messages.len(), 2);
        assert_eq!(request.constraint.as_ref().map(|constraint| constraint.key_text()), Some(schema.to_string().as_str()));
        assert_eq!(((request.classify)("{}"), (request.classify)("{")), (Outcome::Ok, Outcome::SchemaInvalid));
    }

    #[test]
    fn a_request_without_a_limit_gets_what_the_context_leaves() {
        let body = json!({"messages": [{"role": "user", "content": "x"}], "stop": null, "n": 1});
        assert_eq!(asked(&line(body)).expect("a request").request.reply_limit, UNLIMITED);
    }

    #[test]
    fn what_is_wrong_is_named_without_quoting() {
        let good = json!({"messages": [{"role": "user", "content": "secret"}], "max_tokens": 7});
        for (line, words) in [
            (line(json!({"messages": "secret"})), "body: messages: "),
            (line(json!({"messages": [], "temperature": 1})), "body: temperature: "),
            (json!({"custom_id": 1, "body": good}).to_string(), "custom_id: expected a text"),
            (json!({"custom_id": "a", "body": good, "secrets": 1}).to_string(), "unknown field `secrets`"),
            (json!({"custom_id": "a", "body": good, "url": "/v1/embeddings"}).to_string(), "url: expected"),
            (json!({"custom_id": "a", "body": "secret"}).to_string(), "body: expected an object"),
            (line(good.clone()).replace("\"max_tokens\":7", "\"max_tokens\":7,\"max_tokens\":8"), "expected every key once"),
            ("{\"secret\"".to_string(), "expected a chat request in JSON"),
        ] {
            let error = asked(&line).err().unwrap_or_else(|| panic!("{line} was taken"));
            assert!(error.contains(words) && !error.contains("\"secret"), "{error}");
        }
    }
}
