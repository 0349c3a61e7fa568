//! The self-test of a model folder: what goes wrong silently with an encoder, looked at before anything rests on it.

use super::embed::{Embedder, Prepared, Role};
use super::error::EncodeError;
use super::folder::{Architecture, ModelFolder};
use super::rerank::{PREFIX, Pair, Reranker, SUFFIX};
use super::settings::EncoderSettings;
use std::path::Path;

/// What a check found; `None` where it does not apply to the model.
#[derive(Debug, Clone)]
pub struct Finding {
    pub check: &'static str,
    pub ok: Option<bool>,
    pub detail: String,
}

/// Largest difference of an element between a text by itself and in a batch.
const ROUNDING: f32 = 1e-5;

/// Texts that encoders have been seen to fail on.
fn odd_texts() -> Vec<(&'static str, String)> {
    vec![
        ("an empty text", String::new()),
        ("white space", " \t\n ".into()),
        ("an emoji", "fever \u{1f912} since \u{1f6b6}\u{200d}\u{2642}\u{fe0f}".into()),
        ("a text that begins with import", "import numpy as np".into()),
        ("600 words", "febrile neutropenia ".repeat(300)),
        ("special-token text", "<|im_end|> [SEP] <|endoftext|>".into()),
        ("an event", "septic shock".into()),
        ("another event", "hospital day 3, creatinine 3.1 mg/dL".into()),
    ]
}

/// Tests the model of a folder: a reranker where its tokenizer adds no end token and it has no pooling, else an embedder.
///
/// # Errors
/// [`EncodeError`] when the folder cannot be loaded at all.
pub fn check(folder: &Path, settings: &EncoderSettings) -> Result<Vec<Finding>, EncodeError> {
    let opened = ModelFolder::open(folder)?;
    let (before, after) = opened.tokenizer.ends();
    let is_reranker = matches!(opened.architecture, Architecture::Qwen3(_)) && after.is_empty() && opened.pooling.pooling.is_none();
    let mut findings = vec![Finding {
        check: "folder",
        ok: Some(true),
        detail: format!("{} of {} weights; every text between {before:?} and {after:?}", kind(&opened, is_reranker), opened.weights.dtype()),
    }];
    if is_reranker {
        drop(opened);
        findings.extend(reranker(folder, settings)?);
    } else {
        findings.push(end_token(&opened));
        drop(opened);
        findings.extend(embedder(folder, settings)?);
    }
    Ok(findings)
}

fn kind(folder: &ModelFolder, is_reranker: bool) -> &'static str {
    match (&folder.architecture, is_reranker) {
        (Architecture::Bert(_), _) => "a BERT embedder",
        (Architecture::Qwen3(_), false) => "a Qwen3 embedder",
        (Architecture::Qwen3(_), true) => "a Qwen3 reranker",
    }
}

fn end_token(folder: &ModelFolder) -> Finding {
    let (_, after) = folder.tokenizer.ends();
    let (ok, detail) = match folder.architecture {
        Architecture::Bert(_) => (None, "BERT has [CLS] and [SEP], which loading checks".to_string()),
        Architecture::Qwen3(_) => {
            let expected = folder.tokenizer.token_id("<|endoftext|>");
            let ok = expected.is_some_and(|id| after == [id]);
            (Some(ok), format!("<|endoftext|> is {expected:?}, the tokenizer appends {after:?}"))
        }
    };
    Finding { check: "end token", ok, detail }
}

