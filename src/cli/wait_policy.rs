//! How the threads of llama.cpp wait for each other.
//!
//! They meet some hundred times a token. By default they spin there, which is fast while every thread has a core of its own; beside
//! another busy process a thread that spins holds the core that the one it waits for needs, and decoding falls to a tenth or less. A
//! short spin and then sleep costs next to nothing alone and keeps the speed fair in company. The OpenMP runtime reads this when
//! the program is loaded, so the program starts itself anew with it. It changes no number.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Turns of waiting before a thread sleeps: some microseconds. `benches/runs/2026-11-30/wait_policy.txt` has what it is worth.
const SPINS: (&str, &str) = ("GOMP_SPINCOUNT", "1000");

/// Whoever sets one of these has chosen.
const CHOSEN: [&str; 2] = [SPINS.0, "OMP_WAIT_POLICY"];

/// Starts the program anew unless the way of waiting is set. Returns when it is, or when that cannot be done.
pub fn settle() {
    if CHOSEN.iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut again = Command::new(program);
    again.args(arguments.by_ref().skip(1)).env(SPINS.0, SPINS.1);
    // Only an error comes back: then this process goes on as it is.
    tracing::debug!("the way of waiting stays as it is: {}", again.exec());
}
