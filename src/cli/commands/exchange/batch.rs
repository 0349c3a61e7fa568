//! The OpenAI-batch format: a request a line out, a result a line in (as vLLM's offline batch runner writes them).

use crate::engine::PendingItem;
use crate::engine::generate::{Finished, Form, Thoughts};
use crate::store::{FinishReason, ItemKey, Origin, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

/// One request as a JSON value.
pub(super) fn request_line(item: &PendingItem, model: &str) -> Value {
    let mut body = json!({
        "model": model,
        "messages": item.request.messages,
        // Servers count reasoning and reply together.
        "max_tokens": item.request.max_reply_tokens.saturating_add(item.request.max_reasoning_tokens.unwrap_or(0)),
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

#[derive(Deserialize)]
struct ResultLine {
    custom_id: String,
    response: Option<Response>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Response {
    status_code: Option<u16>,
    body: Option<Value>,
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<BodyUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: ChoiceMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChoiceMessage {
    content: Option<String>,
    // Servers give the one, the other or both.
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
}

#[derive(Deserialize, Default)]
struct BodyUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// What is wrong and where, without the value: serde's own message may quote a reply.
fn place(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Io => "got a read error",
        serde_json::error::Category::Syntax => "got broken JSON",
        serde_json::error::Category::Data => "got JSON of another form",
        serde_json::error::Category::Eof => "got JSON that ends too early",
    };
    if error.column() > 0 { format!("{what} (column {})", error.column()) } else { what.to_string() }
}

/// Reads one line. Messages name fields and codes, never contents.
pub(super) fn read_line(line: &[u8]) -> Line {
    let result: ResultLine = match serde_json::from_slice(line) {
        Ok(result) => result,
        Err(error) => return Line::Malformed(format!("expected a batch result in JSON, {}", place(&error))),
    };
    let Some(key) = ItemKey::parse(&result.custom_id) else {
        return Line::Malformed("custom_id: expected the 64 hexadecimal digits of a request".into());
    };
    if let Some(error) = result.error.filter(|error| !error.is_null()) {
        let code = error.get("code").or_else(|| error.get("type")).and_then(Value::as_str).unwrap_or("no code");
        return Line::Error(format!("the result reports an error ({code})"));
    }
    let Some(response) = result.response else {
        return Line::Malformed("neither response nor error is given".into());
    };
    if let Some(status) = response.status_code.filter(|status| *status != 200) {
        return Line::Error(format!("the result has status {status}"));
    }
    let body: Body = match response.body.map(serde_json::from_value) {
        Some(Ok(body)) => body,
        Some(Err(error)) => return Line::Malformed(format!("response.body: expected a chat completion, {}", place(&error))),
        None => return Line::Malformed("response.body is missing".into()),
    };
    let Some(choice) = body.choices.into_iter().next() else {
        return Line::Error("the result has no choice".into());
    };
    let finish = match choice.finish_reason.as_deref() {
        Some("stop") => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        other => return Line::Error(format!("finish_reason: expected stop or length, got {}", other.unwrap_or("null"))),
    };
    let content = match (choice.message.content, finish) {
        (Some(content), _) => content,
        // A limit inside the reasoning leaves no reply.
        (None, FinishReason::Length) => String::new(),
        (None, _) => return Line::Error("the result has no content".into()),
    };
    let usage = body.usage.unwrap_or_default();
    let tokens = |n: Option<u64>| u32::try_from(n.unwrap_or(0)).unwrap_or(u32::MAX);
    let reused_tokens = tokens(usage.prompt_tokens_details.and_then(|details| details.cached_tokens));
    let usage =
        Usage { prompt_tokens: tokens(usage.prompt_tokens), reused_tokens, reply_tokens: tokens(usage.completion_tokens) };
    let reasoning = choice.message.reasoning_content.or(choice.message.reasoning);
    let reasoning = reasoning.map(|text| Thoughts { text, was_cut: false });
    Line::Reply(key, Finished { reasoning, usage, ..Finished::of_text(content, finish, Origin::Imported) })
}
