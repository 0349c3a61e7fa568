//! The form a reply must have: a JSON schema or a grammar.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the form is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A JSON schema; replies are compact JSON.
    Schema(Value),
    /// A grammar in GBNF, whose rule `root` is the reply.
    Grammar(String),
}

/// The form of a reply. Backends compile it once; its text is part of the item key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    name: String,
    form: Form,
    key_text: String,
}

impl Constraint {
    /// A constraint called `name` (as servers want one) by `schema`.
    #[must_use]
    pub fn new(name: &str, schema: Value) -> Self {
        let key_text = schema.to_string();
        Self { name: name.to_string(), form: Form::Schema(schema), key_text }
    }

    /// A constraint called `name` by a GBNF `grammar`.
    #[must_use]
    pub fn grammar(name: &str, grammar: &str) -> Self {
        // No schema is a text that begins so: the two forms never have equal keys.
        Self { name: name.to_string(), form: Form::Grammar(grammar.to_string()), key_text: format!("gbnf {grammar}") }
    }

    /// The name sent to servers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The form as it stands in the item key: a schema as compact JSON.
    #[must_use]
    pub fn key_text(&self) -> &str {
        &self.key_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_part_of_the_key() {
        let text = r#""yes""#;
        let schema = Constraint::new("answer", Value::String("yes".into()));
        assert_eq!(schema.key_text(), text);
        assert_ne!(Constraint::grammar("answer", text).key_text(), schema.key_text());
    }
}
