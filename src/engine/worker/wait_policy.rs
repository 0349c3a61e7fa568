//! How the threads of llama.cpp wait for each other.
//!
//! They meet some hundred times a token. By default they spin there, which is fast while every thread has a core of its own; beside
//! another busy process a thread that spins holds the core that the one it waits for needs, and decoding falls to a tenth or less. A
//! short spin and then sleep costs next to nothing alone and keeps the speed fair in company. The OpenMP runtime reads this when
//! a program is loaded, so the judge's process is started with it. It changes no number.

use std::process::Command;

/// Turns of waiting before a thread sleeps: some microseconds. `benches/runs/2026-11-30/wait_policy.txt` has what it is worth.
const SPINS: (&str, &str) = ("GOMP_SPINCOUNT", "1000");

/// Whoever sets one of these has chosen.
const CHOSEN: [&str; 2] = [SPINS.0, "OMP_WAIT_POLICY"];

/// Has `command` started with this way of waiting, unless another is chosen.
pub fn set(command: &mut Command) {
    if CHOSEN.iter().all(|name| std::env::var_os(name).is_none()) {
        command.env(SPINS.0, SPINS.1);
    }
}
