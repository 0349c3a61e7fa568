//! The list of facts and what became of each.
//!
//! It knows no paper: it compares what it is given with what the list says, and keeps count.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::table::half_unit;

/// How a fact was recomputed without the library.
pub const ARITHMETIC: &str = "arithmetic";

/// One entry of the list, without its remarks.
#[derive(Debug, Clone, Deserialize)]
pub struct Fact {
    id: String,
    /// What the paper's number was recomputed from, where that is a short list.
    inputs: Value,
    /// The number as the paper prints it.
    pub published: Value,
    /// The number as recomputed when the list was made.
    pub computed: Value,
    /// Whether the two agree.
    reproduces: bool,
}

struct Row {
    via: String,
    computed: String,
}

/// All facts, those recomputed so far, and every disagreement.
pub struct Ledger {
    facts: Vec<Fact>,
    rows: BTreeMap<String, Row>,
    with_inputs: BTreeSet<String>,
    failures: Vec<String>,
}

impl Ledger {
    /// Reads the list.
    pub fn load(json: &str) -> Self {
        let facts: Vec<Fact> = serde_json::from_str(json).unwrap();
        let ids: BTreeSet<_> = facts.iter().map(|fact| &fact.id).collect();
        assert_eq!(ids.len(), facts.len(), "an id occurs twice in the list of facts");
        Self { facts, rows: BTreeMap::new(), with_inputs: BTreeSet::new(), failures: Vec::new() }
    }

    /// The entry of this id.
    pub fn fact(&self, id: &str) -> Fact {
        self.facts.iter().find(|fact| fact.id == id).unwrap_or_else(|| panic!("no fact has the id {id:?}")).clone()
    }

