//! A chat completion as servers write it, field by field.
//!
//! Servers agree on the names and differ in the values: counts as 10.0 or -1, content in parts, reasoning as an object. What can mean
//! one thing only is read; anything else is refused by the name of its field, never with its value.

use crate::engine::generate::{Finished, Thoughts};
use crate::store::{FinishReason, Origin, Usage};
use serde_json::{Map, Value};

/// Why a completion gives no reply.
pub(super) enum NoReply {
    /// It is well formed and reports a failure.
    Failure(String),
    /// A field has another form; which one, and what was expected.
    Form(String),
}

/// What kind of value stands in a field.
fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

fn form(field: &str, expected: &str, value: Option<&Value>) -> NoReply {
    NoReply::Form(format!("{field}: expected {expected}, got {}", kind(value)))
}

/// The object in a field.
fn object<'v>(field: &str, value: Option<&'v Value>) -> Result<&'v Map<String, Value>, NoReply> {
    value.and_then(Value::as_object).ok_or_else(|| form(field, "an object", value))
}

/// A field that is there and not null.
fn given<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// Reads the body of a response.
pub(super) fn read(body: Option<&Value>) -> Result<Finished, NoReply> {
    const AT: &str = "response.body";
    let body = object(AT, body)?;
    let choices = body.get("choices");
    let choices = choices.and_then(Value::as_array).ok_or_else(|| form(&format!("{AT}.choices"), "a list", choices))?;
    if choices.len() > 1 {
        return Err(NoReply::Failure(format!("the result has {} choices; ask for one (n: 1)", choices.len())));
    }
    let choice = choices.first().ok_or_else(|| NoReply::Failure("the result has no choice".into()))?;
    let at = format!("{AT}.choices[0]");
    let choice = object(&at, Some(choice))?;
    let finish = finish_reason(choice.get("finish_reason"), &at)?;
    let at = format!("{at}.message");
    let message = object(&at, choice.get("message"))?;
    let content = match (given(message, "content"), finish) {
        (Some(content), _) => text(content, &format!("{at}.content"))?,
        // A limit inside the reasoning leaves no reply.
        (None, FinishReason::Length) => String::new(),
        (None, _) => return Err(NoReply::Failure("the result has no content".into())),
    };
    let usage = given(body, "usage").map(|usage| read_usage(usage, &format!("{AT}.usage"))).transpose()?.unwrap_or_default();
    // Servers give the one, the other or both.
    let reasoning = ["reasoning_content", "reasoning", "reasoning_details"].iter().find_map(|name| given(message, name));
    let reasoning = reasoning.map(thoughts).filter(|text| !text.is_empty());
    let reasoning = reasoning.map(|text| Thoughts { text, was_cut: false });
    Ok(Finished { reasoning, usage, ..Finished::of_text(content, finish, Origin::Imported) })
}

fn finish_reason(value: Option<&Value>, at: &str) -> Result<FinishReason, NoReply> {
    let reason = match value {
        None | Some(Value::Null) => return Err(NoReply::Failure("finish_reason: expected stop or length, got null".into())),
        Some(Value::String(reason)) => reason,
        other => return Err(form(&format!("{at}.finish_reason"), "a text", other)),
    };
    match reason.trim().to_ascii_lowercase().as_str() {
        // An empty reason is how some servers say that nothing was in the way.
        "stop" | "" | "eos" | "eos_token" | "end_turn" | "end_of_turn" | "stop_sequence" | "completed" => Ok(FinishReason::Stop),
        "length" | "max_tokens" | "max_length" | "model_length" => Ok(FinishReason::Length),
        // A reason is a word of the format; anything longer could be a text of the case.
        _ if reason.len() <= 32 && reason.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
            Err(NoReply::Failure(format!("finish_reason: expected stop or length, got {reason}")))
        }
        _ => Err(NoReply::Failure("finish_reason: expected stop or length, got another text".into())),
    }
}

/// A text, or a list of text parts, which are joined.
fn text(value: &Value, at: &str) -> Result<String, NoReply> {
    let parts = match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(parts) => parts,
        other => return Err(form(at, "a text or a list of text parts", Some(other))),
    };
    let mut whole = String::new();
    for (i, part) in parts.iter().enumerate() {
        let at = format!("{at}[{i}]");
        match part {
            Value::String(text) => whole += text,
            Value::Object(part) => match part.get("text") {
                Some(Value::String(text)) => whole += text,
                other => return Err(form(&format!("{at}.text"), "a text", other)),
            },
            other => return Err(form(&at, "a text part", Some(other))),
        }
    }
    Ok(whole)
}

/// Reasoning in whatever form: its texts, or the value itself. It is kept to be read by people and decides nothing.
fn thoughts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(thoughts).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => {
            let known = ["text", "content", "summary", "reasoning", "thinking"].iter().find_map(|name| given(part, name));
            known.map_or_else(|| value.to_string(), thoughts)
        }
        other => other.to_string(),
    }
}

