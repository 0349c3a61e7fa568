//! Which distance of event texts `evaluate` uses, and the vectors that it rests on.

use super::corpus::Corpus;
use crate::cli::args::{DistanceName, EvaluateArgs};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::data::TextVectors;
use crate::engine::encode::{Embedder, EncoderSettings, ModelFolder, Role};
use crate::error::ExitStatus;
use crate::pipelines::encoding::Embedding;
use crate::pipelines::evaluate::TextDistance;
use crate::store::VectorStore;
use std::collections::BTreeSet;
use std::path::Path;

/// Most tokens of an event text, as published; a model with fewer positions has fewer.
const MAX_TOKENS: usize = 512;

/// A distance and how results name it.
pub struct Distance {
    pub distance: TextDistance,
    pub shown: String,
}

/// Whether the arguments name one distance, before anything is read.
pub fn check(args: &EvaluateArgs) -> Result<(), Failure> {
    let files = args.vectors.is_some() && args.texts.is_some();
    match (args.distance, &args.model, args.vectors.is_some() || args.texts.is_some()) {
        (DistanceName::Embedding, Some(_), false) => Ok(()),
        (DistanceName::Embedding, None, _) if files => Ok(()),
        (DistanceName::Embedding, ..) => Err(Failure::usage(
            "--distance embedding needs --model FOLDER with an encoder, or --vectors MATRIX (.npy or .safetensors) and --texts FILE with \
             one text a row",
        )),
        (_, None, false) => Ok(()),
        _ => Err(Failure::usage("--model, --vectors and --texts go with --distance embedding")),
    }
}

pub fn distance(args: &EvaluateArgs, corpus: &Corpus, out: &Path, remarks: Remarks) -> Result<Distance, Failure> {
    let distance = match args.distance {
        DistanceName::Exact => TextDistance::Exact,
        DistanceName::Levenshtein => TextDistance::Levenshtein,
        DistanceName::Embedding => match (&args.model, &args.vectors, &args.texts) {
            (Some(model), ..) => return embedded(args, model, corpus, out, remarks),
            (None, Some(vectors), Some(texts)) => {
                TextDistance::Embedding(TextVectors::read(vectors, texts).map_err(Failure::usage)?)
            }
            _ => return Err(Failure::new(ExitStatus::Internal, "arguments that were checked name no vectors")),
        },
    };
    let mut shown = distance.name().to_string();
    for (name, path) in [("vectors", &args.vectors), ("texts", &args.texts)] {
        if let Some(path) = path {
            let hash = crate::models::sha256_of(path)
                .map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", path.display())))?;
            shown = format!("{shown}, {name} sha256 {hash}");
        }
    }
    Ok(Distance { distance, shown })
}

/// Cosine distance of vectors of an encoder: every event text of the corpus once.
///
/// # Source
/// The published matcher: the first 512 characters, at most 512 tokens, masked mean, length 1.
fn embedded(args: &EvaluateArgs, model: &Path, corpus: &Corpus, out: &Path, remarks: Remarks) -> Result<Distance, Failure> {
    let n_positions = ModelFolder::open(model)?.architecture.n_positions();
    let settings = EncoderSettings {
        pooling: Some(args.pooling.into()),
        normalise: Some(true),
        max_tokens: Some(MAX_TOKENS.min(n_positions)),
        max_chars: Some(args.max_chars),
        ..EncoderSettings::default()
    };
    let embedder = Embedder::load(model, &settings)?;
    let mut texts = BTreeSet::new();
    for case in &corpus.cases {
        let case = corpus.read(case)?;
        for timeline in std::iter::once(&case.reference).chain(&case.predictions) {
            texts.extend(timeline.iter().map(|event| event.text.to_string()));
        }
    }
    let texts: Vec<String> = texts.into_iter().collect();
    let store_dir = args.store.clone().unwrap_or_else(|| out.join("vectors"));
    let mut store = VectorStore::open(&store_dir, embedder.identity(), embedder.n_dims())?;
    let mut values = Vec::with_capacity(texts.len() * embedder.n_dims());
    let progress = Progress::start(Counted { doing: "embedding", things: "texts", total: texts.len(), judge: None }, remarks.quiet);
    let stop = Default::default();
    let run = Embedding { embedder: &embedder, role: &Role::Document, store: &mut store, stop: &stop };
    let sink = |vector: &[f32]| {
        values.extend_from_slice(vector);
        Ok(())
    };
    let summary = run.run(&mut texts.iter().map(|text| Ok(text.clone())), |n| progress.some_done(n), sink)?;
    drop(progress);
    if summary.n_cut > 0 {
        remarks.say(format_args!(
            "warning: {} event texts were cut: {} characters, {} tokens",
            summary.n_cut, summary.n_chars_cut, summary.n_tokens_cut
        ));
    }
    let identity = embedder.identity();
    let weights: Vec<&str> = identity.weights.iter().map(|(_, hash)| hash.as_str()).collect();
    let shown = format!(
        "cosine distance of embeddings, weights sha256 {}, {} pooling, first {} characters, at most {} tokens; {} of {} texts cut",
        weights.join(" "),
        crate::engine::encode::Pooling::from(args.pooling),
        args.max_chars,
        identity.max_tokens,
        summary.n_cut,
        summary.n_distinct
    );
    Ok(Distance { distance: TextDistance::Embedding(TextVectors::of(texts, embedder.n_dims(), values)), shown })
}
