//! Whether a text goes round in circles.
//!
//! It sees tokens as numbers with two facts about each. It must not know what the text is for. A small model that has lost its way
//! writes the same words until its limit; the same tokens make the same decision in every mode of computing.

/// Longest circle. Unit: tokens.
const LONGEST_PERIOD: usize = 64;

/// A circle of words must come round so often, and cover so many tokens, to count.
const ROUNDS: usize = 4;
const COVERED: usize = 128;

/// The same without a single letter: rows of a table of zeros are no circle yet.
const COVERED_WITHOUT_LETTERS: usize = 1024;

/// White space longer than this is not layout any more. Unit: tokens.
const MOST_SPACE: usize = 64;

/// The recent past of a text.
#[derive(Debug, Default)]
pub struct Repetition {
    /// The last [`LONGEST_PERIOD`] tokens, by position modulo their number.
    recent: Vec<i32>,
    n_tokens: usize,
    /// For each period, how many tokens up to the last are equal to the one a period earlier.
    equal: Vec<usize>,
    n_space: usize,
    since_letter: usize,
}

impl Repetition {
    /// Takes the next token with its text; returns whether the text is now going round.
    pub fn push(&mut self, token: i32, piece: &[u8]) -> bool {
        self.equal.resize(LONGEST_PERIOD + 1, 0);
        for period in 1..=LONGEST_PERIOD.min(self.n_tokens) {
            let earlier = self.recent[(self.n_tokens - period) % LONGEST_PERIOD];
            self.equal[period] = if earlier == token { self.equal[period] + 1 } else { 0 };
        }
        match self.recent.get_mut(self.n_tokens % LONGEST_PERIOD) {
            Some(slot) => *slot = token,
            None => self.recent.push(token),
        }
        self.n_tokens += 1;
        self.n_space = if piece.is_empty() || !piece.trim_ascii().is_empty() { 0 } else { self.n_space + 1 };
        // Bytes beyond ASCII are parts of letters in nearly every script.
        let has_letter = piece.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
        self.since_letter = if has_letter { 0 } else { self.since_letter + 1 };
        self.n_space > MOST_SPACE || (1..=LONGEST_PERIOD).any(|period| self.goes_round(period))
    }

    fn goes_round(&self, period: usize) -> bool {
        let covered = self.equal[period] + period;
        let needed = if self.since_letter < period { COVERED } else { COVERED_WITHOUT_LETTERS };
        self.equal[period] > 0 && covered >= needed && covered >= ROUNDS * period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of tokens after which a text is found to go round; a word with the space before it is a token.
    fn found<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<usize> {
        let mut ids = std::collections::HashMap::new();
        let mut repetition = Repetition::default();
        for (i, word) in words.into_iter().enumerate() {
            let next = i32::try_from(ids.len()).expect("few words");
            let id = *ids.entry(word).or_insert(next);
            if repetition.push(id, word.as_bytes()) {
                return Some(i + 1);
            }
        }
        None
    }

    #[test]
    fn the_same_words_over_and_over() {
        assert_eq!(found(std::iter::repeat_n(" no", 500)), Some(128));
        let sentence = [" the", " fever", " was", " not", " a", " fever", "."];
        assert_eq!(found(sentence.into_iter().cycle().take(500)), Some(128));
        let before = ["once"; 1].into_iter().chain(sentence.into_iter().cycle()).take(500);
        assert_eq!(found(before), Some(129), "what came before does not matter");
    }

    #[test]
    fn a_long_circle_must_come_round_four_times() {
        let names: Vec<String> = (0..60).map(|i| format!(" w{i}")).collect();
        assert_eq!(found(names.iter().map(String::as_str).cycle().take(1000)), Some(240));
        let names: Vec<String> = (0..65).map(|i| format!(" w{i}")).collect();
        assert_eq!(found(names.iter().map(String::as_str).cycle().take(1000)), None, "longer circles are not looked for");
    }

    #[test]
    fn ordinary_repetition_is_left_alone() {
        let rows: Vec<String> = (0..200).flat_map(|i| [format!("{i}"), ",".into(), format!("{}", i % 7), "\n".into()]).collect();
        assert_eq!(found(rows.iter().map(String::as_str)), None, "a table of numbers");
        assert_eq!(found(["0", ",", "0", "\n"].into_iter().cycle().take(800)), None, "a table of zeros");
        assert_eq!(found(["0", ",", "0", "\n"].into_iter().cycle().take(2000)), Some(1024), "has an end as well");
        let list = ["{\"type\":", "\"A_ONLY\"", "}", ","];
        assert_eq!(found(list.into_iter().cycle().take(120)), None, "thirty like entries");
    }

    #[test]
    fn white_space_without_end() {
        assert_eq!(found(std::iter::once("{").chain(std::iter::repeat_n("\n", 100))), Some(66));
        assert_eq!(found([" ", "\n"].into_iter().cycle().take(100)), Some(65));
        assert_eq!(found(std::iter::repeat_n("\n", 64).chain([" x"]).chain(std::iter::repeat_n("\n", 64))), None);
    }

    #[test]
    fn other_scripts_have_letters() {
        assert_eq!(found(std::iter::repeat_n("熱", 500)), Some(128));
    }
}
