//! Typed access to one table of a TOML file that remembers lines and collects every problem.
//!
//! A derived deserialiser stops at the first mistake; a user with five mistakes wants to see five. So keys are
//! asked for one by one, each wrong value is booked with its line and replaced by `None`, and a key that nobody
//! asked for is unknown. This file must not know which keys exist.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::data::problem::Problem;

/// The problems of one file, with what is needed to turn positions into lines.
pub(super) struct Sink {
    path: PathBuf,
    /// Byte offsets of the line feeds.
    line_feeds: Vec<usize>,
    problems: Vec<Problem>,
}

impl Sink {
    /// Returns an empty sink for the text of a file.
    pub(super) fn new(path: &Path, text: &str) -> Self {
        let line_feeds = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path: path.to_path_buf(), line_feeds, problems: Vec::new() }
    }

    /// Returns the line of a byte offset, counted from one.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        1 + self.line_feeds.partition_point(|&at| at < offset)
    }

    /// Books an error.
    pub(super) fn error(&mut self, line: Option<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::error(&self.path, line, what, remedy));
    }

    /// Hands the problems over, in line order.
    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.line);
        self.problems
    }
}

/// A value and the line on which it stands.
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

/// The right elements of a list, how many it has with the wrong ones, and where it stands.
struct List<T> {
    found: Vec<Found<T>>,
    n_items: usize,
    line: usize,
}

/// One table of the file; an absent table behaves like an empty one.
pub(super) struct Section<'a> {
    name: &'static str,
    table: Option<&'a DeTable<'a>>,
    line: Option<usize>,
    asked: Vec<&'static str>,
    sink: &'a mut Sink,
}

impl<'a> Section<'a> {
    /// Returns a table under the name that messages use, such as `[judge]`.
    pub(super) fn new(name: &'static str, table: Option<&'a DeTable<'a>>, line: Option<usize>, sink: &'a mut Sink) -> Self {
        Self { name, table, line, asked: Vec::new(), sink }
    }

    /// Books an error on a line of this table.
    pub(super) fn error(&mut self, line: Option<usize>, what: String, remedy: impl Into<String>) {
        self.sink.error(line, what, remedy);
    }

    /// Books a wrong value of a key.
    pub(super) fn wrong(&mut self, key: &str, line: usize, expected: &str, got: &str, hint: &str) {
        let what = format!("expected {expected} for {key} in {}, got {got}", self.name);
        self.sink.error(Some(line), what, hint);
    }

    /// Books a required key that is absent.
    pub(super) fn missing(&mut self, key: &str, hint: &str) {
        let what = format!("expected the key {key} in {}, got none", self.name);
        self.sink.error(self.line, what, hint);
    }

