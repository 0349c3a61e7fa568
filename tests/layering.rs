//! Layers only look down, and each backend crate has one home.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module names only modules with a smaller number.
const LAYERS: [(&str, u32); 13] = [
    ("cli", 6),
    ("bench", 5),
    ("pipelines", 4),
    ("engine", 3),
    ("measure", 3),
    ("report", 3),
    ("vecops", 2),
    ("store", 1),
    ("data", 1),
    ("models", 1),
    ("prompts", 1),
    ("json", 0),
    ("error", 0),
];

/// A crate and the only folder that may name it.
const HOMES: [(&str, &str); 10] = [
    ("llama_cpp_2", "engine/generate/llama/"),
    ("llama_cpp_sys_2", "engine/generate/llama/"),
    ("llguidance", "engine/generate/llama/"),
    ("candle_core", "engine/encode/"),
    ("candle_nn", "engine/encode/"),
    ("candle_transformers", "engine/encode/"),
    ("cudarc", "vecops/cuda/"),
    ("gemm", "engine/"),
    ("pulp", "engine/"),
    ("indicatif", "cli/progress"),
];

fn rank(module: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, rank)| *rank)
}

/// `source` without comments and white space, so that a path is one run of characters however it is laid out.
fn code_of(source: &str) -> String {
    let lines = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines
        .collect::<Vec<_>>()
        .join(" ")
        .replace("pub mod ", "")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(":: ", "::")
        .replace("{ ", "{")
}

fn name_at(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first names of a path's rest: one, or those of a list in braces (nested lists inside an item are the item's own).
fn first_names(rest: &str) -> Vec<String> {
    let Some(list) = rest.strip_prefix('{') else { return vec![name_at(rest)] };
    let (mut names, mut depth, mut item) = (Vec::new(), 0, String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut item)),
            _ => {}
        }
        if !(c == ',' && depth == 0) {
            item.push(c);
        }
    }
    names.push(item);
    names.iter().map(|name| name_at(name)).filter(|name| !name.is_empty()).collect()
}

/// The modules that a file names by a path from the crate's root, also by climbing to it with `super`.
fn named_modules(path: &str, source: &str) -> BTreeSet<String> {
    let code = code_of(source);
    let mut modules = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        modules.extend(first_names(&code[at + "crate::".len()..]));
    }
    // The module of `a/b/c.rs` lies three levels below the root, that of `a/b/mod.rs` two.
    let depth = path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
    let climb = "super::".repeat(depth);
    for (at, _) in code.match_indices(&climb) {
        modules.extend(first_names(&code[at + climb.len()..]));
    }
    modules
}

/// What is wrong with a file at `path` (relative to `src/`) of this content.
fn faults(path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if let Some(own) = rank(module) {
        for named in named_modules(path, source) {
            if let Some(other) = rank(&named)
                && named != module
                && other >= own
            {
                faults.push(format!("src/{path} names crate::{named}, which is not below {module}"));
            }
        }
    }
    for (name, home) in HOMES {
        let names_it = source.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
        });
        if names_it && !path.starts_with(home) {
            faults.push(format!("src/{path} names {name}, which belongs to src/{home}"));
        }
    }
    faults
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn every_edge_points_down() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 50, "only {} files found", files.len());
    let mut all = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).expect("below src").to_string_lossy().replace('\\', "/");
        all.extend(faults(&relative, &fs::read_to_string(&file).expect("a readable file")));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("lib.rs");
    for module in lib.lines().filter_map(|line| line.strip_prefix("pub mod ")) {
        assert!(rank(module.trim_end_matches(';')).is_some(), "{module} has no layer in this test");
    }
}

#[test]
fn an_edge_that_points_up_or_sideways_is_found() {
    assert_eq!(faults("store/mod.rs", "use crate::engine::Engine;").len(), 1);
    assert_eq!(faults("report/table.rs", "let x = crate::measure::points::charge(f);").len(), 1);
    assert_eq!(faults("engine/mod.rs", "use crate::{store::Store, cli::args};").len(), 1);
    assert_eq!(faults("store/key.rs", "use crate::{\n    // a list\n    cli::args,\n    engine::{Engine, item},\n};").len(), 2);
    assert_eq!(faults("data/id.rs", "use super::super::cli::args::Args;").len(), 1);
    assert_eq!(faults("data/id.rs", "use super::hours::Hours;"), Vec::<String>::new());
    assert_eq!(faults("engine/item.rs", "use llama_cpp_2::model;").len(), 1);
    assert_eq!(faults("pipelines/gavel/judge.rs", "use crate::engine::Engine; // not crate::cli"), Vec::<String>::new());
}
