//! `assize embed`, `assize rerank`, `assize encode check`.

use crate::cli::args::{EmbedArgs, EncodeCommand, GlobalArgs, RerankArgs, RoleArg};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::signals;
use crate::data::{TextError, TextFormat, TextReader, VectorWriter};
use crate::engine::encode::{Embedder, EncodeError, EncoderSettings, Reranker, Role};
use crate::error::ExitStatus;
use crate::pipelines::encoding::{EmbedSummary, Embedding, EncodingError, RerankSummary, Reranking, ScoredPair, TextPair};
use crate::report::{Cell, Column, Table};
use crate::store::VectorStore;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        let status = match error {
            EncodeError::Setting { .. } => ExitStatus::Usage,
            EncodeError::NotFinite { .. } => ExitStatus::FailedItems,
            _ => ExitStatus::Verification,
        };
        Self::new(status, error)
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Self {
        Self::usage(error)
    }
}

impl From<EncodingError> for Failure {
    fn from(error: EncodingError) -> Self {
        match error {
            EncodingError::Encode(error) => error.into(),
            EncodingError::Store(error) => error.into(),
            EncodingError::Outside(reason) => Self::usage(reason),
            EncodingError::Interrupted => {
                Self::new(ExitStatus::Interrupted, "interrupted; the same command goes on from what is on record")
            }
        }
    }
}

/// `path` with `end` added to its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn cannot_write(path: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::usage(format_args!("cannot write {}: {error}", path.display()))
}

/// Lines or rows of an input, where it is a file: the length of the progress bar.
fn count_lines(path: &Path) -> usize {
    let Ok(file) = File::open(path) else { return 0 };
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut n = 0;
    while let Ok(bytes) = reader.fill_buf() {
        if bytes.is_empty() {
            break;
        }
        n += bytes.iter().filter(|byte| **byte == b'\n').count();
        let length = bytes.len();
        reader.consume(length);
    }
    n
}

pub fn embed(args: &EmbedArgs, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let format = TextFormat::of(&args.input, args.format.as_deref()).map_err(Failure::usage)?;
    let mut texts = TextReader::open(&args.input, &format)?.map(|text| text.map_err(|error| error.to_string()));
    let embedder = Embedder::load(&args.encoder.model, &args.settings())?;
    let mut writer = VectorWriter::create(&args.out, embedder.n_dims()).map_err(cannot_write(&args.out))?;
    let store_dir = args.store.clone().unwrap_or_else(|| beside(&args.out, ".store"));
    let mut store = VectorStore::open(&store_dir, embedder.identity(), embedder.n_dims())?;
    if store.n_damaged() > 0 {
        remarks.say(format_args!("{}: {} damaged vectors are left out and embedded again", store_dir.display(), store.n_damaged()));
    }
    let role = match args.role {
        RoleArg::Document => Role::Document,
        RoleArg::Query => Role::Query { task: args.task.clone() },
    };
    let stop = signals::stop_flag(remarks.quiet).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let started = Instant::now();
    let counted = Counted { doing: "embedding", things: "texts", total: count_lines(&args.input), judge: None };
    let progress = Progress::start(counted, remarks.quiet);
    let run = Embedding { embedder: &embedder, role: &role, store: &mut store, stop: &stop };
    let sink = |vector: &[f32]| writer.push(vector).map_err(|error| format!("cannot write {}: {error}", args.out.display()));
    let summary = run.run(&mut texts, |n| progress.some_done(n), sink);
    drop(progress);
    let summary = summary?;
    writer.finish().map_err(cannot_write(&args.out))?;
    let seconds = started.elapsed().as_secs_f64();
    remarks.say(format_args!(
        "{} texts embedded in {seconds:.2} s: {:.0} texts a second; {} tokens computed, {:.0} a second",
        summary.n_texts,
        summary.n_texts as f64 / seconds,
        summary.n_tokens_computed,
        summary.n_tokens_computed as f64 / seconds
    ));
    if summary.n_cut > 0 {
        remarks.say(format_args!(
            "warning: {} distinct texts were cut: {} tokens and {} characters are not part of their vectors",
            summary.n_cut, summary.n_tokens_cut, summary.n_chars_cut
        ));
    }
    remarks.say(format_args!("vectors: {}", args.out.display()));
    super::print_table(&embed_table(&summary)?, global.json)?;
    Ok(ExitStatus::Ok)
}

fn embed_table(summary: &EmbedSummary) -> Result<Table, Failure> {
    let columns = vec![Column::text("count", "Count"), Column::number("n", "N")];
    let mut table = Table::new("embedded", "Texts embedded", columns)?;
    let rows = [
        ("texts", summary.n_texts),
        ("distinct texts", summary.n_distinct),
        ("of them on record", summary.n_known),
        ("of them computed", summary.n_computed),
        ("duplicates", summary.n_texts - summary.n_distinct),
        ("empty texts", summary.n_empty),
        ("tokens of distinct texts", summary.sum_tokens),
        ("longest in tokens", summary.longest_tokens),
        ("distinct texts cut", summary.n_cut),
        ("tokens cut", summary.n_tokens_cut),
        ("characters cut", summary.n_chars_cut),
    ];
    for (name, n) in rows {
        table.push(vec![name.into(), Cell::count(n)])?;
    }
    Ok(table)
}

