//! The form a reply must have, as a JSON schema.

use serde_json::Value;

/// A JSON schema for a reply. Backends compile it once; its text is part of the item key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    name: String,
    schema: Value,
    text: String,
}

impl Constraint {
    /// A constraint called `name` (as servers want one) by `schema`.
    #[must_use]
    pub fn new(name: &str, schema: Value) -> Self {
        let text = schema.to_string();
        Self { name: name.to_string(), schema, text }
    }

    /// The name sent to servers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The schema as compact JSON.
    #[must_use]
    pub fn schema_text(&self) -> &str {
        &self.text
    }
}
