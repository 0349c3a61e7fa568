//! Progress of a long command on stderr: how much is done, how fast, how long still. A bar on a terminal, a line now and then in a
//! log file.

use crate::engine::EngineStats;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Clone)]
pub struct Counted {
    /// As `judging`.
    pub doing: &'static str,
    /// As `games`.
    pub things: &'static str,
    pub total: usize,
    /// Counters of a judge, where one is at work.
    pub judge: Option<Arc<EngineStats>>,
}

/// Shows progress until it is dropped.
pub struct Progress {
    done: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts showing what is `counted`; nothing when quiet.
    pub fn start(counted: Counted, quiet: bool) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let thread = (!quiet).then(|| {
            let mut watch = Watch { counted, started: Instant::now(), first_work: None, done: Arc::clone(&done) };
            let over = Arc::clone(&over);
            std::thread::spawn(move || if std::io::stderr().is_terminal() { watch.bar(&over) } else { watch.lines(&over) })
        });
        Self { done, over, thread }
    }

    /// Counts one more as done.
    pub fn one_done(&self) {
        self.some_done(1);
    }

    /// Counts `n` more as done.
    pub fn some_done(&self, n: usize) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

const TICK: Duration = Duration::from_millis(200);

/// The thread's own view.
struct Watch {
    counted: Counted,
    started: Instant,
    /// How much was done when this run's own work began: replayed items took no time.
    first_work: Option<usize>,
    done: Arc<AtomicUsize>,
}

impl Watch {
    fn bar(&mut self, over: &AtomicBool) {
        let bar = ProgressBar::new(self.counted.total as u64);
        let template =
            format!("{} {{bar:30}} {{pos}}/{{len}} {}  {{msg}}  {{elapsed}} gone", self.counted.doing, self.counted.things);
        bar.set_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        while !over.load(Ordering::Relaxed) {
            bar.set_position(self.done.load(Ordering::Relaxed) as u64);
            bar.set_message(self.speed_and_rest());
            std::thread::park_timeout(TICK);
        }
        bar.finish_and_clear();
    }

    fn lines(&mut self, over: &AtomicBool) {
        let mut next = Duration::from_secs(5);
        while !over.load(Ordering::Relaxed) {
            if self.started.elapsed() >= next {
                let (n, rest) = (self.done.load(Ordering::Relaxed), self.speed_and_rest());
                crate::cli::console::complain(format_args!(
                    "{}: {n} of {} {}{rest}",
                    self.counted.doing, self.counted.total, self.counted.things
                ));
                let pause = if next < Duration::from_secs(30) { 10 } else { 30 };
                next = self.started.elapsed() + Duration::from_secs(pause);
            }
            std::thread::park_timeout(TICK);
        }
    }

    /// Tokens a second where a judge is at work, and the time left by what this run itself has done.
    fn speed_and_rest(&mut self) -> String {
        let n_done = self.done.load(Ordering::Relaxed);
        let seconds = self.started.elapsed().as_secs_f64();
        let (speed, working) = match &self.counted.judge {
            Some(stats) => {
                let passed = stats.snapshot().tokens_passed;
                (format!(", {:.0} tokens/s", passed as f64 / seconds.max(1e-3)), passed > 0)
            }
            None => (String::new(), true),
        };
        if working && self.first_work.is_none() {
            self.first_work = Some(if self.counted.judge.is_some() { n_done } else { 0 });
        }
        match self.first_work {
            Some(n_before) if n_done > n_before => {
                let each = seconds / (n_done - n_before) as f64;
                let left = Duration::from_secs_f64(each * self.counted.total.saturating_sub(n_done) as f64);
                format!("{speed}, about {} left", HumanDuration(left))
            }
            _ => speed,
        }
    }
}