fn read_usage(value: &Value, at: &str) -> Result<Usage, NoReply> {
    let usage = object(at, Some(value))?;
    let details = given(usage, "prompt_tokens_details");
    let reused = match details {
        None => 0,
        Some(details) => {
            let at = format!("{at}.prompt_tokens_details");
            tokens(object(&at, Some(details))?, "cached_tokens", &at)?
        }
    };
    Ok(Usage {
        prompt_tokens: tokens(usage, "prompt_tokens", at)?,
        reused_tokens: reused,
        reply_tokens: tokens(usage, "completion_tokens", at)?,
    })
}

/// A count of tokens; 0 where the server does not know it, which some write as null or -1.
fn tokens(usage: &Map<String, Value>, name: &str, at: &str) -> Result<u32, NoReply> {
    let Some(value) = given(usage, name) else { return Ok(0) };
    let n = value.as_f64().filter(|n| n.fract() == 0.0 && *n >= -1.0);
    let n = n.ok_or_else(|| form(&format!("{at}.{name}"), "a whole number", Some(value)))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in the range of the type")]
    Ok(n.clamp(0.0, f64::from(u32::MAX)) as u32)
}

/// The code of an error, for messages: a number, or a word of the format.
pub(super) fn error_code(error: &Value) -> String {
    let code = ["code", "type", "status"].iter().find_map(|name| error.get(name).filter(|value| !value.is_null()));
    match code {
        Some(Value::Number(code)) => code.to_string(),
        Some(Value::String(code)) if code.len() <= 64 && !code.contains(char::is_whitespace) => code.clone(),
        _ => "no code".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(message: Value, finish: Value, usage: Value) -> Value {
        json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})
    }

    fn taken(body: &Value) -> Finished {
        match read(Some(body)) {
            Ok(finished) => finished,
            Err(NoReply::Failure(reason) | NoReply::Form(reason)) => panic!("{body}: {reason}"),
        }
    }

    fn refused(body: &Value) -> String {
        match read(Some(body)) {
            Ok(_) => panic!("{body} was taken"),
            Err(NoReply::Failure(reason) | NoReply::Form(reason)) => reason,
        }
    }

    #[test]
    fn counts_come_as_whole_numbers_in_any_form() {
        let usage = json!({"prompt_tokens": 10.0, "completion_tokens": -1, "prompt_tokens_details": {"cached_tokens": 4}});
        let finished = taken(&body(json!({"content": "a"}), json!("stop"), usage));
        assert_eq!(finished.usage, Usage { prompt_tokens: 10, reused_tokens: 4, reply_tokens: 0 });
        let refused = refused(&body(json!({"content": "a"}), json!("stop"), json!({"prompt_tokens": "ten"})));
        assert_eq!(refused, "response.body.usage.prompt_tokens: expected a whole number, got a text");
    }

    #[test]
    fn content_and_reasoning_come_in_parts() {
        let message = json!({"content": [{"type": "text", "text": "{\"a\":"}, {"type": "text", "text": "1}"}],
            "reasoning": {"content": [{"type": "text", "text": "r"}, "s"]}});
        let finished = taken(&body(message, json!("eos"), Value::Null));
        assert_eq!((finished.reply.as_str(), finished.finish), ("{\"a\":1}", FinishReason::Stop));
        assert_eq!(finished.reasoning.map(|thoughts| thoughts.text).as_deref(), Some("r\ns"));
        let image = json!({"content": [{"type": "image_url", "image_url": "x"}]});
        assert!(
            refused(&body(image, json!("stop"), Value::Null)).starts_with("response.body.choices[0].message.content[0].text: ")
        );
    }

    #[test]
    fn an_end_is_known_or_named() {
        let finish = |reason: &str| taken(&body(json!({"content": "a"}), json!(reason), Value::Null)).finish;
        for reason in ["stop", "", "eos", "EOS_TOKEN", "end_turn"] {
            assert_eq!(finish(reason), FinishReason::Stop, "{reason}");
        }
        for reason in ["length", "max_tokens", "MAX_TOKENS"] {
            assert_eq!(finish(reason), FinishReason::Length, "{reason}");
        }
        let named = |reason: Value| refused(&body(json!({"content": "a"}), reason, Value::Null));
        assert!(named(json!("content_filter")).ends_with("got content_filter"));
        assert!(named(json!("She had a fever")).ends_with("got another text"));
        assert!(named(Value::Null).ends_with("got null"));
    }

    #[test]
    fn codes_are_numbers_words_or_unknown() {
        assert_eq!(error_code(&json!({"code": 429, "message": "x"})), "429");
        assert_eq!(error_code(&json!({"code": null, "type": "server_error"})), "server_error");
        assert_eq!(error_code(&json!({"code": {"a": 1}})), "no code");
        assert_eq!(error_code(&json!("She had a fever")), "no code");
    }
}
