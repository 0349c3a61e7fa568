//! `assize worker`: the judge of an `assize run`, in a process of its own.

use crate::cli::console::Failure;
use crate::cli::signals;
use crate::engine::worker::{ServeError, serve};
use crate::error::ExitStatus;
use std::ffi::OsString;

/// The arguments that start this command with the log filter of its run.
pub fn arguments(log: Option<&str>) -> Vec<OsString> {
    std::iter::once("worker").chain(log.into_iter().flat_map(|filter| ["--log", filter])).map(OsString::from).collect()
}

pub fn run() -> Result<ExitStatus, Failure> {
    signals::leave_to_the_run().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    serve().map_err(|error| match error {
        ServeError::NoStart => Failure::usage(error),
        ServeError::Thread(_) => Failure::new(ExitStatus::Internal, error),
    })?;
    Ok(ExitStatus::Ok)
}