/// A line of the input of `rerank`.
#[derive(Deserialize)]
struct PairLine {
    query: String,
    document: String,
    instruction: Option<String>,
    id: Option<serde_json::Value>,
}

fn pairs<'a>(args: &'a RerankArgs) -> Result<impl Iterator<Item = Result<TextPair, String>> + 'a, Failure> {
    let path = &args.input;
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?)
    };
    let lines = BufReader::new(input).lines().enumerate();
    Ok(lines.filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty())).map(|(i, line)| {
        let place = |error: &dyn std::fmt::Display| {
            format!("{}:{}: expected {{\"query\": \"…\", \"document\": \"…\"}}: {error}", path.display(), i + 1)
        };
        let line = line.map_err(|error| place(&error))?;
        let pair: PairLine = serde_json::from_str(&line).map_err(|error| place(&error))?;
        let instruction = pair.instruction.unwrap_or_else(|| args.instruction.clone());
        Ok(TextPair { instruction, query: pair.query, document: pair.document, id: pair.id })
    }))
}

pub fn rerank(args: &RerankArgs, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let mut pairs = pairs(args)?;
    let reranker = Reranker::load(&args.encoder.model, &args.encoder.settings())?;
    let store_dir = args.store.clone().unwrap_or_else(|| beside(&args.out, ".store"));
    let mut store = VectorStore::open(&store_dir, &("rerank", reranker.identity()), Reranking::WIDTH)?;
    let partial = beside(&args.out, ".partial");
    let mut out = BufWriter::new(File::create(&partial).map_err(cannot_write(&args.out))?);
    let stop = signals::stop_flag(remarks.quiet).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let started = Instant::now();
    let counted = Counted { doing: "reranking", things: "pairs", total: count_lines(&args.input), judge: None };
    let progress = Progress::start(counted, remarks.quiet);
    let write = |pair: ScoredPair| {
        let line = serde_json::json!({
            "id": pair.id, "probability": pair.probability, "logit_yes": pair.logit_yes, "logit_no": pair.logit_no,
            "tokens": pair.n_tokens, "tokens_cut": pair.n_tokens_cut,
        });
        writeln!(out, "{line}").map_err(|error| format!("cannot write {}: {error}", args.out.display()))
    };
    let run = Reranking { reranker: &reranker, store: &mut store, stop: &stop };
    let summary = run.run(&mut pairs, |n| progress.some_done(n), write);
    drop(progress);
    let summary = summary?;
    out.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all()).map_err(cannot_write(&args.out))?;
    std::fs::rename(&partial, &args.out).map_err(cannot_write(&args.out))?;
    let seconds = started.elapsed().as_secs_f64();
    remarks.say(format_args!("{} pairs scored in {seconds:.2} s: {:.1} a second", summary.n_pairs, summary.n_pairs as f64 / seconds));
    if summary.n_cut > 0 {
        remarks.say(format_args!("warning: {} pairs were cut by {} tokens in all", summary.n_cut, summary.n_tokens_cut));
    }
    remarks.say(format_args!("scores: {}", args.out.display()));
    super::print_table(&rerank_table(&summary)?, global.json)?;
    Ok(ExitStatus::Ok)
}

fn rerank_table(summary: &RerankSummary) -> Result<Table, Failure> {
    let columns = vec![Column::text("count", "Count"), Column::number("n", "N")];
    let mut table = Table::new("reranked", "Pairs scored", columns)?;
    let rows = [
        ("pairs", summary.n_pairs),
        ("of them computed", summary.n_computed),
        ("their tokens", summary.n_tokens),
        ("of them shared with another pair", summary.n_tokens_shared),
        ("pairs cut", summary.n_cut),
        ("tokens cut", summary.n_tokens_cut),
    ];
    for (name, n) in rows {
        table.push(vec![name.into(), Cell::count(n)])?;
    }
    Ok(table)
}

pub fn encode(command: &EncodeCommand, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let EncodeCommand::Check { encoder, pooling } = command;
    let settings = EncoderSettings { pooling: pooling.map(Into::into), ..encoder.settings() };
    let findings = crate::engine::encode::check(&encoder.model, &settings)?;
    let columns = ["check", "result", "detail"].map(|name| Column::text(name, name));
    let mut table = Table::new("encoder_check", "Conformance of the encoder", columns.to_vec())?;
    for finding in &findings {
        let result = match finding.ok {
            Some(true) => "ok",
            Some(false) => "failed",
            None => "does not apply",
        };
        table.push(vec![finding.check.into(), result.into(), finding.detail.as_str().into()])?;
    }
    super::print_table(&table, global.json)?;
    Ok(if findings.iter().any(|finding| finding.ok == Some(false)) { ExitStatus::Verification } else { ExitStatus::Ok })
}
