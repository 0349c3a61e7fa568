//! What a run makes of the end of its judge's process, and the process of the end of its run.

use super::{Study, essence, turn};
use std::fs;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// Waits until `found` finds something; a loaded machine is given time.
fn wait_for<T>(what: &str, within: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < within, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The judge's process of a run, once it serves.
fn worker_of(run: &Child) -> u32 {
    wait_for("the judge's process", Duration::from_secs(60), || {
        let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).ok()?;
        let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
        let worker =
            tasks.flatten().filter_map(children).find_map(|children| children.split_whitespace().next()?.parse().ok())?;
        (fs::read_to_string(format!("/proc/{worker}/comm")).ok()?.trim() == "assize worker").then_some(worker)
    })
}

/// Whether a process still does anything; one that nobody has asked about its end is over too.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().expect("kill runs").success(), "{name} to {pid}");
}

/// Most memory that a process has had, in MB.
fn most_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

/// A run with its judge's process, once so many items are stored.
fn begun(study: &Study, store: &str, n_items: usize, arguments: &[&str]) -> (Child, u32) {
    let run = study.command(store, arguments).spawn().expect("started");
    let worker = worker_of(&run);
    let segments = study.folder.join(store).join("segments");
    wait_for("stored items", Duration::from_secs(120), || (segments.exists() && study.n_lines(store) >= n_items).then_some(()));
    (run, worker)
}

/// What a run says that ended by itself.
fn said(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{stderr}");
    for text in ["Sodium was", "broke his left wrist", "cast applied"] {
        assert!(!stderr.contains(text), "case text on stderr: {stderr}");
    }
    stderr
}

#[test]
fn a_killed_judge_changes_no_result() {
    let Some(_turn) = turn("a killed judge") else { return };
    let study = Study::new("worker-killed", 2);
    let whole = study.judged("whole", &["--numerics", "exact"]);
    let (run, worker) = begun(&study, "hit", 1, &["--numerics", "exact"]);
    let (here, there) = (most_memory(run.id()), most_memory(worker));
    assert!(here < 80 && there > 90, "{here} MB in the run, {there} MB in the judge's process: the run holds no model");
    signal("-KILL", worker);
    let output = run.wait_with_output().expect("it ends");
    let stderr = said(&output);
    assert_eq!(stderr.matches("the judge's process ended (signal 9, SIGKILL)").count(), 1, "{stderr}");
    assert_eq!(essence(&study.records("hit")), essence(&whole));
    assert_eq!(study.results("hit"), study.results("whole"), "results byte for byte");
    assert_eq!(study.n_lines("hit"), 6, "nothing failed and nothing was computed twice");
}

#[test]
fn a_judge_that_hangs_is_started_again() {
    let Some(_turn) = turn("a judge that hangs") else { return };
    let study = Study::new("worker-hung", 2);
    study.judged("whole", &["--numerics", "exact"]);
    // No item takes so long, on a busy machine either.
    study.manifest("max_reply_tokens = 48\nhang_timeout_s = 10\n");
    let (run, worker) = begun(&study, "hit", 1, &["--numerics", "exact"]);
    signal("-STOP", worker);
    let output = run.wait_with_output().expect("it ends");
    let stderr = said(&output);
    assert_eq!(stderr.matches("the judge's process ended (no token for 10s)").count(), 1, "{stderr}");
    assert!(!lives(worker));
    assert_eq!(study.results("hit"), study.results("whole"), "results byte for byte");
}

#[test]
fn in_fast_mode_every_item_is_judged_although_the_judge_was_killed() {
    let Some(_turn) = turn("a killed judge in fast mode") else { return };
    let study = Study::new("worker-fast", 2);
    let (run, worker) = begun(&study, "hit", 1, &["--numerics", "fast"]);
    signal("-KILL", worker);
    said(&run.wait_with_output().expect("it ends"));
    let records = study.records("hit");
    assert_eq!(records.len(), 6);
    assert!(records.values().all(|record| record.usage.reply_tokens > 0), "each has a reply");
}

#[test]
fn no_judge_outlives_its_run() {
    let Some(_turn) = turn("a killed run") else { return };
    let study = Study::new("worker-orphan", 2);
    // Long replies: the run is in the midst of one.
    study.manifest("max_reply_tokens = 900\n");
    let gone = |worker| wait_for("the judge's process is gone", Duration::from_secs(3), || (!lives(worker)).then_some(()));

    let mut run = study.command("killed", &["--numerics", "exact"]).spawn().expect("started");
    let worker = worker_of(&run);
    std::thread::sleep(Duration::from_millis(1500));
    run.kill().expect("SIGKILL");
    run.wait().expect("gone");
    gone(worker);

    let run = study.command("twice", &["--numerics", "exact"]).spawn().expect("started");
    let worker = worker_of(&run);
    std::thread::sleep(Duration::from_millis(1500));
    for _ in 0..2 {
        // What Ctrl-C and batch systems send, to the judge as well: there it does nothing.
        signal("-INT", worker);
        signal("-INT", run.id());
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    gone(worker);
}
