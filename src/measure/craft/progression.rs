//! What a corpus of stage timelines looks like: how many stages, and which symptoms follow which.
//!
//! Names are taken as they are; folding them is the caller's choice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Timelines by number of stages: 1 to 5, then 6 and more.
///
/// # Source
/// craft.txt, Figure 6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageHistogram {
    /// All timelines; one without any stage is counted here alone.
    pub n_timelines: u64,
    /// Timelines of each class.
    pub counts: [u64; 6],
}

impl StageHistogram {
    /// Names of the classes.
    pub const LABELS: [&str; 6] = ["1", "2", "3", "4", "5", "6+"];

    /// Counts timelines given by their number of stages.
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut histogram = Self::default();
        for n_stages in lengths {
            histogram.n_timelines += 1;
            if n_stages > 0 {
                histogram.counts[n_stages.min(6) - 1] += 1;
            }
        }
        histogram
    }

    /// Percent of all timelines in each class; None without timelines.
    pub fn percent(&self) -> [Option<f64>; 6] {
        let n = self.n_timelines;
        self.counts.map(|count| (n > 0).then(|| 100.0 * count as f64 / n as f64))
    }
}

/// Which pairs of an earlier and a later symptom count as a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransitionReading {
    /// From the first stage to any later one (caption of craft.txt, Figure 6.1).
    FirstToLater,
    /// From any stage to any later one.
    EarlierToLater,
}

/// Reports by (earlier symptom, later symptom), in the order of names. A pair counts once a report.
pub fn transitions<'a, B: AsRef<[S]> + 'a, S: AsRef<str> + 'a>(
    timelines: impl IntoIterator<Item = &'a [B]>,
    reading: TransitionReading,
) -> BTreeMap<(&'a str, &'a str), u64> {
    let mut counts = BTreeMap::new();
    for buckets in timelines {
        let n_earlier = match reading {
            TransitionReading::FirstToLater => buckets.len().min(1),
            TransitionReading::EarlierToLater => buckets.len(),
        };
        let mut pairs = BTreeSet::new();
        for (i, earlier) in buckets[..n_earlier].iter().enumerate() {
            for x in earlier.as_ref() {
                let later = buckets[i + 1..].iter().flat_map(AsRef::as_ref);
                pairs.extend(later.map(|y| (x.as_ref(), y.as_ref())));
            }
        }
        for pair in pairs {
            *counts.entry(pair).or_insert(0) += 1;
        }
    }
    counts
}

/// Reports that hold each symptom in the first stage, and in any later one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageFrequencies<'a> {
    /// First stage.
    pub first: BTreeMap<&'a str, u64>,
    /// Later stages; once a report.
    pub later: BTreeMap<&'a str, u64>,
}

impl<'a> StageFrequencies<'a> {
    /// Counts the reports.
    pub fn of<B: AsRef<[S]> + 'a, S: AsRef<str> + 'a>(timelines: impl IntoIterator<Item = &'a [B]>) -> Self {
        let mut frequencies = Self::default();
        for buckets in timelines {
            let (first, later) = buckets.split_at(buckets.len().min(1));
            for (stages, counts) in [(first, &mut frequencies.first), (later, &mut frequencies.later)] {
                let names: BTreeSet<&str> = stages.iter().flat_map(AsRef::as_ref).map(AsRef::as_ref).collect();
                names.into_iter().for_each(|name| *counts.entry(name).or_insert(0) += 1);
            }
        }
        frequencies
    }
}

/// The `k` names with the highest counts; equal counts in the order of names.
pub fn most_frequent<'a>(counts: &BTreeMap<&'a str, u64>, k: usize) -> Vec<&'a str> {
    let mut names: Vec<_> = counts.iter().map(|(&name, &count)| (Reverse(count), name)).collect();
    names.sort_unstable();
    names.into_iter().take(k).map(|(_, name)| name).collect()
}

/// The transition counts as a table of the rows and columns named.
pub fn transition_matrix(counts: &BTreeMap<(&str, &str), u64>, earlier: &[&str], later: &[&str]) -> Vec<Vec<u64>> {
    let cell = |x: &str, y: &str| counts.get(&(x, y)).copied().unwrap_or(0);
    earlier.iter().map(|x| later.iter().map(|y| cell(x, y)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Timeline = Vec<Vec<&'static str>>;

    fn count(timelines: &[Timeline], reading: TransitionReading) -> Vec<(&str, &str, u64)> {
        let counts = transitions(timelines.iter().map(Vec::as_slice), reading);
        counts.into_iter().map(|((x, y), n)| (x, y, n)).collect()
    }

    #[test]
    fn a_pair_counts_once_a_report() {
        let timelines = [vec![vec!["a", "a"], vec!["b"], vec!["c", "b"]], vec![vec!["a"], vec!["b"]]];
        assert_eq!(count(&timelines, TransitionReading::FirstToLater), [("a", "b", 2), ("a", "c", 1)]);
        let all = count(&timelines, TransitionReading::EarlierToLater);
        assert_eq!(all, [("a", "b", 2), ("a", "c", 1), ("b", "b", 1), ("b", "c", 1)]);
    }

    #[test]
    fn order_of_reports_and_of_names_in_a_bucket_is_free() {
        let timelines = [vec![vec!["a", "b"], vec!["c"]], vec![vec!["c"], vec!["d", "a"], vec!["b"]]];
        let other = [vec![vec!["c"], vec!["a", "d"], vec!["b"]], vec![vec!["b", "a"], vec!["c"]]];
        for reading in [TransitionReading::FirstToLater, TransitionReading::EarlierToLater] {
            assert_eq!(count(&timelines, reading), count(&other, reading));
        }
    }

    #[test]
    fn frequent_names_and_the_empty_corpus() {
        let timelines: [Timeline; 3] = [vec![vec!["b", "a"], vec!["c"]], vec![vec!["a"]], vec![]];
        let frequencies = StageFrequencies::of(timelines.iter().map(Vec::as_slice));
        assert_eq!(most_frequent(&frequencies.first, 5), ["a", "b"]);
        assert_eq!(most_frequent(&frequencies.first, 1), ["a"]);
        assert_eq!(most_frequent(&frequencies.later, 5), ["c"]);
        let histogram = StageHistogram::from_lengths([1, 9, 6, 0]);
        assert_eq!((histogram.n_timelines, histogram.counts), (4, [1, 0, 0, 0, 0, 2]));
        assert_eq!(histogram.percent()[5], Some(50.0));
        assert_eq!(StageHistogram::default().percent(), [None; 6]);
        assert!(count(&[], TransitionReading::FirstToLater).is_empty());
    }
}
