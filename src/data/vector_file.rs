//! Matrices of vectors, written row by row: .npy, .safetensors or .jsonl. The number of rows is entered at the end, so rows need not be
//! known before; the file takes its name only when it is whole.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a header; a multiple of 64, as .npy asks for.
const HEADER: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VectorFormat {
    Npy,
    Safetensors,
    JsonLines,
}

/// A file that is being written.
pub struct VectorWriter {
    path: PathBuf,
    partial: PathBuf,
    format: VectorFormat,
    file: BufWriter<File>,
    width: usize,
    n_rows: usize,
}

impl VectorWriter {
    /// Begins the file at `path`; its ending is its format.
    ///
    /// # Errors
    /// An ending that is none of the three, or a path that cannot be written.
    pub fn create(path: &Path, width: usize) -> std::io::Result<Self> {
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => VectorFormat::Npy,
            Some("safetensors") => VectorFormat::Safetensors,
            Some("jsonl") => VectorFormat::JsonLines,
            _ => {
                let reason = "expected a name that ends in .npy, .safetensors or .jsonl";
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
            }
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&partial)?);
        if format != VectorFormat::JsonLines {
            file.write_all(&[0; HEADER])?;
        }
        Ok(Self { path: path.to_path_buf(), partial, format, file, width, n_rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A full disk.
    pub fn push(&mut self, row: &[f32]) -> std::io::Result<()> {
        debug_assert_eq!(row.len(), self.width);
        self.n_rows += 1;
        if self.format == VectorFormat::JsonLines {
            serde_json::to_writer(&mut self.file, row)?;
            return self.file.write_all(b"\n");
        }
        row.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes()))
    }

    /// Enters the number of rows and gives the file its name.
    ///
    /// # Errors
    /// A full disk.
    pub fn finish(mut self) -> std::io::Result<()> {
        let header = self.header();
        if let Some(header) = header {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header)?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        std::fs::rename(&self.partial, &self.path)
    }

    fn header(&self) -> Option<Vec<u8>> {
        let (n, d) = (self.n_rows, self.width);
        let (mut header, text) = match self.format {
            VectorFormat::Npy => {
                let mut head = b"\x93NUMPY\x01\x00".to_vec();
                head.extend(((HEADER - 10) as u16).to_le_bytes());
                (head, format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {d}), }}"))
            }
            VectorFormat::Safetensors => {
                let head = ((HEADER - 8) as u64).to_le_bytes().to_vec();
                (head, format!("{{\"embeddings\":{{\"dtype\":\"F32\",\"shape\":[{n},{d}],\"data_offsets\":[0,{}]}}}}", n * d * 4))
            }
            VectorFormat::JsonLines => return None,
        };
        header.extend(text.as_bytes());
        header.resize(HEADER, b' ');
        if self.format == VectorFormat::Npy {
            header[HEADER - 1] = b'\n';
        }
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TextVectors;

    #[test]
    fn what_is_written_is_read_again() {
        for ending in ["npy", "safetensors"] {
            let folder = std::env::temp_dir().join(format!("assize-vectors-{}-{ending}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder");
            let (path, texts) = (folder.join(format!("v.{ending}")), folder.join("texts.txt"));
            let mut writer = VectorWriter::create(&path, 3).expect("a file");
            for row in [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]] {
                writer.push(&row).expect("a row");
            }
            assert!(!path.exists(), "no half file under its name");
            writer.finish().expect("a whole file");
            std::fs::write(&texts, "fever\nrash\n").expect("texts");
            let read = TextVectors::read(&path, &texts).expect("vectors");
            assert_eq!(read.get("fever").map(<[f32]>::to_vec), Some(vec![0.6, 0.8, 0.0]));
            assert_eq!(read.get("rash").map(<[f32]>::to_vec), Some(vec![0.0, 0.0, 1.0]));
            std::fs::remove_dir_all(&folder).expect("removed");
        }
    }

    #[test]
    fn another_ending_is_refused() {
        assert!(VectorWriter::create(Path::new("vectors.parquet"), 3).is_err());
    }
}
