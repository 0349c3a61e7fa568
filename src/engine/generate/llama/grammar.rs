//! GBNF grammars by llama.cpp's own engine. It is written in C++ and trusts its text, so a text that could make it fail otherwise
//! than by saying so is refused before.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// The rule that is the reply.
const ROOT: &str = "root";

/// Longest text. Unit: bytes.
const LONGEST: usize = 64 * 1024;

/// Deepest nesting of parentheses: the reader calls itself for each.
const DEEPEST: usize = 64;

/// The state of a grammar after the reply so far.
pub(super) struct Grammar {
    sampler: LlamaSampler,
}

impl Grammar {
    /// The grammar before the first token.
    ///
    /// # Errors
    /// What is wrong with `text`, as far as it is known.
    pub fn new(model: &LlamaModel, text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("expected a grammar of at most {LONGEST} bytes, got {}", text.len()));
        }
        let depth = text.bytes().scan(0_usize, |depth, byte| {
            match byte {
                b'(' => *depth += 1,
                b')' => *depth = depth.saturating_sub(1),
                _ => {}
            }
            Some(*depth)
        });
        if depth.max().unwrap_or(0) > DEEPEST {
            return Err(format!("expected parentheses at most {DEEPEST} deep"));
        }
        let sampler = LlamaSampler::grammar(model, text, ROOT).map_err(|error| {
            format!("expected a GBNF grammar with a rule `{ROOT}`, without left recursion, got one that cannot be used ({error})")
        })?;
        Ok(Self { sampler })
    }

    /// Whether `token` may follow.
    pub fn allows(&mut self, token: LlamaToken) -> bool {
        let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 0.0, 0.0)], false);
        self.sampler.apply(&mut one);
        one.data.first().is_some_and(|data| data.logit() == 0.0)
    }

    /// The tokens that may follow, with their logits.
    pub fn allowed(&mut self, logits: &[f32]) -> Vec<(usize, f32)> {
        let data = (0..).zip(logits).map(|(id, logit)| LlamaTokenData::new(LlamaToken(id), *logit, 0.0));
        let mut all = LlamaTokenDataArray::from_iter(data, false);
        self.sampler.apply(&mut all);
        let kept = all.data.iter().filter(|data| data.logit() > f32::NEG_INFINITY);
        kept.filter_map(|data| Some((usize::try_from(data.id().0).ok()?, data.logit()))).collect()
    }

    /// Moves on by `token`, which may follow.
    pub fn consume(&mut self, token: LlamaToken) -> Result<(), String> {
        self.sampler.try_accept(token).map_err(|error| format!("constraint: the grammar refuses a token it allowed: {error}"))
    }
}
