//! Prompt texts: versioned, hashed, rendered once.
//!
//! A prompt is a minijinja template. Data are passed as values and never parsed as template text, so a report that contains
//! `{{ … }}` stays as it is. Changing a prompt is a new version file.

use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

const BUILTIN: [(&str, &str); 2] = [
    ("gavel/judge.v1", include_str!("../../prompts/gavel/judge.v1.txt")),
    ("gavel/judge.v2", include_str!("../../prompts/gavel/judge.v2.txt")),
];

/// Which text asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptId {
    /// `<pipeline>/<stage>`, as `gavel/judge`; for a file of the user's, its path as the manifest gives it.
    pub name: String,
    pub version: u32,
    /// SHA-256 of the template text.
    pub sha256: String,
}

impl fmt::Display for PromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.v{}", self.name, self.version)
    }
}

/// Why a prompt cannot be used.
#[derive(Debug, Error)]
pub enum PromptError {
    #[error("unknown prompt `{name}`; built-in prompts: {known}; or give a path as `file.v1.txt`")]
    Unknown { name: String, known: String },
    #[error("cannot read prompt {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("prompt {name}: expected a name that ends in .v<number>, as `judge.v2.txt`; the version is part of every item key")]
    Version { name: String },
    #[error("prompt {name}: {reason}")]
    Template { name: String, reason: String },
}

/// A loaded prompt.
#[derive(Debug)]
pub struct Prompt {
    id: PromptId,
    environment: minijinja::Environment<'static>,
}

impl Prompt {
    /// Loads a built-in prompt, as `gavel/judge.v1`, or a text file `….v<number>.txt` relative to `base`.
    ///
    /// # Errors
    /// [`PromptError`] naming what is wrong.
    pub fn find(name: &str, base: &Path) -> Result<Self, PromptError> {
        let (stem, text) = if let Some(stem) = name.strip_suffix(".txt") {
            let path = base.join(name);
            let text = std::fs::read_to_string(&path).map_err(|source| PromptError::Read { path, source })?;
            (stem, text)
        } else {
            match BUILTIN.iter().find(|(known, _)| *known == name) {
                Some((_, text)) => (name, (*text).to_string()),
                None => {
                    let known = BUILTIN.map(|(name, _)| name).join(", ");
                    return Err(PromptError::Unknown { name: name.to_string(), known });
                }
            }
        };
        let version = stem.rsplit_once(".v").and_then(|(name, version)| Some((name, version.parse().ok()?)));
        let (base_name, version) = version.ok_or_else(|| PromptError::Version { name: name.to_string() })?;
        let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let id = PromptId { name: base_name.to_string(), version, sha256 };
        let mut environment = minijinja::Environment::new();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment
            .add_template_owned("prompt", text)
            .map_err(|error| PromptError::Template { name: name.to_string(), reason: format!("{error:#}") })?;
        Ok(Self { id, environment })
    }

    /// The prompt's identity, part of every item key.
    #[must_use]
    pub fn id(&self) -> &PromptId {
        &self.id
    }

    /// The text with `values` filled in.
    ///
    /// # Errors
    /// [`PromptError::Template`] for a placeholder without a value.
    pub fn render<S: Serialize>(&self, values: S) -> Result<String, PromptError> {
        let template = self.environment.get_template("prompt").expect("the template was added when the prompt was loaded");
        template.render(values).map_err(|error| PromptError::Template { name: self.id.to_string(), reason: format!("{error:#}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn placeholders_in_data_are_not_expanded() {
        let folder = std::env::temp_dir().join(format!("assize-prompt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        std::fs::write(folder.join("x.v3.txt"), "<{{ report }}>").expect("a file in it");
        let prompt = Prompt::find("x.v3.txt", &folder).expect("a valid prompt");
        let report = "{{ secret }} {% for %} <|im_end|>";
        let text = prompt.render(BTreeMap::from([("report", report)])).expect("it renders");
        assert_eq!(text, format!("<{report}>"));
        assert_eq!(prompt.id().version, 3);
        assert!(prompt.render(BTreeMap::<&str, &str>::new()).is_err(), "a missing value is an error");
        std::fs::remove_dir_all(folder).expect("it goes away");
    }

    /// Replies are stored under the hash of their prompt. A changed text needs a new version file, not a new hash here.
    #[test]
    fn released_prompts_do_not_change() {
        let released = [
            ("gavel/judge.v1", "9ae86ea1fc1349162a7c3c2aefbb64ae028e3ec472270e4c351df98702a41f85"),
            ("gavel/judge.v2", "50d85134f2cb51a8cb9945f22eb9977ab7404fa9aae21b1497c270f242ebcb3e"),
        ];
        for (name, sha256) in released {
            let prompt = Prompt::find(name, Path::new("")).expect("a built-in prompt");
            assert_eq!(prompt.id().sha256, sha256, "{name} was changed: write the next version file instead");
        }
    }
}
