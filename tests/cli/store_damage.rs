//! `store`: damage said and survived, stores joined and exported, other versions refused.

use crate::program::{Folder, assert_unchanged, files_in, mode, tree};
use crate::study::{
    N_GAMES, REPLIES, WRITTEN, assert_sample_leaderboard, count, judged_sample, replies, reply_lines, requests, sample,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const STORE: &str = "store-written";

/// The only segment of the store.
fn segment(folder: &Folder) -> PathBuf {
    let mut segments = files_in(&folder.join(STORE).join("segments"), "jsonl");
    assert_eq!(segments.len(), 1, "{segments:?}");
    segments.remove(0)
}

#[test]
fn a_store_is_readable_by_its_owner_only() {
    let folder = judged_sample();
    let store = folder.join(STORE);
    assert_eq!(mode(&store), 0o700);
    for (name, bytes) in tree(&store) {
        let expected = if bytes.is_some() { 0o600 } else { 0o700 };
        assert_eq!(mode(&store.join(&name)), expected, "{}", name.display());
    }
}

#[test]
fn damaged_lines_are_named_and_their_replies_taken_in_again() {
    let folder = judged_sample();
    let path = segment(&folder);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    assert_eq!(lines.len(), N_GAMES);
    lines[4] = lines[4].replace("\"attempt\":1", "\"attempt\":2");
    let damaged = lines.join("\n");
    assert_ne!(damaged, text.trim_end());
    fs::write(&path, &damaged[..damaged.len() - 20]).unwrap();
    let name = format!("{STORE}/segments/{}", path.file_name().unwrap().to_str().unwrap());
    let (corrupt, torn) = (format!("warning: {name}:5: "), format!("warning: {name}:36: "));

    let before = tree(&folder.join(STORE));
    let verify = folder.assize(&["store", "verify", STORE, "--json"]).exits(4);
    assert!(verify.line(&corrupt).contains("checksum"));
    assert!(verify.line(&torn).contains("half a line"));
    assert_eq!((count(&verify.json(), "damaged_lines"), count(&verify.json(), "items_answered")), (2, 34));
    assert_unchanged(&before, &folder.join(STORE));

    let run = folder.assize(&["run", WRITTEN, "--quiet"]).exits(4);
    run.line(&corrupt);
    run.line(&torn);
    run.hides("insulin");
    assert!(fs::read_to_string(&path).unwrap().ends_with('\n'), "the torn line is still there");

    let again = folder.assize(&["replies", WRITTEN, "--input", REPLIES, "--json"]).exits(0);
    again.line(&corrupt);
    assert_eq!((count(&again.json(), "accepted"), count(&again.json(), "already_on_record")), (2, 34));
    folder.assize(&["run", WRITTEN]).exits(0).line(&corrupt);
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));

    folder.assize(&["store", "verify", STORE]).exits(4).line(&corrupt);
    let merged = folder.assize(&["store", "merge", STORE, "--json"]).exits(0).json();
    assert_eq!((count(&merged, "records"), count(&merged, "damaged_lines_left_behind")), (N_GAMES as u64, 1));
    let verify = folder.assize(&["store", "verify", STORE, "--json"]).exits(0);
    verify.is_silent();
    assert_eq!(count(&verify.json(), "outcome_ok"), N_GAMES as u64);
    assert_eq!(files_in(&folder.join(STORE).join("segments/damaged"), "jsonl").len(), 1);
    folder.assize(&["run", WRITTEN, "--quiet"]).exits(0).is_silent();
}

