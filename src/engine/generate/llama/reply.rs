//! One reply as it grows: greedy choice under a constraint, end and limits, reasoning kept apart.

use super::model::Loaded;
use crate::engine::generate::Constraint;
use crate::engine::generate::batching::{Growing, Step};
use crate::engine::generate::prefix_tree::Token;
use crate::models::Reasoning;
use crate::store::FinishReason;
use llama_cpp_2::token::LlamaToken;
use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use serde_json::json;

/// A growing reply.
pub(super) struct Reply<'a> {
    loaded: &'a Loaded,
    matcher: Option<Matcher>,
    /// `Some` while the model still thinks aloud.
    thinking: Option<Reasoning>,
    bytes: Vec<u8>,
    reasoning: Option<Vec<u8>>,
    n_tokens: u32,
    max_tokens: u32,
    min_margin: f32,
}

impl<'a> Reply<'a> {
    /// An empty reply.
    ///
    /// # Errors
    /// The reason why the constraint cannot be compiled.
    pub fn new(loaded: &'a Loaded, constraint: Option<&Constraint>, max_tokens: u32) -> Result<Self, String> {
        let matcher = constraint.map(|constraint| matcher(loaded, constraint)).transpose()?;
        Ok(Self {
            loaded,
            matcher,
            thinking: loaded.reasoning.clone(),
            bytes: Vec::new(),
            reasoning: None,
            n_tokens: 0,
            max_tokens,
            min_margin: f32::INFINITY,
        })
    }

    fn try_choose(&mut self, logits: &[f32]) -> Result<Step, String> {
        let (mut token, mut margin) = top(logits.iter().copied().enumerate())?;
        let vocab = self.loaded.model.vocab();
        if let Some(matcher) = self.matcher.as_mut().filter(|_| self.thinking.is_none()) {
            let is_end = vocab.is_eog(token);
            let allowed = if is_end {
                matcher.is_accepting().map_err(refused)?
            } else {
                matcher.validate_tokens(&[token.0.cast_unsigned()]).map_err(refused)? == 1
            };
            if !allowed {
                let mask = matcher.compute_mask_or_eos().map_err(refused)?;
                let allowed =
                    logits.iter().copied().enumerate().filter(|(id, _)| u32::try_from(*id).is_ok_and(|id| mask.is_allowed(id)));
                (token, margin) = top(allowed)?;
            }
            if !vocab.is_eog(token) {
                matcher.consume_token(token.0.cast_unsigned()).map_err(refused)?;
            }
        }
        self.min_margin = self.min_margin.min(margin);
        if vocab.is_eog(token) {
            return Ok(Step::Done(FinishReason::Stop));
        }
        let mut fed = vec![token.0];
        self.append(token);
        Ok(match self.end().or(self.append_forced(&mut fed)?) {
            Some(finish) => Step::Done(finish),
            None => Step::Feed(fed),
        })
    }

    /// Adds a token that is final.
    fn append(&mut self, token: LlamaToken) {
        self.n_tokens += 1;
        self.bytes.extend(self.loaded.model.vocab().token_to_piece(token, self.thinking.is_some(), None));
        self.end_thinking();
    }

    /// How the reply ends now, if it does.
    fn end(&self) -> Option<FinishReason> {
        if self.thinking.is_none() && self.matcher.as_ref().is_some_and(Matcher::is_stopped) {
            return Some(FinishReason::Stop);
        }
        (self.n_tokens >= self.max_tokens).then_some(FinishReason::Length)
    }

    /// Adds the tokens that the constraint leaves no choice about, also to `fed`; returns how the reply ends with them, if it does.
    fn append_forced(&mut self, fed: &mut Vec<Token>) -> Result<Option<FinishReason>, String> {
        if self.end().is_some() {
            return Ok(None);
        }
        let Some(matcher) = self.matcher.as_mut().filter(|_| self.thinking.is_none()) else { return Ok(None) };
        let forced = matcher.consume_ff_tokens();
        if let Some(error) = matcher.get_error() {
            return Err(refused(error));
        }
        let room = (self.max_tokens - self.n_tokens) as usize;
        for id in forced.iter().take(room) {
            let token = LlamaToken(id.cast_signed());
            fed.push(token.0);
            self.append(token);
        }
        Ok(if forced.len() > room { Some(FinishReason::Length) } else { self.end() })
    }

