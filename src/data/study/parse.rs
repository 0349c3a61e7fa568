//! Reads the text of a manifest.
//!
//! Every mistake of the file is reported at once, each with its line. This file must not touch any other file
//! of the study.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::data::id::{CaseId, SourceName};
use crate::data::problem::Problem;
use crate::data::read::TimelineFormat;

use super::manifest::{
    CasesSection, EngineSection, GpuLayers, InputSection, JudgeSection, Manifest, ReportsSection, ResultsSection, RubricName,
    ScoringSection, SourceSection, StoreSection, StudySection,
};
use super::section::{Found, Section, Sink};

/// A manifest as far as it could be read, and where its parts stand.
pub(super) struct Draft {
    /// The manifest; wrong and absent values are replaced by defaults, unusable sources left out.
    pub(super) manifest: Manifest,
    /// Line that names the folder of the reports; `None` when the manifest fails to.
    pub(super) reports_line: Option<usize>,
    /// Line that names the folder of every source kept, in the order of the sources.
    pub(super) source_lines: Vec<usize>,
    /// Lines of the included cases.
    pub(super) include_lines: BTreeMap<CaseId, usize>,
}

/// Reads the text of a manifest. `None` means that it is not TOML; every mistake found is in the problems.
pub(super) fn parse(text: &str, path: &Path) -> (Option<Draft>, Vec<Problem>) {
    let mut sink = Sink::new(path, text);
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in errors {
            let line = error.span().map(|span| sink.line_of(span.start));
            let what = format!("expected TOML, got a syntax error: {}", error.message());
            sink.error(line, what, "correct the line");
        }
        return (None, sink.into_problems());
    }
    let draft = read_root(root.get_ref(), &mut sink);
    (Some(draft), sink.into_problems())
}

const SECTIONS: &[&str] = &["study", "reports", "source", "cases", "input", "judge", "scoring", "store", "results"];

fn read_root(root: &DeTable<'_>, sink: &mut Sink) -> Draft {
    for key in root.keys() {
        let name: &str = key.get_ref();
        if !SECTIONS.contains(&name) {
            let line = sink.line_of(key.span().start);
            let what = format!("expected a known section, got {name:?}");
            sink.error(Some(line), what, format!("known sections: {}", SECTIONS.join(", ")));
        }
    }
    let study = read_study(section("[study]", root, sink));
    let (reports, reports_line) = read_reports(section("[reports]", root, sink));
    let (sources, source_lines) = read_sources(root, sink);
    let (cases, include_lines) = read_cases(section("[cases]", root, sink));
    let input = read_input(section("[input]", root, sink));
    let judge = read_judge(section("[judge]", root, sink));
    let scoring = read_scoring(section("[scoring]", root, sink));
    let store = read_store(section("[store]", root, sink));
    let results = read_results(section("[results]", root, sink));
    let manifest = Manifest { study, reports, sources, cases, input, judge, scoring, store, results };
    Draft { manifest, reports_line, source_lines, include_lines }
}

/// Returns the table of a section; something else under its name is booked.
fn section<'a>(name: &'static str, root: &'a DeTable<'a>, sink: &'a mut Sink) -> Section<'a> {
    let key = name.trim_matches(['[', ']']);
    let value = root.get(key);
    let line = value.map(|value| sink.line_of(value.span().start));
    let table = match value.map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => Some(table),
        Some(_) => {
            let what = format!("expected {name} to be a table, got another value");
            sink.error(line, what, format!("write {name} on a line of its own"));
            None
        }
        None => None,
    };
    Section::new(name, table, line, sink)
}

fn read_study(mut section: Section<'_>) -> StudySection {
    let default = StudySection::default();
    let name = section.text("name").map(|found| found.value);
    if name.is_none() {
        missing_unless_wrong(&mut section, "name", "give the study a name");
    }
    let seed = section.whole("seed", 0, u64::MAX).unwrap_or(default.seed);
    section.finish();
    StudySection { name: name.unwrap_or(default.name), seed }
}

/// Books an absent required key; a wrong value has been booked already.
fn missing_unless_wrong(section: &mut Section<'_>, key: &'static str, hint: &str) {
    if !section.has(key) {
        section.missing(key, hint);
    }
}

fn read_reports(mut section: Section<'_>) -> (ReportsSection, Option<usize>) {
    let dir = section.text("dir");
    if dir.is_none() {
        missing_unless_wrong(&mut section, "dir", "name the folder of the reports");
    }
    let suffix = read_suffix(&mut section).unwrap_or_else(|| ".txt".to_owned());
    let index_dates = section.text("index_dates").map(|found| PathBuf::from(found.value));
    section.finish();
    let line = dir.as_ref().map(|found| found.line);
    let dir = dir.map_or_else(PathBuf::new, |found| PathBuf::from(found.value));
    (ReportsSection { dir, suffix, index_dates }, line)
}

