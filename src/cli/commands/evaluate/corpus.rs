//! The files of an evaluation: a reference folder and prediction folders with one timeline a case.

use crate::cli::args::EvaluateArgs;
use crate::cli::console::{Failure, Remarks};
use crate::data::study::Listing;
use crate::data::{
    BadRowPolicy, Event, Moment, Problem, ReadCounts, ReadRules, SourceName, Study, TimelineFormat, read_timeline,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// One maker of timelines: case id to file.
pub struct Source {
    pub name: String,
    format: TimelineFormat,
    files: BTreeMap<String, PathBuf>,
}

/// What is evaluated. Only paths are held.
pub struct Corpus {
    pub reference: Source,
    pub predictions: Vec<Source>,
    /// Case ids of the reference, sorted.
    pub cases: Vec<String>,
    pub default_out: PathBuf,
    /// How rows that are no events can be left out.
    skip_hint: &'static str,
    /// When time 0 of each case was, where a study says so.
    index_dates: BTreeMap<String, Moment>,
    pub on_bad_row: BadRowPolicy,
}

/// One case, read.
pub struct Case {
    pub id: String,
    pub reference: Vec<Event>,
    /// In the order of the sources; empty where a source has no file and that is allowed.
    pub predictions: Vec<Vec<Event>>,
    /// What was read, of the reference first and then of each source.
    pub counts: Vec<ReadCounts>,
    /// What is worth knowing of the files.
    pub warnings: Vec<Problem>,
}

impl Corpus {
    /// Finds the files that `args` name.
    ///
    /// # Errors
    /// Missing folders, no case, a case that a source lacks (unless allowed).
    pub fn of(args: &EvaluateArgs, remarks: Remarks) -> Result<Self, Failure> {
        let corpus = match &args.study {
            Some(study) => Self::of_study(study, args)?,
            None => Self::of_folders(args, remarks)?,
        };
        if corpus.cases.is_empty() {
            return Err(Failure::usage(format_args!(
                "the reference `{}` has no timeline; check folder and suffix",
                corpus.reference.name
            )));
        }
        let mut missing = Vec::new();
        for source in &corpus.predictions {
            let absent = corpus.cases.iter().filter(|case| !source.files.contains_key(*case));
            missing.extend(absent.map(|case| format!("{}: no timeline of case {case}", source.name)));
            let beyond = source.files.keys().filter(|case| !corpus.reference.files.contains_key(*case)).count();
            if beyond > 0 {
                remarks.say(format_args!("warning: {beyond} timelines of {} have no reference and are left out", source.name));
            }
        }
        if !missing.is_empty() && !args.allow_missing {
            let shown = missing.iter().take(20).cloned().collect::<Vec<_>>().join("; ");
            return Err(Failure::usage(format_args!(
                "{} timelines are missing ({shown}{}); with --allow-missing they count as empty",
                missing.len(),
                if missing.len() > 20 { "; …" } else { "" }
            )));
        }
        if !missing.is_empty() {
            remarks.say(format_args!("warning: {} missing timelines count as empty", missing.len()));
        }
        Ok(corpus)
    }

    fn of_study(path: &Path, args: &EvaluateArgs) -> Result<Self, Failure> {
        let study = Study::load(path).map_err(|problems| Failure::problems(&problems))?;
        let name = args.reference.to_string_lossy();
        let mut sources: Vec<Source> = Vec::new();
        for source in &study.sources {
            let files = source.timelines.iter().map(|(case, timeline)| (case.to_string(), timeline.path.clone())).collect();
            sources.push(Source { name: source.name.to_string(), format: source.format, files });
        }
        let known = sources.iter().map(|source| source.name.clone()).collect::<Vec<_>>().join(", ");
        let at = sources
            .iter()
            .position(|source| source.name == name)
            .ok_or_else(|| Failure::usage(format_args!("--reference: expected a source of the study ({known}), got `{name}`")))?;
        let reference = sources.remove(at);
        Ok(Self {
            cases: reference.files.keys().cloned().collect(),
            reference,
            predictions: sources,
            default_out: study.root().join("evaluation"),
            index_dates: study.index_dates.iter().map(|(case, date)| (case.to_string(), *date)).collect(),
            skip_hint: "with on_bad_row = \"skip\" in the manifest such rows are left out and counted",
            on_bad_row: study.manifest.input.on_bad_row,
        })
    }

    fn of_folders(args: &EvaluateArgs, remarks: Remarks) -> Result<Self, Failure> {
        if args.prediction.is_empty() {
            return Err(Failure::usage("name a study, or --reference DIR and at least one --prediction DIR"));
        }
        let source = |dir: &PathBuf| -> Result<Source, Failure> {
            let name = dir.file_name().map_or_else(|| dir.to_string_lossy(), |name| name.to_string_lossy()).into_owned();
            SourceName::new(name.clone()).map_err(Failure::usage)?;
            let suffixes: Vec<&str> = match &args.suffix {
                Some(suffix) => vec![suffix.as_str()],
                None => args.format.default_suffixes().to_vec(),
            };
            let listing = Listing::read(dir, &suffixes)
                .map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", dir.display())))?;
            let mut problems: Vec<Problem> =
                listing.faults.into_iter().map(|(path, what, remedy)| Problem::error(&path, None, what, remedy)).collect();
            problems.extend(listing.irregular.values().map(|(path, what)| {
                Problem::error(path, None, format!("expected a file, got {what}"), "put the file there, or remove the entry")
            }));
            if !problems.is_empty() {
                return Err(Failure::problems(&problems));
            }
            if !listing.others.is_empty() {
                let wanted = suffixes.join(" or *");
                let n_others = listing.others.len();
                remarks.say(format_args!("warning: {n_others} entries of {} are not *{wanted} and are not read", dir.display()));
            }
            let files = listing.files.into_iter().map(|(case, path)| (case.to_string(), path)).collect();
            Ok(Source { name, format: args.format, files })
        };
        let reference = source(&args.reference)?;
        let predictions: Vec<Source> = args.prediction.iter().map(source).collect::<Result<_, _>>()?;
        let mut names: Vec<&String> = predictions.iter().map(|source| &source.name).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
            return Err(Failure::usage(format_args!(
                "two --prediction folders are called `{}`; give them different names",
                twice[0]
            )));
        }
        Ok(Self {
            cases: reference.files.keys().cloned().collect(),
            reference,
            predictions,
            default_out: PathBuf::from("evaluation"),
            index_dates: BTreeMap::new(),
            skip_hint: "with --on-bad-row skip such rows are left out and counted",
            on_bad_row: args.on_bad_row,
        })
    }

    /// Every folder that timelines are read from.
    pub fn folders(&self) -> Vec<PathBuf> {
        let sources = std::iter::once(&self.reference).chain(&self.predictions);
        let folders: BTreeSet<&Path> =
            sources.flat_map(|source| source.files.values()).filter_map(|file| file.parent()).collect();
        folders.into_iter().map(Path::to_path_buf).collect()
    }

    /// Reads one case.
    ///
    /// # Errors
    /// A file that cannot be read, or rows that the policy refuses.
    pub fn read(&self, case: &str) -> Result<Case, Failure> {
        let mut warnings = Vec::new();
        let mut read = |source: &Source| -> Result<(Vec<Event>, ReadCounts), Failure> {
            let Some(path) = source.files.get(case) else { return Ok(Default::default()) };
            let bytes =
                fs::read(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
            let rules = ReadRules { on_bad_row: self.on_bad_row, index_date: self.index_dates.get(case).copied() };
            let timeline = read_timeline(&bytes, path, source.format, rules);
            if timeline.problems.iter().any(Problem::is_error) {
                let failure = Failure::problems(&timeline.problems);
                return Err(match self.on_bad_row {
                    BadRowPolicy::Refuse => failure.hint(self.skip_hint),
                    BadRowPolicy::Skip => failure,
                });
            }
            warnings.extend(timeline.problems);
            Ok((timeline.events, timeline.counts))
        };
        let (reference, own) = read(&self.reference)?;
        let (mut predictions, mut all_counts) = (Vec::new(), vec![own]);
        for source in &self.predictions {
            let (events, counts) = read(source)?;
            predictions.push(events);
            all_counts.push(counts);
        }
        Ok(Case { id: case.to_string(), reference, predictions, counts: all_counts, warnings })
    }
}
