//! Whether a report says anything about when: relative words, durations, dates, clock times.
//!
//! The word lists are data, in a versioned file; the patterns that they enter are here.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Version of the word lists, to be recorded with every filtered corpus.
pub const CUE_LIST: &str = "temporal_cues.v1";
/// The word lists as they are, for hashing.
pub const CUE_LIST_TEXT: &str = include_str!("temporal_cues.v1.txt");

/// What kind of cue was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CueClass {
    /// A word that orders, such as "after".
    Relative,
    /// A number with a unit of time. Ages are not told apart: the rule is lexical.
    Duration,
    /// A calendar date.
    Date,
    /// A time of day.
    Clock,
}

/// The first cue of a text, by where it stands; None when there is none.
///
/// # Source
/// craft.txt, section 3.2. The paper names the classes by examples; the lists are this program's.
pub fn first_cue(text: &str) -> Option<CueClass> {
    let lower = text.to_lowercase();
    let tokens = tokens(&lower);
    (0..tokens.len()).find_map(|at| Scan { tokens: &tokens, at }.class())
}

struct Lexicon {
    relative: HashSet<&'static str>,
    unit: HashSet<&'static str>,
    counted_unit: HashSet<&'static str>,
    number: HashSet<&'static str>,
    ordinal_ending: HashSet<&'static str>,
    month: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon {
    relative: section("relative"),
    unit: section("unit"),
    counted_unit: section("counted_unit"),
    number: section("number"),
    ordinal_ending: section("ordinal_ending"),
    month: section("month"),
});

fn section(name: &str) -> HashSet<&'static str> {
    let lines = CUE_LIST_TEXT.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .skip_while(|line| line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) != Some(name))
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    /// A run of ASCII digits.
    Number(&'t str),
    /// A run of letters.
    Word(&'t str),
    /// Any other character but white space.
    Mark(char),
    /// A run of white space.
    Space,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let run = |same: fn(char) -> bool| rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (token, len) = if c.is_ascii_digit() {
            let len = run(|c| c.is_ascii_digit());
            (Token::Number(&rest[..len]), len)
        } else if c.is_alphabetic() {
            let len = run(char::is_alphabetic);
            (Token::Word(&rest[..len]), len)
        } else if super::is_space(c) {
            (Token::Space, run(super::is_space))
        } else {
            (Token::Mark(c), c.len_utf8())
        };
        tokens.push(token);
        rest = &rest[len..];
    }
    tokens
}

fn is_space_or(token: Token<'_>, marks: &[char]) -> bool {
    match token {
        Token::Space => true,
        Token::Mark(mark) => marks.contains(&mark),
        _ => false,
    }
}

/// A place in the text.
#[derive(Clone, Copy)]
struct Scan<'s, 't> {
    tokens: &'s [Token<'t>],
    at: usize,
}

