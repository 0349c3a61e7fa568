//! Requests and their content keys.

use super::generate::{Constraint, Message, ReplyLimit};
use crate::data::Numerics;
use crate::models::{ModelCard, Reasoning};
use crate::prompts::PromptId;
use crate::store::{ItemKey, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bindings and revision of the decoding loop. A change that can change a reply changes this.
pub const ENGINE_VERSION: &str = "llama-cpp-sys-2 0.1.161, decoding 5";

/// Which weights answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelIdentity {
    /// Weight files by hash, chat template by hash, its switches.
    Local {
        files: Vec<String>,
        template: String,
        switches: BTreeMap<String, serde_json::Value>,
        reasoning: Option<(String, String)>,
    },
    /// A model on somebody's server.
    Served { model: String, revision: String },
}

impl ModelIdentity {
    /// The identity that `card` states; `models verify` and every load check that the files agree.
    #[must_use]
    pub fn of(card: &ModelCard) -> Self {
        if let Some(served) = &card.served {
            return Self::Served { model: served.model.clone(), revision: served.revision.clone() };
        }
        let template = card.template.as_ref();
        Self::Local {
            files: card.files.iter().map(|file| file.sha256.clone()).collect(),
            template: template.and_then(|template| template.sha256.clone()).unwrap_or_default(),
            switches: template
                .map(|template| {
                    let json = |value: &toml::Value| serde_json::to_value(value).expect("a TOML value is a JSON value");
                    template.switches.iter().map(|(name, value)| (name.clone(), json(value))).collect()
                })
                .unwrap_or_default(),
            reasoning: card.reasoning.as_ref().map(Reasoning::identity),
        }
    }
}

/// The settings of a local engine that can change a reply. Thread count is left out: `tests/judge.rs` shows equal logits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineIdentity {
    pub numerics: Numerics,
    pub backend: String,
    pub device_class: String,
    /// "all" or a number, as far as there is a GPU.
    pub gpu_layers: String,
    pub moe_on_cpu: bool,
    pub kv_type: String,
    pub flash_attention: bool,
    pub ubatch: u32,
    pub split_mode: String,
    /// Passages are drafted and beginnings shared: fast numerics only.
    pub drafts: bool,
    pub sharing: bool,
    pub version: String,
}

/// One question to a judge.
#[derive(Clone)]
pub struct Request {
    pub prompt: PromptId,
    /// Names for people, kept with the record. No part of the key.
    pub labels: BTreeMap<String, String>,
    pub messages: Vec<Message>,
    pub constraint: Option<Arc<Constraint>>,
    pub reply_limit: ReplyLimit,
    /// Most tokens of reasoning before the reply; `None` for a judge that does not think aloud.
    pub max_reasoning_tokens: Option<u32>,
    /// 1 for the first try.
    pub attempt: u32,
    /// What a complete reply is worth, by the rules of the stage.
    pub classify: Arc<dyn Fn(&str) -> Outcome + Send + Sync>,
}

impl Request {
    /// Stage and prompt version.
    #[must_use]
    pub fn stage(&self) -> String {
        self.prompt.to_string()
    }
}

/// A request that waits for a reply from elsewhere.
#[derive(Clone)]
pub struct PendingItem {
    pub key: ItemKey,
    pub request: Request,
}

#[derive(Serialize)]
struct KeyParts<'a> {
    format: u32,
    stage: String,
    model: &'a ModelIdentity,
    prompt: &'a PromptId,
    messages: &'a [Message],
    decoding: Decoding,
    constraint: Option<&'a str>,
    attempt: u32,
    engine: Option<&'a EngineIdentity>,
}

#[derive(Serialize)]
struct Decoding {
    method: &'static str,
    seed: u64,
    max_reply_tokens: u32,
    /// The context that may leave the reply less; absent where the limit is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_tokens: Option<u32>,
    /// Absent for judges that do not think aloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reasoning_tokens: Option<u32>,
}

pub(super) fn key(model: &ModelIdentity, engine: Option<&EngineIdentity>, request: &Request) -> ItemKey {
    ItemKey::of(&KeyParts {
        format: 1,
        stage: request.stage(),
        model,
        prompt: &request.prompt,
        messages: &request.messages,
        decoding: Decoding {
            method: "greedy",
            seed: 0,
            max_reply_tokens: request.reply_limit.most(),
            context_tokens: request.reply_limit.context_tokens(),
            max_reasoning_tokens: request.max_reasoning_tokens,
        },
        constraint: request.constraint.as_ref().map(|constraint| constraint.key_text()),
        attempt: request.attempt,
        engine,
    })
}
