//! The exit codes of the program, in one table. Knows no other module.

use std::process::ExitCode;

/// How a command ended, as a process exit code.
///
/// | code | name | meaning |
/// |---|---|---|
/// | 0 | `Ok` | everything asked for was done |
/// | 1 | `Internal` | a failure of Assize or of the machine (a full disk, a lost device) |
/// | 2 | `Usage` | a wrong argument, manifest or input file |
/// | 3 | `Verification` | a model file, tokenizer, template or prompt is not the one its card names |
/// | 4 | `FailedItems` | finished; some items failed or are still pending and are listed |
/// | 5 | `Interrupted` | stopped by a signal; the same command goes on where it stopped |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    Ok = 0,
    Internal = 1,
    Usage = 2,
    Verification = 3,
    FailedItems = 4,
    Interrupted = 5,
}

impl ExitStatus {
    /// The number the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status.code())
    }
}
