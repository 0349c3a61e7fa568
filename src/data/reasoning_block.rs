//! Blocks of reasoning inside a text that a model wrote, told by the marks around them.
//!
//! Nothing inside a block is an answer, and neither is anything before a block that was opened in the prompt or behind one that was
//! never closed. This file knows marks and JSON strings (a mark quoted inside a JSON value is text); it must not know models or rows.

use std::ops::Range;

use crate::json;

/// The marks around reasoning. Compared without regard to ASCII case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMarks<'m> {
    /// What opens the block.
    pub open: &'m str,
    /// What closes it.
    pub close: &'m str,
    /// Ends the header that `close` begins; nothing where the answer follows the closing mark itself.
    pub header_end: &'m str,
}

const fn tags(open: &'static str, close: &'static str) -> BlockMarks<'static> {
    BlockMarks { open, close, header_end: "" }
}

/// Marks that models are known to write, whether or not a model's card names them.
pub const KNOWN_MARKS: [BlockMarks<'static>; 6] = [
    tags("<think>", "</think>"),
    tags("<thinking>", "</thinking>"),
    tags("[THINK]", "[/THINK]"),
    tags("<thought>", "</thought>"),
    tags("<reasoning>", "</reasoning>"),
    // The harmony format: `<|channel|>final <|constrain|>json<|message|>` has a form in its header.
    BlockMarks { open: "<|channel|>analysis", close: "<|channel|>final", header_end: "<|message|>" },
];

/// What may stand before the first block besides white space: the header of a harmony message.
const TURN: &str = "<|start|>assistant";

/// One mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It opens a block of the marks with this index.
    Open(usize),
    /// It closes one.
    Close(usize),
}

/// Finds marks in one text.
#[derive(Debug)]
pub struct BlockFinder<'m> {
    marks: Vec<BlockMarks<'m>>,
    /// The text in lower case; ASCII case changes no offset.
    lower: String,
}

impl<'m> BlockFinder<'m> {
    /// A finder over `text` for the known marks and `own`.
    #[must_use]
    pub fn new(text: &str, own: Option<BlockMarks<'m>>) -> Self {
        let mut marks: Vec<BlockMarks<'m>> = own.into_iter().collect();
        let has = |marks: &[BlockMarks<'_>], known: &BlockMarks<'_>| {
            marks.iter().any(|mark| mark.open.eq_ignore_ascii_case(known.open))
        };
        for known in KNOWN_MARKS {
            if !has(&marks, &known) {
                marks.push(known);
            }
        }
        Self { marks, lower: text.to_ascii_lowercase() }
    }

    /// The opening mark of an index, as messages name it.
    #[must_use]
    pub fn name(&self, index: usize) -> &'m str {
        self.marks[index].open
    }

    fn find(&self, mark: &str, from: usize) -> Option<usize> {
        self.lower.get(from..)?.find(&mark.to_ascii_lowercase()).map(|at| from + at)
    }

    /// The first mark at or behind `from`, and the bytes it covers.
    #[must_use]
    pub fn next(&self, from: usize) -> Option<(Mark, Range<usize>)> {
        let mut first: Option<(Mark, Range<usize>)> = None;
        for (i, marks) in self.marks.iter().enumerate() {
            for (mark, text) in [(Mark::Open(i), marks.open), (Mark::Close(i), marks.close)] {
                if let Some(at) = self.find(text, from)
                    && first.as_ref().is_none_or(|(_, range)| at < range.start)
                {
                    let end = at + text.len();
                    first = Some((mark, at..if mark == Mark::Close(i) { self.header_end(i, end) } else { end }));
                }
            }
        }
        first
    }

    /// Where the block that was opened before `from` is closed: the bytes of the closing mark.
    #[must_use]
    pub fn close(&self, index: usize, from: usize) -> Option<Range<usize>> {
        let at = self.find(self.marks[index].close, from)?;
        Some(at..self.header_end(index, at + self.marks[index].close.len()))
    }

    fn header_end(&self, index: usize, from: usize) -> usize {
        let end = self.marks[index].header_end;
        if end.is_empty() { from } else { self.find(end, from).map_or(from, |at| at + end.len()) }
    }
}

/// Whether `text` is one known mark.
#[must_use]
pub fn is_mark(text: &str) -> bool {
    KNOWN_MARKS.iter().any(|marks| [marks.open, marks.close].iter().any(|mark| mark.eq_ignore_ascii_case(text)))
}

/// The parts of `text` that lie outside blocks, without the marks; a mark counts wherever it stands.
#[must_use]
pub fn outside(text: &str) -> Vec<Range<usize>> {
    let finder = BlockFinder::new(text, None);
    let (mut parts, mut from) = (Vec::new(), 0);
    let mut is_first = true;
    while let Some((mark, range)) = finder.next(from) {
        match mark {
            // The block was opened in the prompt.
            Mark::Close(_) if is_first => from = range.end,
            Mark::Close(_) => {
                parts.push(from..range.start);
                from = range.end;
            }
            Mark::Open(i) => {
                parts.push(from..range.start);
                match finder.close(i, range.end) {
                    Some(close) => from = close.end,
                    None => return parts,
                }
            }
        }
        is_first = false;
    }
    parts.push(from..text.len());
    parts
}