    /// Moves what was thought aloud out of the reply once its closing mark is complete.
    fn end_thinking(&mut self) {
        let Some(marks) = &self.thinking else { return };
        let close = marks.close.as_bytes();
        if let Some(at) = self.bytes.windows(close.len()).position(|window| window == close) {
            let rest = self.bytes.split_off(at + close.len());
            self.reasoning = Some(std::mem::replace(&mut self.bytes, rest));
            self.thinking = None;
        }
    }
}

impl Growing for Reply<'_> {
    fn begin(&mut self) -> Step {
        let mut fed = Vec::new();
        match self.append_forced(&mut fed) {
            Ok(None) => Step::Feed(fed),
            Ok(Some(finish)) => Step::Done(finish),
            Err(reason) => Step::Crashed(reason),
        }
    }

    /// The constraint refuses the next one, or the reply would be too long.
    fn acceptable(&mut self, draft: &[Token]) -> usize {
        let room = (self.max_tokens - self.n_tokens) as usize;
        let draft = &draft[..draft.len().min(room.saturating_sub(1))];
        let vocab = self.loaded.model.vocab();
        let draft = &draft[..draft.iter().position(|token| vocab.is_eog(LlamaToken(*token))).unwrap_or(draft.len())];
        match self.matcher.as_mut().filter(|_| self.thinking.is_none()) {
            None => draft.len(),
            Some(matcher) => {
                let ids: Vec<u32> = draft.iter().map(|token| token.cast_unsigned()).collect();
                // A constraint that cannot answer says so at the next choice.
                matcher.validate_tokens(&ids).unwrap_or(0)
            }
        }
    }

    /// The largest logit, ties to the lowest id; under a constraint the largest that it allows.
    fn choose(&mut self, logits: &[f32]) -> Step {
        match self.try_choose(logits) {
            Ok(step) => step,
            Err(reason) => Step::Crashed(reason),
        }
    }

    fn n_tokens(&self) -> u32 {
        self.n_tokens
    }

    /// A reply that ended inside its reasoning has an empty reply.
    fn into_parts(self) -> (String, Option<String>, Option<f32>) {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let margin = self.min_margin.is_finite().then_some(self.min_margin);
        if self.thinking.is_some() {
            return (String::new(), Some(text(self.bytes)), margin);
        }
        (text(self.bytes), self.reasoning.map(text), margin)
    }
}

fn matcher(loaded: &Loaded, constraint: &Constraint) -> Result<Matcher, String> {
    let mut schema = constraint.schema().clone();
    if let Some(object) = schema.as_object_mut() {
        // Compact JSON only: free white space is where a small model gets lost.
        object.insert("x-guidance".into(), json!({"whitespace_flexible": false, "item_separator": ",", "key_separator": ":"}));
    }
    let parser = loaded
        .constraints
        .create_parser(TopLevelGrammar::from_json_schema(schema))
        .map_err(|error| format!("constraint {}: {error}", constraint.name()))?;
    Ok(Matcher::new(Ok(parser)))
}

fn refused(error: impl std::fmt::Display) -> String {
    format!("constraint: {error}")
}

/// The largest of `(id, logit)` and its lead over the second.
pub(super) fn top(logits: impl Iterator<Item = (usize, f32)>) -> Result<(LlamaToken, f32), String> {
    let (mut best, mut first, mut second) = (None, f32::NEG_INFINITY, f32::NEG_INFINITY);
    for (id, logit) in logits {
        if logit.is_nan() {
            return Err(format!("the model gave a logit that is not a number (token {id})"));
        }
        if logit > first {
            second = first;
            first = logit;
            best = Some(id);
        } else if logit > second {
            second = logit;
        }
    }
    let id = best.and_then(|id| i32::try_from(id).ok()).ok_or("the constraint leaves no token that the model can give")?;
    Ok((LlamaToken(id), first - second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lowest_token() {
        let logits = [0.5, 2.0, 2.0, -1.0];
        assert_eq!(top(logits.into_iter().enumerate()), Ok((LlamaToken(1), 0.0)));
        assert!(top([0.0, f32::NAN].into_iter().enumerate()).is_err());
        assert!(top(std::iter::empty()).is_err());
    }
}