    /// Returns whether the key is there, with a right value or a wrong one.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    fn value(&mut self, key: &'static str) -> Option<(&'a DeValue<'a>, usize)> {
        self.asked.push(key);
        let value: &'a Spanned<DeValue<'a>> = self.table?.get(key)?;
        Some((value.get_ref(), self.sink.line_of(value.span().start)))
    }

    /// Reads a value with a conversion; a value of another type is booked and dropped.
    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        hint: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<Found<T>> {
        let (value, line) = self.value(key)?;
        match convert(value) {
            Some(value) => Some(Found { value, line }),
            None => {
                self.wrong(key, line, expected, &describe(value), hint);
                None
            }
        }
    }

    /// Reads a text that is not blank.
    pub(super) fn text(&mut self, key: &'static str) -> Option<Found<String>> {
        self.read(key, "a text", "write it in quotes, with at least one character", |value| {
            value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
        })
    }

    /// Reads a flag.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.read(key, "true or false", "write it without quotes", DeValue::as_bool).map(|found| found.value)
    }

    /// Reads a whole number that is at least `min`.
    pub(super) fn whole(&mut self, key: &'static str, min: u64, max: u64) -> Option<u64> {
        let expected = format!("a whole number from {min} to {max}");
        self.read(key, &expected, "write it without quotes", |value| whole_number(value).filter(|n| (min..=max).contains(n)))
            .map(|found| found.value)
    }

    /// Reads a whole number that is at least one and fits 32 bits.
    pub(super) fn count(&mut self, key: &'static str) -> Option<u32> {
        self.whole(key, 1, u64::from(u32::MAX)).and_then(|n| u32::try_from(n).ok())
    }

    /// Reads a word, which is `Some(None)`, or a whole number that fits 32 bits.
    pub(super) fn count_or_word(&mut self, key: &'static str, word: &str) -> Option<Option<u32>> {
        let expected = format!("{word:?} or a whole number");
        self.read(key, &expected, "write the number without quotes", |value| match value.as_str() {
            Some(text) => (text == word).then_some(None),
            None => small_number(value).map(Some),
        })
        .map(|found| found.value)
    }

    /// Reads a list of whole numbers that fit 32 bits, with at least one; wrong elements are booked and dropped.
    pub(super) fn counts_from_zero(&mut self, key: &'static str) -> Option<Vec<Found<u32>>> {
        let (expected, hint) = ("a list of whole numbers", "write it as [0, 1]");
        let numbers = self.list(key, expected, hint, small_number)?;
        if numbers.n_items == 0 {
            self.wrong(key, numbers.line, expected, "an empty list", hint);
            return None;
        }
        Some(numbers.found)
    }

    /// Reads a finite number that is not negative.
    pub(super) fn number(&mut self, key: &'static str) -> Option<f64> {
        self.read(key, "a number of at least 0", "write it without quotes", |value| {
            let text = match value {
                DeValue::Float(float) => float.as_str().to_owned(),
                DeValue::Integer(_) => whole_number(value)?.to_string(),
                _ => return None,
            };
            text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
        })
        .map(|found| found.value)
    }

    /// Reads one of several names.
    pub(super) fn choice<T: Choice>(&mut self, key: &'static str) -> Option<T> {
        let expected = names_of::<T>();
        self.read(key, &expected, "write one of these in quotes", |value| value.as_str().and_then(T::from_name))
            .map(|found| found.value)
    }

    /// Reads a list of texts, each with its line; wrong elements are booked and dropped.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<Found<String>>> {
        let list = self.list(key, "a list of texts", "write it as [\"a\", \"b\"]", |value| value.as_str().map(str::to_owned))?;
        Some(list.found)
    }

    /// Reads a list with a conversion; elements of another type are booked and dropped.
    fn list<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        hint: &str,
        convert: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Option<List<T>> {
        let (value, line) = self.value(key)?;
        let Some(array) = value.as_array() else {
            self.wrong(key, line, expected, &describe(value), hint);
            return None;
        };
        let mut found = Vec::with_capacity(array.len());
        for item in array.iter() {
            let line = self.sink.line_of(item.span().start);
            match convert(item.get_ref()) {
                Some(value) => found.push(Found { value, line }),
                None => self.wrong(key, line, expected, &describe(item.get_ref()), hint),
            }
        }
        Some(List { found, n_items: array.len(), line })
    }

    /// Reads a list of names; wrong elements are booked and dropped.
    pub(super) fn choices<T: Choice>(&mut self, key: &'static str) -> Option<Vec<Found<T>>> {
        let texts = self.texts(key)?;
        let mut values = Vec::with_capacity(texts.len());
        for Found { value, line } in texts {
            match T::from_name(&value) {
                Some(value) => values.push(Found { value, line }),
                None => {
                    let (expected, got) = (names_of::<T>(), format!("{value:?}"));
                    self.wrong(key, line, &expected, &got, "write one of these in quotes");
                }
            }
        }
        Some(values)
    }

    /// Books every key that nobody asked for.
    pub(super) fn finish(self) {
        let Some(table) = self.table else { return };
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !self.asked.contains(&name) {
                let line = self.sink.line_of(key.span().start);
                self.sink.error(
                    Some(line),
                    format!("expected a known key in {}, got {name:?}", self.name),
                    format!("known keys: {}", self.asked.join(", ")),
                );
            }
        }
    }
}

/// A setting that is one of several names.
pub(super) trait Choice: Copy + 'static {
    /// Every value with its name.
    const NAMES: &'static [(&'static str, Self)];

    /// Returns the value of a name.
    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }
}

/// Returns the names of a choice as text.
fn names_of<T: Choice>() -> String {
    let names: Vec<String> = T::NAMES.iter().map(|(name, _)| format!("{name:?}")).collect();
    names.join(" or ")
}

/// Reads a whole number that is not negative, in any radix.
fn whole_number(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str().trim_start_matches('+'), integer.radix()).ok()
}

/// Reads a whole number that is not negative and fits 32 bits.
fn small_number(value: &DeValue<'_>) -> Option<u32> {
    whole_number(value).and_then(|n| u32::try_from(n).ok())
}

/// Returns a value as messages show it.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(when) => when.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
