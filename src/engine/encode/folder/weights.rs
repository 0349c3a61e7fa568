//! Weights of a folder: safetensors, one file or shards with an index.

use super::super::error::{EncodeError, read};
use candle_core::safetensors::MmapedSafetensors;
use candle_core::{DType, Device};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Numbers of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    F32,
    Bf16,
    F16,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        })
    }
}

/// Tensors by name, mapped into memory and read when asked for.
pub struct Weights {
    /// What messages name: the file, or the index of its shards.
    path: PathBuf,
    files: Vec<PathBuf>,
    tensors: MmapedSafetensors,
    shapes: BTreeMap<String, Vec<usize>>,
    dtype: Dtype,
    /// What stands before every name (`model.`, `bert.`), or nothing.
    prefix: &'static str,
}

/// What published files put before the names.
const PREFIXES: [&str; 3] = ["", "model.", "bert."];

impl Weights {
    /// Maps the weights of a folder; `known` is a tensor that they must have, by its name without prefix.
    ///
    /// # Errors
    /// [`EncodeError`]: a missing shard or tensor, a damaged file, a pickled checkpoint, types that are not floats.
    pub fn open(folder: &Path, known: &str) -> Result<Self, EncodeError> {
        let (path, files) = files(folder)?;
        // SAFETY: a mapped file that is cut short while it is read ends the process. Nobody writes to a model folder in use.
        #[expect(unsafe_code, reason = "weights of many gigabytes are mapped, not copied")]
        let tensors = unsafe { MmapedSafetensors::multi(&files) }.map_err(|error| EncodeError::invalid(&path, error))?;
        let mut shapes = BTreeMap::new();
        let mut dtypes = BTreeSet::new();
        for (name, view) in tensors.tensors() {
            shapes.insert(name.clone(), view.shape().to_vec());
            // Counters and position ids are whole numbers, and nothing reads them.
            dtypes.extend(match DType::try_from(view.dtype()) {
                Ok(DType::F32) => Some("f32"),
                Ok(DType::BF16) => Some("bf16"),
                Ok(DType::F16) => Some("f16"),
                _ => None,
            });
        }
        let dtype = match dtypes.iter().copied().collect::<Vec<_>>()[..] {
            ["f32"] => Dtype::F32,
            ["bf16"] => Dtype::Bf16,
            ["f16"] => Dtype::F16,
            [] => return Err(EncodeError::invalid(&path, "no tensor of f32, f16 or bf16")),
            [..] => Dtype::F32,
        };
        let prefix = PREFIXES.into_iter().find(|prefix| shapes.contains_key(&format!("{prefix}{known}")));
        let Some(prefix) = prefix else { return Err(EncodeError::MissingTensor { path, name: known.into() }) };
        Ok(Self { path, files, tensors, shapes, dtype, prefix })
    }

    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The files, in the order of their names.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Shape of a tensor, by its name without prefix or by its whole name.
    fn named(&self, name: &str) -> Option<(String, &[usize])> {
        let with = format!("{}{name}", self.prefix);
        let name = if self.shapes.contains_key(&with) { with } else { name.to_string() };
        self.shapes.get(&name).map(|shape| (name.clone(), &shape[..]))
    }

    pub fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The shape of a tensor, if it is there.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.named(name).map(|(_, shape)| shape)
    }

    /// A tensor as f32, row-major.
    ///
    /// # Errors
    /// [`EncodeError::MissingTensor`], [`EncodeError::Shape`], and a value that is not finite.
    pub fn tensor(&self, name: &str, expected: &[usize]) -> Result<Vec<f32>, EncodeError> {
        let Some((full, shape)) = self.named(name) else {
            return Err(EncodeError::MissingTensor { path: self.path.clone(), name: format!("{}{name}", self.prefix) });
        };
        if shape != expected {
            let (found, expected) = (shape.to_vec(), expected.to_vec());
            return Err(EncodeError::Shape { path: self.path.clone(), name: full, found, expected });
        }
        let invalid = |error: candle_core::Error| EncodeError::invalid(&self.path, error);
        let tensor = self.tensors.load(&full, &Device::Cpu).and_then(|tensor| tensor.to_dtype(DType::F32)).map_err(invalid)?;
        let values: Vec<f32> = tensor.flatten_all().and_then(|tensor| tensor.to_vec1()).map_err(invalid)?;
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(values),
            Some(at) => Err(EncodeError::invalid(&self.path, format!("tensor `{full}`: element {at} is not finite; fetch the file again"))),
        }
    }
}

/// The path that messages name, and the weight files.
fn files(folder: &Path) -> Result<(PathBuf, Vec<PathBuf>), EncodeError> {
    let one = folder.join("model.safetensors");
    let index = folder.join("model.safetensors.index.json");
    if one.exists() {
        return Ok((one.clone(), vec![one]));
    }
    if !index.exists() {
        let pickled = folder.join("pytorch_model.bin");
        if pickled.exists() {
            return Err(EncodeError::Pickled { path: pickled });
        }
        read(&one)?;
    }
    let value: Value = serde_json::from_slice(&read(&index)?).map_err(|error| EncodeError::invalid(&index, error))?;
    let Some(map) = value["weight_map"].as_object() else { return Err(EncodeError::invalid(&index, "no weight_map")) };
    let names: BTreeSet<&str> = map.values().filter_map(Value::as_str).collect();
    let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    if let Some(missing) = files.iter().find(|file| !file.exists()) {
        let reason = format!("names {}, which is missing; fetch every shard", missing.display());
        return Err(EncodeError::invalid(&index, reason));
    }
    Ok((index, files))
}
