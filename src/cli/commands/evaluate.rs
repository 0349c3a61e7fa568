//! `assize evaluate`: sources against a reference, case by case, a chunk of cases in memory at a time.

mod corpus;

use crate::cli::args::{DistanceName, EvaluateArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::results;
use crate::data::{BadRowPolicy, ReadCounts, TextVectors};
use crate::error::ExitStatus;
use crate::pipelines::evaluate::{
    Compat, EvaluationSettings, FIGURES, MatchedCase, SourceMatches, TextDistance, evaluate, figures, tables,
};
use crate::pipelines::intake_table;
use crate::report::spreadsheet_text;
use corpus::{Case, Corpus};
use rayon::prelude::*;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Cases whose texts and distances are in memory at one time.
const CHUNK: usize = 256;

pub fn run(args: &EvaluateArgs, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let distance = distance(args)?;
    let corpus = Corpus::of(args, remarks)?;
    if !(args.threshold.is_finite() && args.threshold > 0.0) {
        return Err(Failure::usage(format_args!("--threshold: expected a positive number, got {}", args.threshold)));
    }
    let settings =
        EvaluationSettings { threshold: args.threshold, compat: args.compat, n_resamples: args.resamples, seed: args.seed };
    let out = args.out.clone().unwrap_or_else(|| corpus.default_out.clone());
    let inputs = corpus.folders();
    results::refuse_input_folder("--out", &out, &inputs)?;
    if let Some(pairs) = &args.pairs {
        // A name alone stands in the current folder.
        let folder = pairs.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        results::refuse_input_folder("--pairs", folder, &inputs)?;
    }
    results::prepare(&out)?;
    let mut pairs = args.pairs.as_deref().map(PairsFile::create).transpose()?;
    let (sources, counts) = match_all(&corpus, args, &distance, pairs.as_mut(), remarks)?;
    if let Some(pairs) = pairs {
        pairs.finish()?;
    }
    let evaluation = evaluate(&sources, &settings)?;
    let mut all = tables(&sources, &evaluation, &settings)?;
    let names = std::iter::once(&corpus.reference.name).chain(corpus.predictions.iter().map(|source| &source.name));
    let intake = intake_table(&names.cloned().zip(&counts).collect::<Vec<_>>())?;
    all.push(intake.clone());
    let drawn = figures(&sources, &evaluation, settings.threshold, distance.name())?;
    let shown: Vec<(String, String)> = [
        ("reference", corpus.reference.name.clone()),
        ("sources", corpus.predictions.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ")),
        ("distance", distance_shown(args, &distance)?),
        ("matcher", args.matcher.to_string()),
        ("compat", if settings.compat == Compat::Authors { "authors" } else { "paper" }.to_string()),
        ("threshold", settings.threshold.to_string()),
        ("rows that are no events", if corpus.on_bad_row == BadRowPolicy::Skip { "left out" } else { "refused" }.to_string()),
        ("missing timelines", if args.allow_missing { "count as empty" } else { "refused" }.to_string()),
        ("resamples", format!("{} with seed {}, {}", settings.n_resamples, settings.seed, crate::measure::resample::GENERATOR)),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec();
    all.extend(drawn.iter().map(|figure| figure.data.clone()).filter(|data| data.name() != "sweep"));
    results::write_tables(&out, &all, &shown, &[])?;
    for name in FIGURES {
        match drawn.iter().find(|figure| figure.data.name() == name) {
            Some(figure) => results::write_figure(&out, name, Some(&figure.svg))?,
            None => results::remove_figure_and_table(&out, name)?,
        }
    }
    if as_json {
        let rows = |i: usize| all[i].to_json().map(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default());
        let settings: serde_json::Map<_, _> = shown.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        let value = serde_json::json!({"settings": settings, "evaluation": rows(0)?, "comparisons": rows(4)?, "results": out.display().to_string()});
        super::print_out(&format!("{value:#}"))?;
        return Ok(ExitStatus::Ok);
    }
    super::print_out(&shown.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n"))?;
    super::print_out("")?;
    super::print_table(&all[0], false)?;
    super::print_out("")?;
    super::print_table(&all[2], false)?;
    super::print_out("")?;
    super::print_table(&intake, false)?;
    super::print_out(&format!("\nresults: {}", out.display()))?;
    Ok(ExitStatus::Ok)
}

/// The distance with the hashes of the files that it rests on.
fn distance_shown(args: &EvaluateArgs, distance: &TextDistance) -> Result<String, Failure> {
    let mut shown = distance.name().to_string();
    for (name, path) in [("vectors", &args.vectors), ("texts", &args.texts)] {
        if let Some(path) = path {
            let hash = crate::models::sha256_of(path)
                .map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
            shown = format!("{shown}, {name} sha256 {hash}");
        }
    }
    Ok(shown)
}

fn distance(args: &EvaluateArgs) -> Result<TextDistance, Failure> {
    match (args.distance, &args.vectors, &args.texts) {
        (DistanceName::Exact, None, None) => Ok(TextDistance::Exact),
        (DistanceName::Levenshtein, None, None) => Ok(TextDistance::Levenshtein),
        (DistanceName::Embedding, Some(vectors), Some(texts)) => {
            Ok(TextDistance::Embedding(TextVectors::read(vectors, texts).map_err(Failure::usage)?))
        }
        (DistanceName::Embedding, ..) => Err(Failure::usage(
            "--distance embedding needs --vectors MATRIX (.npy or .safetensors) and --texts FILE with one text a row",
        )),
        _ => Err(Failure::usage("--vectors and --texts go with --distance embedding")),
    }
}

/// Matches every case of every source; texts go with their chunk.
fn match_all(
    corpus: &Corpus,
    args: &EvaluateArgs,
    distance: &TextDistance,
    mut pairs: Option<&mut PairsFile>,
    remarks: Remarks,
) -> Result<(Vec<SourceMatches>, Vec<ReadCounts>), Failure> {
    let mut counts = vec![ReadCounts::default(); 1 + corpus.predictions.len()];
    let mut sources: Vec<SourceMatches> = corpus.predictions.iter().map(|source| SourceMatches::new(&source.name)).collect();
    let counted = Counted { doing: "matching", things: "cases", total: corpus.cases.len(), judge: None };
    let progress = Progress::start(counted, remarks.quiet);
    for chunk in corpus.cases.chunks(CHUNK) {
        let matched: Vec<(Case, Vec<MatchedCase>)> = chunk
            .par_iter()
            .map(|case| {
                let case = corpus.read(case)?;
                let matched = case.predictions.iter().map(|prediction| {
                    MatchedCase::new(&case.reference, prediction, distance, args.matcher)
                        .map_err(|error| Failure::usage(format_args!("case {}: {error}", case.id)))
                });
                let matched = matched.collect::<Result<Vec<_>, _>>()?;
                progress.one_done();
                Ok((case, matched))
            })
            .collect::<Result<_, Failure>>()?;
        for (case, matched) in matched {
            for warning in &case.warnings {
                remarks.say(format_args!("warning: {warning}"));
            }
            for (sum, counts) in counts.iter_mut().zip(&case.counts) {
                *sum += counts;
            }
            for ((source, matched), prediction) in sources.iter_mut().zip(matched).zip(&case.predictions) {
                if let Some(pairs) = pairs.as_deref_mut() {
                    for pair in matched.texts(&case.reference, prediction) {
                        pairs.write([&case.id, pair.reference, pair.prediction, &pair.distance.to_string(), &source.name])?;
                    }
                }
                source.push(matched);
            }
        }
    }
    Ok((sources, counts))
}

/// Every matched pair with its texts, for a review of the matcher.
struct PairsFile {
    path: PathBuf,
    out: csv::Writer<BufWriter<File>>,
}

impl PairsFile {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = results::create_private(path)?;
        let mut pairs = Self { path: path.to_path_buf(), out: csv::Writer::from_writer(BufWriter::new(file)) };
        pairs.write(["case", "reference", "prediction", "distance", "source"])?;
        Ok(pairs)
    }

    fn write(&mut self, row: [&str; 5]) -> Result<(), Failure> {
        self.out.write_record(row.map(spreadsheet_text)).map_err(|error| self.failed(&error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::new(ExitStatus::Internal, format_args!("cannot write {}: {error}", self.path.display()))
    }
}
