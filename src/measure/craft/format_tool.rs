//! Brings a generator's raw reply into buckets of listed names without changing what it says about time.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::folded;

/// One symptom of a formatted timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSymptom {
    /// The name as the list spells it.
    pub name: String,
    /// The phrases that the reply quoted for it, as given; empty for a bare name.
    pub evidence: Vec<String>,
}

/// A reply in the bucket schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormattedTimeline {
    /// Stages from earliest to latest, none empty, each name once in all.
    pub buckets: Vec<Vec<PlacedSymptom>>,
    /// Whether the reply held a JSON list or object.
    pub valid_json: bool,
    /// Listed names that the reply does not place, in list order.
    pub missing: Vec<String>,
    /// Names of the reply that are not listed, as first spelled.
    pub invented: Vec<String>,
}

/// Formats a reply.
///
/// The first complete JSON list or object in the text is taken, so prose and code fences around it do not
/// matter; in a reply cut off within its list that is the first object inside. A list's elements are the
/// buckets: an object's keys, a list's strings (or the keys of objects in it), or a string alone; an
/// object on its own is one bucket. Names match the list after folding. A name keeps its first place;
/// names not listed and buckets left empty are dropped; nothing is added.
///
/// # Source
/// craft.txt, section 4.2.2 and 5.4 (FormatTool); box A.3 for the reply's shape.
pub fn format_reply<S: AsRef<str>>(symptoms: &[S], reply: &str) -> FormattedTimeline {
    let mut listed: HashMap<String, &str> = HashMap::new();
    let mut in_order = Vec::new();
    for symptom in symptoms {
        let key = folded(symptom.as_ref());
        listed.entry(key).or_insert_with_key(|key| {
            in_order.push(key.clone());
            symptom.as_ref()
        });
    }
    let mut out = FormattedTimeline::default();
    let (mut placed, mut unlisted) = (HashSet::new(), HashSet::new());
    if let Some(node) = first_json(reply) {
        out.valid_json = true;
        let buckets = match node {
            Node::List(buckets) => buckets,
            bucket => vec![bucket],
        };
        for bucket in buckets {
            let mut kept = Vec::new();
            let mut names = Vec::new();
            collect_names(bucket, &mut names);
            for (name, evidence) in names {
                let key = folded(&name);
                if let Some(&listed) = listed.get(&key) {
                    if placed.insert(key) {
                        kept.push(PlacedSymptom { name: listed.to_owned(), evidence });
                    }
                } else if unlisted.insert(key) {
                    out.invented.push(name);
                }
            }
            if !kept.is_empty() {
                out.buckets.push(kept);
            }
        }
    }
    out.missing = in_order.iter().filter(|key| !placed.contains(*key)).map(|key| listed[key].to_owned()).collect();
    out
}

/// JSON as far as buckets go. An object keeps every pair, a repeated key too, in the order written.
enum Node {
    Object(Vec<(String, Value)>),
    List(Vec<Node>),
    Text(String),
    Other,
}

fn first_json(text: &str) -> Option<Node> {
    let starts = text.char_indices().filter(|&(_, c)| c == '[' || c == '{');
    starts.filter_map(|(at, _)| Node::deserialize(&mut serde_json::Deserializer::from_str(&text[at..])).ok()).next()
}

/// The names of a bucket with their evidence.
fn collect_names(bucket: Node, names: &mut Vec<(String, Vec<String>)>) {
    match bucket {
        Node::Object(pairs) => names.extend(pairs.into_iter().map(|(name, evidence)| (name, phrases(evidence)))),
        Node::List(items) => items.into_iter().for_each(|item| collect_names(item, names)),
        Node::Text(name) => names.push((name, Vec::new())),
        Node::Other => {}
    }
}

fn phrases(evidence: Value) -> Vec<String> {
    match evidence {
        Value::Null => Vec::new(),
        Value::String(phrase) => vec![phrase],
        Value::Array(items) => items.into_iter().flat_map(phrases).collect(),
        other => vec![other.to_string()],
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNode;

        impl<'de> Visitor<'de> for AnyNode {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Node::Object(pairs))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = list.next_element()? {
                    nodes.push(node);
                }
                Ok(Node::List(nodes))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
                Ok(Node::Text(text.to_owned()))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
                Ok(Node::Other)
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Other)
            }
        }

        deserializer.deserialize_any(AnyNode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: [&str; 3] = ["Headache", "Pyrexia", "Injection site pain"];

    fn buckets(reply: &str) -> Vec<Vec<String>> {
        let out = format_reply(&LIST, reply);
        out.buckets.into_iter().map(|bucket| bucket.into_iter().map(|item| item.name).collect()).collect()
    }

    #[test]
    fn prose_fences_and_brackets_around_the_list_do_not_matter() {
        let reply = "As asked [see below] {sic}:\n```json\n[{\"Pyrexia\": \"a ] b\"}, [\"headache\"]]\n``` or [\"x\"]";
        assert_eq!(buckets(reply), [["Pyrexia"], ["Headache"]]);
        assert_eq!(buckets("[\"Pyrexia\", [\"Headache\", \"x\"]]"), [["Pyrexia"], ["Headache"]]);
        assert_eq!(buckets("[[{\"Pyrexia\": null}, {\"Headache\": 1}]]"), [["Pyrexia", "Headache"]]);
    }

    #[test]
    fn evidence_of_the_first_place_is_kept() {
        let out = format_reply(
            &LIST,
            r#"[{"Pyrexia": ["hot", "38.5"], "pyrexia": "later"}, {"PYREXIA": "again", "Headache": "none"}]"#,
        );
        assert_eq!(out.buckets[0], [PlacedSymptom { name: "Pyrexia".into(), evidence: vec!["hot".into(), "38.5".into()] }]);
        assert_eq!(out.buckets[1], [PlacedSymptom { name: "Headache".into(), evidence: vec!["none".into()] }]);
        assert_eq!(out.missing, ["Injection site pain"]);
        let doubled = format_reply(&LIST, r#"{"Pyrexia": "first", "Pyrexia": "second"}"#);
        assert_eq!(doubled.buckets[0][0].evidence, ["first"]);
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        let out = format_reply(&LIST, r#"[3, null, true, {"Rash": "x"}, "rash ", [], {}, ["RASH", 2.5]]"#);
        assert!(out.valid_json && out.buckets.is_empty());
        assert_eq!(out.invented, ["Rash"]);
        assert_eq!(out.missing, LIST);
    }

    #[test]
    fn a_reply_without_json_is_invalid_and_one_cut_off_yields_what_is_complete() {
        for reply in ["", "none", "[", "3", "\"Headache\"", "[\"Headache\"", "{'Headache': 1}"] {
            assert!(!format_reply(&LIST, reply).valid_json, "{reply}");
        }
        let out = format_reply(&LIST, "[{\"Headache\": \"x\"}, {\"Pyrexia\":");
        assert_eq!((out.valid_json, out.buckets.len(), out.missing.len()), (true, 1, 2));
    }

    #[test]
    fn a_list_that_repeats_a_name_names_it_once() {
        let out = format_reply(&["A", "a ", "B"], "[]");
        assert_eq!(out.missing, ["A", "B"]);
        assert_eq!(format_reply::<&str>(&[], "[\"x\"]").invented, ["x"]);
    }
}
