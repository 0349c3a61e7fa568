//! What a file is by its first bytes, where it is not the GGUF that it should be.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that are looked at.
const LOOK: usize = 512;

/// Says what the file at `path` is where it is no GGUF that this machine reads, with the remedy; `None` for what may be one.
///
/// # Errors
/// A file that cannot be read.
pub fn not_a_gguf(path: &Path) -> std::io::Result<Option<&'static str>> {
    let mut bytes = Vec::with_capacity(LOOK);
    File::open(path)?.take(LOOK as u64).read_to_end(&mut bytes)?;
    Ok(describe(&bytes))
}

fn describe(bytes: &[u8]) -> Option<&'static str> {
    let text = bytes.trim_ascii_start().to_ascii_lowercase();
    let starts = |start: &str| text.starts_with(start.as_bytes());
    if let Some(rest) = bytes.strip_prefix(b"GGUF") {
        return match rest.first_chunk().map(|version| u32::from_le_bytes(*version)) {
            None => Some("a GGUF that ends within its header: the download is not complete, fetch it again"),
            // A version is a small number: in the wrong byte order it is a large one.
            Some(version) if version & 0xffff == 0 => Some(
                "a GGUF of the other endianness (big-endian): fetch the little-endian file, or convert it with gguf_convert_endian.py",
            ),
            Some(_) => None,
        };
    }
    Some(if bytes.is_empty() {
        "an empty file: fetch it again"
    } else if starts("version https://git-lfs") {
        "a Git LFS pointer, not the file it stands for: run `git lfs pull` in its repository, or fetch the file itself"
    } else if starts("<!doctype html") || starts("<html") || starts("<head") {
        "an HTML page: the download was answered by a web page (a login or a licence to accept); fetch the file itself"
    } else if starts("<?xml") || starts("<error") {
        "an XML text, most likely the error message of a download; fetch the file again"
    } else if bytes.starts_with(b"ggml") || bytes.starts_with(b"lmgg") || bytes.starts_with(b"tjgg") || bytes.starts_with(b"algg")
    {
        "a GGML file from before GGUF: fetch a GGUF of the model"
    } else if bytes.starts_with(b"PK\x03\x04") {
        "a ZIP or PyTorch archive: unpack it, or convert the model to GGUF"
    } else if bytes.get(8..10) == Some(b"{\"") {
        "safetensors: convert the model to GGUF (llama.cpp's convert_hf_to_gguf.py)"
    } else if starts("{") {
        "a JSON text, most likely the error message of a download; fetch the file again"
    } else {
        "no GGUF (its first bytes are not `GGUF`); fetch it again"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        for (bytes, words) in [
            (&b"version https://git-lfs.github.com/spec/v1\noid sha256:"[..], "Git LFS pointer"),
            (b"\n<!DOCTYPE html>\n<html>", "HTML page"),
            (b"GGUF\0\0\0\x03\0\0\0\0", "big-endian"),
            (b"GGUF\x03", "ends within its header"),
            (b"", "empty"),
            (b"{\"error\": \"not found\"}", "JSON"),
            (b"\x10\0\0\0\0\0\0\0{\"__metadata__\"", "safetensors"),
            (b"PK\x03\x04", "ZIP"),
            (b"tjgg\x03\0\0\0", "before GGUF"),
            (b"\0\0\0\0\0", "no GGUF"),
        ] {
            assert!(describe(bytes).is_some_and(|what| what.contains(words)), "{words}: {:?}", describe(bytes));
        }
        assert_eq!(describe(b"GGUF\x03\0\0\0\0\0"), None);
    }
}
