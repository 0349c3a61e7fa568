//! Vectors of a list of texts, in its order.

use super::{EncodingError, WINDOW};
use crate::engine::encode::{Embedder, Prepared, Role};
use crate::store::{VectorKey, VectorStore};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a list of texts was like, and what it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedSummary {
    pub n_texts: usize,
    pub n_distinct: usize,
    /// Distinct texts that were on record.
    pub n_known: usize,
    pub n_computed: usize,
    /// Tokens of the texts computed, the ends included.
    pub n_tokens_computed: usize,
    pub n_empty: usize,
    /// Of distinct texts, the ends included.
    pub longest_tokens: usize,
    pub sum_tokens: usize,
    /// Distinct texts that lost tokens or characters, and how many.
    pub n_cut: usize,
    pub n_tokens_cut: usize,
    pub n_chars_cut: usize,
}

/// A run over a list of texts.
pub struct Embedding<'a> {
    pub embedder: &'a Embedder,
    pub role: &'a Role,
    pub store: &'a mut VectorStore,
    pub stop: &'a AtomicBool,
}

/// Texts that were read together.
#[derive(Default)]
struct Window {
    keys: Vec<VectorKey>,
    n_empty: usize,
    /// Distinct texts that are not on record.
    new: Vec<VectorKey>,
    prepared: Vec<Prepared>,
}

/// Texts whose vectors are asked for, as they come.
pub type Texts<'t> = dyn Iterator<Item = Result<String, String>> + Send + 't;

impl Embedding<'_> {
    /// Gives every text's vector to `sink`, in order; `done` hears how many texts are through.
    ///
    /// While a window is computed the next one is read and tokenised.
    ///
    /// # Errors
    /// [`EncodingError`]; vectors computed before are on record.
    pub fn run(
        self,
        texts: &mut Texts<'_>,
        done: impl Fn(usize) + Sync,
        mut sink: impl FnMut(&[f32]) -> Result<(), String>,
    ) -> Result<EmbedSummary, EncodingError> {
        let mut summary = EmbedSummary::default();
        let mut seen: Vec<u64> = Vec::new();
        let mut row = vec![0.0; self.embedder.n_dims()];
        let mut window = read(self.embedder, self.role, self.store, &[], texts)?;
        while !window.keys.is_empty() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(EncodingError::Interrupted);
            }
            let store: &VectorStore = self.store;
            let (vectors, next) = std::thread::scope(|scope| {
                let (embedder, role, pending) = (self.embedder, self.role, &window.new);
                let ahead = scope.spawn(|| read(embedder, role, store, pending, texts));
                let vectors = embedder.embed(&window.prepared, |_| ());
                (vectors, ahead.join().expect("reading ahead does not panic"))
            });
            let counts: Vec<_> =
                window.prepared.iter().map(|text| [text.tokens.len() as u32, text.n_tokens_cut, text.n_chars_cut]).collect();
            self.store.append(&window.new, &counts, &vectors?)?;
            summary.n_texts += window.keys.len();
            summary.n_empty += window.n_empty;
            summary.n_computed += window.new.len();
            summary.n_tokens_computed += window.prepared.iter().map(|text| text.tokens.len()).sum::<usize>();
            for key in &window.keys {
                let counts = self.store.get(key, &mut row)?.expect("every text of the window is on record by now");
                let at = self.store.row(key).expect("a row that was just read");
                if at / 64 >= seen.len() {
                    seen.resize(at / 64 + 1, 0);
                }
                if seen[at / 64] & (1 << (at % 64)) == 0 {
                    seen[at / 64] |= 1 << (at % 64);
                    summary.see(counts.map(|n| n as usize));
                }
                sink(&row).map_err(EncodingError::Outside)?;
            }
            done(window.keys.len());
            window = next?;
        }
        summary.n_known = summary.n_distinct - summary.n_computed;
        Ok(summary)
    }
}

impl EmbedSummary {
    fn see(&mut self, [n_tokens, n_tokens_cut, n_chars_cut]: [usize; 3]) {
        self.n_distinct += 1;
        self.sum_tokens += n_tokens;
        self.longest_tokens = self.longest_tokens.max(n_tokens);
        self.n_cut += usize::from(n_tokens_cut + n_chars_cut > 0);
        self.n_tokens_cut += n_tokens_cut;
        self.n_chars_cut += n_chars_cut;
    }
}

/// The name that tells a text's roles apart in its key.
fn role_name(role: &Role) -> String {
    match role {
        Role::Document => "document".into(),
        Role::Query { task } => format!("query: {task}"),
    }
}

/// The next texts; what is on record or `pending` is not tokenised.
fn read(
    embedder: &Embedder,
    role: &Role,
    store: &VectorStore,
    pending: &[VectorKey],
    texts: &mut Texts<'_>,
) -> Result<Window, EncodingError> {
    let name = role_name(role);
    let mut known: HashSet<VectorKey> = pending.iter().copied().collect();
    let mut window = Window::default();
    let mut new = Vec::new();
    for text in texts.take(WINDOW) {
        let text = text.map_err(EncodingError::Outside)?;
        let key = VectorKey::of(&name, &text);
        window.n_empty += usize::from(text.is_empty());
        window.keys.push(key);
        if !store.contains(&key) && known.insert(key) {
            window.new.push(key);
            new.push(text);
        }
    }
    window.prepared = embedder.prepare(&new, role)?;
    Ok(window)
}
