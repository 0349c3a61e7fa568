//! How a model thinks aloud, as its card says: the marks around its reasoning and how long it may be.
//!
//! Marks only. Where reasoning begins and ends in a reply is read by `engine::generate`.

use serde::{Deserialize, Serialize};

/// Most tokens of reasoning where neither manifest nor card names a limit.
pub const DEFAULT_REASONING_TOKENS: u32 = 4096;

/// Longest mark. Unit: bytes.
const LONGEST_MARK: usize = 32;

/// The reasoning of a model that thinks aloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Reasoning {
    pub marks: Marks,
    /// Most tokens of reasoning that suit this model.
    pub budget: Option<u32>,
}

/// What separates reasoning from the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marks {
    /// One text before and one after, as `<think>` and `</think>`.
    Tags { open: String, close: String },
    /// The channels of the harmony format: `analysis` and `commentary` are reasoning, `final` is the reply.
    Harmony,
}

impl Marks {
    /// The texts that a model's vocabulary may hold as tokens of their own.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::Tags { open, close } => vec![open, close],
            Self::Harmony => {
                vec!["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>", "<|call|>"]
            }
        }
    }
}

impl Reasoning {
    /// The marks as they stand in the item key.
    #[must_use]
    pub fn identity(&self) -> (String, String) {
        match &self.marks {
            Marks::Tags { open, close } => (open.clone(), close.clone()),
            Marks::Harmony => ("harmony".into(), String::new()),
        }
    }
}

/// `[reasoning]` as it stands in a card.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    style: Style,
    open: Option<String>,
    close: Option<String>,
    budget: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Style {
    Tags,
    Harmony,
}

impl From<Reasoning> for Written {
    fn from(reasoning: Reasoning) -> Self {
        let (style, open, close) = match reasoning.marks {
            Marks::Tags { open, close } => (Style::Tags, Some(open), Some(close)),
            Marks::Harmony => (Style::Harmony, None, None),
        };
        Self { style, open, close, budget: reasoning.budget }
    }
}

impl TryFrom<Written> for Reasoning {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if written.budget == Some(0) {
            return Err(
                "reasoning.budget: expected at least 1 token, got 0; a model that need not think has no [reasoning]".into()
            );
        }
        let marks = match (written.style, written.open, written.close) {
            (Style::Harmony, None, None) => Marks::Harmony,
            (Style::Harmony, ..) => return Err("reasoning: the harmony format has its own marks; remove open and close".into()),
            (Style::Tags, Some(open), Some(close)) => {
                for (name, mark) in [("open", &open), ("close", &close)] {
                    if mark.trim() != mark || mark.is_empty() || mark.len() > LONGEST_MARK {
                        return Err(format!(
                            "reasoning.{name}: expected 1 to {LONGEST_MARK} bytes without white space around them, got {mark:?}"
                        ));
                    }
                }
                Marks::Tags { open, close }
            }
            (Style::Tags, ..) => {
                return Err("reasoning: style \"tags\" needs open and close, as open = \"<think>\", close = \"</think>\"".into());
            }
        };
        Ok(Self { marks, budget: written.budget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reasoning, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn both_styles_are_read() {
        let tags = read("style = \"tags\"\nopen = \"<think>\"\nclose = \"</think>\"\nbudget = 9").expect("tags");
        assert_eq!(tags.marks, Marks::Tags { open: "<think>".into(), close: "</think>".into() });
        assert_eq!(tags.budget, Some(9));
        assert_eq!(read("style = \"harmony\""), Ok(Reasoning { marks: Marks::Harmony, budget: None }));
        assert_ne!(tags.identity(), read("style = \"harmony\"").expect("harmony").identity());
    }

    #[test]
    fn a_wrong_table_says_what_is_wrong() {
        for (text, words) in [
            ("open = \"a\"\nclose = \"b\"", "style"),
            ("style = \"tags\"\nopen = \"a\"", "needs open and close"),
            ("style = \"tags\"\nopen = \" a\"\nclose = \"b\"", "reasoning.open"),
            ("style = \"harmony\"\nopen = \"a\"", "its own marks"),
            ("style = \"harmony\"\nbudget = 0", "reasoning.budget"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
