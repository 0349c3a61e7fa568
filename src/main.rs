//! The thin binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    assize::cli::main(std::env::args_os()).into()
}
