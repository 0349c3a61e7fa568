//! A constraint at work: which tokens may follow. A JSON schema is held by llguidance, a grammar by llama.cpp.

use super::grammar::Grammar;
use super::model::Loaded;
use super::reply::top;
use crate::engine::generate::prefix_tree::Token;
use crate::engine::generate::{Constraint, Form};
use llama_cpp_2::token::LlamaToken;
use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use serde_json::json;

/// The state of a constraint after the reply so far.
pub(super) struct Mask<'a> {
    loaded: &'a Loaded,
    state: State,
}

enum State {
    Schema(Box<Matcher>),
    Grammar(Grammar),
}

impl<'a> Mask<'a> {
    /// The constraint before the first token.
    ///
    /// # Errors
    /// The reason why it cannot be compiled.
    pub fn new(loaded: &'a Loaded, constraint: &Constraint) -> Result<Self, String> {
        let failed = |error: String| format!("constraint {}: {error}", constraint.name());
        let state = match constraint.form() {
            Form::Grammar(text) => State::Grammar(Grammar::new(&loaded.model, text).map_err(failed)?),
            Form::Schema(schema) => {
                let mut schema = schema.clone();
                if let Some(object) = schema.as_object_mut() {
                    // Compact JSON only: free white space is where a small model gets lost.
                    let compact = json!({"whitespace_flexible": false, "item_separator": ",", "key_separator": ":"});
                    object.insert("x-guidance".into(), compact);
                }
                let parser = loaded.constraints.create_parser(TopLevelGrammar::from_json_schema(schema));
                State::Schema(Box::new(Matcher::new(Ok(parser.map_err(|error| failed(error.to_string()))?))))
            }
        };
        Ok(Self { loaded, state })
    }

    /// How many of `draft`'s first tokens are worth trying one after the other.
    pub fn n_allowed(&mut self, draft: &[Token]) -> usize {
        match &mut self.state {
            // A constraint that cannot answer says so at the next choice.
            State::Schema(matcher) => {
                let ids: Vec<u32> = draft.iter().map(|token| token.cast_unsigned()).collect();
                matcher.validate_tokens(&ids).unwrap_or(0)
            }
            // It cannot look ahead further; every token is checked again when it is chosen.
            State::Grammar(grammar) => {
                draft.first().filter(|token| grammar.allows(LlamaToken(**token))).map_or(0, |_| draft.len())
            }
        }
    }

    /// The tokens that a JSON schema leaves no choice about. Grammars force nothing that is known ahead.
    pub fn forced(&mut self) -> Vec<LlamaToken> {
        match &mut self.state {
            State::Schema(matcher) => matcher.compute_ff_tokens().into_iter().map(|id| LlamaToken(id.cast_signed())).collect(),
            State::Grammar(_) => Vec::new(),
        }
    }

    /// Whether `token` may follow; an end token may where the reply could end.
    pub fn allows(&mut self, token: LlamaToken) -> Result<bool, String> {
        match &mut self.state {
            State::Grammar(grammar) => Ok(grammar.allows(token)),
            State::Schema(matcher) if self.loaded.model.vocab().is_eog(token) => matcher.is_accepting().map_err(refused),
            State::Schema(matcher) => Ok(matcher.validate_tokens(&ids(&[token])).map_err(refused)? == 1),
        }
    }

    /// The likeliest token that may follow, and its lead over the next one that may.
    pub fn best(&mut self, logits: &[f32]) -> Result<(LlamaToken, f32), String> {
        match &mut self.state {
            State::Grammar(grammar) => top(grammar.allowed(logits).into_iter()),
            State::Schema(matcher) => {
                let mask = matcher.compute_mask_or_eos().map_err(refused)?;
                let logits = logits.iter().copied().enumerate();
                top(logits.filter(|(id, _)| u32::try_from(*id).is_ok_and(|id| mask.is_allowed(id))))
            }
        }
    }

    /// Moves on by `token`, which may follow.
    pub fn consume(&mut self, token: LlamaToken) -> Result<(), String> {
        match &mut self.state {
            State::Grammar(grammar) => grammar.consume(token),
            State::Schema(matcher) => matcher.consume_tokens(&ids(&[token])).map_err(refused),
        }
    }

    /// Whether a JSON reply could end after `tokens`. Of grammars nothing is known that closes them.
    pub fn ends_after(&self, tokens: &[LlamaToken]) -> bool {
        let State::Schema(matcher) = &self.state else { return false };
        let mut ahead = matcher.deep_clone();
        ahead.try_consume_tokens(&ids(tokens)).is_ok_and(|n| n == tokens.len()) && ahead.is_accepting().unwrap_or(false)
    }

    /// Whether it is known that the reply can only end here. After a grammar the model's own end token says it.
    pub fn is_complete(&self) -> bool {
        match &self.state {
            State::Schema(matcher) => matcher.is_stopped(),
            State::Grammar(_) => false,
        }
    }
}

fn ids(tokens: &[LlamaToken]) -> Vec<u32> {
    tokens.iter().map(|token| token.0.cast_unsigned()).collect()
}

fn refused(error: impl std::fmt::Display) -> String {
    format!("constraint: {error}")
}
