//! The JSON in a reply that was written free: in prose, in a code fence, after reasoning.
//!
//! A reply holds one answer. Where it holds two (a draft and a correction, a list cut in pieces), nobody can say which is meant, so all
//! are handed over and the stage refuses them. This file must not know what a value means.

use crate::data::reasoning_block::{BlockFinder, Mark};
use crate::json;
use serde_json::Value;
use thiserror::Error;

/// Why a reply has no usable JSON. The message is for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplyFault {
    /// A block of reasoning is never closed, so nothing in the reply is an answer.
    #[error("the reasoning that {mark} opens is never closed; write the JSON object after it")]
    NoReply { mark: String },
    #[error("the JSON of the reply cannot be read: {reason}")]
    Broken { reason: String },
    #[error("{reason}; write each field of a JSON object once, and each finding as an object of its own")]
    RepeatedKey { reason: String },
}

/// The JSON values of a reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyValues {
    /// Objects, and lists of objects, in their order.
    pub values: Vec<Value>,
    /// Whether nothing but white space and commas stands between them.
    pub is_run: bool,
}

/// Every JSON value of `reply` outside blocks of reasoning: objects, and lists that are empty or hold an object. `[1]` and `[A1]` in
/// prose are no values.
///
/// # Errors
/// Half a value, a key that stands twice in one object, or reasoning that is never closed.
pub fn values(reply: &str) -> Result<ReplyValues, ReplyFault> {
    let finder = BlockFinder::new(reply, None);
    let mut found = ReplyValues { values: Vec::new(), is_run: true };
    let mut fault = None;
    let (mut at, mut end_of_last, mut is_opened) = (0, None, false);
    let mut next_mark = finder.next(0);
    loop {
        if next_mark.as_ref().is_some_and(|(_, range)| range.start < at) {
            next_mark = finder.next(at);
        }
        let start = reply[at..].find(['{', '[']).map(|n| at + n);
        match (start, &next_mark) {
            (None, None) => break,
            (start, Some((mark, range))) if start.is_none_or(|start| range.start <= start) => {
                at = match *mark {
                    Mark::Open(i) => {
                        is_opened = true;
                        finder.close(i, range.end).ok_or_else(|| ReplyFault::NoReply { mark: finder.name(i).to_owned() })?.end
                    }
                    Mark::Close(_) if !is_opened => {
                        // The block was opened in the prompt: all before it is reasoning.
                        is_opened = true;
                        (found, fault, end_of_last) = (ReplyValues { values: Vec::new(), is_run: true }, None, None);
                        range.end
                    }
                    Mark::Close(_) => range.end,
                };
            }
            (Some(start), _) => at = take_value(reply, start, &mut found, &mut fault, &mut end_of_last),
            (None, Some(_)) => break,
        }
    }
    match fault {
        Some(fault) => Err(fault),
        None => Ok(found),
    }
}

/// Takes what begins at `start` as a value, as half a value or as prose; returns where to go on.
fn take_value(
    reply: &str,
    start: usize,
    found: &mut ReplyValues,
    fault: &mut Option<ReplyFault>,
    end_of_last: &mut Option<usize>,
) -> usize {
    let text = &reply[start..];
    let length = match json::length_of_first(text) {
        Ok(length) => length,
        Err(error) => {
            if begins_like_json(text) && fault.is_none() {
                *fault = Some(ReplyFault::Broken { reason: error.to_string() });
            }
            return start + 1;
        }
    };
    match json::parse(&text[..length]) {
        Ok(Value::Array(items)) if !items.is_empty() && !items.iter().any(Value::is_object) => {}
        Ok(value) => {
            if let Some(end) = *end_of_last {
                found.is_run &= reply[end..start].chars().all(|c| c.is_whitespace() || c == ',');
            }
            *end_of_last = Some(start + length);
            found.values.push(value);
        }
        Err(error) if json::is_repeated_key(&error) => {
            // serde_json adds the place in the value, which says nothing here.
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
            fault.get_or_insert(ReplyFault::RepeatedKey { reason });
        }
        Err(error) => {
            fault.get_or_insert(ReplyFault::Broken { reason: error.to_string() });
        }
    }
    start + length
}

/// Whether a text that is no JSON value was meant as one: an object with a key, or a list of objects.
fn begins_like_json(text: &str) -> bool {
    let mut chars = text.chars().filter(|c| !c.is_whitespace());
    match (chars.next(), chars.next()) {
        (Some('{'), Some(c)) => c == '"',
        (Some('['), Some(c)) => c == '{',
        (_, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reply: &str) -> (String, bool) {
        let found = values(reply).unwrap_or_else(|fault| panic!("{reply}: {fault}"));
        (found.values.iter().map(Value::to_string).collect::<Vec<_>>().join(" "), found.is_run)
    }

    #[test]
    fn one_value_is_found_wherever_it_stands() {
        for reply in [
            "{\"a\":1}",
            "Here {it} is, see [1] and [A1, 2]:\n```json\n{\"a\": 1}\n```\nThat is all [2].",
            "<think>{\"b\":2} {\"c\":</think>{\"a\":1}",
            "so {\"b\":2}, no {\"c\"</think>\n{\"a\":1}",
            "<think>x</think>Well.<thinking>{\"b\":2}</thinking>{\"a\":1}",
            "[THINK]{\"b\":2}[/THINK]{\"a\":1}",
        ] {
            assert_eq!(shown(reply), ("{\"a\":1}".into(), true), "{reply}");
        }
        assert_eq!(shown("[{\"a\":\"</think> in a text <think>\"}]").0, "[{\"a\":\"</think> in a text <think>\"}]");
        assert_eq!(shown("nothing here").0, "");
    }

    #[test]
    fn several_values_are_all_found() {
        assert_eq!(shown("{\"a\":1}\n{\"a\":2},\n[]"), ("{\"a\":1} {\"a\":2} []".into(), true));
        assert_eq!(shown("{} Corrected answer: {\"a\":2}"), ("{} {\"a\":2}".into(), false));
        assert_eq!(shown("```\n{\"a\":1}\n```\n```\n{\"a\":2}\n```"), ("{\"a\":1} {\"a\":2}".into(), false));
    }

    #[test]
    fn what_cannot_be_read_for_sure_is_a_fault() {
        let fault = |reply: &str| values(reply).expect_err(reply);
        assert_eq!(fault("<think>{\"a\":1}"), ReplyFault::NoReply { mark: "<think>".into() });
        assert_eq!(fault("{\"a\":1} [THINK] wait"), ReplyFault::NoReply { mark: "[THINK]".into() });
        assert!(matches!(fault("{\"a\":1, "), ReplyFault::Broken { .. }));
        assert!(matches!(fault("[{\"a\":1}, {\"a\""), ReplyFault::Broken { .. }));
        assert!(matches!(fault("{\"a\":1} and {\"b\": nan}"), ReplyFault::Broken { .. }));
        let repeated = fault("{\"a\":[{\"verdict\":\"A\",\"verdict\":\"B\"}]}");
        assert_eq!(
            repeated.to_string(),
            "the key \"verdict\" stands twice in one object; write each field of a JSON object once, and each finding as an object of its own"
        );
    }
}
