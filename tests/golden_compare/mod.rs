//! The one comparison of computed values with golden ones.
//!
//! Both sides are JSON: shapes, names, truth values and nulls must be the same, numbers must be finite and
//! within tolerance, and the worst number is named by its path.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// One case of a golden file.
pub struct Case {
    pub id: String,
    pub input: Value,
    /// What must come out, remarks removed.
    pub expected: Value,
}

/// A golden file.
pub struct Golden {
    pub tolerance: Value,
    pub cases: Vec<Case>,
}

impl Golden {
    /// Reads `tests/golden/<computation>.json`. Files that hold texts of public annotations are not part of the project: they are
    /// read where they lie beside it, and `None` (said on stderr) means that they do not.
    pub fn load(computation: &str) -> Option<Self> {
        let name = format!("{computation}.json");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let places = [here.join("tests/golden").join(&name), here.join("../shared/golden").join(&name)];
        let Some(path) = places.into_iter().find(|path| path.exists()) else {
            // Past the harness, which keeps what a passing test prints.
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: no golden file {name}\n"));
            return None;
        };
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["computation"], computation);
        let remarks: Vec<&str> = items(&file["notes"]).iter().map(text_of).collect();
        let cases: Vec<Case> = items(&file["cases"])
            .iter()
            .map(|case| {
                let mut expected = case["expected"].clone();
                remove_keys(&mut expected, &remarks);
                Case { id: text_of(&case["id"]).to_owned(), input: case["input"].clone(), expected }
            })
            .collect();
        assert_eq!(Some(cases.len() as u64), file["n_cases"].as_u64());
        Some(Self { tolerance: file["tolerance"].clone(), cases })
    }

    /// Answers every case and compares; `tolerance` gives the allowed error of a path.
    pub fn check(&self, tolerance: impl Fn(&str) -> f64, answer: impl Fn(&Value) -> Value) {
        assert!(!self.cases.is_empty());
        for case in &self.cases {
            assert_matches(&case.id, &answer(&case.input), &case.expected, &tolerance);
        }
    }

    /// A named tolerance of the file.
    pub fn allowed(&self, name: &str) -> f64 {
        self.tolerance[name].as_f64().expect("the tolerance is in the file")
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn remove_keys(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !keys.contains(&key.as_str()));
            map.values_mut().for_each(|inner| remove_keys(inner, keys));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| remove_keys(inner, keys)),
        _ => {}
    }
}

/// Panics unless `got` is `want`, naming the number that is off the most.
pub fn assert_matches(id: &str, got: &Value, want: &Value, tolerance: impl Fn(&str) -> f64) {
    let mut numbers = Vec::new();
    collect(id, got, want, &mut numbers);
    let excess = |&(ref path, got, want): &(String, f64, f64)| (got - want).abs() - tolerance(path);
    let worst = numbers.iter().max_by(|x, y| excess(x).total_cmp(&excess(y)));
    if let Some(worst) = worst.filter(|worst| excess(worst) > 0.0) {
        let (path, got, want) = worst;
        let n_off = numbers.iter().filter(|n| excess(n) > 0.0).count();
        panic!(
            "{n_off} of {} numbers off; worst at {path}: expected {want} within {:e}, got {got}",
            numbers.len(),
            tolerance(path)
        );
    }
}

fn collect(path: &str, got: &Value, want: &Value, numbers: &mut Vec<(String, f64, f64)>) {
    match (got, want) {
        (Value::Object(g), Value::Object(w)) => {
            for key in w.keys().chain(g.keys()) {
                assert!(
                    g.contains_key(key) == w.contains_key(key),
                    "{path}: key {key:?} expected: {}, got: {}",
                    w.contains_key(key),
                    g.contains_key(key)
                );
            }
            for (key, want) in w {
                collect(&format!("{path}.{key}"), &g[key], want, numbers);
            }
        }
        (Value::Array(g), Value::Array(w)) => {
            assert_eq!(g.len(), w.len(), "{path}: length");
            for (i, (got, want)) in g.iter().zip(w).enumerate() {
                collect(&format!("{path}[{i}]"), got, want, numbers);
            }
        }
        (Value::Number(g), Value::Number(w)) => {
            let finite = |n: &serde_json::Number| n.as_f64().filter(|v| v.is_finite());
            let (Some(g), Some(w)) = (finite(g), finite(w)) else {
                panic!("{path}: expected finite numbers, got {g} against {w}");
            };
            numbers.push((path.to_owned(), g, w));
        }
        // A number that is not finite becomes null in JSON, so it ends here.
        _ => assert_eq!(got, want, "{path}"),
    }
}
