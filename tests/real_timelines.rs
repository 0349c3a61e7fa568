//! Reads every real timeline and report next to the repository and checks that no line is lost.
//!
//! The data are not part of the repository; without them the test says so and returns.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assize::data::{BadRowPolicy, EventTime, ReadCounts, RowFault, Study, TimelineFormat, read_report, read_timeline};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");

/// Returns the entries of a folder in name order.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Says that a test is skipped, past the harness, which keeps what a passing test prints.
fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Returns the folder of a data set, or says that the test is skipped.
fn data_set(name: &str) -> Option<PathBuf> {
    let dir = Path::new(DATA).join(name);
    if dir.is_dir() {
        return Some(dir);
    }
    skipped(&format!("no data set {name}"));
    None
}

/// Reads all sources of a data set, checks every file, and returns the counts by source.
fn read_set(dir: &Path, format: TimelineFormat) -> BTreeMap<String, ReadCounts> {
    let mut by_source = BTreeMap::new();
    for source in entries(dir).into_iter().filter(|path| !path.ends_with("body")) {
        let mut total = ReadCounts::default();
        for path in entries(&source) {
            let bytes = fs::read(&path).unwrap();
            let read = read_timeline(&bytes, &path, format, BadRowPolicy::Skip);
            let counts = &read.counts;
            let shown = path.display();
            // counted here apart from the reader
            let text = String::from_utf8(bytes.clone()).unwrap();
            let blank = text.lines().filter(|line| line.trim().is_empty()).count();
            assert_eq!(counts.lines_read, text.lines().count(), "{shown}");
            assert_eq!(counts.blank_lines, blank, "{shown}");
            assert_eq!(counts.lines_accounted(), counts.lines_read, "{shown}");
            assert_eq!(counts.rows_kept, read.events.len(), "{shown}");
            let rows = counts.rows_kept + counts.rows_in_repeated_blocks + counts.rejected();
            assert_eq!(counts.rows_read, rows, "{shown}");
            let mut line = 0;
            for event in &read.events {
                assert!(event.line > line && event.line <= counts.lines_read, "{shown}");
                line = event.line;
                assert!(!event.text.is_empty() && event.text == event.text.trim(), "{shown}:{line}");
            }
            let na = read.events.iter().filter(|e| e.time == EventTime::NotAvailable).count();
            assert_eq!(counts.times_na, na, "{shown}");
            let refuse = read_timeline(&bytes, &path, format, BadRowPolicy::Refuse);
            assert_eq!((&refuse.events, &refuse.counts), (&read.events, counts), "{shown}");
            let bad = counts.rejected() + counts.prose_lines > 0;
            assert_eq!(refuse.problems.iter().any(|p| p.is_error()), bad, "{shown}");
            assert!(read.problems.iter().all(|p| !p.is_error()), "{shown}");
            total += counts;
        }
        by_source.insert(source.file_name().unwrap().to_str().unwrap().to_owned(), total);
    }
    by_source
}

#[test]
fn every_line_of_the_sepsis_timelines_is_accounted_for() {
    if let Some(dir) = data_set("t2s2/sepsis-10") {
        let counts = read_set(&dir, TimelineFormat::Bsv);
        assert_eq!(counts.len(), 13);
        let clean = &counts["l31_70b_annotations"];
        assert_eq!((clean.files, clean.rows_kept, clean.rejected()), (10, 733, 0));
        assert_eq!(clean.stray_backslashes, 356);
        let raw = &counts["qwq_annotations"];
        assert_eq!((raw.files, raw.times_na, raw.times_with_thousands_comma), (9, 2, 8));
        assert!(raw.lines_rejected[&RowFault::TimeRange] > 0 && raw.repeated_blocks > 0);
        assert!(counts["phi4"].lines_rejected[&RowFault::LatexColumns] > 0);
    }
    for (name, n_sources) in [("t2s2/sepsis-100", 8), ("t2s2/sample126", 2)] {
        if let Some(dir) = data_set(name) {
            assert_eq!(read_set(&dir, TimelineFormat::Bsv).len(), n_sources);
        }
    }
}

#[test]
fn every_line_of_the_csv_timelines_is_accounted_for() {
    if let Some(dir) = data_set("amia2025") {
        let counts = read_set(&dir, TimelineFormat::Csv);
        let manual = &counts["manual"];
        assert_eq!((manual.files, manual.header_lines, manual.rows_kept), (10, 10, 315));
        assert_eq!(manual.rejected(), 0);
    }
}

#[test]
fn reports_stay_byte_exact() {
    for name in ["t2s2/sepsis-10/body", "t2s2/sepsis-100/body", "t2s2/sample126/body"] {
        let Some(dir) = data_set(name) else { continue };
        let mut n_fallbacks = 0;
        for path in entries(&dir) {
            let bytes = fs::read(&path).unwrap();
            let read = read_report(&bytes, &path);
            // no text in a failure message
            let fallback = std::str::from_utf8(&bytes).is_err();
            assert!(fallback || read.text.as_bytes() == bytes, "{}", path.display());
            assert_eq!(read.counts.windows_1252, usize::from(fallback), "{}", path.display());
            assert_eq!(read.problems.len(), usize::from(fallback), "{}", path.display());
            n_fallbacks += usize::from(fallback);
        }
        println!("{name}: {n_fallbacks} reports in Windows-1252");
    }
}

#[test]
fn a_real_study_loads_with_its_gaps_named() {
    let Some(dir) = data_set("t2s2/sepsis-10") else { return };
    let sources = ["l31_70b_annotations", "qwq_annotations", "phi4"];
    let mut text = format!("[study]\nname = \"real\"\n[reports]\ndir = {:?}\nsuffix = \"_body.txt\"\n", dir.join("body"));
    for source in sources {
        let folder = dir.join(source);
        text += &format!("[[source]]\nname = {source:?}\ndir = {folder:?}\nformat = \"bsv\"\nsuffix = \"_body.bsv\"\n");
    }
    text += "[judge]\ncard = \"x\"\n";
    let lenient = "[cases]\non_missing_timeline = \"skip_games\"\n[input]\non_bad_row = \"skip\"\non_empty_timeline = \"keep\"\n";
    let path = std::env::temp_dir().join(format!("assize-real-{}.toml", std::process::id()));
    fs::write(&path, format!("{text}{lenient}")).unwrap();
    let study = Study::load(&path);
    fs::write(&path, &text).unwrap();
    let strict = Study::load(&path);
    fs::remove_file(&path).unwrap();
    let study = study.unwrap();
    assert_eq!((study.cases.len(), study.sources.len(), study.missing.len()), (10, 3, 1));
    assert_eq!((study.missing[0].source.as_str(), study.missing[0].case.as_str()), ("qwq_annotations", "PMC9355071"));
    // the strict policies name the missing file and the bad lines of two sources, never of the clean one
    let problems = strict.unwrap_err();
    let errors: Vec<String> = problems.iter().filter(|problem| problem.is_error()).map(ToString::to_string).collect();
    assert!(errors.iter().any(|error| error.contains("PMC9355071") && error.contains("qwq_annotations")));
    assert!(errors.iter().any(|error| error.contains("/phi4/")));
    assert!(!errors.iter().any(|error| error.contains("/l31_70b_annotations/")));
}
