//! What is wrong with an input, where, and what to do about it.
//!
//! A problem never quotes a row or a report: the text of a case must not reach a log. It names file and line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Whether a problem stops the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The study cannot be used as it is.
    Error,
    /// The study can be used; a reader of its results should know this.
    Warning,
}

/// One thing that is wrong or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Problem {
    /// The file or folder concerned.
    pub path: PathBuf,
    /// The line concerned, counted from one, when there is one.
    pub line: Option<usize>,
    /// Whether it stops the study.
    pub severity: Severity,
    /// What is wrong: what was expected and what was found.
    pub what: String,
    /// What the user can do.
    pub remedy: String,
}

impl Problem {
    /// Returns a problem that stops the study.
    pub fn error(path: &Path, line: Option<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (what, remedy) = (what.into(), remedy.into());
        Self { path: path.to_path_buf(), line, severity: Severity::Error, what, remedy }
    }

    /// Returns a problem that the study survives.
    pub fn warning(path: &Path, line: Option<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, what, remedy) }
    }

    /// Returns whether the problem stops the study.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    /// Writes `path:line: what; remedy`, or `path: what; remedy` without a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}; {}", self.what, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_path_line_what_remedy() {
        let problem = Problem::error(Path::new("a/b.csv"), Some(3), "expected x, got y", "write x");
        assert_eq!(problem.to_string(), "a/b.csv:3: expected x, got y; write x");
        let problem = Problem::warning(Path::new("a"), None, "w", "r");
        assert_eq!(problem.to_string(), "a: w; r");
        assert!(!problem.is_error());
    }
}
