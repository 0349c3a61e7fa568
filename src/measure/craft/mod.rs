//! Stage timelines of symptoms (CRAFT): agreement with a gold timeline, the refinement loop, what a
//! corpus looks like, the normaliser of raw replies, and the filter of adverse-event reports.
//!
//! A timeline is a list of buckets from earliest to latest, a bucket a set of symptom names. Nothing
//! here knows prompts, engines or files.

pub mod agreement;
pub mod format_tool;
pub mod progression;
pub mod refinement;
pub mod report_filter;
pub mod temporal_cue;

/// White space as Python's `str.split` has it: Unicode white space and the four separator controls.
const fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// The parts of a text between white space.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// A symptom name as names are compared: trimmed, runs of white space collapsed, lower case.
///
/// # Source
/// craft.txt, section 5.4: the normalisation before scoring, given there by the example of lower-casing.
pub fn folded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for word in words(name) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn names_fold_case_and_space_and_nothing_else() {
        assert_eq!(folded(" \u{a0}Injection\u{2003} site\n\u{1f}PAIN "), "injection site pain");
        assert_eq!(folded("\u{c9}RYTH\u{c8}ME"), "\u{e9}ryth\u{e8}me");
        assert_ne!(folded("caf\u{e9}"), folded("cafe\u{301}"));
        assert_ne!(folded("non-cardiac"), folded("non cardiac"));
        assert_eq!(folded(" \t"), "");
    }
}
