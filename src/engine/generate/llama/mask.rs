//! A constraint at work: which tokens may follow.

use super::model::Loaded;
use super::reply::top;
use crate::engine::generate::Constraint;
use llama_cpp_2::token::LlamaToken;
use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use serde_json::json;

/// The state of a constraint after the reply so far.
pub(super) struct Mask<'a> {
    loaded: &'a Loaded,
    matcher: Matcher,
}

impl<'a> Mask<'a> {
    /// The constraint before the first token.
    ///
    /// # Errors
    /// The reason why it cannot be compiled.
    pub fn new(loaded: &'a Loaded, constraint: &Constraint) -> Result<Self, String> {
        let mut schema = constraint.schema().clone();
        if let Some(object) = schema.as_object_mut() {
            // Compact JSON only: free white space is where a small model gets lost.
            object
                .insert("x-guidance".into(), json!({"whitespace_flexible": false, "item_separator": ",", "key_separator": ":"}));
        }
        let parser = loaded
            .constraints
            .create_parser(TopLevelGrammar::from_json_schema(schema))
            .map_err(|error| format!("constraint {}: {error}", constraint.name()))?;
        Ok(Self { loaded, matcher: Matcher::new(Ok(parser)) })
    }

    /// How many of `draft`'s first tokens may follow one after the other.
    pub fn n_allowed(&mut self, draft: &[LlamaToken]) -> usize {
        let ids: Vec<u32> = draft.iter().map(|token| id(*token)).collect();
        // A constraint that cannot answer says so at the next choice.
        self.matcher.validate_tokens(&ids).unwrap_or(0)
    }

    /// Whether `token` may follow; an end token may where the reply could end.
    pub fn allows(&mut self, token: LlamaToken) -> Result<bool, String> {
        if self.loaded.model.vocab().is_eog(token) {
            return self.matcher.is_accepting().map_err(refused);
        }
        Ok(self.matcher.validate_tokens(&[id(token)]).map_err(refused)? == 1)
    }

    /// The likeliest token that may follow, and its lead over the next one that may.
    pub fn best(&mut self, logits: &[f32]) -> Result<(LlamaToken, f32), String> {
        let mask = self.matcher.compute_mask_or_eos().map_err(refused)?;
        top(logits.iter().copied().enumerate().filter(|(id, _)| u32::try_from(*id).is_ok_and(|id| mask.is_allowed(id))))
    }

    /// Moves on by `token`, which may follow.
    pub fn consume(&mut self, token: LlamaToken) -> Result<(), String> {
        self.matcher.consume_token(id(token)).map_err(refused)
    }

    /// Whether the reply can only end here.
    pub fn is_complete(&self) -> bool {
        self.matcher.is_stopped()
    }
}

fn id(token: LlamaToken) -> u32 {
    token.0.cast_unsigned()
}

fn refused(error: impl std::fmt::Display) -> String {
    format!("constraint: {error}")
}
