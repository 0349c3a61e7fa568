//! Loads a whole study and checks it completely.
//!
//! Every problem of manifest, reports and timelines is found in one pass, so that a user corrects them in one
//! go. Order never depends on the file system: cases are sorted, sources stand in manifest order. This file
//! must not know formats or manifest syntax.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::data::counts::ReadCounts;
use crate::data::event::{Report, Timeline};
use crate::data::id::{CaseId, SourceName};
use crate::data::moment::Moment;
use crate::data::problem::{Problem, Severity};
use crate::data::read::{ReadRules, TimelineFormat, read_report, read_timeline};

use super::MANIFEST_NAME;
use super::folder::Listing;
use super::index_dates;
use super::manifest::{EmptyTimelinePolicy, Manifest, MissingTimelinePolicy, SourceSection};
use super::parse::{self, Draft};

/// Names shown in one message before the rest is only counted.
const MAX_NAMES: usize = 5;

/// A study that passed every check.
#[derive(Debug, Clone)]
pub struct Study {
    /// The manifest file.
    pub manifest_path: PathBuf,
    /// Its text, unchanged.
    pub manifest_text: String,
    /// What it says.
    pub manifest: Manifest,
    /// The cases that take part, sorted.
    pub cases: Vec<CaseId>,
    /// The report of every case that takes part.
    pub reports: BTreeMap<CaseId, Report>,
    /// What was noticed while reading reports.
    pub report_counts: ReadCounts,
    /// The sources in manifest order.
    pub sources: Vec<StudySource>,
    /// Cases left out because their report is too large, sorted.
    pub left_out: Vec<LeftOutCase>,
    /// Timelines that are not there, by source in manifest order, then by case; empty unless the manifest says
    /// that their games are left out.
    pub missing: Vec<MissingTimeline>,
    /// When time 0 of each case was; empty unless the manifest names a file with these dates.
    pub index_dates: BTreeMap<CaseId, Moment>,
    /// What a reader of the results should know.
    pub warnings: Vec<Problem>,
}

/// One source of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudySource {
    /// Its name.
    pub name: SourceName,
    /// The format of its files.
    pub format: TimelineFormat,
    /// Its timelines by case.
    pub timelines: BTreeMap<CaseId, Timeline>,
    /// Where every line of its files went.
    pub counts: ReadCounts,
    /// Entries of its folder that belong to no report.
    pub unknown_files: usize,
}

/// A case that is left out because of the size of its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutCase {
    /// The case.
    pub case: CaseId,
    /// The size of its report.
    pub bytes: u64,
}

/// A timeline that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTimeline {
    /// The source without it.
    pub source: SourceName,
    /// The case it would be of.
    pub case: CaseId,
}

impl Study {
    /// Loads the study at `path`, which is a study folder or a manifest file.
    ///
    /// # Errors
    /// Every problem found, errors first; warnings are in the list too. There is at least one error.
    pub fn load(path: &Path) -> Result<Self, Vec<Problem>> {
        let manifest_path = if path.is_dir() { path.join(MANIFEST_NAME) } else { path.to_path_buf() };
        let manifest_text = read_manifest_text(&manifest_path).map_err(|problem| vec![problem])?;
        let (draft, problems) = parse::parse(&manifest_text, &manifest_path);
        let Some(draft) = draft else { return Err(problems) };
        let root = manifest_path.parent().unwrap_or(Path::new("")).to_path_buf();
        let mut loader = Loader { root, manifest_path: &manifest_path, draft: &draft, problems };
        let found = loader.load();
        let mut problems = loader.problems;
        // a stable sort keeps the order of discovery within errors and within warnings
        problems.sort_by_key(|problem| problem.severity);
        match found {
            Some(found) if problems.iter().all(|problem| problem.severity == Severity::Warning) => Ok(Self {
                manifest_text,
                manifest: draft.manifest,
                cases: found.reports.keys().cloned().collect(),
                reports: found.reports,
                report_counts: found.report_counts,
                sources: found.sources,
                left_out: found.left_out,
                missing: found.missing,
                index_dates: found.index_dates,
                warnings: problems,
                manifest_path,
            }),
            _ => Err(problems),
        }
    }

    /// Returns the folder of the manifest, to which its paths are relative.
    pub fn root(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }

    /// Returns a path of the manifest as seen from here.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.root().join(path)
    }

    /// Returns the report of a case that takes part.
    pub fn report(&self, case: &CaseId) -> Option<&Report> {
        self.reports.get(case)
    }

    /// Returns the timeline of a source for a case.
    pub fn timeline(&self, case: &CaseId, source: &SourceName) -> Option<&Timeline> {
        self.sources.iter().find(|one| one.name == *source)?.timelines.get(case)
    }
}

