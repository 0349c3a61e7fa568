//! One reply as it grows: greedy choice under a constraint, end and limits, reasoning kept apart.

use super::mask::Mask;
use super::model::Loaded;
use crate::engine::generate::Job;
use crate::engine::generate::batching::{Growing, Step};
use crate::engine::generate::closing::{CLOSING_RESERVE, closing_of};
use crate::engine::generate::prefix_tree::Token;
use crate::engine::generate::reasoning::{Phase, Phases, Thoughts};
use crate::engine::generate::repetition::Repetition;
use crate::models::Marks;
use crate::store::FinishReason;
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;

/// A growing reply.
pub(super) struct Reply<'a> {
    loaded: &'a Loaded,
    /// Holds the reply; what is thought before it is free.
    mask: Option<Mask<'a>>,
    phases: Phases,
    /// Tokens that come next whatever the model would choose: the mark that ends its reasoning, or what closes its JSON.
    forced: VecDeque<LlamaToken>,
    /// Whether what is forced closes the reply.
    is_closing: bool,
    repetition: Repetition,
    n_reasoning: u32,
    n_reply: u32,
    max_reasoning: u32,
    max_reply: u32,
    min_margin: f32,
}

impl<'a> Reply<'a> {
    /// An empty reply to `job`.
    ///
    /// # Errors
    /// The reason why the constraint cannot be compiled or the prompt not be laid out.
    pub fn new(loaded: &'a Loaded, job: &Job) -> Result<Self, String> {
        let prompt = match &loaded.reasoning {
            Some(_) => loaded.prompt_text(&job.messages).map_err(|error| error.to_string())?,
            None => String::new(),
        };
        Ok(Self {
            loaded,
            mask: job.constraint.as_deref().map(|constraint| Mask::new(loaded, constraint)).transpose()?,
            phases: Phases::new(loaded.reasoning.as_ref(), &prompt),
            forced: VecDeque::new(),
            is_closing: false,
            repetition: Repetition::default(),
            n_reasoning: 0,
            n_reply: 0,
            max_reasoning: job.max_reasoning_tokens.unwrap_or(0),
            max_reply: job.reply_limit.most(),
            min_margin: f32::INFINITY,
        })
    }

    fn try_choose(&mut self, logits: &[f32]) -> Result<Step, String> {
        let vocab = self.loaded.model.vocab();
        let (mut token, mut margin) = top(logits.iter().copied().enumerate())?;
        if self.mask.is_some() {
            let piece = self.piece(token);
            if vocab.is_eog(token) && self.phases.phase() == Phase::Undecided || self.phases.begins_reply(&piece) {
                self.phases.begin_reply();
            }
            if let Some(n_bytes) = self.phases.closes_within(&piece) {
                // The rest of the piece would be reply that the constraint has not seen: the mark alone is written instead.
                self.forced.extend(vocab.tokenize(&piece[..n_bytes], false, true));
                self.min_margin = self.min_margin.min(margin);
                let token = self.forced.pop_front().ok_or("a mark without tokens")?;
                return self.follow(Some(token));
            }
        }
        if let Some(mask) = self.mask.as_mut().filter(|_| self.phases.phase() == Phase::Replying)
            && !mask.allows(token)?
        {
            (token, margin) = mask.best(logits)?;
        }
        self.min_margin = self.min_margin.min(margin);
        if vocab.is_eog(token) || self.phases.ends_reply(&self.piece(token)) {
            let is_thinking = self.phases.phase() == Phase::Thinking;
            return Ok(Step::Done(if is_thinking { FinishReason::NoReply } else { FinishReason::Stop }));
        }
        if self.must_close_before(token) {
            token = self.forced.pop_front().ok_or("nothing to close")?;
        }
        self.follow(Some(token))
    }

    /// Adds `token`, and after it every token that follows whatever the model would choose.
    fn follow(&mut self, token: Option<LlamaToken>) -> Result<Step, String> {
        let mut fed = Vec::new();
        let mut next = match token {
            Some(token) => Some(token),
            None => self.next_forced()?,
        };
        while let Some(token) = next {
            fed.push(token.0);
            if let Some(finish) = self.take(token)? {
                return Ok(Step::Done(finish));
            }
            next = self.next_forced()?;
        }
        Ok(Step::Feed(fed))
    }

    /// The next token that is not the model's to choose: of a mark or of what closes the reply, or one that the constraint forces.
    fn next_forced(&mut self) -> Result<Option<LlamaToken>, String> {
        self.cut_reasoning_at_its_limit()?;
        if self.forced.is_empty() && self.phases.phase() == Phase::Replying && !self.is_closing {
            let room = self.max_reply - self.n_reply;
            let forced = self.mask.as_mut().map(Mask::forced).unwrap_or_default();
            // Near the limit every token is weighed against what would close the reply.
            if forced.len() + (CLOSING_RESERVE as usize) < room as usize {
                self.forced.extend(forced);
            }
        }
        Ok(self.forced.pop_front())
    }

