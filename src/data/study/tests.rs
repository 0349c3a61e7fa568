//! Tests of manifest and study loading on folders written here.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::data::id::{CaseId, SourceName};
use crate::data::problem::Problem;
use crate::data::read::{BadRowPolicy, TimelineFormat};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("assize-study-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn load(&self) -> Result<Study, Vec<Problem>> {
        Study::load(&self.0)
    }

    fn errors(&self) -> Vec<String> {
        let problems = self.load().unwrap_err();
        self.texts(problems.iter().filter(|problem| problem.is_error()))
    }

    fn texts<'a>(&self, problems: impl Iterator<Item = &'a Problem>) -> Vec<String> {
        let root = format!("{}/", self.0.display());
        problems.map(|problem| problem.to_string().replace(&root, "")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SMALL: &str = r#"[study]
name = "small"
[reports]
dir = "reports"
[[source]]
name = "b"
dir = "b"
format = "bsv"
[[source]]
name = "a"
dir = "a"
format = "csv"
[judge]
card = "x"
"#;

/// A study of two cases and two sources that passes every check.
fn small() -> Folder {
    let folder = Folder::new();
    folder.write("study.toml", SMALL);
    for case in ["case-2", "case-1"] {
        folder
            .write(&format!("reports/{case}.txt"), "A patient.\r\n")
            .write(&format!("a/{case}.csv"), "event,time\nfever,-72\n")
            .write(&format!("b/{case}.bsv"), "fever | -72\nrash | N/A\n");
    }
    folder
}

fn assert_lines(got: &[String], starts: &[&str]) {
    assert_eq!(got.len(), starts.len(), "{got:#?}");
    for (got, start) in got.iter().zip(starts) {
        assert!(got.starts_with(start), "{got} should start with {start}");
    }
}

#[test]
fn a_good_study_loads_in_a_fixed_order() {
    let folder = small();
    let study = folder.load().unwrap();
    assert_eq!(study.cases.iter().map(CaseId::as_str).collect::<Vec<_>>(), ["case-1", "case-2"]);
    assert_eq!(study.sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(study.sources[0].counts.rows_kept, 4);
    assert_eq!(study.sources[0].counts.times_na, 2);
    assert_eq!((study.warnings.len(), study.report_counts.crlf), (0, 2));
    let case = CaseId::new("case-1").unwrap();
    assert_eq!(study.report(&case).unwrap().text, "A patient.\r\n");
    let timeline = study.timeline(&case, &SourceName::new("a").unwrap()).unwrap();
    assert_eq!((timeline.events.len(), timeline.events[0].line), (1, 2));
    assert_eq!(study.manifest_text, SMALL);
    assert_eq!(study.resolve(Path::new("store")), folder.0.join("store"));
    // the manifest file itself works as well as its folder
    assert_eq!(Study::load(&folder.0.join("study.toml")).unwrap().cases, study.cases);
}

#[test]
fn the_template_says_what_the_defaults_are() {
    let (draft, problems) = parse::parse(manifest_template(), Path::new("study.toml"));
    assert_eq!(problems, []);
    let manifest = draft.unwrap().manifest;
    let study = StudySection { name: manifest.study.name.clone(), ..StudySection::default() };
    assert_eq!(manifest.study, study);
    assert_eq!(manifest.reports.suffix, ".txt");
    for source in &manifest.sources {
        assert_eq!(source.suffixes(), TimelineFormat::Csv.default_suffixes());
    }
    assert_eq!(manifest.cases, CasesSection::default());
    assert_eq!(manifest.input, InputSection::default());
    let judge = JudgeSection { card: manifest.judge.card.clone(), ..JudgeSection::default() };
    assert_eq!(manifest.judge, judge);
    assert_eq!(manifest.scoring, ScoringSection::default());
    assert_eq!(manifest.store, StoreSection::default());
    assert_eq!(manifest.results, ResultsSection::default());
    // a manifest with the required keys only has the same defaults
    let (draft, problems) = parse::parse(SMALL, Path::new("study.toml"));
    assert_eq!(problems, []);
    assert_eq!(draft.unwrap().manifest.scoring, manifest.scoring);
}

#[test]
fn every_key_of_the_template_is_known_and_every_known_key_is_there() {
    // commented keys become keys, so that a key missing from the template or misspelt in it is seen
    let whole: String = manifest_template()
        .lines()
        .map(|line| {
            let bare = line
                .strip_prefix("# ")
                .filter(|rest| rest.split_once(" = ").is_some_and(|(key, _)| !key.contains([' ', ',', ':'])));
            format!("{}\n", bare.unwrap_or(line))
        })
        .collect();
    let (draft, problems) = parse::parse(&whole, Path::new("study.toml"));
    assert_eq!(problems, []);
    let value = serde_json::to_value(draft.unwrap().manifest).unwrap();
    let mut absent = Vec::new();
    for (section, keys) in value.as_object().unwrap() {
        for table in keys.as_array().unwrap_or(&vec![keys.clone()]) {
            let nulls = table.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
            absent.extend(nulls.map(|(key, _)| format!("{section}.{key}")));
        }
    }
    assert_eq!(absent, Vec::<String>::new());
}

#[test]
fn after_init_only_the_data_is_missing() {
    let folder = Folder::new();
    folder.write("study.toml", manifest_template());
    let errors = folder.errors();
    let line_of = |dir: &str| {
        let wanted = format!("dir = \"{dir}\"");
        1 + manifest_template().lines().position(|line| line == wanted).unwrap()
    };
    let starts =
        ["reports", "sources/first", "sources/second"].map(|dir| format!("study.toml:{}: expected the folder", line_of(dir)));
    assert_lines(&errors, &starts.each_ref().map(String::as_str));
}

#[test]
fn no_manifest_and_no_toml() {
    let folder = Folder::new();
    assert_lines(&folder.errors(), &["study.toml: expected a manifest"]);
    folder.write("study.toml", b"[study]\nname = \"\xff\"\n");
    assert_lines(&folder.errors(), &["study.toml:2: expected a manifest in UTF-8"]);
    folder.write("study.toml", "[study]\nname = \n[reports\n");
    let errors = folder.errors();
    assert!(errors.len() >= 2, "{errors:#?}");
    assert!(errors[0].starts_with("study.toml:2: expected TOML"), "{errors:#?}");
}

#[test]
fn all_manifest_mistakes_come_at_once_with_lines() {
    let folder = small();
    folder.write(
        "study.toml",
        r#"surprise = 1
[study]
seed = -1
[reports]
dir = "reports"
suffix = "x/y"
colour = "red"
[[source]]
name = "a"
dir = "a"
format = "xml"
[[source]]
name = "b"
dir = "b"
format = "bsv"
[[source]]
name = "b"
dir = "c"
format = "csv"
[cases]
include = ["case-1", 5, "case-1", "../x", "case-9"]
[judge]
slots = 0
numerics = "quick"
max_findings = "many"
[scoring]
further_rubrics = ["equal", "default", "equal", "best"]
tolerance_floor_hours = nan
bootstrap_resamples = 4_294_967_296
[results]
no_text = "yes"
dirs = "r"
"#,
    );
    let errors = folder.errors();
    assert_lines(
        &errors,
        &[
            "study.toml:1: expected a known section, got \"surprise\"",
            "study.toml:2: expected the key name in [study]",
            "study.toml:3: expected a whole number",
            "study.toml:6: expected the end of a file name",
            "study.toml:7: expected a known key in [reports], got \"colour\"; known keys: dir, suffix",
            "study.toml:11: expected \"csv\" or \"bsv\" or \"jsonl\" or \"uid\" for format in [[source]], got \"xml\"",
            "study.toml:17: expected every source name once",
            "study.toml:21: expected a list of texts for include in [cases], got 5",
            "study.toml:21: expected every case once",
            "study.toml:21: expected a case id without path separators",
            "study.toml:22: expected the key card in [judge]",
            "study.toml:23: expected a whole number from 1",
            "study.toml:24: expected \"exact\" or \"fast\"",
            "study.toml:25: expected a whole number",
            "study.toml:27: expected \"default\" or",
            "study.toml:27: expected every rubric once",
            "study.toml:27: expected every rubric once",
            "study.toml:28: expected a number of at least 0",
            "study.toml:29: expected a whole number",
            "study.toml:31: expected true or false",
            "study.toml:32: expected a known key in [results], got \"dirs\"",
            // the data is checked in the same pass
            "study.toml:21: expected a report of the case \"case-9\"",
        ],
    );
}

/// The engine keys of a manifest that ends with its `[judge]` section, and the problems of reading them.
fn engine_of(keys: &str) -> (EngineSection, Vec<String>) {
    let (draft, problems) = parse::parse(&format!("{SMALL}{keys}"), Path::new("study.toml"));
    (draft.unwrap().manifest.judge.engine, problems.iter().map(Problem::to_string).collect())
}

#[test]
fn every_engine_key_is_read() {
    let keys = "gpu_layers = 20\nsplit_mode = \"row\"\ndevices = [2, 0]\nkv_type = \"q8_0\"\nflash_attention = false\n\
                moe_on_cpu = true\nkv_cells = 4096\ndrafts = false\nsharing = false\n";
    let read = EngineSection {
        gpu_layers: GpuLayers::Count(20),
        split_mode: SplitMode::Row,
        devices: Some(vec![2, 0]),
        kv_type: KvType::Q8_0,
        flash_attention: false,
        moe_on_cpu: true,
        kv_cells: Some(4096),
        drafts: false,
        sharing: false,
    };
    assert_eq!(engine_of(keys), (read, vec![]));
    assert_eq!(engine_of(""), (EngineSection::default(), vec![]));
    assert_eq!(engine_of("gpu_layers = 0\n").0.gpu_layers, GpuLayers::Count(0));
    assert_eq!(engine_of("gpu_layers = \"all\"\n").0.gpu_layers, GpuLayers::All);
    for (name, kv_type) in
        [("f32", KvType::F32), ("f16", KvType::F16), ("bf16", KvType::Bf16), ("q8_0", KvType::Q8_0), ("q4_0", KvType::Q4_0)]
    {
        assert_eq!(engine_of(&format!("kv_type = \"{name}\"\n")).0.kv_type, kv_type);
    }
    for (name, split_mode) in [("none", SplitMode::None), ("layer", SplitMode::Layer), ("row", SplitMode::Row)] {
        assert_eq!(engine_of(&format!("split_mode = \"{name}\"\n")).0.split_mode, split_mode);
    }
}

#[test]
fn wrong_engine_keys_are_refused_with_what_was_expected() {
    for (keys, problem) in [
        ("gpu_layers = -1", "expected \"all\" or a whole number for gpu_layers in [judge], got -1"),
        ("gpu_layers = \"most\"", "expected \"all\" or a whole number for gpu_layers in [judge], got \"most\""),
        ("split_mode = \"tensor\"", "expected \"none\" or \"layer\" or \"row\" for split_mode"),
        ("devices = 0", "expected a list of whole numbers for devices in [judge], got 0"),
        ("devices = []", "expected a list of whole numbers for devices in [judge], got an empty list"),
        ("devices = [\"cuda\"]", "expected a list of whole numbers for devices in [judge], got \"cuda\""),
        ("devices = [0, 1, 0]", "expected every GPU once for devices in [judge], got 0 again"),
        ("kv_type = \"q5_0\"", "expected \"f32\" or \"f16\" or \"bf16\" or \"q8_0\" or \"q4_0\" for kv_type"),
        ("flash_attention = 1", "expected true or false for flash_attention in [judge], got 1"),
        ("moe_on_cpu = \"yes\"", "expected true or false for moe_on_cpu in [judge], got \"yes\""),
        ("kv_cells = 0", "expected a whole number from 1 to 4294967295 for kv_cells in [judge], got 0"),
        ("drafts = 16", "expected true or false for drafts in [judge], got 16"),
        ("sharing = \"off\"", "expected true or false for sharing in [judge], got \"off\""),
    ] {
        let (_, problems) = engine_of(&format!("{keys}\n"));
        assert_lines(&problems, &[&format!("study.toml:15: {problem}")]);
    }
}

#[test]
fn wrong_shapes_of_sections() {
    let folder = Folder::new();
    folder.write("study.toml", "study = 1\n[source]\nname = \"a\"\n");
    let errors = folder.errors();
    let has = |part: &str| assert!(errors.iter().any(|e| e.contains(part)), "{part}: {errors:#?}");
    has("study.toml:1: expected [study] to be a table");
    has("study.toml:2: expected a list of sources");
    has("expected at least 2 sources, got 0");
    has("expected the key dir in [reports]");
    has("expected the key card in [judge]");
}

#[test]
fn the_main_rubric_is_not_repeated_by_default() {
    let text = format!("{SMALL}[scoring]\nrubric = \"timing_weighted\"\nbootstrap_seed = 0xff\n");
    let (draft, problems) = parse::parse(&text, Path::new("study.toml"));
    assert_eq!(problems, []);
    let scoring = draft.unwrap().manifest.scoring;
    assert_eq!(scoring.further_rubrics, [RubricName::EventWeighted]);
    assert_eq!(scoring.bootstrap_seed, 255);
}

#[test]
fn missing_timelines_follow_the_policy() {
    let folder = small();
    fs::remove_file(folder.0.join("a/case-2.csv")).unwrap();
    let errors = folder.errors();
    assert_lines(&errors, &["a: expected a timeline *.csv of every case, source \"a\" has none of 1 of 2: case-2"]);
    folder.write("study.toml", format!("{SMALL}[cases]\non_missing_timeline = \"skip_games\"\n"));
    let study = folder.load().unwrap();
    assert_eq!((study.cases.len(), study.missing.len()), (2, 1));
    assert_eq!(study.missing[0].case.as_str(), "case-2");
    // one for the missing file, one for the case without a game
    assert_eq!(study.warnings.len(), 2, "{:#?}", study.warnings);
    fs::remove_file(folder.0.join("b/case-1.bsv")).unwrap();
    assert_lines(&folder.errors(), &["study.toml: expected at least one case with two timelines"]);
}

#[test]
fn bad_rows_and_empty_files_follow_the_policy() {
    let folder = small();
    folder
        .write("b/case-1.bsv", "fever | -72\nweight loss | 6 months\nWell then.\n")
        .write("a/case-2.csv", "")
        .write("reports/case-2.txt", " \n");
    let errors = folder.errors();
    assert_lines(
        &errors,
        &[
            "reports/case-2.txt: expected the text of a case report",
            "b/case-1.bsv:2: expected a number of hours, got a number with a unit",
            "b/case-1.bsv:3: expected rows of event and time, got 1 lines of other text",
            "a/case-2.csv: expected at least one event",
        ],
    );
    let input = "[input]\non_bad_row = \"skip\"\non_empty_timeline = \"keep\"\n";
    folder.write("study.toml", format!("{SMALL}{input}")).write("reports/case-2.txt", "x");
    let study = folder.load().unwrap();
    assert_eq!(study.manifest.input.on_bad_row, BadRowPolicy::Skip);
    assert_eq!((study.sources[0].counts.rejected(), study.sources[0].counts.prose_lines), (1, 1));
    assert_eq!(study.sources[1].counts.empty_files, 1);
    assert_eq!(study.warnings.len(), 3, "{:#?}", study.warnings);
}

#[test]
fn include_and_size_choose_cases() {
    let folder = small();
    folder.write("study.toml", format!("{SMALL}[cases]\ninclude = [\"case-2\"]\n"));
    let study = folder.load().unwrap();
    assert_eq!(study.cases, [CaseId::new("case-2").unwrap()]);
    assert_eq!((study.warnings.len(), study.sources[0].counts.files), (0, 1));
    folder.write("study.toml", format!("{SMALL}[cases]\nmax_report_bytes = 20\n"));
    folder.write("reports/case-1.txt", "A patient with a long story.");
    let study = folder.load().unwrap();
    assert_eq!((study.cases.len(), study.left_out.len(), study.left_out[0].bytes), (1, 1, 28));
    assert_eq!(study.warnings.len(), 1);
    folder.write("study.toml", format!("{SMALL}[cases]\nmax_report_bytes = 2\n"));
    assert_lines(&folder.errors(), &["study.toml: expected at least one case"]);
}

#[test]
fn unknown_and_ambiguous_files() {
    let folder = small();
    folder.write("a/case-7.csv", "event,time\nx,0\n").write("a/notes.md", "x").write("reports/readme.md", "x");
    let study = folder.load().unwrap();
    let warnings = folder.texts(study.warnings.iter());
    assert_lines(&warnings, &["reports: 1 entries do not end", "a: 2 entries belong to no report"]);
    assert!(warnings[1].contains("case-7.csv, notes.md"), "{}", warnings[1]);
    assert_eq!((study.sources[0].unknown_files, study.sources[1].unknown_files), (0, 2));

    let folder = small();
    let row = r#"{"uid4":"a1b2","mention":"fever","time":0,"known":1}"#;
    for name in ["u/case-1.json", "u/case-1.jsonl", "u/case-2.json"] {
        folder.write(name, row);
    }
    let source = "[[source]]\nname = \"u\"\ndir = \"u\"\nformat = \"uid\"\n";
    folder.write("study.toml", format!("{SMALL}{source}"));
    assert_lines(&folder.errors(), &["u: expected one file of the case \"case-1\", got"]);
    folder.write("study.toml", format!("{SMALL}{source}suffix = \".json\"\n"));
    assert_eq!(folder.load().unwrap().sources.len(), 3);
}

#[test]
fn two_sources_of_the_same_files_are_a_warning() {
    let folder = small();
    let source = "[[source]]\nname = \"again\"\ndir = \"a\"\nformat = \"csv\"\n";
    folder.write("study.toml", format!("{SMALL}{source}"));
    let study = folder.load().unwrap();
    assert_lines(&folder.texts(study.warnings.iter()), &["study.toml:17: source \"again\" reads the same files as \"a\""]);
}

#[test]
fn no_reports_at_all() {
    let folder = small();
    fs::remove_dir_all(folder.0.join("reports")).unwrap();
    fs::create_dir(folder.0.join("reports")).unwrap();
    assert_lines(&folder.errors(), &["reports: expected at least one report *.txt, got none"]);
}

#[test]
fn names_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = small();
    let name = std::ffi::OsStr::from_bytes(b"case-\xff.csv");
    fs::write(folder.0.join("a").join(name), "x").unwrap();
    assert_lines(&folder.errors(), &["a: expected a file name in UTF-8"]);
}

#[test]
fn a_report_that_is_no_file_is_an_error_that_says_what_it_is() {
    use std::os::unix::fs::symlink;
    let folder = small();
    symlink("away.txt", folder.0.join("reports/case-3.txt")).unwrap();
    fs::create_dir(folder.0.join("reports/case-4.txt")).unwrap();
    symlink("case-5.txt", folder.0.join("reports/case-5.txt")).unwrap();
    symlink("case-1.txt", folder.0.join("reports/case-6.txt")).unwrap();
    folder.write("a/case-6.csv", "fever,1\n").write("b/case-6.bsv", "fever | 1\n");
    let errors = folder.errors();
    let about = |name: &str| errors.iter().filter(|error| error.starts_with(name)).cloned().collect::<Vec<_>>();
    assert_eq!(
        about("reports/case-3.txt"),
        [
            "reports/case-3.txt: expected a file, got a link to \"away.txt\" that leads nowhere; put the file there, or remove the entry"
        ]
    );
    assert!(about("reports/case-4.txt")[0].contains("got a folder"));
    assert!(about("reports/case-5.txt")[0].contains("a link to \"case-5.txt\" that cannot be followed"));
    assert_eq!(about("reports/case-6.txt").len(), 0, "a link to a file is a file");
    // Their timelines are missed too, and nothing is called unknown.
    assert!(about("a:")[0].contains("has none of 3 of 6: case-3, case-4, case-5"), "{errors:#?}");
    assert!(!errors.iter().any(|error| error.contains("belong to no report")));
    // A case that takes no part is not looked at.
    folder.write("study.toml", format!("{SMALL}[cases]\ninclude = [\"case-1\"]\n"));
    folder.load().unwrap();
}

#[test]
fn a_timeline_that_is_no_file_is_missing_and_says_what_it_is() {
    let folder = small();
    fs::remove_file(folder.0.join("a/case-1.csv")).unwrap();
    std::os::unix::fs::symlink("gone.csv", folder.0.join("a/case-1.csv")).unwrap();
    assert_lines(&folder.errors(), &["a/case-1.csv: expected a file, got a link to \"gone.csv\" that leads nowhere"]);
    folder.write("study.toml", format!("{SMALL}[cases]\non_missing_timeline = \"skip_games\"\n"));
    let study = folder.load().unwrap();
    assert_eq!(study.missing.len(), 1);
    let warnings = folder.texts(study.warnings.iter());
    assert!(
        warnings[0].starts_with("a/case-1.csv: expected a file, got a link") && warnings[0].ends_with("its games are left out")
    );
}

#[test]
fn litter_is_counted_and_names_are_one_in_either_form() {
    let folder = small();
    folder.write("reports/.DS_Store", "\0").write("reports/._case-1.txt", "\0").write("a/thumbs.db", "\0");
    folder.write("reports/e\u{301}te\u{301}.txt", "A patient.");
    folder.write("a/\u{e9}t\u{e9}.csv", "fever,1\n").write("b/e\u{301}t\u{e9}.bsv", "fever | 1\n");
    let study = folder.load().unwrap();
    assert_eq!(study.warnings, []);
    assert_eq!((study.report_counts.litter_files, study.sources[1].counts.litter_files), (2, 1));
    assert_eq!(study.cases.iter().map(CaseId::as_str).collect::<Vec<_>>(), ["case-1", "case-2", "\u{e9}t\u{e9}"]);
    folder.write("study.toml", format!("{SMALL}[cases]\ninclude = [\"e\u{301}te\u{301}\"]\n"));
    assert_eq!(folder.load().unwrap().cases.len(), 1);
    folder.write("reports/\u{e9}t\u{e9}.txt", "Another.");
    assert!(folder.errors()[0].contains("expected one file of the case \"\u{e9}t\u{e9}\""));
}

#[test]
fn a_name_that_is_not_utf8_is_named_without_debug_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = small();
    fs::write(folder.0.join(std::ffi::OsStr::from_bytes(b"reports/caf\xe9.txt")), "A patient.").unwrap();
    assert_lines(
        &folder.errors(),
        &["reports: expected a file name in UTF-8, got other bytes in \"caf\u{fffd}.txt\"; rename the file"],
    );
}

#[test]
fn dates_become_hours_where_the_study_says_when_time_0_was() {
    let folder = small();
    folder.write("a/case-1.csv", "event,date\nfever,2019-03-02\nrash,2019-03-05T18:00\n");
    let errors = folder.errors();
    assert_eq!(errors.len(), 3, "both rows, and nothing left: {errors:#?}");
    assert!(errors[0].starts_with("a/case-1.csv:2: expected a number of hours, got a date") && errors[0].contains("index_dates"));
    folder.write("study.toml", SMALL.replace("dir = \"reports\"", "dir = \"reports\"\nindex_dates = \"index.csv\""));
    assert!(folder.errors()[0].starts_with("index.csv: expected a readable file"));
    folder.write("index.csv", "case,date\ncase-1,2019-03-05T12:00\n");
    assert_lines(&folder.errors(), &["index.csv: expected the date of time 0 of every case, got none of 1 of 2: case-2"]);
    folder.write("index.csv", "case,date\ncase-1,2019-03-05T12:00\ncase-2,2019-03-05\n");
    let study = folder.load().unwrap();
    let case = CaseId::new("case-1").unwrap();
    let events = &study.timeline(&case, &SourceName::new("a").unwrap()).unwrap().events;
    assert_eq!(events.iter().map(|event| event.time.to_string()).collect::<Vec<_>>(), ["-72", "6"]);
    assert_eq!(study.sources[1].counts.dates_converted, 2);
    assert_eq!(study.sources[0].counts.dates_converted, 0);
}
