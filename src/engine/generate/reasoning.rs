//! Which part of what a model writes is reasoning and which is the reply.
//!
//! Pieces of text in, phase out. It knows the marks of a card and bytes; it must not know tokens, weights or the library that makes
//! them.
//!
//! Whether a model thinks is read from the end of its prompt: a template may have opened the reasoning already (`<think>`), may have
//! closed it (`</think>`, for a model told not to think), or may leave it to the model, which then either begins with the opening
//! mark or with its reply.

use super::Finished;
use crate::data::reasoning_block::{Beginning, BlockMarks, KNOWN_MARKS, beginning};
use crate::models::{Marks, Reasoning};
use crate::store::FinishReason;
use serde::{Deserialize, Serialize};

/// Tokens to be kept free for the mark that ends reasoning when its limit is reached: marks are short, and a token has a byte or more.
pub const CLOSING_TOKENS: u32 = 64;

/// White space that may stand before the opening mark. Unit: bytes.
const MOST_LEADING_SPACE: usize = 16;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const END: &str = "<|end|>";
const FINAL: &str = "<|channel|>final<|message|>";

/// Where a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing but the beginning of an opening mark has been written.
    Undecided,
    /// Inside the reasoning, or between its channels.
    Thinking,
    Replying,
}

/// What was thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thoughts {
    /// Without marks.
    pub text: String,
    /// The limit came before the model had ended its reasoning.
    pub was_cut: bool,
}

/// How harmony's channels read where a server left their marks out.
const BARE_CHANNELS: (&str, &str) = ("analysis", "assistantfinal");

/// Takes reasoning that a whole reply begins with off it, by the marks of the judge's card (`own`) and by those that models are known
/// to write. A reply that ends inside its reasoning is none.
pub fn take_reasoning_off(finished: &mut Finished, own: Option<&Reasoning>) {
    let marks = own.and_then(|own| match &own.marks {
        Marks::Tags { open, close } => Some(BlockMarks { open, close, header_end: "" }),
        Marks::Harmony => KNOWN_MARKS.iter().find(|marks| marks.open.starts_with(CHANNEL)).copied(),
    });
    let is_harmony = own.is_some_and(|own| own.marks == Marks::Harmony);
    let bare = finished.reply.trim_start().strip_prefix(BARE_CHANNELS.0).and_then(|rest| rest.split_once(BARE_CHANNELS.1));
    let (thoughts, answer, mark) = match (bare, beginning(&finished.reply, marks)) {
        (Some((thoughts, answer)), Beginning::Answer) if is_harmony => (thoughts.to_owned(), Some(answer.to_owned()), None),
        (_, Beginning::Answer) => return,
        (_, Beginning::Reasoning { thoughts, answer, mark }) => (thoughts, Some(answer.to_owned()), Some(mark)),
        (_, Beginning::Unclosed { thoughts, mark }) => (thoughts, None, Some(mark)),
    };
    if answer.is_none() && finished.finish != FinishReason::Length && finished.finish != FinishReason::Loop {
        finished.finish = FinishReason::NoReply;
    }
    finished.reply = answer.unwrap_or_default();
    let before = finished.reasoning.take();
    finished.reasoning = Some(Thoughts {
        was_cut: before.as_ref().is_some_and(|before| before.was_cut),
        text: before
            .into_iter()
            .map(|before| before.text)
            .chain([thoughts])
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
    });
    let is_own = |mark: &String| marks.is_some_and(|own| own.open.eq_ignore_ascii_case(mark));
    if let Some(mark) = mark.filter(|mark| !is_own(mark)) {
        finished.unnamed_mark = Some(mark);
    }
}

/// What a model writes, taken apart as it comes.
#[derive(Debug)]
pub struct Phases {
    marks: Option<Marks>,
    phase: Phase,
    /// Harmony: the header of the next message, `None` inside one. Its text begins after the last message's end.
    header: Option<Vec<u8>>,
    /// The beginning of an opening mark.
    opening: Vec<u8>,
    thoughts: Vec<u8>,
    reply: Vec<u8>,
    thought: bool,
    was_cut: bool,
}

