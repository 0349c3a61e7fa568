use super::*;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("assize-store-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record(name: &str, outcome: Outcome) -> Record {
    Record {
        key: ItemKey::of(&name),
        stage: "gavel/judge.v1".into(),
        labels: BTreeMap::from([("case".into(), name.into())]),
        attempt: 1,
        outcome,
        finish: FinishReason::Stop,
        reply: format!("{{\"findings\":[]}} {name} “ünïcode”\n\u{0}"),
        reasoning: None,
        reasoning_cut: false,
        unnamed_mark: None,
        usage: Usage { prompt_tokens: 7, reused_tokens: 3, reply_tokens: 2 },
        batch_width: 1,
        min_margin: Some(0.25),
        timings: Timings { prompt_ms: 1.5, reply_ms: 2.25 },
        origin: Origin::Engine,
        detail: None,
    }
}

fn segments(root: &Path) -> Vec<PathBuf> {
    segment::list(root).expect("segments can be listed")
}

#[test]
fn records_come_back_as_they_went_in() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    for name in ["a", "b", "c"] {
        store.put(&record(name, Outcome::Ok)).expect("put");
    }
    assert_eq!(store.get(&ItemKey::of(&"b")).expect("get"), Some(record("b", Outcome::Ok)), "before closing");
    drop(store);
    let store = Store::open(&folder.0).expect("reopened");
    assert_eq!(store.open_report().n_records, 3);
    assert_eq!(store.get(&ItemKey::of(&"c")).expect("get"), Some(record("c", Outcome::Ok)));
    assert_eq!(store.get(&ItemKey::of(&"d")).expect("get"), None);
    assert_eq!(store.records().count(), 3);
}

#[test]
fn only_the_owner_can_read_it() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    store.put(&record("a", Outcome::Ok)).expect("put");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&folder.0.join("format.json")), 0o600);
    assert_eq!(mode(&segments(&folder.0)[0]), 0o600);
}

#[test]
fn a_torn_tail_is_cut_and_reported_and_the_rest_stays() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    store.put(&record("a", Outcome::Ok)).expect("put");
    store.put(&record("b", Outcome::Ok)).expect("put");
    drop(store);
    let path = &segments(&folder.0)[0];
    let bytes = fs::read(path).expect("the segment");
    let whole_lines = bytes.iter().position(|b| *b == b'\n').expect("a line end") + 1;
    fs::write(path, &bytes[..bytes.len() - 9]).expect("torn");
    let store = Store::open(&folder.0).expect("opens");
    let damage = &store.open_report().damage;
    assert_eq!(damage.len(), 1);
    assert_eq!((damage[0].kind, damage[0].line), (DamageKind::TornTail, 2));
    assert_eq!(store.get(&ItemKey::of(&"a")).expect("get"), Some(record("a", Outcome::Ok)));
    assert_eq!(store.get(&ItemKey::of(&"b")).expect("get"), None);
    assert_eq!(fs::metadata(path).expect("metadata").len(), whole_lines as u64, "the tail is cut from the file");
    drop(store);
    assert!(Store::open(&folder.0).expect("opens").open_report().damage.is_empty(), "said once");
}

#[test]
fn a_corrupt_line_costs_its_own_record_only() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    for name in ["a", "b", "c"] {
        store.put(&record(name, Outcome::Ok)).expect("put");
    }
    drop(store);
    let path = &segments(&folder.0)[0];
    let text = fs::read_to_string(path).expect("the segment");
    let flipped = text.replacen("findings\\\":[]} b", "findings\\\":[1} b", 1);
    assert_ne!(flipped, text, "the test changes a byte of b's reply");
    fs::write(path, flipped).expect("corrupted");
    let store = Store::open(&folder.0).expect("opens");
    let damage = &store.open_report().damage;
    assert_eq!(damage.len(), 1);
    assert_eq!((damage[0].kind, damage[0].line), (DamageKind::Corrupt, 2));
    assert!(damage[0].to_string().contains(".jsonl:2:"), "{}", damage[0]);
    assert!(store.get(&ItemKey::of(&"a")).expect("get").is_some());
    assert!(store.get(&ItemKey::of(&"b")).expect("get").is_none());
    assert!(store.get(&ItemKey::of(&"c")).expect("get").is_some());
    store.put(&record("b", Outcome::Ok)).expect("computed again");
    drop(store);
    assert_eq!(Store::open(&folder.0).expect("opens").get(&ItemKey::of(&"b")).expect("get"), Some(record("b", Outcome::Ok)));
}

