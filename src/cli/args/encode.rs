//! Arguments of `embed`, `rerank` and `encode`.

use crate::engine::encode::{Device, EncoderSettings, Pooling, SpecialText};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// How an encoder is held.
#[derive(Debug, Args)]
pub struct EncoderArgs {
    /// Folder of the model in Hugging Face layout: config.json, model.safetensors, tokenizer.json
    #[arg(long, value_name = "DIR")]
    pub model: PathBuf,
    /// Most tokens of a text, ends or template included (default: as the model says)
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// Make tokens of special-token text such as <|im_end|> inside a text, as Hugging Face does
    #[arg(long)]
    pub special_tokens_in_text: bool,
    /// CPU threads (default: all cores)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Token rows that a thread computes together
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub batch_tokens: usize,
    /// Where to compute: cpu or cuda:N
    #[arg(long, default_value = "cpu", value_parser = device)]
    pub device: Device,
}

fn device(text: &str) -> Result<Device, String> {
    match text.strip_prefix("cuda:").map(str::parse) {
        Some(Ok(index)) => Ok(Device::Cuda(index)),
        _ if text == "cuda" => Ok(Device::Cuda(0)),
        _ if text == "cpu" => Ok(Device::Cpu),
        _ => Err("expected cpu, cuda or cuda:N".into()),
    }
}

impl EncoderArgs {
    pub fn settings(&self) -> EncoderSettings {
        let default = EncoderSettings::default();
        EncoderSettings {
            max_tokens: self.max_tokens,
            special_text: if self.special_tokens_in_text { SpecialText::Tokens } else { SpecialText::Plain },
            threads: self.threads.unwrap_or(default.threads),
            batch_tokens: self.batch_tokens,
            device: self.device,
            ..default
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PoolingArg {
    Mean,
    Cls,
    LastToken,
}

impl From<PoolingArg> for Pooling {
    fn from(pooling: PoolingArg) -> Self {
        match pooling {
            PoolingArg::Mean => Self::Mean,
            PoolingArg::Cls => Self::Cls,
            PoolingArg::LastToken => Self::LastToken,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    Document,
    Query,
}

#[derive(Debug, Args)]
pub struct EmbedArgs {
    #[command(flatten)]
    pub encoder: EncoderArgs,
    /// Texts: .txt (one a line), .jsonl ({"text": …}), a CSV with --format csv:COLUMN; `-` is stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub input: PathBuf,
    /// Form of the input where its name does not tell: txt, jsonl or csv:COLUMN
    #[arg(long, value_name = "FORM")]
    pub format: Option<String>,
    /// Vectors in the order of the texts: a name that ends in .npy, .safetensors or .jsonl
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Whether the texts are what is searched or what is asked
    #[arg(long, value_enum, default_value_t = RoleArg::Document)]
    pub role: RoleArg,
    /// What a query is for; part of the text that a Qwen3 model reads
    #[arg(long, value_name = "TEXT", default_value = "Given a web search query, retrieve relevant passages that answer the query")]
    pub task: String,
    /// Which tokens make the vector (default: as the model says)
    #[arg(long, value_enum)]
    pub pooling: Option<PoolingArg>,
    /// Keep this many first elements, scaled to length 1 anew
    #[arg(long, value_name = "N")]
    pub dims: Option<usize>,
    /// Most characters of a text (S-PubMedBert as published: 512)
    #[arg(long, value_name = "N")]
    pub max_chars: Option<usize>,
    /// Leave vectors as long as they are
    #[arg(long)]
    pub no_normalise: bool,
    /// Folder where vectors are kept for later runs (default: the output's name with .store)
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl EmbedArgs {
    pub fn settings(&self) -> EncoderSettings {
        EncoderSettings {
            pooling: self.pooling.map(Into::into),
            dims: self.dims,
            normalise: self.no_normalise.then_some(false),
            max_chars: self.max_chars,
            ..self.encoder.settings()
        }
    }
}

#[derive(Debug, Args)]
pub struct RerankArgs {
    #[command(flatten)]
    pub encoder: EncoderArgs,
    /// Pairs as JSON lines: {"query": …, "document": …}, with "instruction" and "id" where wanted; `-` is stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub input: PathBuf,
    /// Scores as JSON lines in the order of the pairs
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Instruction of pairs that have none
    #[arg(long, value_name = "TEXT", default_value = crate::engine::encode::DEFAULT_INSTRUCTION)]
    pub instruction: String,
    /// Folder where scores are kept for later runs (default: the output's name with .store)
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum EncodeCommand {
    /// Test a model folder: end tokens, template, yes and no, batches against single texts, odd texts, lengths
    #[command(after_help = "Example:\n  assize encode check --model .models/all-minilm-l6-v2")]
    Check {
        #[command(flatten)]
        encoder: EncoderArgs,
        /// Which tokens make the vector (default: as the model says)
        #[arg(long, value_enum)]
        pooling: Option<PoolingArg>,
    },
}