impl Phases {
    /// The phases of a reply to `prompt`, the text as the model sees it. Without `reasoning` all is reply.
    #[must_use]
    pub fn new(reasoning: Option<&Reasoning>, prompt: &str) -> Self {
        let mut phases = Self {
            marks: reasoning.map(|reasoning| reasoning.marks.clone()),
            phase: Phase::Replying,
            header: None,
            opening: Vec::new(),
            thoughts: Vec::new(),
            reply: Vec::new(),
            thought: false,
            was_cut: false,
        };
        match &phases.marks {
            None => {}
            Some(Marks::Tags { open, close }) => {
                let prompt = prompt.trim_end();
                phases.phase = match (prompt.ends_with(open.as_str()), prompt.ends_with(close.as_str())) {
                    (true, _) => Phase::Thinking,
                    (false, true) => Phase::Replying,
                    (false, false) => Phase::Undecided,
                };
            }
            Some(Marks::Harmony) => {
                // The prompt ends inside the header of the model's message, or after it where a template chooses the channel.
                phases.phase = Phase::Thinking;
                phases.header = Some(Vec::new());
                let turn = prompt.rfind(START).map_or("", |at| &prompt[at..]);
                phases.push(turn.as_bytes());
                phases.thoughts.clear();
            }
        }
        phases.thought = phases.phase == Phase::Thinking;
        phases
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the reply begins with `piece`: nothing is decided yet and it is no part of an opening mark.
    #[must_use]
    pub fn begins_reply(&self, piece: &[u8]) -> bool {
        self.phase == Phase::Undecided && !self.may_open(&[&self.opening, piece].concat())
    }

    /// Begins the reply. Half an opening mark before it is kept as a thought, so that the reply holds only what comes from now on.
    pub fn begin_reply(&mut self) {
        self.thoughts.append(&mut self.opening);
        self.phase = Phase::Replying;
    }

    /// The reply so far.
    #[must_use]
    pub fn reply(&self) -> &[u8] {
        &self.reply
    }

    /// Whether `piece` ends the reply although it is not the model's end token: in harmony any control mark does.
    #[must_use]
    pub fn ends_reply(&self, piece: &[u8]) -> bool {
        self.phase == Phase::Replying
            && self.marks == Some(Marks::Harmony)
            && [END, START, CHANNEL, "<|return|>", "<|call|>"].iter().any(|mark| piece == mark.as_bytes())
    }

    /// How many bytes of `piece` end the reasoning, where text of the reply follows in the same piece.
    #[must_use]
    pub fn closes_within(&self, piece: &[u8]) -> Option<usize> {
        let Some(Marks::Tags { close, .. }) = &self.marks else { return None };
        if self.phase != Phase::Thinking {
            return None;
        }
        let (at, before) = self.find_thought(close.as_bytes(), piece)?;
        let end = at + close.len() - before;
        (!piece[end..].trim_ascii().is_empty()).then_some(end)
    }

    /// Takes the next piece. Marks and pieces need not coincide.
    pub fn push(&mut self, piece: &[u8]) {
        match (self.phase, self.marks.clone()) {
            (Phase::Replying, _) | (_, None) => self.reply.extend(piece),
            (Phase::Undecided, Some(Marks::Tags { open, .. })) => self.push_undecided(&open, piece),
            (Phase::Undecided | Phase::Thinking, Some(Marks::Harmony)) => self.push_harmony(piece),
            (Phase::Thinking, Some(Marks::Tags { close, .. })) => {
                if let Some(rest) = self.push_thought(close.as_bytes(), piece) {
                    self.phase = Phase::Replying;
                    self.reply = rest;
                }
            }
        }
    }

    /// The text that ends the reasoning here and begins the reply; the caller makes the model write it.
    #[must_use]
    pub fn closing(&self) -> String {
        match (&self.marks, &self.header) {
            (None, _) => String::new(),
            (Some(Marks::Tags { close, .. }), _) => close.clone(),
            (Some(Marks::Harmony), None) => format!("{END}{START}assistant{FINAL}"),
            (Some(Marks::Harmony), Some(header)) => {
                let has_channel = find(header, CHANNEL.as_bytes()).is_some();
                match (header.is_empty(), has_channel) {
                    (true, _) => format!("{START}assistant{FINAL}"),
                    (false, false) => FINAL.into(),
                    (false, true) if is_final(header) => MESSAGE.into(),
                    // A header that was begun becomes an empty message.
                    (false, true) => format!("{MESSAGE}{END}{START}assistant{FINAL}"),
                }
            }
        }
    }

    /// Whether the reasoning was cut.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Notes that [`Self::closing`] is now written because the limit is reached.
    pub fn cut(&mut self) {
        self.was_cut = true;
    }

    /// Reply and reasoning. What ended inside its reasoning has an empty reply.
    #[must_use]
    pub fn into_parts(mut self) -> (String, Option<Thoughts>) {
        if self.phase == Phase::Undecided {
            self.reply = std::mem::take(&mut self.opening);
        }
        let reply = String::from_utf8_lossy(&self.reply);
        // Templates lay out a line end or two between reasoning and reply; they are part of neither.
        let reply = if self.thought { reply.trim_start() } else { &reply };
        let thoughts = String::from_utf8_lossy(&self.thoughts);
        let mut text = thoughts.trim();
        if let Some(Marks::Tags { open, .. }) = &self.marks {
            // A model whose prompt holds the opening mark may repeat it.
            text = text.strip_prefix(open.as_str()).unwrap_or(text).trim_start();
        }
        let thoughts = (!text.is_empty() || self.was_cut).then(|| Thoughts { text: text.to_string(), was_cut: self.was_cut });
        (reply.to_string(), thoughts)
    }

    /// Whether `bytes` are an opening mark or may still become one.
    fn may_open(&self, bytes: &[u8]) -> bool {
        let Some(Marks::Tags { open, .. }) = &self.marks else { return false };
        let text = bytes.trim_ascii_start();
        let n_space = bytes.len() - text.len();
        n_space <= MOST_LEADING_SPACE && (text.starts_with(open.as_bytes()) || open.as_bytes().starts_with(text))
    }

    fn push_undecided(&mut self, open: &str, piece: &[u8]) {
        self.opening.extend(piece);
        if !self.may_open(&self.opening) {
            self.reply = std::mem::take(&mut self.opening);
            self.phase = Phase::Replying;
            return;
        }
        let text = self.opening.trim_ascii_start();
        if text.len() >= open.len() {
            let rest = text[open.len()..].to_vec();
            self.opening.clear();
            self.phase = Phase::Thinking;
            self.thought = true;
            self.push(&rest);
        }
    }

    fn push_harmony(&mut self, piece: &[u8]) {
        let mut rest = piece.to_vec();
        while !rest.is_empty() {
            let Some(header) = &mut self.header else {
                let Some(after) = self.push_thought(END.as_bytes(), &rest) else { return };
                self.thoughts.push(b'\n');
                self.header = Some(Vec::new());
                rest = after;
                continue;
            };
            header.extend(&rest);
            let Some(at) = find(header, MESSAGE.as_bytes()) else { return };
            let is_reply = is_final(&header[..at]);
            rest = header[at + MESSAGE.len()..].to_vec();
            self.header = None;
            if is_reply {
                self.phase = Phase::Replying;
                self.reply = rest;
                return;
            }
        }
    }

    /// Adds to the thoughts; when `mark` is complete it is left out and what follows it is returned.
    fn push_thought(&mut self, mark: &[u8], piece: &[u8]) -> Option<Vec<u8>> {
        let found = self.find_thought(mark, piece);
        let before = self.tail_for(mark);
        let start = self.thoughts.len() - before;
        self.thoughts.extend(piece);
        let (at, _) = found?;
        let rest = self.thoughts.split_off(start + at + mark.len());
        self.thoughts.truncate(start + at);
        Some(rest)
    }

    /// Looks for `mark` where it would end in `piece`: its place and the number of bytes looked at before `piece`.
    fn find_thought(&self, mark: &[u8], piece: &[u8]) -> Option<(usize, usize)> {
        let before = self.tail_for(mark);
        let window = [&self.thoughts[self.thoughts.len() - before..], piece].concat();
        find(&window, mark).map(|at| (at, before))
    }

    fn tail_for(&self, mark: &[u8]) -> usize {
        self.thoughts.len().min(mark.len() - 1)
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// Whether a message under this header is for the reader: its channel is `final`, or it has none.
fn is_final(header: &[u8]) -> bool {
    let header = String::from_utf8_lossy(header);
    match header.rsplit_once(CHANNEL) {
        // `final <|constrain|>json` names a form after the channel.
        Some((_, channel)) => channel.split(|c: char| !c.is_ascii_alphanumeric()).next() == Some("final"),
        None => true,
    }
}

#[cfg(test)]
mod tests;