#[test]
fn two_writers_do_not_disturb_each_other() {
    let folder = Folder::new();
    let first = Store::open(&folder.0).expect("a new store");
    first.put(&record("a", Outcome::Ok)).expect("put");
    let second = Store::open(&folder.0).expect("a second writer");
    assert_eq!(second.open_report().n_live_writers, 1);
    second.put(&record("b", Outcome::Ok)).expect("put");
    first.put(&record("c", Outcome::Ok)).expect("put");
    assert_eq!(segments(&folder.0).len(), 2);
    // Half a line of a writer that is still at work is no damage and stays.
    let path = &segments(&folder.0)[0];
    OpenOptions::new().append(true).open(path).expect("open").write_all(b"{\"sum\":\"half").expect("half a line");
    let length = fs::metadata(path).expect("metadata").len();
    let third = Store::open(&folder.0).expect("a reader");
    assert!(third.open_report().damage.is_empty());
    assert_eq!(fs::metadata(path).expect("metadata").len(), length, "nothing of a live writer is cut");
    assert_eq!(third.open_report().n_records, 3);
    assert!(matches!(merge(&folder.0, &[]), Err(StoreError::Busy { .. })), "a store in use is not merged");
}

#[test]
fn a_newer_version_is_refused() {
    let folder = Folder::new();
    drop(Store::open(&folder.0).expect("a new store"));
    fs::write(folder.0.join("format.json"), r#"{"format":"assize-store","version":2}"#).expect("written");
    let error = Store::open(&folder.0).expect_err("refused");
    assert!(matches!(error, StoreError::NewerVersion { found: 2, .. }));
    assert!(error.to_string().contains("version 1 or older, got version 2"), "{error}");
    assert!(matches!(Store::open_read_only(&folder.0.join("none")), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_crash_never_answers_and_a_later_reply_does() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    store.put(&record("a", Outcome::EngineCrash)).expect("put");
    assert_eq!(store.get(&ItemKey::of(&"a")).expect("get"), None);
    store.put(&record("a", Outcome::Truncated)).expect("put");
    store.put(&record("a", Outcome::Ok)).expect("put");
    let answer = |store: &Store| store.get(&ItemKey::of(&"a")).expect("get").map(|record| record.outcome);
    assert_eq!(answer(&store), Some(Outcome::Truncated), "the first answer stays");
    drop(store);
    assert_eq!(answer(&Store::open(&folder.0).expect("opens")), Some(Outcome::Truncated));
}

#[test]
fn merging_keeps_every_answer_once() {
    let (one, other) = (Folder::new(), Folder::new());
    for (folder, names) in [(&one, ["a", "b"]), (&other, ["b", "c"])] {
        for name in names {
            let store = Store::open(&folder.0).expect("a store");
            store.put(&record(name, Outcome::Ok)).expect("put");
        }
    }
    let torn = &segments(&one.0)[0];
    OpenOptions::new().append(true).open(torn).expect("open").write_all(b"{\"sum\":\"00\",\"record\":{}}\n").expect("a bad line");
    let summary = merge(&one.0, &[&other.0]).expect("merged");
    assert_eq!((summary.n_records, summary.n_new_records, summary.n_segments_before), (3, 1, 2));
    assert_eq!(summary.n_damaged_lines_left_behind, 1);
    assert_eq!(segments(&one.0).len(), 1);
    let store = Store::open(&one.0).expect("opens");
    assert!(store.open_report().damage.is_empty());
    for name in ["a", "b", "c"] {
        assert_eq!(store.get(&ItemKey::of(&name)).expect("get"), Some(record(name, Outcome::Ok)));
    }
    assert_eq!(fs::read_dir(one.0.join("segments/damaged")).expect("kept").count(), 1, "damaged segments are kept");
}

#[test]
fn exported_records_have_every_field() {
    let folder = Folder::new();
    let store = Store::open(&folder.0).expect("a new store");
    store.put(&record("a", Outcome::Ok)).expect("put");
    let path = folder.0.join("out.csv");
    assert_eq!(export(&store, ExportFormat::Csv, &path).expect("exported"), 1);
    let mut reader = csv::Reader::from_path(&path).expect("a CSV");
    let header = reader.headers().expect("a header").clone();
    let row = reader.records().next().expect("a row").expect("readable");
    let field = |name: &str| header.iter().position(|column| column == name).map(|i| row[i].to_string());
    assert_eq!(field("reply"), Some(record("a", Outcome::Ok).reply));
    assert_eq!(field("labels").as_deref(), Some("case=a;"));
    assert_eq!(field("min_margin").as_deref(), Some("0.25"));
    let path = folder.0.join("out.parquet");
    assert_eq!(export(&store, ExportFormat::Parquet, &path).expect("exported"), 1);
    let reader = parquet::file::reader::SerializedFileReader::try_from(path.as_path()).expect("a Parquet file");
    let row = reader.into_iter().next().expect("a row").expect("readable").to_json_value();
    assert_eq!(row["reply"], record("a", Outcome::Ok).reply);
    assert_eq!((&row["prompt_tokens"], &row["min_margin"]), (&serde_json::json!(7), &serde_json::json!(0.25)));
    assert!(row["reasoning"].is_null());
    let path = folder.0.join("out.jsonl");
    export(&store, ExportFormat::Jsonl, &path).expect("exported");
    let line: Record = serde_json::from_str(fs::read_to_string(&path).expect("text").trim()).expect("a record");
    assert_eq!(line, record("a", Outcome::Ok));
}
