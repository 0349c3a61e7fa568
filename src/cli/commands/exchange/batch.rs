//! The OpenAI-batch format: a request a line out, a result a line in (as vLLM's offline batch runner writes them).

use super::completion::{self, NoReply};
use crate::engine::PendingItem;
use crate::engine::generate::{Finished, Form};
use crate::json;
use crate::store::ItemKey;
use serde_json::{Value, json};

/// One request as a JSON value.
pub(super) fn request_line(item: &PendingItem, model: &str) -> Value {
    let mut body = json!({
        "model": model,
        "messages": item.request.messages,
        // Servers count reasoning and reply together.
        "max_tokens": item.request.reply_limit.most().saturating_add(item.request.max_reasoning_tokens.unwrap_or(0)),
        "temperature": 0,
    });
    if let (Some(constraint), Some(body)) = (&item.request.constraint, body.as_object_mut()) {
        let (field, value) = match constraint.form() {
            Form::Schema(schema) => (
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": constraint.name(), "strict": true, "schema": schema}}),
            ),
            // OpenAI's format has no grammars; this is vLLM's field.
            Form::Grammar(text) => ("structured_outputs", json!({"grammar": text})),
        };
        body.insert(field.into(), value);
    }
    json!({"custom_id": item.key, "method": "POST", "url": "/v1/chat/completions", "body": body})
}

/// What a line of a results file is.
pub(super) enum Line {
    Reply(ItemKey, Finished),
    /// A well-formed result that reports a failure.
    Error(String),
    Malformed(String),
}

/// Reads one line. Messages name fields and codes, never contents.
pub(super) fn read_line(line: &[u8]) -> Line {
    let malformed = |error: &serde_json::Error| Line::Malformed(format!("expected a batch result in JSON, {}", place(error)));
    let Ok(text) = std::str::from_utf8(line) else {
        return Line::Malformed("expected a batch result in UTF-8, got other bytes".into());
    };
    let result = match json::parse_object(text) {
        Ok(result) => result,
        Err(error) => return malformed(&error),
    };
    let Some(key) = result.get("custom_id").and_then(Value::as_str).and_then(ItemKey::parse) else {
        return Line::Malformed("custom_id: expected the 64 hexadecimal digits of a request".into());
    };
    if let Some(error) = result.get("error").filter(|error| !error.is_null()) {
        return Line::Error(format!("the result reports an error ({})", completion::error_code(error)));
    }
    let response = match result.get("response") {
        Some(Value::Object(response)) => response,
        None | Some(Value::Null) => return Line::Malformed("neither response nor error is given".into()),
        Some(_) => return Line::Malformed("response: expected an object".into()),
    };
    match response.get("status_code") {
        None | Some(Value::Null) => {}
        Some(status) => match status.as_f64() {
            Some(200.0) => {}
            Some(status) => return Line::Error(format!("the result has status {status}")),
            None => return Line::Malformed("response.status_code: expected a number".into()),
        },
    }
    match completion::read(response.get("body")) {
        Ok(finished) => Line::Reply(key, finished),
        Err(NoReply::Failure(reason)) => Line::Error(reason),
        Err(NoReply::Form(reason)) => Line::Malformed(reason),
    }
}

/// What is wrong and where, without the value: serde's own message may quote a reply.
fn place(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Io => "got a read error",
        serde_json::error::Category::Syntax => "got broken JSON",
        serde_json::error::Category::Data if json::is_repeated_key(error) => "got an object with the same key twice",
        serde_json::error::Category::Data => "got JSON of another form",
        serde_json::error::Category::Eof => "got JSON that ends too early",
    };
    if error.column() > 0 { format!("{what} (column {})", error.column()) } else { what.to_string() }
}