/// Reads the manifest file.
fn read_manifest_text(path: &Path) -> Result<String, Problem> {
    let bytes = std::fs::read(path).map_err(|error| {
        let what = format!("expected a manifest, got an error: {error}");
        Problem::error(path, None, what, "create a study with `assize init`, or correct the path")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(valid).filter(|&&b| b == b'\n').count();
        let what = "expected a manifest in UTF-8, got other bytes";
        Problem::error(path, Some(line), what, "save the file as UTF-8")
    })
}

/// What is left of a study on disk, without the manifest.
#[derive(Default)]
struct Found {
    reports: BTreeMap<CaseId, Report>,
    report_counts: ReadCounts,
    sources: Vec<StudySource>,
    left_out: Vec<LeftOutCase>,
    missing: Vec<MissingTimeline>,
    index_dates: BTreeMap<CaseId, Moment>,
}

/// The cases that take part, and when time 0 of each was where that is known.
struct Cases {
    wanted: BTreeSet<CaseId>,
    index_dates: BTreeMap<CaseId, Moment>,
}

/// One pass over a study.
struct Loader<'a> {
    root: PathBuf,
    manifest_path: &'a Path,
    draft: &'a Draft,
    problems: Vec<Problem>,
}

impl Loader<'_> {
    /// Loads everything that the manifest names; `None` when the cases are not known.
    fn load(&mut self) -> Option<Found> {
        let mut found = Found::default();
        let listing = self.list_reports();
        let wanted = listing.as_ref().map(|listing| self.read_reports(listing, &mut found));
        let cases = wanted.map(|wanted| Cases { index_dates: self.read_index_dates(&wanted), wanted });
        let draft = self.draft;
        self.warn_of_equal_folders();
        for (source, &line) in draft.manifest.sources.iter().zip(&draft.source_lines) {
            let dir = self.root.join(&source.dir);
            let Some(timelines) = self.list(&dir, &source.suffixes(), line) else { continue };
            let (Some(reports), Some(cases)) = (&listing, &cases) else { continue };
            let one = self.read_source(source, timelines, reports, cases, &mut found.missing);
            found.sources.push(one);
        }
        let cases = cases?;
        self.check_games(&found);
        found.index_dates = cases.index_dates;
        Some(found)
    }

    /// Warns of sources that read the same files.
    fn warn_of_equal_folders(&mut self) {
        let sources = &self.draft.manifest.sources;
        for (at, (source, &line)) in sources.iter().zip(&self.draft.source_lines).enumerate() {
            let same = |other: &&SourceSection| other.dir == source.dir && other.suffixes() == source.suffixes();
            if let Some(first) = sources.iter().take(at).find(same) {
                let what = format!("source \"{}\" reads the same files as \"{}\"", source.name.as_str(), first.name.as_str());
                self.problems.push(Problem::warning(self.manifest_path, Some(line), what, "check dir and suffix"));
            }
        }
    }

    /// Lists the folder of the reports.
    fn list_reports(&mut self) -> Option<Listing> {
        let line = self.draft.reports_line?;
        let section = &self.draft.manifest.reports;
        let dir = self.root.join(&section.dir);
        let listing = self.list(&dir, &[section.suffix.as_str()], line)?;
        self.warn_of_others(&dir, &listing.others, "do not end like a report");
        if listing.files.is_empty() && listing.irregular.is_empty() {
            let what = format!("expected at least one report *{}, got none", section.suffix);
            self.problems.push(Problem::error(&dir, None, what, "put the reports there, or correct dir and suffix"));
        }
        Some(listing)
    }

    /// Reads the reports that take part; returns the cases, whether or not their report is good.
    fn read_reports(&mut self, listing: &Listing, found: &mut Found) -> BTreeSet<CaseId> {
        let cases = &self.draft.manifest.cases;
        let mut wanted: BTreeSet<CaseId> = listing.files.keys().chain(listing.irregular.keys()).cloned().collect();
        found.report_counts.litter_files = listing.n_litter;
        if let Some(include) = &cases.include {
            for case in include.iter().filter(|&case| !wanted.contains(case)) {
                let line = self.draft.include_lines.get(case).copied();
                let what = format!("expected a report of the case \"{}\", got none", case.as_str());
                let remedy = "correct include under [cases], or add the report";
                self.problems.push(Problem::error(self.manifest_path, line, what, remedy));
            }
            let include: BTreeSet<&CaseId> = include.iter().collect();
            wanted.retain(|case| include.contains(case));
            if wanted.is_empty() && !(listing.files.is_empty() && listing.irregular.is_empty()) {
                let what = "expected at least one case, got none in include";
                let remedy = "name a case under [cases], or remove include";
                self.problems.push(Problem::error(self.manifest_path, None, what, remedy));
            }
        }
        // A case never goes away because its report cannot be read.
        for (_, (path, what)) in listing.irregular.iter().filter(|(case, _)| wanted.contains(*case)) {
            self.problems.push(no_file(path, what));
        }
        let max_bytes = cases.max_report_bytes.unwrap_or(u64::MAX);
        let n_before = wanted.len();
        wanted.retain(|case| {
            let Some(path) = listing.files.get(case) else { return true };
            let bytes = match std::fs::read(path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.problems.push(unreadable(path, &error));
                    return true;
                }
            };
            // a length in memory always fits 64 bits
            let n_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if n_bytes > max_bytes {
                found.left_out.push(LeftOutCase { case: case.clone(), bytes: n_bytes });
                return false;
            }
            let read = read_report(&bytes, path);
            found.report_counts += &read.counts;
            self.problems.extend(read.problems);
            let report = Report { case: case.clone(), text: read.text, path: path.clone() };
            found.reports.insert(case.clone(), report);
            true
        });
        if !found.left_out.is_empty() {
            let names = names(found.left_out.iter().map(|left| left.case.as_str()));
            let what = format!(
                "{} of {n_before} cases left out, their report has more than {max_bytes} bytes: {names}",
                found.left_out.len(),
            );
            let remedy = "raise max_report_bytes under [cases] to take them in";
            self.problems.push(Problem::warning(self.manifest_path, None, what, remedy));
            if wanted.is_empty() {
                let what = "expected at least one case, got only reports above max_report_bytes";
                self.problems.push(Problem::error(self.manifest_path, None, what, remedy));
            }
        }
        wanted
    }

    /// Reads when time 0 of every case was, where the manifest names such a file.
    fn read_index_dates(&mut self, wanted: &BTreeSet<CaseId>) -> BTreeMap<CaseId, Moment> {
        let Some(name) = &self.draft.manifest.reports.index_dates else { return BTreeMap::new() };
        let path = self.root.join(name);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                self.problems.push(unreadable(&path, &error));
                return BTreeMap::new();
            }
        };
        let (dates, problems) = index_dates::read(&text, &path);
        let is_clean = problems.is_empty();
        self.problems.extend(problems);
        let absent: Vec<&CaseId> = wanted.iter().filter(|&case| !dates.contains_key(case)).collect();
        if is_clean && !absent.is_empty() {
            let what = format!(
                "expected the date of time 0 of every case, got none of {} of {}: {}",
                absent.len(),
                wanted.len(),
                names(absent.iter().map(|case| case.as_str()))
            );
            self.problems.push(Problem::error(&path, None, what, "add a line with case and date for each"));
        }
        dates
    }

    /// States an entry that is named like a timeline and is no file.
    fn report_irregular(&mut self, path: &Path, what: &str) {
        let problem = no_file(path, what);
        self.problems.push(match self.draft.manifest.cases.on_missing_timeline {
            MissingTimelinePolicy::Refuse => problem,
            MissingTimelinePolicy::SkipGames => Problem::warning(path, None, problem.what, "its games are left out"),
        });
    }

    /// Reads the timelines of one source for the cases that take part.
    fn read_source(
        &mut self,
        source: &SourceSection,
        listing: Listing,
        reports: &Listing,
        cases: &Cases,
        missing: &mut Vec<MissingTimeline>,
    ) -> StudySource {
        let Cases { wanted, index_dates } = cases;
        let dir = self.root.join(&source.dir);
        let mut others = listing.others;
        let is_case = |case: &CaseId| reports.files.contains_key(case) || reports.irregular.contains_key(case);
        let irregular = listing.irregular.iter().map(|(case, (path, _))| (case, path));
        for (case, path) in listing.files.iter().chain(irregular) {
            if !is_case(case) {
                others.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        others.sort();
        self.warn_of_others(&dir, &others, "belong to no report");
        let absent: Vec<&CaseId> = wanted.iter().filter(|&case| !listing.files.contains_key(case)).collect();
        for (_, (path, what)) in listing.irregular.iter().filter(|(case, _)| wanted.contains(*case)) {
            self.report_irregular(path, what);
        }
        let missing_files: Vec<&CaseId> = absent.iter().copied().filter(|case| !listing.irregular.contains_key(*case)).collect();
        self.report_missing(source, &dir, &missing_files, wanted.len());
        if self.draft.manifest.cases.on_missing_timeline == MissingTimelinePolicy::SkipGames {
            let of = |case: &&CaseId| MissingTimeline { source: source.name.clone(), case: (*case).clone() };
            missing.extend(absent.iter().map(of));
        }
        let mut counts = ReadCounts { litter_files: listing.n_litter, ..ReadCounts::default() };
        let mut timelines = BTreeMap::new();
        for (case, path) in listing.files.into_iter().filter(|(case, _)| wanted.contains(case)) {
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.problems.push(unreadable(&path, &error));
                    continue;
                }
            };
            let input = &self.draft.manifest.input;
            let rules = ReadRules { on_bad_row: input.on_bad_row, index_date: index_dates.get(&case).copied() };
            let read = read_timeline(&bytes, &path, source.format, rules);
            counts += &read.counts;
            self.problems.extend(read.problems);
            if read.events.is_empty() && input.on_empty_timeline == EmptyTimelinePolicy::Refuse {
                let what = "expected at least one event, got an empty timeline";
                let remedy = "add events, or set on_empty_timeline = \"keep\" under [input]";
                self.problems.push(Problem::error(&path, None, what, remedy));
            }
            let (name, events) = (source.name.clone(), read.events);
            timelines.insert(case.clone(), Timeline { case, source: name, events, path });
        }
        let (name, format, unknown_files) = (source.name.clone(), source.format, others.len());
        StudySource { name, format, timelines, counts, unknown_files }
    }

    /// States the timelines that are not there.
    fn report_missing(&mut self, source: &SourceSection, dir: &Path, absent: &[&CaseId], n_cases: usize) {
        if absent.is_empty() {
            return;
        }
        let names = names(absent.iter().map(|case| case.as_str()));
        let what = format!(
            "expected a timeline *{} of every case, source \"{}\" has none of {} of {n_cases}: {names}",
            source.suffixes().join(" or *"),
            source.name.as_str(),
            absent.len(),
        );
        self.problems.push(match self.draft.manifest.cases.on_missing_timeline {
            MissingTimelinePolicy::Refuse => {
                let remedy = "add the files, or set on_missing_timeline = \"skip_games\" under [cases]";
                Problem::error(dir, None, what, remedy)
            }
            MissingTimelinePolicy::SkipGames => Problem::warning(dir, None, what, "their games are left out"),
        });
    }

    /// Warns of cases that no two sources have a timeline of.
    fn check_games(&mut self, found: &Found) {
        if self.draft.manifest.cases.on_missing_timeline != MissingTimelinePolicy::SkipGames {
            return;
        }
        let n_timelines = |case: &CaseId| found.sources.iter().filter(|source| source.timelines.contains_key(case)).count();
        let idle: Vec<&CaseId> = found.reports.keys().filter(|&case| n_timelines(case) < 2).collect();
        if !idle.is_empty() {
            let names = names(idle.iter().map(|case| case.as_str()));
            let what = format!("{} cases have fewer than two timelines and no game: {names}", idle.len());
            let remedy = "add timelines, or leave these cases out";
            self.problems.push(Problem::warning(self.manifest_path, None, what, remedy));
        }
        if idle.len() == found.reports.len() && !idle.is_empty() {
            let what = "expected at least one case with two timelines, got none";
            let remedy = "check dir and suffix of every [[source]]";
            self.problems.push(Problem::error(self.manifest_path, None, what, remedy));
        }
    }

    /// Lists a folder; `None` when it cannot be read. `line` is where the manifest names it.
    fn list(&mut self, dir: &Path, suffixes: &[&str], line: usize) -> Option<Listing> {
        match Listing::read(dir, suffixes) {
            Ok(mut listing) => {
                for (path, what, remedy) in listing.faults.drain(..) {
                    self.problems.push(Problem::error(&path, None, what, remedy));
                }
                Some(listing)
            }
            Err(error) => {
                let what = format!("expected the folder {}, got an error: {error}", dir.display());
                let remedy = "create it with one file for each case, or correct dir";
                self.problems.push(Problem::error(self.manifest_path, Some(line), what, remedy));
                None
            }
        }
    }

    /// Warns of entries of a folder that are not used.
    fn warn_of_others(&mut self, dir: &Path, others: &[String], why: &str) {
        if !others.is_empty() {
            let names = names(others.iter().map(String::as_str));
            let what = format!("{} entries {why} and are not read: {names}", others.len());
            let remedy = "remove them, or check the suffix in the manifest";
            self.problems.push(Problem::warning(dir, None, what, remedy));
        }
    }
}

/// Returns the error for an entry that is named like a file and is none.
fn no_file(path: &Path, what: &str) -> Problem {
    let what = format!("expected a file, got {what}");
    Problem::error(path, None, what, "put the file there, or remove the entry")
}

/// Returns the error for a file that cannot be read.
fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    let what = format!("expected a readable file, got an error: {error}");
    Problem::error(path, None, what, "check the file and its permissions")
}

/// Returns the first few names as text, with the number of the rest.
fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let n_more = all.len().saturating_sub(MAX_NAMES);
    let shown = all.take(MAX_NAMES).collect::<Vec<_>>().join(", ");
    if n_more == 0 { shown } else { format!("{shown} and {n_more} more") }
}
