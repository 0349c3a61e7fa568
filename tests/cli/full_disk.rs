//! A disk that takes no more: said, nothing lost, the same command goes on. The limit on the size of a file stands in for it.

use crate::program::{Folder, assert_unchanged, files_in, tree};
use crate::study::{N_GAMES, REPLIES, WRITTEN, assert_sample_leaderboard, count, judged_sample, sample};
use std::path::Path;

/// Runs the program with files limited to `n` blocks of 512 bytes; writing past that is an error, not a signal.
fn limited(folder: &Folder, n: u32, args: &[&str]) -> crate::program::Ran {
    folder.assize_under(&format!("trap '' XFSZ; ulimit -f {n}; exec \"$@\""), args)
}

#[test]
fn replies_that_do_not_fit_are_taken_in_later() {
    let folder = sample();
    folder.assize(&["requests", WRITTEN]).exits(0);
    let ran = limited(&folder, 40, &["replies", WRITTEN, "--input", REPLIES]).exits(1);
    ran.says("error: cannot write to store-written/segments/").says("free space").says("run the same command again");
    ran.hides("panicked");
    let verify = folder.assize(&["store", "verify", "store-written", "--json"]).exits(0);
    let n_kept = count(&verify.json(), "items_answered");
    assert!((1..N_GAMES as u64).contains(&n_kept), "{n_kept} replies fitted: change the limit");
    for segment in files_in(&folder.join("store-written/segments"), "jsonl") {
        assert!(std::fs::read(&segment).unwrap().ends_with(b"\n"), "half a line is left");
    }
    let again = folder.assize(&["replies", WRITTEN, "--input", REPLIES, "--json"]).exits(0);
    again.is_silent();
    let taken = again.json();
    assert_eq!((count(&taken, "already_on_record"), count(&taken, "accepted")), (n_kept, N_GAMES as u64 - n_kept));
    assert_eq!(count(&taken, "still_pending"), 0);
    folder.assize(&["run", WRITTEN]).exits(0);
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
}

#[test]
fn results_that_do_not_fit_leave_the_old_ones_whole() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    let before = tree(&folder.join("results-written"));
    let ran = limited(&folder, 40, &["run", WRITTEN]).exits(1);
    ran.says("error: cannot write results-written/").hides("panicked");
    assert_unchanged(&before, &folder.join("results-written"));
    folder.assize(&["run", WRITTEN]).exits(0);
    assert_unchanged(&before, &folder.join("results-written"));
}

#[test]
fn an_export_that_does_not_fit_is_an_error() {
    let folder = judged_sample();
    limited(&folder, 10, &["store", "export", "store-written", "--out", "records.csv"]).exits(1).says("records.csv");
}

#[test]
fn a_merge_that_does_not_fit_leaves_the_store_whole() {
    let folder = judged_sample();
    let before = tree(&folder.join("store-written"));
    limited(&folder, 10, &["store", "merge", "store-written"]).exits(1).says("store-written");
    assert_unchanged(&before, &folder.join("store-written"));
    folder.assize(&["run", WRITTEN]).exits(0);
    folder.assize(&["store", "merge", "store-written"]).exits(0);
}

#[test]
fn standard_output_that_takes_nothing_is_an_error() {
    if !Path::new("/dev/full").exists() {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: no /dev/full here\n");
        return;
    }
    let folder = sample();
    for command in ["requests", "check", "run"] {
        let ran = folder.assize_under(&format!("exec \"$@\" {command} {WRITTEN} > /dev/full"), &[]).exits(1);
        ran.says("cannot write to stdout").hides("panicked");
    }
}