impl<'t> Scan<'_, 't> {
    fn class(self) -> Option<CueClass> {
        match self.token(0)? {
            Token::Word(word) if LEXICON.relative.contains(word) => Some(CueClass::Relative),
            Token::Word(word) => {
                let past = |marks: &[char]| self.skipped(1, |token| is_space_or(token, marks));
                let counted = LEXICON.counted_unit.contains(word) && self.follows_number(past(&['-', '#']));
                if counted || (LEXICON.number.contains(word) && self.is_unit(past(&['-']))) {
                    return Some(CueClass::Duration);
                }
                let next = past(&['-', '.']);
                let dated = LEXICON.month.contains(word) && (self.in_range(next, 1, 31) || self.is_year(next));
                dated.then_some(CueClass::Date)
            }
            // Digits glued to letters before them are a code such as B12, but for a whole date. After a month
            // they are a date that the month has found.
            Token::Number(_) if self.at > 0 && matches!(self.tokens[self.at - 1], Token::Word(_)) => {
                (self.number(4).is_some() && self.is_date()).then_some(CueClass::Date)
            }
            Token::Number(_) if self.is_clock() => Some(CueClass::Clock),
            Token::Number(_) if self.is_date() => Some(CueClass::Date),
            Token::Number(_) => self.is_duration().then_some(CueClass::Duration),
            Token::Mark(_) | Token::Space => None,
        }
    }

    fn token(&self, ahead: usize) -> Option<Token<'t>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn number(&self, ahead: usize) -> Option<&'t str> {
        match self.token(ahead)? {
            Token::Number(digits) => Some(digits),
            _ => None,
        }
    }

    fn word(&self, ahead: usize) -> Option<&'t str> {
        match self.token(ahead)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn is_mark(&self, ahead: usize, mark: char) -> bool {
        self.token(ahead) == Some(Token::Mark(mark))
    }

    /// The first place from `ahead` on that is not skipped.
    fn skipped(&self, ahead: usize, skip: impl Fn(Token<'_>) -> bool) -> usize {
        (ahead..).find(|&ahead| !self.token(ahead).is_some_and(&skip)).unwrap_or(ahead)
    }

    /// A number of at most two digits between the bounds.
    fn in_range(&self, ahead: usize, lo: u32, hi: u32) -> bool {
        let number = self.number(ahead).filter(|digits| digits.len() <= 2).and_then(|digits| digits.parse().ok());
        number.is_some_and(|number| (lo..=hi).contains(&number))
    }

    fn is_year(&self, ahead: usize) -> bool {
        self.number(ahead).is_some_and(|digits| digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20")))
    }

    fn is_unit(&self, ahead: usize) -> bool {
        self.word(ahead).is_some_and(|word| LEXICON.unit.contains(word))
    }

    fn follows_number(&self, ahead: usize) -> bool {
        self.number(ahead).is_some() || self.word(ahead).is_some_and(|word| LEXICON.number.contains(word))
    }

    /// Past an ordinal ending glued to the number, if there is one.
    fn past_ordinal(&self) -> usize {
        1 + usize::from(self.word(1).is_some_and(|word| LEXICON.ordinal_ending.contains(word)))
    }

    fn is_duration(&self) -> bool {
        let next = self.skipped(self.past_ordinal(), |token| is_space_or(token, &['-', '+']));
        self.is_unit(next)
    }

    fn is_clock(&self) -> bool {
        let minutes = |digits: &str| digits.len() == 2 && digits < "60";
        if self.in_range(0, 0, 24) && self.is_mark(1, ':') && self.number(2).is_some_and(minutes) {
            return true;
        }
        if !self.in_range(0, 1, 12) {
            return false;
        }
        let next = self.skipped(1, |token| is_space_or(token, &[]));
        match self.word(next) {
            Some("am" | "pm") => true,
            Some("a" | "p") => self.is_mark(next + 1, '.') && self.word(next + 2) == Some("m"),
            Some("o") => {
                matches!(self.token(next + 1), Some(Token::Mark('\'' | '\u{2019}'))) && self.word(next + 2) == Some("clock")
            }
            _ => false,
        }
    }

    fn is_date(&self) -> bool {
        let next = self.skipped(self.past_ordinal(), |token| is_space_or(token, &['-']));
        if self.in_range(0, 1, 31) && self.word(next).is_some_and(|word| LEXICON.month.contains(word)) {
            return true;
        }
        let Some(Token::Mark(mark @ ('/' | '-' | '.'))) = self.token(1) else {
            return false;
        };
        // Not the tail of a longer figure such as 1/2/3.
        let tail = self.at > 1
            && matches!(self.tokens[self.at - 1], Token::Mark('/' | '.' | '-'))
            && matches!(self.tokens[self.at - 2], Token::Number(_));
        if tail {
            return false;
        }
        let day_and_month = |first, second| {
            let fits = |m, d| self.in_range(m, 1, 12) && self.in_range(d, 1, 31);
            fits(first, second) || fits(second, first)
        };
        let three = self.is_mark(3, mark) && self.number(4).is_some();
        if self.is_year(0) {
            return three && self.in_range(2, 1, 12) && self.in_range(4, 1, 31);
        }
        // With a stroke the year may be left out; with a dash or a dot that would be a range or a decimal.
        let year = three && (self.is_year(4) || self.number(4).is_some_and(|digits| digits.len() == 2));
        day_and_month(0, 2) && (year || (mark == '/' && !three))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_found() {
        let expected = [
            (CueClass::Relative, &["Fever AFTER vaccine.", "then,chills", "(since) shot", "prior-to"][..]),
            (
                CueClass::Duration,
                &[
                    "for 72 hours",
                    "24hrs",
                    "a 3-day rash",
                    "1.5 hrs",
                    "two weeks",
                    "day 3",
                    "Day #2",
                    "2nd day",
                    "second night",
                    "10+ min",
                    "2\u{a0}days",
                ],
            ),
            (
                CueClass::Date,
                &[
                    "on 12/6",
                    "12/06/2020",
                    "31/12",
                    "20Feb2021",
                    "20-Feb-2021",
                    "Dec 22",
                    "December 22nd",
                    "3rd of no; 3rd march",
                    "Feb2021",
                    "2021-01-05",
                    "1.5.2021",
                    "12-6-20",
                    "jan. 4",
                    "May 2020",
                    "died on01/19/2021",
                ],
            ),
            (CueClass::Clock, &["8:30 pm", "at 8 pm", "11am", "7 a.m.", "23:59", "5 o\u{2019}clock"]),
        ];
        for (class, texts) in expected {
            for text in texts {
                assert_eq!(first_cue(text), Some(class), "{text}");
            }
        }
    }

    #[test]
    fn look_alikes_are_no_cue() {
        for text in [
            "",
            "Continues to have symptoms.",
            "afterward thereafter nextel authentic",
            "untilled priority",
            "muscle/joint aches",
            "BP 120/80",
            "temp 99.4F, 38.5",
            "13/32",
            "vitamin B12 daily",
            "may be marching",
            "seconds hours days",
            "3:1 ratio",
            "8:75",
            "dose 2",
            "0/0",
            "1/2/3",
            "2-3 times",
            "25 pm",
            "4 amp",
            "covid19",
            "\u{661}\u{662} hours",
            "300 mg",
            "two arms",
            "31.13.2020",
            "day after",
            "all day. 3 tablets",
            "every day, 3 pills",
        ] {
            let cue = first_cue(text);
            if text == "day after" {
                assert_eq!(cue, Some(CueClass::Relative));
            } else {
                assert_eq!(cue, None, "{text}");
            }
        }
    }

    #[test]
    fn the_first_in_the_text_is_named() {
        assert_eq!(first_cue("at 8:30 pm, then"), Some(CueClass::Clock));
        assert_eq!(first_cue("then at 8:30 pm"), Some(CueClass::Relative));
    }

    #[test]
    fn every_list_of_the_file_is_read() {
        let lists = &*LEXICON;
        assert_eq!(lists.relative.len(), 10);
        assert_eq!((lists.ordinal_ending.len(), lists.counted_unit.len()), (4, 3));
        assert!(lists.unit.len() > 20 && lists.number.len() > 12 && lists.month.len() == 24);
        assert!(section("absent").is_empty());
    }
}
