//! Edit distance between two texts, in Unicode scalar values.
//!
//! It must not know what the texts are: trimming and case are the caller's.

use std::collections::HashMap;

/// A text prepared for many comparisons.
///
/// # Source
/// Myers 1999, doi:10.1145/316542.316550, in blocks of 64 as Hyyrö 2003 has it.
#[derive(Debug, Clone)]
pub struct LevenshteinPattern {
    n_chars: usize,
    n_blocks: usize,
    /// For each block of 64 characters, where each ASCII character stands.
    ascii: Vec<[u64; 128]>,
    /// The same for every other character that occurs.
    others: HashMap<char, Vec<u64>>,
}

impl LevenshteinPattern {
    /// Prepares a text.
    pub fn new(text: &str) -> Self {
        let n_chars = text.chars().count();
        let n_blocks = n_chars.div_ceil(64);
        let mut ascii = vec![[0; 128]; n_blocks];
        let mut others: HashMap<char, Vec<u64>> = HashMap::new();
        for (at, c) in text.chars().enumerate() {
            let (block, bit) = (at / 64, 1 << (at % 64));
            match ascii[block].get_mut(c as usize) {
                Some(places) => *places |= bit,
                None => others.entry(c).or_insert_with(|| vec![0; n_blocks])[block] |= bit,
            }
        }
        Self { n_chars, n_blocks, ascii, others }
    }

    /// Length of the text in characters.
    pub const fn n_chars(&self) -> usize {
        self.n_chars
    }

    /// Fewest insertions, deletions and substitutions of one character that turn one text into the other.
    pub fn distance(&self, text: &str) -> usize {
        self.distance_and_length(text).0
    }

    /// [`Self::distance`] over the length of the longer text; 0 for two empty texts.
    pub fn normalised(&self, text: &str) -> f64 {
        let (distance, n_chars) = self.distance_and_length(text);
        match self.n_chars.max(n_chars) {
            0 => 0.0,
            longest => distance as f64 / longest as f64,
        }
    }

    fn distance_and_length(&self, text: &str) -> (usize, usize) {
        if self.n_blocks == 0 {
            let n_chars = text.chars().count();
            return (n_chars, n_chars);
        }
        // Differences down the current column of the table: which cells are one more, which one less than the above.
        let mut more = vec![u64::MAX; self.n_blocks];
        let mut less = vec![0_u64; self.n_blocks];
        let last_bit = (self.n_chars - 1) % 64;
        let mut distance = self.n_chars;
        let mut n_chars = 0;
        for c in text.chars() {
            n_chars += 1;
            let other = if c.is_ascii() { None } else { self.others.get(&c) };
            // Into the first row comes a one from above: the distance from the empty text grows with every character.
            let (mut carry_more, mut carry_less) = (1_u64, 0_u64);
            for block in 0..self.n_blocks {
                let equal = match other {
                    Some(places) => places[block],
                    None => self.ascii[block].get(c as usize).copied().unwrap_or(0),
                };
                let (vp, vn) = (more[block], less[block]);
                let x = equal | vn;
                let equal = equal | carry_less;
                let d0 = ((equal & vp).wrapping_add(vp) ^ vp) | equal | vn;
                let mut hp = vn | !(d0 | vp);
                let mut hn = d0 & vp;
                if block + 1 == self.n_blocks {
                    distance += (hp >> last_bit & 1) as usize;
                    distance -= (hn >> last_bit & 1) as usize;
                }
                let (out_more, out_less) = (hp >> 63, hn >> 63);
                hp = hp << 1 | carry_more;
                hn = hn << 1 | carry_less;
                (carry_more, carry_less) = (out_more, out_less);
                more[block] = hn | !(x | hp);
                less[block] = hp & x;
            }
        }
        (distance, n_chars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of Wagner and Fischer.
    fn by_table(a: &str, b: &str) -> usize {
        let a: Vec<_> = a.chars().collect();
        let mut row: Vec<_> = (0..=a.len()).collect();
        for (i, c) in b.chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for j in 0..a.len() {
                let substituted = diagonal + usize::from(a[j] != c);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[a.len()]
    }

    #[test]
    fn it_equals_the_table_for_every_length() {
        let letters: Vec<char> = "aab °é😀bca".chars().collect();
        let mut state = 7_u64;
        let mut text = |n: usize| -> String {
            (0..n)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    letters[(state >> 40) as usize % letters.len()]
                })
                .collect()
        };
        for n in [0, 1, 2, 31, 63, 64, 65, 127, 128, 129, 200] {
            for m in [0, 1, 5, 63, 64, 65, 130, 257] {
                for _ in 0..4 {
                    let (a, b) = (text(n), text(m));
                    let pattern = LevenshteinPattern::new(&a);
                    assert_eq!(pattern.distance(&b), by_table(&a, &b), "{a:?} {b:?}");
                    assert_eq!(LevenshteinPattern::new(&b).distance(&a), pattern.distance(&b));
                    assert!((0.0..=1.0).contains(&pattern.normalised(&b)));
                    assert_eq!(pattern.distance(&a), 0);
                }
            }
        }
    }

    #[test]
    fn characters_count_not_bytes() {
        let pattern = LevenshteinPattern::new("naïve");
        assert_eq!(pattern.distance("naive"), 1);
        assert_eq!(pattern.distance("nai\u{308}ve"), 2);
        assert_eq!(LevenshteinPattern::new("").normalised(""), 0.0);
        assert_eq!(LevenshteinPattern::new("").normalised("😀"), 1.0);
        assert_eq!(LevenshteinPattern::new("😀a").normalised("a"), 0.5);
    }
}
