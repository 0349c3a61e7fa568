//! How many tokens the prompts of a study have, and how many of them must be computed at least: the size of their token tree.
//!
//! It takes the prompts case by case and keeps of each case only the beginning that all of its prompts share (instructions and report),
//! about as many bytes as the report. So memory holds one case's prompts and those beginnings.

use super::prefix_tree::Token;
use super::schedule::common;
use std::sync::Arc;

/// Counts over the prompts of all cases taken so far.
#[derive(Debug, Default)]
pub struct PromptVolume {
    n_prompts: usize,
    n_submitted: usize,
    longest: usize,
    /// Tokens of the trees of the cases below their common beginnings.
    n_below: usize,
    /// What all prompts of a case begin with.
    beginnings: Vec<Vec<Token>>,
}

impl PromptVolume {
    /// Takes the prompts of one more case.
    pub fn add_case(&mut self, prompts: &[Arc<[Token]>]) {
        let mut sorted: Vec<&[Token]> = prompts.iter().map(|prompt| &**prompt).collect();
        sorted.sort_unstable();
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return };
        let shared = &first[..common(first, last)];
        self.n_prompts += sorted.len();
        self.n_submitted += sorted.iter().map(|prompt| prompt.len()).sum::<usize>();
        self.longest = self.longest.max(sorted.iter().map(|prompt| prompt.len()).max().unwrap_or(0));
        self.n_below += tree_size(&sorted) - shared.len();
        self.beginnings.push(shared.to_vec());
    }

    pub fn n_prompts(&self) -> usize {
        self.n_prompts
    }

    /// Tokens of all prompts together.
    pub fn n_submitted(&self) -> usize {
        self.n_submitted
    }

    /// Tokens of the longest prompt.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Tokens that any order must compute at least. Exact unless all that a case shares is the beginning of another case's prompts
    /// (the same report twice): then a little too many.
    pub fn least(&self) -> usize {
        let mut beginnings: Vec<&[Token]> = self.beginnings.iter().map(Vec::as_slice).collect();
        beginnings.sort_unstable();
        self.n_below + tree_size(&beginnings)
    }
}

/// Nodes of the token tree of `sorted`: each adds what it does not share with the one before it.
fn tree_size(sorted: &[&[Token]]) -> usize {
    let shared: usize = sorted.windows(2).map(|two| common(two[0], two[1])).sum();
    sorted.iter().map(|prompt| prompt.len()).sum::<usize>() - shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A prompt of letters: each is one token.
    fn prompts(texts: &[&str]) -> Vec<Arc<[Token]>> {
        texts.iter().map(|text| text.bytes().map(Token::from).collect()).collect()
    }

    #[test]
    fn a_small_study_by_hand() {
        let mut volume = PromptVolume::default();
        assert_eq!((volume.n_prompts(), volume.least()), (0, 0));
        // Instructions "ii", reports "rst" and "ruv": ii r s t A B, … C, … B C and ii r u v A B.
        volume.add_case(&prompts(&["iirstAB", "iirstAC", "iirstBC"]));
        assert_eq!((volume.n_submitted(), volume.least()), (21, 5 + 3 + 2));
        volume.add_case(&prompts(&["iiruvAB"]));
        assert_eq!((volume.n_prompts(), volume.n_submitted(), volume.longest()), (4, 28, 7));
        assert_eq!(volume.least(), 10 + 4, "ii and r are shared with the first case");
    }

    #[test]
    fn the_least_is_the_number_of_different_beginnings() {
        let cases = [vec!["xabcd", "xabce", "xab"], vec!["xq"], vec!["yabcd", "yabc"], vec!["xabd", "xabdd"]];
        let mut volume = PromptVolume::default();
        let mut beginnings = BTreeSet::new();
        for case in &cases[..3] {
            volume.add_case(&prompts(case));
            beginnings.extend(case.iter().flat_map(|text| (1..=text.len()).map(|n| text[..n].to_string())));
            assert_eq!(volume.least(), beginnings.len());
        }
        volume.add_case(&prompts(&cases[3]));
        beginnings.extend(cases[3].iter().flat_map(|text| (1..=text.len()).map(|n| text[..n].to_string())));
        assert!(volume.least() >= beginnings.len(), "never too few, where a case begins with all that another shares");
    }
}
