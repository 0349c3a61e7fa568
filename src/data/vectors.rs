//! Embeddings computed elsewhere: a matrix file and the texts of its rows.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a matrix of embeddings cannot be used.
#[derive(Debug, Error)]
pub enum VectorError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: expected a .npy or .safetensors file with one matrix of floats, got {found}")]
    Form { path: PathBuf, found: String },
    #[error("{path} has {n_rows} rows and {texts} has {n_texts} lines; row i must be the embedding of line i")]
    Lengths { path: PathBuf, texts: PathBuf, n_rows: usize, n_texts: usize },
    #[error("{path}: row {row} is not finite or has no length; embed its text again")]
    Row { path: PathBuf, row: usize },
    #[error("{path}: lines {first} and {again} are the same text, but its two embeddings differ; keep one of them")]
    Repeated { path: PathBuf, first: usize, again: usize },
}

/// Largest difference of an element between two embeddings of the same text; batches of other sizes differ by rounding.
const MAX_ROUNDING: f32 = 1e-3;

/// Unit vectors by text.
///
/// # Shapes
/// `[N, D]`, row-major, f32, each row of length 1.
#[derive(Debug)]
pub struct TextVectors {
    rows: HashMap<String, usize>,
    n_dims: usize,
    values: Vec<f32>,
}

impl TextVectors {
    /// Reads the matrix at `path` and the texts, one a line, at `texts`. Rows are scaled to length 1; of a text that is there
    /// several times the first row counts.
    ///
    /// # Errors
    /// [`VectorError`].
    pub fn read(path: &Path, texts: &Path) -> Result<Self, VectorError> {
        let read = |path: &Path| fs::read(path).map_err(|source| VectorError::Read { path: path.to_path_buf(), source });
        let bytes = read(path)?;
        let form = |found: String| VectorError::Form { path: path.to_path_buf(), found };
        let (n_rows, n_dims, mut values) = match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => npy(&bytes).map_err(form)?,
            Some("safetensors") => safetensors(&bytes).map_err(form)?,
            other => return Err(form(format!("the ending `{}`", other.unwrap_or_default()))),
        };
        if n_dims == 0 {
            return Err(form("a matrix without columns".into()));
        }
        let text = String::from_utf8_lossy(&read(texts)?).into_owned();
        let lines: Vec<&str> = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().collect();
        if lines.len() != n_rows {
            let (path, texts) = (path.to_path_buf(), texts.to_path_buf());
            return Err(VectorError::Lengths { path, texts, n_rows, n_texts: lines.len() });
        }
        for (i, row) in values.chunks_mut(n_dims).enumerate() {
            let length = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
            if !length.is_finite() || length == 0.0 {
                return Err(VectorError::Row { path: path.to_path_buf(), row: i + 1 });
            }
            row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
        }
        let mut rows = HashMap::with_capacity(n_rows);
        for (i, line) in lines.iter().enumerate() {
            let first = *rows.entry((*line).to_string()).or_insert(i);
            let [one, other] = [first, i].map(|row| &values[row * n_dims..(row + 1) * n_dims]);
            if one.iter().zip(other).any(|(x, y)| (x - y).abs() > MAX_ROUNDING) {
                return Err(VectorError::Repeated { path: texts.to_path_buf(), first: first + 1, again: i + 1 });
            }
        }
        Ok(Self { rows, n_dims, values })
    }

    /// Vectors of length 1, row `i` being that of `texts[i]`.
    ///
    /// # Shapes
    /// `values`: `[N, D]`.
    #[must_use]
    pub fn of(texts: Vec<String>, n_dims: usize, values: Vec<f32>) -> Self {
        Self { rows: texts.into_iter().enumerate().map(|(row, text)| (text, row)).collect(), n_dims, values }
    }

    /// The vector of `text`, if it is there.
    pub fn get(&self, text: &str) -> Option<&[f32]> {
        let row = *self.rows.get(text)?;
        Some(&self.values[row * self.n_dims..(row + 1) * self.n_dims])
    }
}

type Matrix = (usize, usize, Vec<f32>);

fn npy(bytes: &[u8]) -> Result<Matrix, String> {
    let file = npyz::NpyFile::new(bytes).map_err(|error| error.to_string())?;
    let shape = file.shape().to_vec();
    if file.order() != npyz::Order::C {
        return Err("a matrix in column order; save it in row order".into());
    }
    let [n_rows, n_dims] = shape[..] else { return Err(format!("an array of shape {shape:?}")) };
    let dtype = file.dtype();
    let values: Vec<f32> = match file.try_data::<f32>() {
        Ok(data) => data.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        Err(file) => match file.try_data::<f64>() {
            Ok(data) => data.map(|x| x.map(|x| x as f32)).collect::<Result<_, _>>().map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("elements of type {dtype:?}; f32 and f64 are read")),
        },
    };
    Ok((n_rows as usize, n_dims as usize, values))
}

fn safetensors(bytes: &[u8]) -> Result<Matrix, String> {
    let tensors = safetensors::SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let [(_, tensor)] = &tensors.tensors()[..] else { return Err(format!("{} tensors", tensors.len())) };
    let [n_rows, n_dims] = tensor.shape()[..] else { return Err(format!("a tensor of shape {:?}", tensor.shape())) };
    let data = tensor.data();
    let values = match tensor.dtype() {
        safetensors::Dtype::F32 => data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        safetensors::Dtype::F16 => data.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        safetensors::Dtype::BF16 => data.chunks_exact(2).map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        other => return Err(format!("elements of type {other:?}; f32, f16 and bf16 are read")),
    };
    Ok((n_rows, n_dims, values))
}
