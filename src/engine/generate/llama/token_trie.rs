//! The judge's vocabulary as the constraint library wants it: all tokens by their bytes, and text to tokens by the judge's own
//! tokenizer, so that forced text becomes the tokens that the judge would write.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::toktrie::{TokEnv, TokTrie, TokenId, TokenizerEnv};
use std::sync::Arc;

/// Texts that reply constraints force or that stand at their seams; a tokenizer that changes one of them forces nothing.
const SAMPLES: [&str; 6] = ["{\"findings\":[", "\"a_row\":", "null,\"b_row\":12", "}]}", " two words", "é – ×"];

struct Vocabulary {
    trie: TokTrie,
    model: Arc<LlamaModel>,
    /// Whether tokenising a text and joining the tokens' bytes gives the text: not so where a tokenizer adds a space in front.
    round_trips: bool,
}

/// The vocabulary of `model`.
pub(super) fn token_trie(model: &Arc<LlamaModel>) -> TokEnv {
    let trie = LlamaSampler::llguidance_tok_env(model).tok_trie().clone();
    let mut vocabulary = Vocabulary { trie, model: Arc::clone(model), round_trips: false };
    vocabulary.round_trips = SAMPLES.iter().all(|text| {
        let tokens = vocabulary.tokenize_bytes(text.as_bytes());
        vocabulary.trie.decode_raw(&tokens) == text.as_bytes()
    });
    if !vocabulary.round_trips {
        tracing::info!("this judge's tokenizer does not give texts back as they were: forced text is chosen token by token");
    }
    Arc::new(vocabulary)
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        self.model.vocab().tokenize(text, false, false).into_iter().map(|token| token.0.cast_unsigned()).collect()
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.round_trips
    }
}