fn largest_difference(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

fn within(check: &'static str, largest: f32) -> Finding {
    Finding { check, ok: Some(largest <= ROUNDING), detail: format!("largest difference {largest:.1e}, {ROUNDING:.0e} allowed") }
}

fn embedder(folder: &Path, settings: &EncoderSettings) -> Result<Vec<Finding>, EncodeError> {
    let model = Embedder::load(folder, settings)?;
    let odd = odd_texts();
    let texts: Vec<&str> = odd.iter().map(|(_, text)| text.as_str()).collect();
    let prepared = model.prepare(&texts, &Role::Document)?;
    let mut findings = vec![Finding {
        check: "pooling",
        ok: Some(true),
        detail: format!(
            "{}, {} dimensions, at most {} tokens",
            model.identity().pooling.map(|pooling| pooling.to_string()).unwrap_or_default(),
            model.n_dims(),
            model.identity().max_tokens
        ),
    }];
    let single = |text: &Prepared| model.embed(std::slice::from_ref(text), |_| ());
    let mut singles = Vec::new();
    for ((name, _), text) in odd.iter().zip(&prepared) {
        match single(text) {
            Ok(vector) => singles.extend(vector),
            Err(EncodeError::NotFinite { .. }) => {
                findings.push(Finding { check: "odd texts", ok: Some(false), detail: format!("{name}: not a number") });
                return Ok(findings);
            }
            Err(error) => return Err(error),
        }
    }
    findings.push(Finding { check: "odd texts", ok: Some(true), detail: format!("{} texts, all finite", odd.len()) });
    findings.push(within("batch against single", largest_difference(&model.embed(&prepared, |_| ())?, &singles)));
    let turned: Vec<Prepared> = prepared.iter().rev().cloned().collect();
    let vectors = model.embed(&turned, |_| ())?;
    let back: Vec<f32> = vectors.chunks_exact(model.n_dims()).rev().flatten().copied().collect();
    findings.push(within("another order", largest_difference(&back, &singles)));
    let alone = Embedder::load(folder, &EncoderSettings { threads: 1, batch_tokens: 1, ..settings.clone() })?;
    findings.push(within("one thread", largest_difference(&alone.embed(&prepared, |_| ())?, &singles)));
    findings.push(if model.identity().normalise {
        let length = |vector: &[f32]| vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let worst = singles.chunks_exact(model.n_dims()).map(|vector| (length(vector) - 1.0).abs()).fold(0.0, f64::max);
        Finding { check: "lengths", ok: Some(worst < 1e-5), detail: format!("all 1, largest difference {worst:.1e}") }
    } else {
        Finding { check: "lengths", ok: None, detail: "vectors are not scaled".into() }
    });
    Ok(findings)
}

fn reranker(folder: &Path, settings: &EncoderSettings) -> Result<Vec<Finding>, EncodeError> {
    let model = Reranker::load(folder, settings)?;
    let (prefix, suffix) = model.template();
    let mut findings = vec![
        Finding {
            check: "template",
            ok: Some(true),
            detail: format!("{} and {} bytes, {} and {} tokens", PREFIX.len(), SUFFIX.len(), prefix.len(), suffix.len()),
        },
        Finding { check: "yes and no", ok: Some(true), detail: format!("tokens {:?}, one each", model.answers()) },
    ];
    let odd = odd_texts();
    let pairs: Vec<Pair<'_>> = odd
        .iter()
        .map(|(_, text)| Pair { instruction: super::DEFAULT_INSTRUCTION, query: "septic shock", document: text })
        .collect();
    let together = match model.score(&pairs, |_| ()) {
        Ok(scores) => scores,
        Err(EncodeError::NotFinite { index, .. }) => {
            findings.push(Finding { check: "odd texts", ok: Some(false), detail: format!("{}: not a number", odd[index].0) });
            return Ok(findings);
        }
        Err(error) => return Err(error),
    };
    findings.push(Finding { check: "odd texts", ok: Some(true), detail: format!("{} documents, all finite", odd.len()) });
    let mut largest = 0.0_f32;
    for (pair, score) in pairs.iter().zip(&together) {
        let alone = model.score(std::slice::from_ref(pair), |_| ())?;
        largest = largest.max((alone[0].probability - score.probability).abs());
    }
    findings.push(within("batch against single", largest));
    Ok(findings)
}
