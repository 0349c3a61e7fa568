//! `assize init`: a new study folder with a commented manifest.

use crate::cli::console::{Failure, Remarks};
use crate::data::manifest_template;
use crate::data::study::MANIFEST_NAME;
use crate::error::ExitStatus;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

pub fn run(dir: &Path, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::usage(format_args!("cannot write {}: {error}", path.display()));
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let path = dir.join(MANIFEST_NAME);
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format_args!(
                "{} exists already and is left as it is; choose another folder",
                path.display()
            )));
        }
        other => other.map_err(|error| failed(&path, error))?,
    };
    file.write_all(manifest_template().as_bytes()).map_err(|error| failed(&path, error))?;
    super::print_out(&path.display().to_string())?;
    remarks.say(format_args!("edit it, put reports and timelines where it says, then run `assize check {}`", dir.display()));
    Ok(ExitStatus::Ok)
}