    /// Notes a failure unless `holds`.
    pub fn require(&mut self, id: &str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(format!("{id}: {}", what()));
        }
    }

    /// The list's inputs must be the figures of the transcribed tables.
    pub fn inputs(&mut self, id: &str, from_table: &Value) {
        let inputs = self.fact(id).inputs;
        let agrees = difference(from_table, &inputs, &|_| 1e-9);
        self.require(id, agrees.is_none(), || format!("the list's inputs are {inputs}, the tables say {from_table}"));
        self.with_inputs.insert(id.to_owned());
    }

    /// The list's printed value must be the one of the transcribed table.
    pub fn printed_in(&mut self, id: &str, table: &Value) {
        let published = self.fact(id).published;
        let agrees = difference(table, &published, &|_| 1e-9);
        self.require(id, agrees.is_none(), || format!("the list prints {published}, the table {table}"));
    }

    /// A value in the form of both the printed and the listed one.
    pub fn check(&mut self, id: &str, via: &str, value: &Value, allowed: f64) {
        self.check_as(id, via, value, value, allowed);
    }

    /// The recomputed value once in the form that the list has it in and once in the form that the paper prints.
    pub fn check_as(&mut self, id: &str, via: &str, computed: &Value, printed: &Value, allowed: f64) {
        let listed = self.fact(id).computed;
        if let Some(path) = difference(computed, &listed, &last_place) {
            self.failures.push(format!("{id}: recomputed {computed}, the list says {listed}, they differ{path}"));
        }
        self.check_printed(id, via, computed, printed, allowed);
    }

    /// The recomputed value against the printed one alone; for what was drawn at random, whose listed value
    /// the caller compares itself.
    pub fn check_printed(&mut self, id: &str, via: &str, shown: &Value, printed: &Value, allowed: f64) {
        let fact = self.fact(id);
        let differs = difference(printed, &fact.published, &|_| allowed + 1e-9);
        match (fact.reproduces, differs) {
            (true, Some(path)) => {
                let published = fact.published;
                self.failures.push(format!("{id}: recomputed {printed}, the paper prints {published}, they differ{path}"));
            }
            (false, None) => self.failures.push(format!("{id}: reproduces {}, which it should not", fact.published)),
            _ => {}
        }
        let row = Row { via: via.to_owned(), computed: shown_text(shown) };
        if self.rows.insert(id.to_owned(), row).is_some() {
            self.failures.push(format!("{id}: checked twice"));
        }
    }

    /// Prints the table of all facts, those through the library first; fails unless each was checked and none disagreed.
    pub fn finish(mut self) {
        for fact in &self.facts {
            if !self.rows.contains_key(&fact.id) {
                self.failures.push(format!("{}: no check", fact.id));
            }
            if !fact.inputs.is_null() && !self.with_inputs.contains(&fact.id) {
                self.failures.push(format!("{}: its inputs were not compared with a table", fact.id));
            }
        }
        let id_width = self.rows.keys().map(|id| id.chars().count()).max().unwrap_or(0);
        let via_width = self.rows.values().map(|row| row.via.chars().count()).max().unwrap_or(0);
        println!("{:id_width$} | {:via_width$} | published | computed | reproduces", "id", "via");
        let mut n_rows = [0, 0];
        for by_arithmetic in [false, true] {
            for fact in &self.facts {
                let Some(row) = self.rows.get(&fact.id).filter(|row| (row.via == ARITHMETIC) == by_arithmetic) else { continue };
                let (id, via, published) = (&fact.id, &row.via, &fact.published);
                println!("{id:id_width$} | {via:via_width$} | {published} | {} | {}", row.computed, fact.reproduces);
                n_rows[usize::from(by_arithmetic)] += 1;
            }
        }
        let n_contradicted = self.facts.iter().filter(|fact| !fact.reproduces).count();
        let [through_library, by_arithmetic] = n_rows;
        println!(
            "{} facts: {through_library} through the library, {by_arithmetic} by arithmetic; {n_contradicted} contradict their paper",
            self.facts.len()
        );
        assert!(self.failures.is_empty(), "{} of the facts' checks fail:\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

/// Half a unit in the last place that a listed number is written with; a whole number is exact.
fn last_place(listed: &serde_json::Number) -> f64 {
    let text = listed.to_string();
    match text.split_once('.') {
        Some((_, decimals)) => half_unit(decimals.len() as i32) + 1e-9,
        None => 1e-6,
    }
}

/// Where two values first differ, as text to append; None when they agree. Numbers may differ by what `allowed`
/// grants the wanted one.
fn difference(got: &Value, want: &Value, allowed: &dyn Fn(&serde_json::Number) -> f64) -> Option<String> {
    match (got, want) {
        (Value::Number(got), Value::Number(want)) => {
            let gap = (got.as_f64().unwrap() - want.as_f64().unwrap()).abs();
            // A gap that is no number is too large.
            if gap <= allowed(want) { None } else { Some(format!(" by {gap}")) }
        }
        (Value::Array(got), Value::Array(want)) if got.len() == want.len() => got
            .iter()
            .zip(want)
            .enumerate()
            .find_map(|(place, (got, want))| difference(got, want, allowed).map(|rest| format!(" at {place}{rest}"))),
        (Value::Object(got), Value::Object(want)) if got.keys().eq(want.keys()) => {
            got.iter().find_map(|(key, got)| difference(got, &want[key], allowed).map(|rest| format!(" at {key:?}{rest}")))
        }
        _ => (got != want).then(String::new),
    }
}

/// A value for the table, with no more decimals than anybody reads.
fn shown_text(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let text = format!("{:.4}", number.as_f64().unwrap());
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Value::Array(list) => format!("[{}]", list.iter().map(shown_text).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<_> = map.iter().map(|(key, value)| format!("{key}: {}", shown_text(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

mod tests {
    use serde_json::json;

    use super::*;

    fn ledger(published: &Value, computed: &Value, reproduces: bool) -> Ledger {
        let fact = json!({"id": "x", "paper": "", "what": "", "inputs": [1], "published": published, "computed": computed,
            "reproduces": reproduces, "note": ""});
        Ledger::load(&json!([fact]).to_string())
    }

    fn failures(published: &Value, computed: &Value, reproduces: bool, value: &Value) -> usize {
        let mut ledger = ledger(published, computed, reproduces);
        ledger.check("x", ARITHMETIC, value, half_unit(1));
        ledger.failures.len()
    }

    #[test]
    #[should_panic(expected = "x: no check")]
    fn a_fact_without_a_check_fails() {
        ledger(&json!(1), &json!(1), true).finish();
    }

    #[test]
    #[should_panic(expected = "x: its inputs were not compared")]
    fn a_fact_whose_inputs_were_ignored_fails() {
        let mut ledger = ledger(&json!(1), &json!(1), true);
        ledger.check("x", ARITHMETIC, &json!(1), 0.5);
        ledger.finish();
    }

    #[test]
    #[should_panic(expected = "no fact has the id")]
    fn a_check_of_no_fact_fails() {
        ledger(&json!(1), &json!(1), true).check("y", ARITHMETIC, &json!(1), 0.5);
    }

    #[test]
    #[should_panic(expected = "checked twice")]
    fn a_second_check_of_a_fact_fails() {
        let mut ledger = ledger(&json!(1), &json!(1), true);
        ledger.check("x", ARITHMETIC, &json!(1), 0.5);
        ledger.check("x", ARITHMETIC, &json!(1), 0.5);
        ledger.finish();
    }

    #[test]
    fn printed_and_listed_values_both_count() {
        assert_eq!(failures(&json!(89.4), &json!(89.351), true, &json!(89.3506)), 0);
        assert_eq!(failures(&json!(89.4), &json!(89.351), true, &json!(89.3494)), 2);
        assert_eq!(failures(&json!(89.4), &json!(89.351), true, &json!(89.36)), 1);
        assert_eq!(failures(&json!(89.4), &json!(89.351), true, &json!(f64::NAN)), 2);
        assert_eq!(failures(&json!(150), &json!(212), false, &json!(212)), 0);
        assert_eq!(failures(&json!(150), &json!(212), false, &json!(150)), 2);
        assert_eq!(failures(&json!({"a": [1.0, 2.0]}), &json!({"a": [1.0, 2.0]}), true, &json!({"a": [1.0, 2.04]})), 0);
        assert_eq!(failures(&json!({"a": [1.0, 2.0]}), &json!({"a": [1.0, 2.0]}), true, &json!({"b": [1.0, 2.0]})), 2);
        let mut ledger = ledger(&json!(1), &json!(1), true);
        ledger.inputs("x", &json!([2]));
        ledger.printed_in("x", &json!(1.5));
        assert_eq!(ledger.failures.len(), 2);
    }
}
