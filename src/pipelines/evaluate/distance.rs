//! How far two event texts are apart.

use crate::data::TextVectors;
use crate::measure::levenshtein::LevenshteinPattern;
use thiserror::Error;

/// A distance of texts in 0 to 1 (embeddings: 0 to 2).
#[derive(Debug)]
pub enum TextDistance {
    /// 0 for equal texts, 1 otherwise.
    Exact,
    /// Edit distance by characters over the longer length.
    Levenshtein,
    /// 1 - cosine of embeddings computed elsewhere.
    Embedding(TextVectors),
}

/// Why a distance is not defined.
#[derive(Debug, Error)]
pub enum DistanceError {
    // The text itself is not named: it is case text.
    #[error("no embedding for an event text of {n_chars} characters; embed every event text of reference and sources")]
    NoVector { n_chars: usize },
}

impl TextDistance {
    /// The name shown in tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact => "exact-match distance",
            Self::Levenshtein => "normalised Levenshtein distance",
            Self::Embedding(_) => "cosine distance of embeddings",
        }
    }

    /// All distances of `references` and `predictions`.
    ///
    /// # Shapes
    /// `[N_ref, N_pred]`, row-major.
    ///
    /// # Errors
    /// [`DistanceError::NoVector`] for a text without an embedding.
    pub fn matrix(&self, references: &[&str], predictions: &[&str]) -> Result<Vec<f64>, DistanceError> {
        let mut out = Vec::with_capacity(references.len() * predictions.len());
        match self {
            Self::Exact => {
                for reference in references {
                    out.extend(predictions.iter().map(|prediction| f64::from(u8::from(reference != prediction))));
                }
            }
            Self::Levenshtein => {
                for reference in references {
                    let pattern = LevenshteinPattern::new(reference);
                    out.extend(predictions.iter().map(|prediction| pattern.normalised(prediction)));
                }
            }
            Self::Embedding(vectors) => {
                let find = |text: &&str| vectors.get(text).ok_or(DistanceError::NoVector { n_chars: text.chars().count() });
                let rows = references.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                let columns = predictions.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                for row in rows {
                    out.extend(columns.iter().map(|column| {
                        let cosine: f64 = row.iter().zip(*column).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                        // Rounding may carry the cosine of a text with itself past one.
                        (1.0 - cosine).clamp(0.0, 2.0)
                    }));
                }
            }
        }
        Ok(out)
    }
}
