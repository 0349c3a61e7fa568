//! Scores of documents for a query by a Qwen3 reranker.
//!
//! The model is asked for "yes" or "no"; only those two rows of its output head are used. Documents of one query begin with the same
//! instruction and query, whose keys and values are computed once.
//!
//! # Source
//! Qwen3 Embedding, arXiv:2506.05176; prompt and cut as in the model card of Qwen3-Reranker.

use super::embed::{check_device, identity, pool};
use super::error::EncodeError;
use super::folder::{Architecture, ModelFolder, SpecialText, TextTokenizer};
use super::packed::{Packed, batches};
use super::qwen3::{Beginning, Qwen3};
use super::settings::{EncoderIdentity, EncoderSettings};
use rayon::prelude::*;
use std::path::Path;

/// What stands before the instruction.
pub const PREFIX: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct \
                          provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";

/// What stands after the document.
pub const SUFFIX: &str = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

/// The instruction that the model card gives where a user has none.
pub const DEFAULT_INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";

/// Most tokens of a prompt, where settings name none.
const MAX_TOKENS: usize = 8_192;

/// A document for a query.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub instruction: &'a str,
    pub query: &'a str,
    pub document: &'a str,
}

/// How well a document answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Of "yes" against "no": `1 / (1 + exp(no - yes))`.
    pub probability: f32,
    pub logit_yes: f32,
    pub logit_no: f32,
    pub n_tokens: u32,
    pub n_tokens_cut: u32,
    /// Tokens of the prompt that were computed once for several documents.
    pub n_tokens_shared: u32,
}

/// A reranking model.
pub struct Reranker {
    network: Qwen3,
    tokenizer: TextTokenizer,
    /// Rows of the output head: yes, no.
    head: [Vec<f32>; 2],
    answers: [usize; 2],
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    identity: EncoderIdentity,
    batch_tokens: usize,
    pool: rayon::ThreadPool,
}

/// The prompt of a pair in tokens.
struct Prompt {
    tokens: Vec<u32>,
    n_cut: usize,
}

impl Reranker {
    /// Loads the model of a folder.
    ///
    /// # Errors
    /// [`EncodeError`] naming file, finding and remedy.
    pub fn load(folder: &Path, settings: &EncoderSettings) -> Result<Self, EncodeError> {
        check_device(settings)?;
        let folder = ModelFolder::open(folder)?;
        let not = |reason: String| EncodeError::NotAReranker { path: folder.path.clone(), reason };
        let Architecture::Qwen3(config) = &folder.architecture else {
            return Err(not("config.json describes a BERT; Qwen3 rerankers are computed here".into()));
        };
        let (before, after) = folder.tokenizer.ends();
        if !before.is_empty() || !after.is_empty() {
            return Err(not(format!(
                "its tokenizer puts {before:?} before and {after:?} after every text, as an embedding model's does; use the reranker's own"
            )));
        }
        let one = |word: &str| -> Result<usize, EncodeError> {
            match folder.tokenizer.encode(word, SpecialText::Plain)?[..] {
                [id] => Ok(id as usize),
                ref ids => Err(not(format!("`{word}` is {} tokens in its vocabulary, one is needed", ids.len()))),
            }
        };
        let (yes, no) = (one("yes")?, one("no")?);
        let template = |text: &str| folder.tokenizer.encode(text, SpecialText::Tokens);
        let (prefix, suffix) = (template(PREFIX)?, template(SUFFIX)?);
        let settings = EncoderSettings {
            max_tokens: Some(settings.max_tokens.unwrap_or(MAX_TOKENS.min(config.max_position_embeddings))),
            ..settings.clone()
        };
        let identity = identity(&folder, &settings, None)?;
        if identity.max_tokens <= prefix.len() + suffix.len() {
            return Err(EncodeError::Setting {
                setting: "max_tokens",
                reason: format!("{} given; the template alone has {}", identity.max_tokens, prefix.len() + suffix.len()),
            });
        }
        let shape = [config.vocab_size, config.hidden_size];
        let name = match (config.tie_word_embeddings, folder.weights.has("lm_head.weight")) {
            (true, _) => "embed_tokens.weight",
            (false, true) => "lm_head.weight",
            (false, false) => return Err(not("lm_head.weight is missing and tie_word_embeddings is false".into())),
        };
        let whole = folder.weights.tensor(name, &shape)?;
        let head = [yes, no].map(|row| whole[row * config.hidden_size..][..config.hidden_size].to_vec());
        drop(whole);
        Ok(Self {
            network: Qwen3::load(config, &folder.weights)?,
            head,
            answers: [yes, no],
            prefix,
            suffix,
            identity,
            batch_tokens: settings.batch_tokens,
            pool: pool(&settings)?,
            tokenizer: folder.tokenizer,
        })
    }

