//! The judge's process as its parent handles it: started, written to, read from, killed.
//!
//! This file must not know what the lines mean for the items of a run.

use super::protocol::{ToWorker, line_of, message_of};
use super::supervisor::{Event, Worker};
use super::wait_policy;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// This very program, also when its file has been replaced since it was started.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// A running process.
pub(super) struct Process {
    child: Child,
    /// Lines for its stdin. Written by a thread of their own: a process that was stopped reads nothing, and its supervisor must not
    /// wait for it. Closed when dropped, which ends the process.
    lines: Sender<String>,
}

impl Process {
    /// Starts this program with `arguments` as worker number `number`, whose messages go to `events`.
    pub fn start(arguments: &[OsString], number: u64, events: Sender<Event>) -> std::io::Result<Self> {
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("assize").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C reaches the terminal's whole process group. The run decides what it means.
        command.process_group(0);
        // After an abort llama.cpp would attach a debugger, whose trace shows the arguments of functions: case text, perhaps.
        command.env("GGML_NO_BACKTRACE", "1");
        wait_policy::set(&mut command);
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().expect("stdin was asked for");
        let stdout = BufReader::new(child.stdout.take().expect("stdout was asked for"));
        let (lines, to_write) = channel::<String>();
        let threads = thread::Builder::new()
            .name("to the judge".into())
            .spawn(move || to_write.iter().all(|line| stdin.write_all(line.as_bytes()).is_ok()))
            .and_then(|_| {
                thread::Builder::new().name("from the judge".into()).spawn(move || {
                    // Nobody listens any more when a message cannot be passed on.
                    let _ = events.send(Event::Gone { number, garbled: pass_on(stdout, number, &events) });
                })
            });
        let mut process = Self { child, lines };
        if let Err(error) = threads {
            process.kill();
            process.wait();
            return Err(error);
        }
        Ok(process)
    }
}

/// Passes messages on until there are no more; returns whether that is because a line is none.
fn pass_on(stdout: impl BufRead, number: u64, events: &Sender<Event>) -> bool {
    for line in stdout.lines() {
        let Some(said) = line.ok().as_deref().and_then(message_of) else { return true };
        if events.send(Event::Said { number, said }).is_err() {
            return false;
        }
    }
    false
}

impl Worker for Process {
    fn tell(&mut self, message: &ToWorker) -> Result<(), String> {
        let line = line_of(message).map_err(|error| error.to_string())?;
        // Where the writer has ended, so has the process: its end is an event of its own.
        let _ = self.lines.send(line);
        Ok(())
    }

    fn kill(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
    }

    fn wait(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => ending(status),
            Err(error) => format!("it cannot be told how: {error}"),
        }
    }
}

/// How a process ended, for people.
fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("signal {signal}, {name}"),
            None => format!("signal {signal}"),
        },
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "neither exit code nor signal".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_named() {
        assert_eq!(ending(ExitStatus::from_raw(6)), "signal 6, SIGABRT");
        assert_eq!(ending(ExitStatus::from_raw(3 << 8)), "exit code 3");
    }

    #[test]
    fn messages_are_passed_on_until_a_line_is_none() {
        let (sender, events) = channel();
        assert!(pass_on("{\"kind\":\"ready\"}\n\u{1b}[0m hello\n{\"kind\":\"ready\"}\n".as_bytes(), 4, &sender));
        assert!(!pass_on("{\"kind\":\"began\",\"id\":5}\n".as_bytes(), 5, &sender));
        drop(sender);
        let numbers: Vec<u64> =
            events.iter().filter_map(|event| if let Event::Said { number, .. } = event { Some(number) } else { None }).collect();
        assert_eq!(numbers, [4, 5]);
    }
}