/// How a text begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning<'t> {
    /// With its answer.
    Answer,
    /// With reasoning, closed before `answer`.
    Reasoning {
        /// What stands in the blocks.
        thoughts: String,
        /// What follows them.
        answer: &'t str,
        /// The opening mark of the last block.
        mark: String,
    },
    /// With reasoning that is never closed.
    Unclosed {
        /// What stands in the blocks.
        thoughts: String,
        /// The opening mark.
        mark: String,
    },
}

/// Takes the reasoning that `text` begins with off its answer. `own` are the marks that a model's card names.
#[must_use]
pub fn beginning<'t>(text: &'t str, own: Option<BlockMarks<'_>>) -> Beginning<'t> {
    let finder = BlockFinder::new(text, own);
    let mut thoughts: Vec<&str> = Vec::new();
    let (mut from, mut last) = (0, None);
    while let Some((mark, range)) = first_outside_json(&finder, text, from) {
        let before = text[from..range.start].trim();
        match mark {
            Mark::Close(i) if from == 0 => {
                thoughts.push(before);
                (from, last) = (range.end, Some(i));
            }
            Mark::Open(i) if before.is_empty() || before.eq_ignore_ascii_case(TURN) => match finder.close(i, range.end) {
                Some(close) => {
                    thoughts.push(text[range.end..close.start].trim());
                    (from, last) = (close.end, Some(i));
                }
                None => {
                    thoughts.push(text[range.end..].trim());
                    return Beginning::Unclosed { thoughts: thoughts.join("\n"), mark: finder.name(i).to_owned() };
                }
            },
            _ => break,
        }
    }
    match last {
        None => Beginning::Answer,
        Some(i) => Beginning::Reasoning {
            thoughts: thoughts.join("\n"),
            answer: text[from..].trim_start(),
            mark: finder.name(i).to_owned(),
        },
    }
}

/// The first mark at or behind `from` that lies in no JSON object or list.
fn first_outside_json(finder: &BlockFinder<'_>, text: &str, mut from: usize) -> Option<(Mark, Range<usize>)> {
    loop {
        let (mark, range) = finder.next(from)?;
        let mut values = text[from..range.start].match_indices(['{', '[']).map(|(at, _)| from + at);
        match values
            .find_map(|at| json::length_of_first(&text[at..]).ok().map(|length| at + length).filter(|end| *end > range.start))
        {
            Some(end) => from = end,
            None => return Some((mark, range)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        outside(text).into_iter().map(|range| &text[range]).filter(|part| !part.trim().is_empty()).collect()
    }

    #[test]
    fn blocks_and_their_rest() {
        assert_eq!(parts("a<think>b</think>c"), ["a", "c"]);
        assert_eq!(parts("a</THINK>c<thinking>d</think></thinking>e"), ["c", "e"]);
        assert_eq!(parts("a[THINK]b"), ["a"], "never closed");
        assert_eq!(
            parts("<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>c"),
            ["c"]
        );
        assert_eq!(parts("no mark"), ["no mark"]);
    }

    #[test]
    fn a_text_begins_with_reasoning_or_not() {
        let of = |text: &str| match beginning(text, None) {
            Beginning::Answer => ("answer".to_owned(), String::new(), String::new()),
            Beginning::Reasoning { thoughts, answer, mark } => (mark, thoughts, answer.to_owned()),
            Beginning::Unclosed { thoughts, mark } => (format!("unclosed {mark}"), thoughts, String::new()),
        };
        let is = |text: &str, mark: &str, thoughts: &str, answer: &str| {
            assert_eq!(of(text), (mark.to_owned(), thoughts.to_owned(), answer.to_owned()), "{text}");
        };
        is(" <Think>{\"a\": 1}</think>\n{\"b\": 2}", "<think>", "{\"a\": 1}", "{\"b\": 2}");
        is("<think>a</think><thinking>b</thinking>c", "<thinking>", "a\nb", "c");
        is("opened in the prompt</think>c", "<think>", "opened in the prompt", "c");
        is("[THINK]{\"a\": 1}", "unclosed [THINK]", "{\"a\": 1}", "");
        is("{\"a\": \"a tag </think> in a text\"}", "answer", "", "");
        is("Use <think> for thoughts.", "answer", "", "");
        is(
            "<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>c",
            "<|channel|>analysis",
            "<|message|>a<|end|><|start|>assistant",
            "c",
        );
    }

    #[test]
    fn marks_of_a_card_come_first() {
        let own = BlockMarks { open: "<deep>", close: "</deep>", header_end: "" };
        assert_eq!(
            beginning("<deep>a</deep>b", Some(own)),
            Beginning::Reasoning { thoughts: "a".into(), answer: "b", mark: "<deep>".into() }
        );
        assert_eq!(beginning("<deep>a</deep>b", None), Beginning::Answer);
    }
}