    pub fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    /// Tokens of the template before and after the body.
    pub fn template(&self) -> (&[u32], &[u32]) {
        (&self.prefix, &self.suffix)
    }

    /// Token ids of yes and no.
    pub fn answers(&self) -> [usize; 2] {
        self.answers
    }

    fn prompt(&self, pair: &Pair<'_>) -> Result<Prompt, EncodeError> {
        let body = format!("<Instruct>: {}\n<Query>: {}\n<Document>: {}", pair.instruction, pair.query, pair.document);
        let body = self.tokenizer.encode(&body, self.identity.special_text)?;
        let kept = body.len().min(self.identity.max_tokens - self.prefix.len() - self.suffix.len());
        Ok(Prompt { tokens: [&self.prefix[..], &body[..kept], &self.suffix].concat(), n_cut: body.len() - kept })
    }

    /// Scores in the order of `pairs`; `done` hears of each batch how many pairs it had.
    ///
    /// # Errors
    /// [`EncodeError::NotFinite`].
    pub fn score(&self, pairs: &[Pair<'_>], done: impl Fn(usize) + Sync) -> Result<Vec<Score>, EncodeError> {
        let prompts: Vec<Prompt> = self.pool.install(|| pairs.par_iter().map(|pair| self.prompt(pair)).collect::<Result<_, _>>())?;
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by_key(|i| (pairs[*i].instruction, pairs[*i].query));
        let groups: Vec<&[usize]> = order.chunk_by(|a, b| (pairs[*a].instruction, pairs[*a].query) == (pairs[*b].instruction, pairs[*b].query)).collect();
        let scored: Vec<Vec<(usize, Score)>> = self.pool.install(|| {
            groups.par_iter().with_max_len(1).map(|group| self.score_group(group, &prompts, &done)).collect::<Result<_, _>>()
        })?;
        let mut out = vec![None; pairs.len()];
        for (index, score) in scored.into_iter().flatten() {
            out[index] = Some(score);
        }
        Ok(out.into_iter().map(|score| score.expect("every pair is in one group")).collect())
    }

    /// Pairs of one query: what their prompts begin with together is computed once.
    fn score_group(&self, group: &[usize], prompts: &[Prompt], done: &(impl Fn(usize) + Sync)) -> Result<Vec<(usize, Score)>, EncodeError> {
        let tokens = |i: usize| &prompts[i].tokens[..];
        let first = tokens(group[0]);
        let shared = match group {
            [_] => 0,
            _ => group.iter().map(|i| common(first, tokens(*i)).min(tokens(*i).len() - 1)).min().unwrap_or(0),
        };
        let beginning = if shared > 0 { self.network.begin(&first[..shared]) } else { Beginning::default() };
        let lengths: Vec<usize> = group.iter().map(|i| tokens(*i).len() - shared).collect();
        let width = self.head[0].len();
        let compute = |batch: &Vec<usize>| -> Result<Vec<(usize, Score)>, EncodeError> {
            let packed = Packed::new(batch.iter().map(|place| &tokens(group[*place])[shared..]));
            let hidden = self.network.last_hidden(&packed, &beginning);
            let score = |(place, hidden): (&usize, &[f32])| {
                let index = group[*place];
                let [yes, no] = [0, 1].map(|row: usize| {
                    let sum: f64 = self.head[row].iter().zip(hidden).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                    sum as f32
                });
                let probability = 1.0 / (1.0 + f64::from(no - yes).exp());
                if !yes.is_finite() || !no.is_finite() {
                    return Err(EncodeError::NotFinite { index, n_tokens: tokens(index).len(), what: "score" });
                }
                let count = |n: usize| n as u32;
                Ok((index, Score {
                    probability: probability as f32,
                    logit_yes: yes,
                    logit_no: no,
                    n_tokens: count(tokens(index).len()),
                    n_tokens_cut: count(prompts[index].n_cut),
                    n_tokens_shared: count(shared),
                }))
            };
            let scores = batch.iter().zip(hidden.chunks_exact(width)).map(score).collect();
            done(batch.len());
            scores
        };
        let scores: Vec<Vec<_>> = batches(&lengths, self.batch_tokens).par_iter().with_max_len(1).map(compute).collect::<Result<_, _>>()?;
        Ok(scores.into_iter().flatten().collect())
    }
}

fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
