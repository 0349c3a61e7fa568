//! Texts beside each other without padding, and which texts are computed together.

use std::ops::Range;

/// Token rows of several texts, one after the other.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub tokens: Vec<u32>,
    /// Rows of each text.
    pub texts: Vec<Range<usize>>,
}

impl Packed {
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut packed = Self::default();
        for text in texts {
            let from = packed.tokens.len();
            packed.tokens.extend_from_slice(text);
            packed.texts.push(from..packed.tokens.len());
        }
        packed
    }

    pub fn n_rows(&self) -> usize {
        self.tokens.len()
    }
}

/// Batches of texts by index: longest first, about `budget` rows each, so that the last to be computed are small.
pub(super) fn batches(lengths: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|text| std::cmp::Reverse(lengths[*text]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for text in order {
        if lengths[text] > room || batches.is_empty() {
            batches.push(Vec::new());
            room = budget.max(lengths[text]);
        }
        room -= lengths[text];
        if let Some(batch) = batches.last_mut() {
            batch.push(text);
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_one_batch_within_the_budget() {
        let lengths = [3, 700, 12, 5, 5, 90, 1, 40, 512, 2];
        let batches = batches(&lengths, 100);
        let mut all: Vec<usize> = batches.iter().flatten().copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
        for batch in &batches {
            let rows: usize = batch.iter().map(|text| lengths[*text]).sum();
            assert!(rows <= 100 || batch.len() == 1, "{batch:?}");
        }
        assert_eq!(batches[0], [1]);
        assert_eq!(super::batches(&[], 100), Vec::<Vec<usize>>::new());
    }
}
