//! `tokenizer.json`, or `vocab.txt` of a BERT: texts to token ids.
//!
//! Padding and truncation stored in the file are not followed: lengths are the engine's business, and files carry what somebody once
//! exported (MiniLM's says 128 where its card says 256). The text of a special token inside a document stays text unless asked for.

use super::super::error::{EncodeError, read};
use super::config::Architecture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer};

/// What becomes of special-token text (such as `<|im_end|>`) in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecialText {
    /// It is tokenised like any other text.
    #[default]
    Plain,
    /// It becomes the token, as Hugging Face's tokenizers do by default.
    Tokens,
}

/// A folder's tokenizer.
#[derive(Debug)]
pub struct TextTokenizer {
    path: PathBuf,
    with_tokens: Tokenizer,
    plain: Tokenizer,
    before: Vec<u32>,
    after: Vec<u32>,
    sha256: String,
}

/// Texts that tell what stands around a text.
const SAMPLES: [&str; 3] = ["a", "fever, 39.2 degrees", ""];

impl TextTokenizer {
    /// Reads the tokenizer of a folder and checks its ids against the architecture.
    ///
    /// # Errors
    /// [`EncodeError`] naming the file and what disagrees.
    pub fn open(folder: &Path, architecture: &Architecture) -> Result<Self, EncodeError> {
        let (json, words) = (folder.join("tokenizer.json"), folder.join("vocab.txt"));
        let (path, bytes, with_tokens, plain) = if json.exists() || !words.exists() {
            let bytes = read(&json)?;
            let with_tokens = parse(&json, &bytes)?;
            let plain = parse(&json, &without_added_tokens(&json, &bytes)?)?;
            (json, bytes, with_tokens, plain)
        } else {
            let bytes = read(&words)?;
            let lower_case = lower_case(folder)?;
            let [with_tokens, plain] = [true, false].map(|special| word_pieces(&words, lower_case, special));
            (words, bytes, with_tokens?, plain?)
        };
        let mut tokenizer = Self {
            sha256: Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
            path,
            with_tokens,
            plain,
            before: Vec::new(),
            after: Vec::new(),
        };
        tokenizer.find_ends()?;
        tokenizer.check(architecture)?;
        Ok(tokenizer)
    }

    fn find_ends(&mut self) -> Result<(), EncodeError> {
        let mut found: Option<(Vec<u32>, Vec<u32>)> = None;
        for sample in SAMPLES {
            let bare = ids(&self.path, &self.with_tokens, sample, false)?;
            let whole = ids(&self.path, &self.with_tokens, sample, true)?;
            let at = (0..=whole.len() - bare.len().min(whole.len())).find(|at| whole[*at..].starts_with(&bare));
            let Some(mut at) = at else { return Err(EncodeError::invalid(&self.path, "its post-processor changes the text's own tokens")) };
            if bare.is_empty() {
                // Where the text stands among the ends is known from the samples before.
                at = found.as_ref().map_or(0, |(before, _)| before.len());
            }
            let ends = (whole[..at].to_vec(), whole[at + bare.len()..].to_vec());
            if found.as_ref().is_some_and(|known| *known != ends) {
                return Err(EncodeError::invalid(&self.path, "its post-processor adds other tokens around other texts"));
            }
            found = Some(ends);
        }
        (self.before, self.after) = found.unwrap_or_default();
        Ok(())
    }

