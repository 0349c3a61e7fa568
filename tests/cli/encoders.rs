//! `embed`, `rerank` and `encode check` as a user runs them, on small models with random weights.

use crate::program::Folder;
use std::path::{Path, PathBuf};

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoders").join(name).display().to_string()
}

/// A copy of a model's folder that a test may spoil.
fn copy(folder: &Folder, name: &str, to: &str) -> PathBuf {
    fn copy_all(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() { copy_all(&path, &to) } else { drop(std::fs::copy(&path, &to).unwrap()) }
        }
    }
    let to = folder.join(to);
    copy_all(Path::new(&model(name)), &to);
    to
}

fn count(table: &serde_json::Value, name: &str) -> u64 {
    let row = table.as_array().unwrap().iter().find(|row| row["count"] == name);
    row.unwrap_or_else(|| panic!("no {name} in {table:#}"))["n"].as_u64().unwrap()
}

#[test]
fn texts_come_back_as_vectors_in_their_order_and_are_embedded_once() {
    let folder = Folder::new();
    folder.write("events.txt", "septic shock\nfever\nseptic shock\n\nrash\n");
    let embed = |out: &str| {
        let bert = model("bert-tiny");
        folder.assize(&["embed", "--model", &bert, "--input", "events.txt", "--out", out, "--store", "kept", "--json"]).exits(0).json()
    };
    let table = embed("one.jsonl");
    assert_eq!([count(&table, "texts"), count(&table, "distinct texts"), count(&table, "of them computed")], [5, 4, 4]);
    assert_eq!([count(&table, "duplicates"), count(&table, "empty texts")], [1, 1]);
    let rows: Vec<Vec<f64>> = folder.read("one.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0], rows[2]);
    assert_ne!(rows[0], rows[1]);
    for row in &rows {
        assert!((row.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-5);
    }
    let again = embed("two.jsonl");
    assert_eq!([count(&again, "of them computed"), count(&again, "of them on record")], [0, 4]);
    assert_eq!(folder.read("one.jsonl"), folder.read("two.jsonl"));
}

#[test]
fn what_is_cut_is_said() {
    let folder = Folder::new();
    folder.write("long.txt", "fever ".repeat(400) + "\n");
    let ran = folder
        .assize(&["embed", "--model", &model("bert-tiny"), "--input", "long.txt", "--out", "v.npy", "--max-chars", "1000"])
        .exits(0);
    ran.says("1 distinct texts were cut").says("1400 characters");
}

#[test]
fn wrong_input_names_the_line_and_keeps_what_was_there() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"text\": \"fever\"}\n{\"txt\": 1}\n").write("v.npy", "old");
    folder
        .assize(&["embed", "--model", &model("bert-tiny"), "--input", "bad.jsonl", "--out", "v.npy"])
        .exits(2)
        .says("bad.jsonl:2");
    assert_eq!(folder.read("v.npy"), "old");
    folder.assize(&["embed", "--model", &model("bert-tiny"), "--input", "bad.jsonl", "--out", "v.parquet"]).exits(2).says(".safetensors");
    folder.assize(&["embed", "--model", "nowhere", "--input", "bad.jsonl", "--out", "v.npy"]).exits(3).says("nowhere/config.json");
}

#[test]
fn pairs_are_scored_in_their_order_and_once() {
    let folder = Folder::new();
    let pair = |query: &str, document: &str| serde_json::json!({"query": query, "document": document, "id": document}).to_string();
    let lines = [pair("septic shock", "hypotension"), pair("fever", "39.2 degrees"), pair("septic shock", "a rash")];
    folder.write("pairs.jsonl", lines.join("\n"));
    let rerank = |out: &str| {
        let qwen = model("qwen3-rerank-tiny");
        folder.assize(&["rerank", "--model", &qwen, "--input", "pairs.jsonl", "--out", out, "--store", "kept", "--json"]).exits(0).json()
    };
    let table = rerank("one.jsonl");
    assert_eq!([count(&table, "pairs"), count(&table, "of them computed")], [3, 3]);
    assert!(count(&table, "of them shared with another pair") > 80, "{table:#}");
    let scores: Vec<serde_json::Value> = folder.read("one.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = scores.iter().map(|score| score["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["hypotension", "39.2 degrees", "a rash"]);
    for score in &scores {
        let probability = score["probability"].as_f64().unwrap();
        let margin = score["logit_yes"].as_f64().unwrap() - score["logit_no"].as_f64().unwrap();
        assert!((probability - 1.0 / (1.0 + (-margin).exp())).abs() < 1e-6, "{score}");
    }
    assert_eq!(count(&rerank("two.jsonl"), "of them computed"), 0);
    assert_eq!(folder.read("one.jsonl"), folder.read("two.jsonl"));
}

#[test]
fn each_small_model_passes_its_self_test() {
    let folder = Folder::new();
    for name in ["bert-tiny", "qwen3-embed-tiny", "qwen3-embed-tiny-bf16", "qwen3-rerank-tiny", "qwen3-rerank-tiny-untied-bf16"] {
        let table = folder.assize(&["encode", "check", "--model", &model(name), "--json"]).exits(0).json();
        let checks = table.as_array().unwrap();
        assert!(checks.len() >= 5, "{table:#}");
        assert!(checks.iter().all(|check| check["result"] != "failed"), "{name}: {table:#}");
    }
}

#[test]
fn broken_folders_are_refused_with_the_file_and_what_is_wrong() {
    let folder = Folder::new();
    let check = |name: &str| folder.assize(&["encode", "check", "--model", name]).exits(3);

    let path = copy(&folder, "bert-tiny", "other-architecture");
    let config = std::fs::read_to_string(path.join("config.json")).unwrap();
    std::fs::write(path.join("config.json"), config.replace("BertModel", "RobertaModel").replace("\"bert\"", "\"roberta\"")).unwrap();
    check("other-architecture").says("RobertaModel").says("config.json");

    let path = copy(&folder, "bert-tiny", "more-layers");
    std::fs::write(path.join("config.json"), config.replace("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4")).unwrap();
    check("more-layers").says("encoder.layer.3.attention.self.query");

    let path = copy(&folder, "bert-tiny", "wider");
    std::fs::write(path.join("config.json"), config.replace("\"intermediate_size\": 128", "\"intermediate_size\": 256")).unwrap();
    check("wider").says("intermediate.dense").says("[128, 64]").says("[256");

    let path = copy(&folder, "bert-tiny", "pickled");
    std::fs::rename(path.join("model.safetensors"), path.join("pytorch_model.bin")).unwrap();
    check("pickled").says("pytorch_model.bin").says("save_file");

    let path = copy(&folder, "bert-tiny", "wrong-pad");
    std::fs::write(path.join("config.json"), config.replace("\"pad_token_id\": 0", "\"pad_token_id\": 7")).unwrap();
    check("wrong-pad").says("[PAD]").says("7");

    let path = copy(&folder, "bert-tiny", "two-poolings");
    let pooling = path.join("1_Pooling/config.json");
    let text = std::fs::read_to_string(&pooling).unwrap();
    std::fs::write(&pooling, text.replace("\"pooling_mode_cls_token\": false", "\"pooling_mode_cls_token\": true")).unwrap();
    check("two-poolings").says("pooling_mode_cls_token").says("pooling_mode_mean_tokens");

    let path = copy(&folder, "qwen3-embed-tiny-bf16", "shard-missing");
    std::fs::remove_file(path.join("model-00002-of-00003.safetensors")).unwrap();
    check("shard-missing").says("model-00002-of-00003.safetensors");
}
