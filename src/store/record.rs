//! The stored outcome of one item.

use super::ItemKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete reply that its stage accepts.
    Ok,
    /// The token limit came before the end of the reply, or the reply repeated itself and was ended.
    Truncated,
    /// The reply does not have the form asked for, or a part of it breaks a rule.
    SchemaInvalid,
    /// The form is right; cited evidence that must be verbatim is not.
    EvidenceInvalid,
    /// The prompt and the reply's reserve do not fit the context; nothing was computed. Such a record never answers its key.
    PromptTooLong,
    /// The request cannot be answered as it is: its form does not compile, or the chat template refuses its messages. Such a record
    /// never answers its key.
    RequestInvalid,
    /// The engine failed on this item. Such a record never answers its key: the item is computed again.
    EngineCrash,
}

impl Outcome {
    /// Every outcome, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::SchemaInvalid,
        Self::EvidenceInvalid,
        Self::Truncated,
        Self::PromptTooLong,
        Self::RequestInvalid,
        Self::EngineCrash,
    ];

    /// Whether such a record answers its key. A crash or a prompt that did not fit says nothing of the judge: another run, with more
    /// memory or a longer context, may do better.
    #[must_use]
    pub fn answers(self) -> bool {
        !matches!(self, Self::EngineCrash | Self::PromptTooLong | Self::RequestInvalid)
    }

    /// The name used in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Truncated => "truncated",
            Self::SchemaInvalid => "schema_invalid",
            Self::EvidenceInvalid => "evidence_invalid",
            Self::PromptTooLong => "prompt_too_long",
            Self::RequestInvalid => "request_invalid",
            Self::EngineCrash => "engine_crash",
        }
    }
}

/// Why generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended its turn, or the constraint was complete.
    Stop,
    /// The reply's token limit.
    Length,
    /// The reply's token limit, met by closing what was open in its JSON: nothing was added to what the model wrote.
    Closed,
    /// The reply went round in circles and was ended.
    Loop,
    /// The model ended its turn inside its reasoning: there is no reply.
    NoReply,
    /// Nothing was generated: see the outcome and detail.
    None,
}

impl FinishReason {
    /// The name used in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Closed => "closed",
            Self::Loop => "loop",
            Self::NoReply => "no_reply",
            Self::None => "none",
        }
    }
}

/// Where a reply came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Computed by this program's engine.
    Engine,
    /// Taken in with `assize replies`.
    Imported,
}

impl Origin {
    /// The name used in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Imported => "imported",
        }
    }
}

/// Token counts of one item. Units: tokens of the judge's own tokenizer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt as submitted.
    pub prompt_tokens: u32,
    /// Of these, tokens whose state was already computed for another item.
    pub reused_tokens: u32,
    /// Tokens of the reply and of reasoning before it, the end token excluded.
    pub reply_tokens: u32,
}

/// Wall time of one item in the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// From admission to the first reply token.
    pub prompt_ms: f64,
    /// From the first reply token to the last.
    pub reply_ms: f64,
}

/// One finished item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub key: ItemKey,
    /// Stage and prompt version, as `gavel/judge.v1`.
    pub stage: String,
    /// Names for people: case, sources. No part of the key.
    pub labels: BTreeMap<String, String>,
    /// 1 for the first try of an item.
    pub attempt: u32,
    pub outcome: Outcome,
    pub finish: FinishReason,
    /// The raw reply, reasoning excluded.
    pub reply: String,
    /// Reasoning text of models that think aloud, kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The reasoning reached its limit and was ended by the engine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning_cut: bool,
    /// The mark of the reasoning that the reply began with, where the judge's card names no such mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed_mark: Option<String>,
    pub usage: Usage,
    /// Sequences decoded together when the reply ended; 1 in exact mode, 0 when unknown.
    pub batch_width: u32,
    /// Smallest gap between the chosen token's logit and the runner-up's over the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_margin: Option<f32>,
    pub timings: Timings,
    pub origin: Origin,
    /// Message of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