    fn check(&self, architecture: &Architecture) -> Result<(), EncodeError> {
        let most = self.with_tokens.get_vocab(true).values().copied().max().unwrap_or(0) as usize;
        if most >= architecture.vocab_size() {
            let reason = format!(
                "its largest token id is {most}, and config.json's vocab_size is {}; tokenizer and weights are of different models",
                architecture.vocab_size()
            );
            return Err(EncodeError::invalid(&self.path, reason));
        }
        if let Architecture::Bert(config) = architecture {
            let pad = self.token_id("[PAD]");
            if let (Some(pad), Some(expected)) = (pad, config.pad_token_id)
                && pad != expected
            {
                let reason = format!("[PAD] is token {pad}, and config.json's pad_token_id is {expected}");
                return Err(EncodeError::invalid(&self.path, reason));
            }
            let ends = [("[CLS]", &self.before), ("[SEP]", &self.after)];
            for (name, around) in ends {
                if self.token_id(name).is_none_or(|id| around[..] != [id]) {
                    let reason = format!("a text is not put between [CLS] and [SEP]: {name} expected, ids {around:?} found");
                    return Err(EncodeError::invalid(&self.path, reason));
                }
            }
        }
        Ok(())
    }

    /// Ids of a text, nothing added around it.
    ///
    /// # Errors
    /// [`EncodeError`] when the tokenizer cannot take it.
    pub fn encode(&self, text: &str, special: SpecialText) -> Result<Vec<u32>, EncodeError> {
        let tokenizer = match special {
            SpecialText::Plain => &self.plain,
            SpecialText::Tokens => &self.with_tokens,
        };
        ids(&self.path, tokenizer, text, false)
    }

    /// What stands before and after every text.
    pub fn ends(&self) -> (&[u32], &[u32]) {
        (&self.before, &self.after)
    }

    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.with_tokens.token_to_id(token)
    }

    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn ids(path: &Path, tokenizer: &Tokenizer, text: &str, ends: bool) -> Result<Vec<u32>, EncodeError> {
    let encoding = tokenizer.encode_fast(text, ends).map_err(|error| EncodeError::invalid(path, error))?;
    Ok(encoding.get_ids().to_vec())
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Tokenizer, EncodeError> {
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| EncodeError::invalid(path, error))?;
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).map_err(|error| EncodeError::invalid(path, error))?;
    Ok(tokenizer)
}

/// The file without the tokens that are looked for in a text before anything else; runs of white space stay, which are how a model
/// reads plain text.
fn without_added_tokens(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut value: Value = serde_json::from_slice(bytes).map_err(|error| EncodeError::invalid(path, error))?;
    if let Some(added) = value["added_tokens"].as_array_mut() {
        added.retain(|token| token["content"].as_str().is_some_and(|text| text.trim().is_empty()));
    }
    Ok(value.to_string().into_bytes())
}

/// Whether a BERT with `vocab.txt` lowers its texts.
fn lower_case(folder: &Path) -> Result<bool, EncodeError> {
    let path = folder.join("tokenizer_config.json");
    let config: Value = serde_json::from_slice(&read(&path)?).map_err(|error| EncodeError::invalid(&path, error))?;
    config["do_lower_case"].as_bool().ok_or_else(|| EncodeError::invalid(&path, "do_lower_case is missing, which vocab.txt alone does not tell"))
}

fn word_pieces(path: &Path, lower_case: bool, special: bool) -> Result<Tokenizer, EncodeError> {
    let invalid = |error: tokenizers::Error| EncodeError::invalid(path, error);
    let name = path.to_str().ok_or_else(|| EncodeError::invalid(path, "the path is not UTF-8"))?;
    let pieces = WordPiece::from_file(name).unk_token("[UNK]".into()).build().map_err(invalid)?;
    let mut tokenizer = Tokenizer::new(pieces);
    let id = |token: &str| {
        let id = tokenizer.token_to_id(token);
        id.ok_or_else(|| EncodeError::invalid(path, format!("{token} is missing")))
    };
    let (cls, sep) = (id("[CLS]")?, id("[SEP]")?);
    tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, lower_case))).map_err(invalid)?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(BertProcessing::new(("[SEP]".into(), sep), ("[CLS]".into(), cls))));
    if special {
        let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(|token| AddedToken::from(token, true));
        tokenizer.add_special_tokens(tokens).map_err(invalid)?;
    }
    Ok(tokenizer)
}
