//! `plan`, and the engine's settings as far as they can be judged without a model.

use crate::program::{Folder, assert_unchanged, tree};
use crate::study::{N_GAMES, WRITTEN, judged_sample, row, sample, two_sources};
use serde_json::{Value, json};

/// A study whose judge is a local one, without its files.
fn local() -> Folder {
    let folder = two_sources(&["case-1", "case-2"]);
    let manifest = folder.read("study.toml").replace("written-replies", "smollm2-135m-instruct");
    folder.write("study.toml", manifest + "model_dir = \"nowhere\"\n");
    folder
}

fn value(plan: &Value, what: &str) -> Value {
    row(&plan["plan"], "what", what)["value"].clone()
}

fn explains(plan: &Value, text: &str) {
    let all = plan["explanations"].to_string();
    assert!(all.contains(text), "{text:?} is not said: {all}");
}

#[test]
fn a_served_judge_gets_items_and_bytes_and_the_study_stays_as_it_is() {
    let folder = sample();
    let before = tree(folder.path());
    let ran = folder.assize(&["plan", WRITTEN, "--json"]).exits(0);
    ran.is_silent();
    let plan = ran.json();
    assert_eq!(value(&plan, "games"), json!(N_GAMES));
    assert_eq!((value(&plan, "items_on_record"), value(&plan, "pending_first_tries")), (json!(0), json!(N_GAMES)));
    // Every prompt holds its report, so the text is more than all reports once a game.
    assert!(value(&plan, "pending_prompt_text").as_u64().is_some_and(|bytes| bytes > 100_000));
    assert!(plan["plan"].as_array().unwrap().iter().all(|row| row["what"] != "hours"), "nothing is guessed");
    explains(&plan, "served elsewhere");
    assert_unchanged(&before, folder.path());
}

#[test]
fn what_is_on_record_is_not_planned_again() {
    let folder = judged_sample();
    let plan = folder.assize(&["plan", WRITTEN, "--json"]).exits(0).json();
    assert_eq!((value(&plan, "items_on_record"), value(&plan, "pending_first_tries")), (json!(N_GAMES), json!(0)));
    assert_eq!(value(&plan, "pending_prompt_text"), 0);
    explains(&plan, "the pending items alone");
}

#[test]
fn without_the_judges_files_the_plan_says_what_is_missing() {
    let folder = local();
    let ran = folder.assize(&["plan", "."]).exits(0);
    assert!(ran.stdout.contains("SmolLM2-135M-Instruct.Q4_1.gguf is missing"), "{}", ran.stdout);
    assert!(ran.stdout.contains("pending_first_tries") && !ran.stdout.contains("prompt_tokens_least"), "{}", ran.stdout);
    ran.hides("fever");
}

#[test]
fn engine_settings_that_cannot_be_are_refused_before_anything_else() {
    let folder = local();
    for (arguments, said) in [
        (&["--kv-cells", "8191"][..], "kv_cells: expected at least the context of 8192 tokens, got 8191"),
        (&["--kv-type", "q8_0", "--flash-attention", "false"], "kv_type = \"q8_0\" needs flash_attention = true, got false"),
        (&["--gpu-layers", "0", "--devices", "0"], "gpu_layers = 0 leaves no layer for devices = [0]"),
        (&["--devices", "4000"], "4000"),
        (&["--gpu-layers", "most"], "expected `all` or a whole number, got `most`"),
        (&["--kv-type", "q5_0"], "expected one of f32, f16, bf16, q8_0, q4_0, got `q5_0`"),
        (&["--split-mode", "tensor"], "expected one of none, layer, row, got `tensor`"),
        (&["--drafts", "maybe"], "--drafts"),
    ] {
        for command in ["check", "plan", "run", "requests"] {
            folder.assize(&[&[command, "."], arguments].concat()).exits(2).says(said);
        }
    }
    folder.assize(&["plan", ".", "--memory", "80G"]).exits(2).says("expected a size as 80GiB, 64GB or a number of bytes");
}

#[test]
fn the_command_line_overrides_the_manifest() {
    let folder = local();
    folder.write("study.toml", folder.read("study.toml") + "kv_type = \"q4_0\"\nflash_attention = false\n");
    folder.assize(&["check", "."]).exits(2).says("kv_type = \"q4_0\" needs flash_attention = true");
    let settings = |arguments: &[&str]| {
        let shown = folder.assize(&[&["check", ".", "--json"], arguments].concat()).exits(0).json();
        shown["settings"]["engine settings"].as_str().unwrap().to_string()
    };
    assert!(settings(&["--flash-attention", "true"]).starts_with("kv_type q4_0, flash attention on"));
    assert!(settings(&["--kv-type", "f32"]).starts_with("kv_type f32, flash attention off"));
    let fast = settings(&["--kv-type", "f32", "--numerics", "fast", "--drafts", "false"]);
    assert!(fast.ends_with("drafts off, sharing on"), "{fast}");
}

#[test]
fn a_setting_that_can_change_a_reply_changes_the_keys() {
    let folder = local();
    let key = |arguments: &[&str]| {
        let lines = folder.assize(&[&["requests", "."], arguments].concat()).exits(0).stdout;
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        first["custom_id"].as_str().unwrap().to_string()
    };
    let plain = key(&[]);
    assert_ne!(key(&["--kv-type", "bf16"]), plain);
    assert_ne!(key(&["--flash-attention", "false"]), plain);
    assert_eq!(key(&["--kv-cells", "9000"]), plain);
    assert_eq!(key(&["--drafts", "false"]), plain, "exact numerics drafts nothing");
    assert_ne!(key(&["--numerics", "fast", "--drafts", "false"]), key(&["--numerics", "fast"]));
    assert_ne!(key(&["--numerics", "fast", "--sharing", "false"]), key(&["--numerics", "fast"]));
}
