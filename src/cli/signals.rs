//! Stopping on request: the first signal lets running games finish, the second ends the process.

use crate::error::ExitStatus;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGUSR1];

/// A flag that SIGINT, SIGTERM and SIGUSR1 set. A second signal exits at once with "interrupted": what is stored stays stored.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn stop_flag(quiet: bool) -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new(STOPPING)?;
    let flag = Arc::clone(&stop);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(ExitStatus::Interrupted.code().into());
            }
            if !quiet {
                crate::cli::console::complain(format_args!("stopping: running games finish first; once more to stop at once"));
            }
        }
    })?;
    Ok(stop)
}

/// Has the signals that stop a run do nothing here: batch systems send them to every process of a job, and the run tells its judge
/// what to do.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn leave_to_the_run() -> std::io::Result<()> {
    let nobody = Arc::new(AtomicBool::new(false));
    STOPPING.iter().try_for_each(|signal| signal_hook::flag::register(*signal, Arc::clone(&nobody)).map(drop))
}
