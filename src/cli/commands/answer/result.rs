//! Results in the OpenAI-batch format.

use super::question::Question;
use crate::engine::generate::Form;
use crate::store::{FinishReason, Outcome, Record};
use serde_json::{Value, json};

/// The result of `question`. `finish_reason` has the format's two values; the record's own is `finish`.
pub(super) fn line(question: &Question, record: &Record, model: &str) -> Value {
    let custom_id = &question.custom_id;
    let id = record.key.to_string();
    if !record.outcome.answers() {
        let error = json!({"code": record.outcome.name(), "message": message(question, record)});
        return json!({"id": id, "custom_id": custom_id, "response": null, "error": error});
    }
    let finish = match record.finish {
        FinishReason::Stop | FinishReason::NoReply | FinishReason::None => "stop",
        FinishReason::Length | FinishReason::Closed | FinishReason::Loop => "length",
    };
    let mut message = json!({"role": "assistant", "content": record.reply});
    if let Some(reasoning) = &record.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    let usage = record.usage;
    let body = json!({
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "finish": record.finish.name()}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.reply_tokens,
            "total_tokens": usage.prompt_tokens + usage.reply_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.reused_tokens},
        },
    });
    json!({"id": id, "custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": null})
}

/// What went wrong; of a request that cannot be answered as it is, with the field where that is known.
fn message(question: &Question, record: &Record) -> Option<String> {
    let detail = record.detail.clone()?;
    let field = match question.request.constraint.as_ref().map(|constraint| constraint.form()) {
        Some(Form::Schema(_)) => "response_format",
        Some(Form::Grammar(_)) => "structured_outputs.grammar",
        None => return Some(detail),
    };
    let is_form = record.outcome == Outcome::RequestInvalid && detail.starts_with("constraint ");
    Some(if is_form { format!("{field}: {detail}") } else { detail })
}
