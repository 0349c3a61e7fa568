//! Encoders against the reference implementations: golden values of transformers and sentence-transformers on small models with random
//! weights, and on MiniLM where it has been fetched. The files carry their recipe, versions and what each wrong way would cost.

use assize::engine::encode::{Embedder, EncoderSettings, Pair, Pooling, Prepared, Reranker, Role, SpecialText};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Largest absolute error of a vector's element, of a logit and of a probability.
const VECTOR: f64 = 1e-5;
const LOGIT: f64 = 5e-5;
const PROBABILITY: f64 = 1e-5;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoders")
}

fn golden(name: &str) -> Value {
    let path = folder().join(format!("{name}.golden.json"));
    serde_json::from_slice(&std::fs::read(&path).expect("a golden file")).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().expect("a list").iter().map(|x| x.as_u64().expect("an id") as u32).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// The largest error so far, and where.
#[derive(Default)]
struct Worst(f64, String);

impl Worst {
    fn see(&mut self, found: f64, expected: f64, place: impl Fn() -> String) {
        assert!(found.is_finite(), "{} is not finite", place());
        let error = (found - expected).abs();
        if error > self.0 {
            *self = Self(error, place());
        }
    }

    fn require(&self, what: &str, bound: f64) {
        println!("{what}: largest error {:.2e} ({}), bound {bound:.0e}", self.0, self.1);
        assert!(self.0 <= bound, "{what}: {:e} at {} exceeds {bound:e}", self.0, self.1);
    }
}

fn settings() -> EncoderSettings {
    EncoderSettings { threads: 2, special_text: SpecialText::Tokens, ..EncoderSettings::default() }
}

/// Vectors of prepared texts, all at once.
fn embed(embedder: &Embedder, texts: &[Prepared]) -> Vec<f32> {
    embedder.embed(texts, |_| ()).expect("vectors")
}

fn compare(what: &str, vectors: &[f32], expected: &[Vec<f64>], bound: f64) {
    let mut worst = Worst::default();
    let dims = vectors.len() / expected.len();
    for (i, (vector, expected)) in vectors.chunks_exact(dims).zip(expected).enumerate() {
        assert_eq!(vector.len(), expected.len(), "{what}: elements of a vector");
        for (k, (x, y)) in vector.iter().zip(expected).enumerate() {
            worst.see(f64::from(*x), *y, || format!("text {i}, element {k}"));
        }
    }
    worst.require(what, bound);
}

/// Every text by itself and in batches of several sizes and orders.
fn batches_equal_singles(what: &str, model: &Path, settings: &EncoderSettings, texts: &[Prepared]) {
    let embedder = Embedder::load(model, settings).expect("a model");
    let singles: Vec<f32> = texts.iter().flat_map(|text| embed(&embedder, std::slice::from_ref(text))).collect();
    let dims = embedder.n_dims();
    for (batch_tokens, threads) in [(1, 1), (64, 2), (300, 3), (1 << 20, 1)] {
        let embedder = Embedder::load(model, &EncoderSettings { batch_tokens, threads, ..settings.clone() }).expect("a model");
        for turned in [false, true] {
            let mut order: Vec<usize> = (0..texts.len()).collect();
            if turned {
                order.reverse();
            }
            let chosen: Vec<Prepared> = order.iter().map(|i| texts[*i].clone()).collect();
            let vectors = embed(&embedder, &chosen);
            let mut worst = Worst::default();
            for (vector, i) in vectors.chunks_exact(dims).zip(&order) {
                for (x, y) in vector.iter().zip(&singles[i * dims..]) {
                    worst.see(f64::from(*x), f64::from(*y), || format!("text {i}"));
                }
            }
            worst.require(&format!("{what}: batches of {batch_tokens} tokens against single texts"), VECTOR);
        }
    }
}

#[test]
fn bert_is_the_reference() {
    let golden = golden("bert-tiny");
    // Pairs of segments are no texts to embed.
    let items: Vec<&Value> = golden["items"].as_array().expect("items").iter().filter(|item| item.get("pair").is_none()).collect();
    assert!(items.len() > 30);
    for (pooling, key) in [(Pooling::Mean, "mean"), (Pooling::Cls, "cls")] {
        let settings = EncoderSettings { pooling: Some(pooling), normalise: Some(true), ..settings() };
        let model = folder().join("bert-tiny");
        let embedder = Embedder::load(&model, &settings).expect("a model");
        let texts: Vec<&str> = items.iter().map(|item| text(&item["text"])).collect();
        let prepared = embedder.prepare(&texts, &Role::Document).expect("tokens");
        for (prepared, item) in prepared.iter().zip(&items) {
            assert_eq!(prepared.tokens[..], ids(&item["ids"]), "ids of {:?}", item["text"]);
        }
        let expected: Vec<Vec<f64>> = items.iter().map(|item| numbers(&item[key])).collect();
        compare(&format!("bert-tiny, {key}"), &embed(&embedder, &prepared), &expected, VECTOR);
        batches_equal_singles("bert-tiny", &model, &settings, &prepared);
    }
}

#[test]
fn qwen3_embedding_is_the_reference() {
    for name in ["qwen3-embed-tiny", "qwen3-embed-tiny-bf16"] {
        let golden = golden(name);
        let model = folder().join(name);
        let embedder = Embedder::load(&model, &settings()).expect("a model");
        let items = golden["items"].as_array().expect("items");
        let mut prepared = Vec::new();
        for item in items {
            let (role, text) = match item["query"].as_str() {
                Some(query) => (Role::Query { task: text(&item["task"]).into() }, query),
                None => (Role::Document, text(&item["text"])),
            };
            let one = embedder.prepare(&[text], &role).expect("tokens").remove(0);
            assert_eq!(one.tokens[..], ids(&item["ids"]), "{name}: ids of {:?}", item["text"]);
            prepared.push(one);
        }
        let expected: Vec<Vec<f64>> = items.iter().map(|item| numbers(&item["embedding"])).collect();
        compare(name, &embed(&embedder, &prepared), &expected, VECTOR);
        batches_equal_singles(name, &model, &settings(), &prepared);

        for mrl in golden["mrl"].as_array().expect("shorter vectors") {
            let dims = mrl["dims"].as_u64().expect("a number") as usize;
            let settings = EncoderSettings { dims: Some(dims), ..settings() };
            let embedder = Embedder::load(&model, &settings).expect("a model");
            let expected: Vec<Vec<f64>> = mrl["embedding_first_3"].as_array().expect("vectors").iter().map(numbers).collect();
            compare(&format!("{name}, {dims} dimensions"), &embed(&embedder, &prepared[..3]), &expected, VECTOR);
        }
        for cut in golden["truncation"].as_array().expect("cut texts") {
            let max_tokens = cut["max_length"].as_u64().map(|n| n as usize);
            let embedder = Embedder::load(&model, &EncoderSettings { max_tokens, ..settings() }).expect("a model");
            let prepared = embedder.prepare(&[text(&cut["text"])], &Role::Document).expect("tokens");
            assert_eq!(prepared[0].tokens[..], ids(&cut["ids"]));
            assert!(prepared[0].n_tokens_cut > 0);
            compare(&format!("{name}, cut to {max_tokens:?}"), &embed(&embedder, &prepared), &[numbers(&cut["embedding"])], VECTOR);
        }
    }
}

#[test]
fn qwen3_reranking_is_the_reference() {
    for name in ["qwen3-rerank-tiny", "qwen3-rerank-tiny-untied-bf16"] {
        let golden = golden(name);
        let max_tokens = golden["max_length"].as_u64().map(|n| n as usize);
        let settings = EncoderSettings { max_tokens, ..settings() };
        let reranker = Reranker::load(&folder().join(name), &settings).expect("a model");
        assert_eq!(reranker.template(), (&ids(&golden["prefix_ids"])[..], &ids(&golden["suffix_ids"])[..]));
        let items = golden["items"].as_array().expect("items");
        let pair = |item: &'_ Value| -> [String; 3] { ["instruction", "query", "document"].map(|key| text(&item[key]).to_string()) };
        let texts: Vec<[String; 3]> = items.iter().map(pair).collect();
        let pairs: Vec<Pair<'_>> = texts
            .iter()
            .map(|[instruction, query, document]| Pair { instruction, query, document })
            .collect();
        let together = reranker.score(&pairs, |_| ()).expect("scores");
        let alone: Vec<_> = pairs.iter().flat_map(|pair| reranker.score(&[*pair], |_| ()).expect("a score")).collect();
        assert!(together.iter().any(|score| score.n_tokens_shared > 0), "documents of one query share its beginning");
        for (way, scores) in [("together", together), ("one by one", alone)] {
            let (mut logits, mut probabilities) = (Worst::default(), Worst::default());
            for (i, (score, item)) in scores.iter().zip(items).enumerate() {
                let place = || format!("pair {i}");
                logits.see(f64::from(score.logit_yes), item["logit_yes"].as_f64().expect("a number"), place);
                logits.see(f64::from(score.logit_no), item["logit_no"].as_f64().expect("a number"), place);
                probabilities.see(f64::from(score.probability), item["probability"].as_f64().expect("a number"), place);
                assert_eq!(score.n_tokens as usize, ids(&item["ids"]).len(), "pair {i}: tokens");
                assert_eq!(score.n_tokens_cut > 0, item["truncated"] == true, "pair {i}: cut");
            }
            logits.require(&format!("{name}, {way}, logits"), LOGIT);
            probabilities.require(&format!("{name}, {way}, probabilities"), PROBABILITY);
        }
    }
}

#[test]
fn minilm_is_the_reference() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(".models");
    let Some(model) = [model.join("all-minilm-l6-v2")].into_iter().find(|path| path.join("config.json").exists()) else {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: MiniLM is not there; run `make models`\n");
        return;
    };
    let golden = golden("minilm");
    let embedder = Embedder::load(&model, &settings()).expect("a model");
    for key in ["events", "extra"] {
        let items = golden[key].as_array().expect("items");
        let texts: Vec<&str> = items.iter().map(|item| text(&item["text"])).collect();
        let prepared = embedder.prepare(&texts, &Role::Document).expect("tokens");
        for (prepared, item) in prepared.iter().zip(items) {
            assert_eq!(prepared.tokens[..], ids(&item["ids"]), "ids of {:?}", item["text"]);
        }
        let expected: Vec<Vec<f64>> = items.iter().map(|item| numbers(&item["embedding"])).collect();
        compare(&format!("MiniLM, {key}"), &embed(&embedder, &prepared), &expected, VECTOR);
        batches_equal_singles("MiniLM", &model, &settings(), &prepared);
    }
}
