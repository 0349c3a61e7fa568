//! Chat messages and the templates that lay them out.

mod python_json;

use minijinja::{Environment, ErrorKind, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

impl Message {
    /// What the model is told before the conversation.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// A turn of the user.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// A turn of the model.
    #[must_use]
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// Why messages cannot be laid out.
#[derive(Debug, Error)]
pub enum ChatError {
    #[error("chat template: {reason}")]
    Template { reason: String },
    #[error("the chat template leaves out what the user says; the file needs a chat template of its model")]
    LeftOut,
}

/// The switch that answers a template's question for today's date.
const DATE_SWITCH: &str = "date_string";

/// A model's chat template with its switches, as Hugging Face's tokenizers render it: blocks trimmed, Python's string methods and
/// JSON, loop controls, `generation` blocks. Only the date is not theirs: `strftime_now` gives what the card's switch
/// `date_string` says, since a prompt must not change from day to day.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    switches: BTreeMap<String, Value>,
}

/// Marks, inside a message, the place where a special token's text is cut so that it stays plain text. A private-use character;
/// one that a message already holds is doubled.
const CUT: char = '\u{F8F1}';

impl ChatTemplate {
    /// Compiles `text`. `bos` and `eos` are the texts of these tokens.
    ///
    /// # Errors
    /// [`ChatError::Template`] for a template that minijinja cannot read.
    pub fn new(text: &str, bos: &str, eos: &str, switches: &BTreeMap<String, toml::Value>) -> Result<Self, ChatError> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", python_json::filter);
        environment.add_function("raise_exception", |message: String| -> Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        });
        let date = switches.get(DATE_SWITCH).map(|date| date.as_str().map_or_else(|| date.to_string(), str::to_string));
        environment.add_function("strftime_now", move |format: String| {
            date.clone().ok_or_else(|| {
                let message = format!(
                    "the template asks for today's date as {format:?}, and a prompt must not change from day to day; \
                     put a date in that form into the card: {DATE_SWITCH} = \"...\" under [template.switches]"
                );
                minijinja::Error::new(ErrorKind::InvalidOperation, message)
            })
        });
        environment
            .add_template_owned("chat", without_generation_tags(text))
            .map_err(|error| ChatError::Template { reason: format!("{error:#}") })?;
        let mut values: BTreeMap<String, Value> =
            switches.iter().map(|(name, value)| (name.clone(), Value::from_serialize(value))).collect();
        values.insert("bos_token".into(), Value::from(bos));
        values.insert("eos_token".into(), Value::from(eos));
        values.insert("add_generation_prompt".into(), Value::from(true));
        Ok(Self { environment, switches: values })
    }

    /// Lays out a conversation as every run asks them, so that a template that cannot is one error at the start and not one for every
    /// item.
    ///
    /// # Errors
    /// [`ChatError`] for a template that refuses a question, or a question after an answer, or leaves the question out.
    pub fn check(&self) -> Result<(), ChatError> {
        const QUESTION: &str = "Which of the two timelines does the report support?";
        let asked = vec![Message::user(QUESTION)];
        if !self.lay_out(&asked)?.contains(QUESTION) {
            return Err(ChatError::LeftOut);
        }
        let again = [asked, vec![Message::assistant("The first."), Message::user(QUESTION)]].concat();
        self.lay_out(&again).map(drop)
    }

    /// The pieces of the laid-out conversation, each to be tokenised with special tokens recognised. A text of `specials` inside a
    /// message is cut in two, so that no message can speak the template's own tokens; the pieces joined are the exact text.
    ///
    /// # Errors
    /// [`ChatError::Template`] when the template refuses the messages.
    pub fn render(&self, messages: &[Message], specials: &[String]) -> Result<Vec<String>, ChatError> {
        let needs_cut = messages.iter().any(|message| {
            message.content.contains(CUT) || specials.iter().any(|special| message.content.contains(special.as_str()))
        });
        let text = if needs_cut {
            let messages: Vec<Message> = messages
                .iter()
                .map(|message| Message { role: message.role, content: cut_specials(&message.content, specials) })
                .collect();
            self.lay_out(&messages)?
        } else {
            self.lay_out(messages)?
        };
        Ok(if needs_cut { split_at_cuts(&text) } else { vec![text] })
    }

    fn lay_out(&self, messages: &[Message]) -> Result<String, ChatError> {
        let mut values = self.switches.clone();
        values.insert("messages".into(), Value::from_serialize(messages));
        let template = self.environment.get_template("chat").expect("the template was added when it was compiled");
        template.render(values).map_err(|error| ChatError::Template { reason: format!("{error:#}") })
    }
}

/// Hugging Face marks what a model is trained on with `{% generation %}`; for the layout it is a block that is always shown.
fn without_generation_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let tag = &rest[start + 2..start + length];
        let word = tag.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace());
        let shown = match word {
            "generation" => tag.replace(word, "if true"),
            "endgeneration" => tag.replace(word, "endif"),
            _ => tag.to_string(),
        };
        out.push_str(&rest[..start + 2]);
        out.push_str(&shown);
        rest = &rest[start + length..];
    }
    out + rest
}

fn cut_specials(content: &str, specials: &[String]) -> String {
    let mut out = String::with_capacity(content.len() + 16);
    let mut rest = content;
    while let Some(first) = rest.chars().next() {
        out.push(first);
        let starts_special = specials.iter().any(|special| rest.starts_with(special.as_str()));
        if first == CUT || starts_special {
            out.push(CUT);
        }
        rest = &rest[first.len_utf8()..];
    }
    out
}

fn split_at_cuts(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = pieces.last_mut().expect("there is always a last piece");
        if c != CUT {
            last.push(c);
        } else if chars.next_if_eq(&CUT).is_some() {
            last.push(CUT);
        } else {
            pieces.push(String::new());
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests;