/// Reads a file name end, which must not reach into another folder.
fn read_suffix(section: &mut Section<'_>) -> Option<String> {
    let Found { value, line } = section.text("suffix")?;
    if value.contains(['/', '\\']) {
        let got = format!("{value:?}");
        section.wrong("suffix", line, "the end of a file name", &got, "write it as \".txt\"");
        return None;
    }
    Some(value)
}

/// Returns the usable sources and the line that names the folder of each.
fn read_sources(root: &DeTable<'_>, sink: &mut Sink) -> (Vec<SourceSection>, Vec<usize>) {
    let mut kept: Vec<PlacedSource> = Vec::new();
    let mut n_tables = 0;
    match root.get("source").map(|value| (value.get_ref(), value.span().start)) {
        None => {}
        Some((DeValue::Array(tables), _)) => {
            for table in tables.iter() {
                n_tables += 1;
                let line = sink.line_of(table.span().start);
                let DeValue::Table(table) = table.get_ref() else {
                    let what = "expected every source to be a table, got another value";
                    sink.error(Some(line), what, "write [[source]] on a line of its own");
                    continue;
                };
                let Some(placed) = read_source(Section::new("[[source]]", Some(table), Some(line), sink)) else { continue };
                match kept.iter().find(|other| other.source.name == placed.source.name) {
                    Some(first) => {
                        let (name, line) = (placed.source.name.as_str(), first.name_line);
                        let what = format!("expected every source name once, got {name:?} as on line {line}");
                        sink.error(Some(placed.name_line), what, "give each source its own name");
                    }
                    None => kept.push(placed),
                }
            }
        }
        Some((_, at)) => {
            let line = sink.line_of(at);
            let what = "expected a list of sources, got another value";
            sink.error(Some(line), what, "write [[source]] in double brackets for each");
        }
    }
    if n_tables < 2 {
        let what = format!("expected at least 2 sources, got {n_tables}");
        let line = kept.first().map(|placed| placed.name_line);
        sink.error(line, what, "add a [[source]] with name, dir and format for each source");
    }
    kept.into_iter().map(|placed| (placed.source, placed.dir_line)).unzip()
}

/// A source and where the manifest names it and its folder.
struct PlacedSource {
    source: SourceSection,
    name_line: usize,
    dir_line: usize,
}

fn read_source(mut section: Section<'_>) -> Option<PlacedSource> {
    let name = match section.text("name") {
        Some(Found { value, line }) => match SourceName::new(value) {
            Ok(value) => Some(Found { value, line }),
            Err(error) => {
                section.error(Some(line), error.to_string(), "correct the name of the source");
                None
            }
        },
        None => {
            missing_unless_wrong(&mut section, "name", "give the source a name");
            None
        }
    };
    let dir = section.text("dir");
    if dir.is_none() {
        missing_unless_wrong(&mut section, "dir", "name the folder of its timelines");
    }
    let format = section.choice::<TimelineFormat>("format");
    if format.is_none() {
        missing_unless_wrong(&mut section, "format", "write csv, bsv, jsonl or uid");
    }
    let suffix = read_suffix(&mut section);
    section.finish();
    let (name, dir) = (name?, dir?);
    let source = SourceSection { name: name.value, dir: PathBuf::from(dir.value), format: format?, suffix };
    Some(PlacedSource { source, name_line: name.line, dir_line: dir.line })
}

fn read_cases(mut section: Section<'_>) -> (CasesSection, BTreeMap<CaseId, usize>) {
    let default = CasesSection::default();
    let mut lines = BTreeMap::new();
    let include = section.texts("include").map(|texts| {
        let mut cases = Vec::with_capacity(texts.len());
        for Found { value, line } in texts {
            match CaseId::new(value) {
                Ok(case) if lines.contains_key(&case) => {
                    let got = format!("{:?} again", case.as_str());
                    section.wrong("include", line, "every case once", &got, "remove one");
                }
                Ok(case) => {
                    lines.insert(case.clone(), line);
                    cases.push(case);
                }
                Err(error) => section.error(Some(line), error.to_string(), "correct the case id"),
            }
        }
        cases
    });
    let max_report_bytes = section.whole("max_report_bytes", 1, u64::MAX);
    let on_missing_timeline = section.choice("on_missing_timeline").unwrap_or(default.on_missing_timeline);
    section.finish();
    (CasesSection { include, max_report_bytes, on_missing_timeline }, lines)
}

fn read_input(mut section: Section<'_>) -> InputSection {
    let default = InputSection::default();
    let read = InputSection {
        on_bad_row: section.choice("on_bad_row").unwrap_or(default.on_bad_row),
        on_empty_timeline: section.choice("on_empty_timeline").unwrap_or(default.on_empty_timeline),
    };
    section.finish();
    read
}

