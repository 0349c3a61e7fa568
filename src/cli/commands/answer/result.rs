//! Results in the OpenAI-batch format.

use crate::store::{FinishReason, Record};
use serde_json::{Value, json};

/// The result of the request called `custom_id`. `finish_reason` has the format's two values; the record's own is `finish`.
pub(super) fn line(custom_id: &str, record: &Record, model: &str) -> Value {
    let id = record.key.to_string();
    if !record.outcome.answers() {
        let error = json!({"code": record.outcome.name(), "message": record.detail});
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
