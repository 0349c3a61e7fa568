//! Whether a file is a whole GGUF, before llama.cpp is given it.

use super::model::LoadError;
use crate::models::not_a_gguf;
use llama_cpp_sys_2 as sys;
use std::ffi::CString;
use std::path::Path;

/// Checks the first bytes of the file at `path`, and that it is as long as its tensors need.
///
/// # Errors
/// [`LoadError::NotGguf`] says what it is instead, [`LoadError::Truncated`] how much is missing. What llama.cpp cannot read at all is left
/// to its own message.
pub fn check(path: &Path) -> Result<(), LoadError> {
    let unreadable = |error: std::io::Error| LoadError::Weights { path: path.to_path_buf(), reason: error.to_string() };
    if let Some(what) = not_a_gguf(path).map_err(unreadable)? {
        return Err(LoadError::NotGguf { path: path.to_path_buf(), what });
    }
    let found = std::fs::metadata(path).map_err(unreadable)?.len();
    match end_of_tensors(path) {
        Some(expected) if expected > found => Err(LoadError::Truncated { path: path.to_path_buf(), expected, found }),
        _ => Ok(()),
    }
}

/// Where the last tensor of a file ends; `None` where its header cannot be read. Unit: bytes.
#[expect(unsafe_code, reason = "reads the header with the model library's own functions")]
fn end_of_tensors(path: &Path) -> Option<u64> {
    let name = CString::new(path.to_str()?).ok()?;
    // Its log lines go where llama.cpp's go.
    super::model::backend().ok()?;
    // SAFETY: the name is a C string, no tensor data is asked for, and the context is read before it is freed.
    unsafe {
        let context =
            sys::gguf_init_from_file(name.as_ptr(), sys::gguf_init_params { no_alloc: true, ctx: std::ptr::null_mut() });
        if context.is_null() {
            return None;
        }
        let ends = (0..sys::gguf_get_n_tensors(context))
            .map(|i| sys::gguf_get_tensor_offset(context, i) as u64 + sys::gguf_get_tensor_size(context, i) as u64);
        let end = sys::gguf_get_data_offset(context) as u64 + ends.max().unwrap_or(0);
        sys::gguf_free(context);
        Some(end)
    }
}
