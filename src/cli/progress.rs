//! Progress of a run on stderr: games done, tokens a second, time left. A bar on a terminal, a line now and then in a log file.

use crate::engine::EngineStats;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shows progress until it is dropped.
pub struct Progress {
    done: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts showing `n_games`; nothing when quiet.
    pub fn start(n_games: usize, stats: Arc<EngineStats>, quiet: bool) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let thread = (!quiet).then(|| {
            let (done, over) = (Arc::clone(&done), Arc::clone(&over));
            std::thread::spawn(move || {
                if std::io::stderr().is_terminal() {
                    bar(n_games, &stats, &done, &over)
                } else {
                    lines(n_games, &stats, &done, &over)
                }
            })
        });
        Self { done, over, thread }
    }

    /// Counts a finished game.
    pub fn game_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
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

fn bar(n_games: usize, stats: &EngineStats, done: &AtomicUsize, over: &AtomicBool) {
    let bar = ProgressBar::new(n_games as u64);
    let style = ProgressStyle::with_template("judging {bar:30} {pos}/{len} games  {msg}  {elapsed} gone")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    let started = Instant::now();
    let mut first_computed = None;
    while !over.load(Ordering::Relaxed) {
        let n = done.load(Ordering::Relaxed);
        bar.set_position(n as u64);
        bar.set_message(speed_and_rest(n_games, n, stats, started, &mut first_computed));
        std::thread::park_timeout(TICK);
    }
    bar.finish_and_clear();
}

fn lines(n_games: usize, stats: &EngineStats, done: &AtomicUsize, over: &AtomicBool) {
    let started = Instant::now();
    let mut next = Duration::from_secs(5);
    let mut first_computed = None;
    while !over.load(Ordering::Relaxed) {
        if started.elapsed() >= next {
            let n = done.load(Ordering::Relaxed);
            let rest = speed_and_rest(n_games, n, stats, started, &mut first_computed);
            eprintln!("judging: {n} of {n_games} games, {rest}");
            next = started.elapsed()
                + if next < Duration::from_secs(30) { Duration::from_secs(10) } else { Duration::from_secs(30) };
        }
        std::thread::park_timeout(TICK);
    }
}

/// Tokens a second, and the time left by the games computed in this run: replayed ones took no time.
fn speed_and_rest(
    n_games: usize,
    n_done: usize,
    stats: &EngineStats,
    started: Instant,
    first_computed: &mut Option<(usize, Instant)>,
) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let passed = stats.snapshot().tokens_passed;
    if passed > 0 && first_computed.is_none() {
        *first_computed = Some((n_done, started));
    }
    let speed = format!("{:.0} tokens/s", passed as f64 / seconds.max(1e-3));
    match first_computed {
        Some((n_before, since)) if n_done > *n_before => {
            let per_game = since.elapsed().as_secs_f64() / (n_done - *n_before) as f64;
            let left = Duration::from_secs_f64(per_game * n_games.saturating_sub(n_done) as f64);
            format!("{speed}, about {} left", HumanDuration(left))
        }
        _ => speed,
    }
}