    /// Whether the reply, near its limit, must be closed now because it could not be once `token` is taken. Then what closes it is
    /// put next. A reply that cannot be closed now either goes on to its limit.
    fn must_close_before(&mut self, token: LlamaToken) -> bool {
        let room = self.max_reply - self.n_reply;
        let Some(mask) = self.mask.as_ref().filter(|_| self.phases.phase() == Phase::Replying && room <= CLOSING_RESERVE) else {
            return false;
        };
        let vocab = self.loaded.model.vocab();
        let closers = |reply: &[u8]| closing_of(reply).map(|marks| vocab.tokenize(marks.as_bytes(), false, false));
        let fits = |tokens: &[LlamaToken]| tokens.len() <= room as usize && mask.ends_after(tokens);
        let after = [self.phases.reply(), &self.piece(token)].concat();
        if closers(&after).is_some_and(|closers| fits(&[&[token], &closers[..]].concat())) {
            return false;
        }
        match closers(self.phases.reply()).filter(|closers| !closers.is_empty() && fits(closers)) {
            Some(closers) => {
                self.forced.extend(closers);
                self.is_closing = true;
                true
            }
            None => false,
        }
    }

    /// Has the mark written that ends the reasoning once its limit is reached. Room is kept for it: see [`Job::most_tokens`].
    fn cut_reasoning_at_its_limit(&mut self) -> Result<(), String> {
        if self.phases.phase() != Phase::Thinking || !self.forced.is_empty() {
            return Ok(());
        }
        if self.phases.was_cut() {
            return Err(
                "the mark that ends the reasoning cannot be written in this model's tokens; correct [reasoning] in the card"
                    .into(),
            );
        }
        if self.n_reasoning >= self.max_reasoning {
            self.cut_reasoning();
        }
        Ok(())
    }

    fn cut_reasoning(&mut self) {
        let closing = self.loaded.model.vocab().tokenize(self.phases.closing().as_bytes(), false, true);
        self.phases.cut();
        self.forced.extend(closing);
    }

    /// Adds a token; returns how the reply ends with it, if it does.
    fn take(&mut self, token: LlamaToken) -> Result<Option<FinishReason>, String> {
        let piece = self.piece(token);
        if self.phases.phase() == Phase::Replying {
            self.n_reply += 1;
            if let Some(mask) = &mut self.mask {
                mask.consume(token)?;
            }
        } else {
            self.n_reasoning += 1;
        }
        self.phases.push(&piece);
        let goes_round = self.repetition.push(token.0, &piece) && self.forced.is_empty();
        if self.phases.phase() != Phase::Replying {
            if goes_round && self.phases.phase() == Phase::Thinking {
                self.cut_reasoning();
            }
            return Ok(None);
        }
        if self.is_closing && self.forced.is_empty() {
            return Ok(Some(FinishReason::Closed));
        }
        if !self.is_closing && self.mask.as_ref().is_some_and(Mask::is_complete) {
            return Ok(Some(FinishReason::Stop));
        }
        if goes_round {
            return Ok(Some(FinishReason::Loop));
        }
        if self.n_reply >= self.max_reply {
            return Ok(Some(FinishReason::Length));
        }
        Ok(None)
    }

    /// The text of a token. Marks are control tokens in many vocabularies: they are spelled out where they matter.
    fn piece(&self, token: LlamaToken) -> Vec<u8> {
        let spelled = self
            .loaded
            .reasoning
            .as_ref()
            .is_some_and(|reasoning| self.phases.phase() != Phase::Replying || reasoning.marks == Marks::Harmony);
        self.loaded.model.vocab().token_to_piece(token, spelled, None)
    }
}

impl Growing for Reply<'_> {
    fn begin(&mut self) -> Step {
        self.follow(None).unwrap_or_else(Step::Crashed)
    }

    /// The constraint refuses the next one, or the reply would be too long.
    fn acceptable(&mut self, draft: &[Token]) -> usize {
        let is_replying = self.phases.phase() == Phase::Replying;
        let room = if is_replying { self.max_reply - self.n_reply } else { self.max_reasoning.saturating_sub(self.n_reasoning) };
        let draft = &draft[..draft.len().min((room as usize).saturating_sub(1))];
        let vocab = self.loaded.model.vocab();
        let draft = &draft[..draft.iter().position(|token| vocab.is_eog(LlamaToken(*token))).unwrap_or(draft.len())];
        match self.mask.as_mut().filter(|_| is_replying) {
            None => draft.len(),
            Some(mask) => mask.n_allowed(draft),
        }
    }

    /// The largest logit, ties to the lowest id; under a constraint the largest that it allows.
    fn choose(&mut self, logits: &[f32]) -> Step {
        self.try_choose(logits).unwrap_or_else(Step::Crashed)
    }

    /// Tokens of reasoning and reply.
    fn n_tokens(&self) -> u32 {
        self.n_reasoning + self.n_reply
    }

    /// A reply that ended inside its reasoning has an empty reply.
    fn into_parts(self) -> (String, Option<Thoughts>, Option<f32>) {
        let margin = self.min_margin.is_finite().then_some(self.min_margin);
        let (reply, thoughts) = self.phases.into_parts();
        (reply, thoughts, margin)
    }
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