#[test]
fn a_store_of_a_newer_version_is_refused_by_every_command() {
    let folder = judged_sample();
    folder.write(&format!("{STORE}/format.json"), "{\"format\":\"assize-store\",\"version\":99}");
    let before = tree(folder.path());
    for args in [
        &["run", WRITTEN][..],
        &["requests", WRITTEN],
        &["replies", WRITTEN, "--input", REPLIES],
        &["store", "verify", STORE],
        &["store", "merge", STORE],
        &["store", "export", STORE, "--out", "records.csv"],
    ] {
        let ran = folder.assize(args).exits(2);
        ran.says(&format!("{STORE}/format.json")).says("version 99");
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert_unchanged(&before, folder.path());
}

#[test]
fn a_folder_that_is_no_store_is_refused() {
    let folder = judged_sample();
    let before = tree(folder.path());
    for args in [&["store", "verify", "reports"][..], &["store", "export", "nowhere", "--out", "x.csv"]] {
        folder.assize(args).exits(2).says(args[2]).says("not an Assize store");
    }
    folder.assize(&["store", "merge", STORE, "--from", "reports"]).exits(2).says("reports");
    assert_unchanged(&before, folder.path());
    folder.write(&format!("{STORE}/format.json"), "{}");
    folder.assize(&["store", "verify", STORE]).exits(2).says("format.json");
}

#[test]
fn merging_nothing_into_no_store_is_refused() {
    let folder = judged_sample();
    folder.assize(&["store", "merge", "nowhere"]).exits(2).says("nowhere");
    assert!(!folder.join("nowhere").exists(), "a store was made of a mistyped name");
    let merged = folder.assize(&["store", "merge", "new", "--from", STORE, "--json"]).exits(0).json();
    assert_eq!(count(&merged, "records_added"), N_GAMES as u64);
    folder.assize(&["store", "verify", "new"]).exits(0).is_silent();
}

#[test]
fn two_stores_join_without_loss_or_doubling() {
    let (folder, lines) = (sample(), reply_lines(&sample()));
    for (store, part) in [("one", &lines[..20]), ("two", &lines[15..])] {
        folder.write("part.jsonl", part.join("\n"));
        folder.assize(&["replies", WRITTEN, "--store", store, "--input", "part.jsonl"]).exits(0);
    }
    let two = tree(&folder.join("two"));
    let merged = folder.assize(&["store", "merge", "one", "--from", "two", "--json"]).exits(0).json();
    assert_eq!((count(&merged, "records"), count(&merged, "records_added")), (36, 16));
    assert_unchanged(&two, &folder.join("two"));
    assert_eq!(files_in(&folder.join("one/segments"), "jsonl").len(), 1);
    folder.assize(&["run", WRITTEN, "--store", "one"]).exits(0);
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
    let again = folder.assize(&["store", "merge", "one", "--from", "two", "--json"]).exits(0).json();
    assert_eq!((count(&again, "records"), count(&again, "records_added")), (36, 0));
}

#[test]
fn two_processes_write_to_one_store() {
    let folder = sample();
    let lines = reply_lines(&folder);
    folder.write("one.jsonl", lines[..20].join("\n")).write("two.jsonl", lines[16..].join("\n"));
    let take = |file: &str| folder.assize(&["replies", WRITTEN, "--input", file, "--quiet"]).exits(0);
    std::thread::scope(|scope| {
        let both = [scope.spawn(|| take("one.jsonl")), scope.spawn(|| take("two.jsonl"))];
        for ran in both {
            ran.join().unwrap().is_silent();
        }
    });
    folder.assize(&["store", "verify", STORE]).exits(0).is_silent();
    folder.assize(&["run", WRITTEN]).exits(0);
    assert_sample_leaderboard(&folder.read_json("results-written/leaderboard.json"));
}

#[test]
fn a_store_in_use_is_not_merged() {
    let folder = judged_sample();
    let path = segment(&folder);
    let before = tree(&folder.join(STORE));
    let writer = File::open(&path).unwrap();
    writer.lock().unwrap();
    folder.assize(&["store", "merge", STORE]).exits(2).says("another process");
    assert_unchanged(&before, &folder.join(STORE));
    folder.assize(&["run", WRITTEN]).exits(0).says("1 other process");
    drop(writer);
    folder.assize(&["store", "merge", STORE]).exits(0);
}

#[test]
fn records_are_exported_as_csv_and_jsonl() {
    let folder = sample();
    let keys: BTreeSet<String> = requests(&folder, WRITTEN).into_iter().map(|request| request.custom_id).collect();
    let lines = reply_lines(&folder);
    replies(&folder, WRITTEN, &lines).exits(0);
    folder.assize(&["store", "export", STORE, "--out", "records.csv"]).exits(0).says("36 records");
    folder.assize(&["store", "export", STORE, "--format", "jsonl", "--out", "records.jsonl"]).exits(0).says("36 records");
    let sent: BTreeSet<String> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["response"]["body"]["choices"][0]["message"]["content"].as_str().unwrap().to_string())
        .collect();
    let mut csv = csv::Reader::from_path(folder.join("records.csv")).unwrap();
    let column = |name: &str, headers: &csv::StringRecord| headers.iter().position(|header| header == name).unwrap();
    let headers = csv.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    let of = |name: &str| -> Vec<String> { rows.iter().map(|row| row[column(name, &headers)].to_string()).collect() };
    assert_eq!(rows.len(), N_GAMES);
    assert_eq!(of("key").into_iter().collect::<BTreeSet<_>>(), keys);
    assert_eq!(of("reply").into_iter().collect::<BTreeSet<_>>(), sent);
    assert!(of("outcome").iter().all(|outcome| outcome == "ok"));
    assert!(of("labels").iter().all(|labels| labels.contains("case=case-0")));
    let text = folder.read("records.jsonl");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.iter().map(|record| record["key"].as_str().unwrap().to_string()).collect::<BTreeSet<_>>(), keys);
    assert_eq!(records.iter().map(|record| record["reply"].as_str().unwrap().to_string()).collect::<BTreeSet<_>>(), sent);
    for name in ["records.csv", "records.jsonl"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
}

#[test]
fn an_export_over_an_older_file_is_private_too() {
    let folder = judged_sample();
    folder.write("records.csv", "old\n");
    fs::set_permissions(folder.join("records.csv"), PermissionsExt::from_mode(0o644)).unwrap();
    folder.assize(&["store", "export", STORE, "--out", "records.csv"]).exits(0);
    assert_eq!(mode(&folder.join("records.csv")), 0o600);
}

#[test]
fn a_study_reuses_replies_when_a_case_is_added() {
    let folder = judged_sample();
    folder.write("reports/case-07.txt", "A seventh patient was well.\n");
    for (source, file, text) in [
        ("careful", "case-07.csv", "event,time\nwell,0\n"),
        ("eager", "case-07.csv", "event,time\nwell,1\n"),
        ("hasty", "case-07.bsv", "well | 2\n"),
        ("terse", "case-07.jsonl", "{\"event\": \"well\", \"time\": 3}\n"),
    ] {
        folder.write(&format!("sources/{source}/{file}"), text);
    }
    let new = requests(&folder, WRITTEN);
    assert_eq!(new.len(), 6);
    assert!(new.iter().all(|request| request.case == "case-07"));
    // A changed report asks its own games again and no others.
    folder.write("reports/case-02.txt", folder.read("reports/case-02.txt") + "One more remark.\n");
    let changed: BTreeSet<String> = requests(&folder, WRITTEN).into_iter().map(|request| request.case).collect();
    assert_eq!(changed, BTreeSet::from(["case-02".to_string(), "case-07".to_string()]));
}