fn read_judge(mut section: Section<'_>) -> JudgeSection {
    let default = JudgeSection::default();
    let card = section.text("card").map(|found| found.value);
    if card.is_none() {
        missing_unless_wrong(&mut section, "card", "name a built-in card or the path of a card");
    }
    let read = JudgeSection {
        card: card.unwrap_or(default.card),
        model_dir: section.text("model_dir").map(|found| PathBuf::from(found.value)),
        numerics: section.choice("numerics").unwrap_or(default.numerics),
        finding_schema: section.choice("finding_schema").unwrap_or(default.finding_schema),
        reply: section.choice("reply").unwrap_or(default.reply),
        max_reply_tokens: section.count("max_reply_tokens"),
        max_reasoning_tokens: section.count("max_reasoning_tokens"),
        max_findings: section.count("max_findings").unwrap_or(default.max_findings),
        max_attempts: section.count("max_attempts").unwrap_or(default.max_attempts),
        slots: section.count("slots").unwrap_or(default.slots),
        context_tokens: section.count("context_tokens"),
        threads: section.count("threads"),
        hang_timeout_s: section.count("hang_timeout_s").unwrap_or(default.hang_timeout_s),
        engine: read_engine(&mut section),
        prompt: section.text("prompt").map_or(default.prompt, |found| found.value),
    };
    section.finish();
    read
}

/// The keys of the judge's engine, which stand among those of `[judge]`.
fn read_engine(section: &mut Section<'_>) -> EngineSection {
    let default = EngineSection::default();
    EngineSection {
        gpu_layers: match section.count_or_word("gpu_layers", GpuLayers::ALL) {
            None => default.gpu_layers,
            Some(None) => GpuLayers::All,
            Some(Some(n)) => GpuLayers::Count(n),
        },
        split_mode: section.choice("split_mode").unwrap_or(default.split_mode),
        devices: read_devices(section),
        kv_type: section.choice("kv_type").unwrap_or(default.kv_type),
        flash_attention: section.flag("flash_attention").unwrap_or(default.flash_attention),
        moe_on_cpu: section.flag("moe_on_cpu").unwrap_or(default.moe_on_cpu),
        kv_cells: section.count("kv_cells"),
        drafts: section.flag("drafts").unwrap_or(default.drafts),
        sharing: section.flag("sharing").unwrap_or(default.sharing),
    }
}

/// Reads the GPUs, each named once.
fn read_devices(section: &mut Section<'_>) -> Option<Vec<u32>> {
    let found = section.counts_from_zero("devices")?;
    let mut devices = Vec::with_capacity(found.len());
    for Found { value, line } in found {
        if devices.contains(&value) {
            section.wrong("devices", line, "every GPU once", &format!("{value} again"), "remove one");
        } else {
            devices.push(value);
        }
    }
    Some(devices)
}

fn read_scoring(mut section: Section<'_>) -> ScoringSection {
    let default = ScoringSection::default();
    let rubric = section.choice("rubric").unwrap_or(default.rubric);
    let further_rubrics = match section.choices::<RubricName>("further_rubrics") {
        // the default list must not name the main rubric a second time
        None => default.further_rubrics.into_iter().filter(|&other| other != rubric).collect(),
        Some(found) => {
            let mut rubrics: Vec<RubricName> = Vec::with_capacity(found.len());
            for Found { value, line } in found {
                if value == rubric || rubrics.contains(&value) {
                    let got = format!("{:?} again", value.name());
                    let hint = "remove it; the main rubric is always there";
                    section.wrong("further_rubrics", line, "every rubric once", &got, hint);
                } else {
                    rubrics.push(value);
                }
            }
            rubrics
        }
    };
    let read = ScoringSection {
        rubric,
        further_rubrics,
        games_without_decisive: section.choice("games_without_decisive").unwrap_or(default.games_without_decisive),
        partial_games: section.choice("partial_games").unwrap_or(default.partial_games),
        tolerance_floor_hours: section.number("tolerance_floor_hours").unwrap_or(default.tolerance_floor_hours),
        bootstrap_resamples: section.count("bootstrap_resamples").unwrap_or(default.bootstrap_resamples),
        bootstrap_seed: section.whole("bootstrap_seed", 0, u64::MAX).unwrap_or(default.bootstrap_seed),
    };
    section.finish();
    read
}

fn read_store(mut section: Section<'_>) -> StoreSection {
    let dir = section.text("dir").map(|found| PathBuf::from(found.value));
    section.finish();
    dir.map_or_else(StoreSection::default, |dir| StoreSection { dir })
}

fn read_results(mut section: Section<'_>) -> ResultsSection {
    let default = ResultsSection::default();
    let read = ResultsSection {
        dir: section.text("dir").map_or(default.dir, |found| PathBuf::from(found.value)),
        no_text: section.flag("no_text").unwrap_or(default.no_text),
    };
    section.finish();
    read
}
