//! How well a predicted stage timeline agrees with the gold one: exact match, longest common run of
//! buckets, and rank correlation of the symptoms both have.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::folded;

/// A timeline ready for comparison: names folded, repeats within a bucket dropped.
///
/// A name that stands in several buckets keeps the rank of the first; removing the others is
/// [`super::format_tool`]'s task, and exact match and the common run see the buckets as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageSequence {
    buckets: Vec<BTreeSet<String>>,
}

impl StageSequence {
    /// Folds the names of every bucket.
    pub fn new<B: AsRef<[S]>, S: AsRef<str>>(buckets: &[B]) -> Self {
        let fold = |bucket: &B| bucket.as_ref().iter().map(|name| folded(name.as_ref())).collect();
        Self { buckets: buckets.iter().map(fold).collect() }
    }

    /// Number of buckets.
    pub const fn n_stages(&self) -> usize {
        self.buckets.len()
    }

    /// Bucket number of each name's first occurrence.
    fn ranks(&self) -> HashMap<&str, usize> {
        let mut ranks = HashMap::new();
        for (rank, bucket) in self.buckets.iter().enumerate() {
            for name in bucket {
                ranks.entry(name.as_str()).or_insert(rank);
            }
        }
        ranks
    }
}

/// Unordered pairs of common symptoms by how the two timelines order them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct PairCounts {
    /// Ordered alike.
    pub concordant: u64,
    /// Ordered oppositely.
    pub discordant: u64,
    /// In one bucket of the gold timeline only.
    pub tied_gold_only: u64,
    /// In one bucket of the prediction only.
    pub tied_pred_only: u64,
    /// In one bucket of either.
    pub tied_both: u64,
}

impl PairCounts {
    /// Counts the pairs of items given as (gold rank, predicted rank).
    pub fn from_ranks(ranks: &[(usize, usize)]) -> Self {
        let mut pairs = Self::default();
        for (i, x) in ranks.iter().enumerate() {
            for y in &ranks[i + 1..] {
                let count = match (x.0.cmp(&y.0), x.1.cmp(&y.1)) {
                    (g, p) if g.is_eq() && p.is_eq() => &mut pairs.tied_both,
                    (g, _) if g.is_eq() => &mut pairs.tied_gold_only,
                    (_, p) if p.is_eq() => &mut pairs.tied_pred_only,
                    (g, p) if g == p => &mut pairs.concordant,
                    _ => &mut pairs.discordant,
                };
                *count += 1;
            }
        }
        pairs
    }

    /// Kendall's rank correlation with ties, in [-1, 1]; None when either timeline ties every pair, so
    /// also with fewer than two common symptoms.
    ///
    /// # Source
    /// craft.txt, section 5.4; Kendall 1945. The tie counts of the denominator are the pairs tied in that
    /// one timeline only, as in scipy's `kendalltau`: read with the pairs tied in both, two equal
    /// timelines would score below 1, against the paper's own tables.
    pub fn tau_b(&self) -> Option<f64> {
        let ordered = self.concordant + self.discordant;
        let (gold, pred) = (ordered + self.tied_pred_only, ordered + self.tied_gold_only);
        if gold == 0 || pred == 0 {
            return None;
        }
        let difference = self.concordant as f64 - self.discordant as f64;
        Some((difference / (gold as f64 * pred as f64).sqrt()).clamp(-1.0, 1.0))
    }
}

/// One prediction against its gold timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StageAgreement {
    /// Equal buckets in equal order.
    pub exact: bool,
    /// Length of the longest run of equal buckets.
    pub lccs: usize,
    /// Buckets of the gold timeline.
    pub n_gold: usize,
    /// Buckets of the prediction.
    pub n_pred: usize,
    /// Symptoms in both.
    pub n_common: usize,
    /// Their pairs.
    pub pairs: PairCounts,
}

impl StageAgreement {
    /// Compares two timelines.
    ///
    /// # Source
    /// craft.txt, section 5.4.
    pub fn between(gold: &StageSequence, pred: &StageSequence) -> Self {
        let pred_ranks = pred.ranks();
        let gold_ranks = gold.ranks();
        let common: Vec<_> =
            gold_ranks.iter().filter_map(|(name, &gold)| pred_ranks.get(name).map(|&pred| (gold, pred))).collect();
        Self {
            exact: gold == pred,
            lccs: longest_common_run(&gold.buckets, &pred.buckets),
            n_gold: gold.n_stages(),
            n_pred: pred.n_stages(),
            n_common: common.len(),
            pairs: PairCounts::from_ranks(&common),
        }
    }

    /// The run's part of the gold timeline; None when that is empty.
    pub fn lccs_over_gold(&self) -> Option<f64> {
        part(self.lccs, self.n_gold)
    }

    /// The run's part of the longer timeline; None when both are empty.
    pub fn lccs_over_max(&self) -> Option<f64> {
        part(self.lccs, self.n_gold.max(self.n_pred))
    }
}

fn part(run: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| run as f64 / whole as f64)
}

/// Length of the longest contiguous run that both lists hold.
fn longest_common_run<T: PartialEq>(gold: &[T], pred: &[T]) -> usize {
    let mut longest = 0;
    // Length of the common run that ends at each place of `pred`, for the current place of `gold`.
    let mut ending = vec![0_usize; pred.len()];
    for g in gold {
        let mut before = 0;
        for (p, run) in pred.iter().zip(&mut ending) {
            let length = if g == p { before + 1 } else { 0 };
            before = std::mem::replace(run, length);
            longest = longest.max(length);
        }
    }
    longest
}

/// Means over reports, each in [0, 1] or, for the correlation, [-1, 1]; None without reports.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MeanAgreement {
    /// Reports.
    pub n_reports: usize,
    /// Reports whose rank correlation is undefined.
    pub n_tau_undefined: usize,
    /// Part of the reports matched exactly.
    pub exact: Option<f64>,
    /// Mean part of the gold timeline in the common run.
    pub lccs_over_gold: Option<f64>,
    /// Mean part of the longer timeline in the common run.
    pub lccs_over_max: Option<f64>,
    /// Mean rank correlation, an undefined one counted as 0.
    pub tau_b: Option<f64>,
    /// Mean rank correlation of the reports that have one.
    pub tau_b_defined: Option<f64>,
}

impl MeanAgreement {
    /// Averages the reports in the order given.
    ///
    /// A part of an empty timeline is undefined too and counts 0, as the correlation does.
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a StageAgreement>) -> Self {
        let (mut exact, mut over_gold, mut over_max, mut tau) = (0_usize, 0.0, 0.0, 0.0);
        let (mut n_reports, mut n_tau_undefined) = (0_usize, 0_usize);
        for report in reports {
            n_reports += 1;
            exact += usize::from(report.exact);
            over_gold += report.lccs_over_gold().unwrap_or(0.0);
            over_max += report.lccs_over_max().unwrap_or(0.0);
            let tau_b = report.pairs.tau_b();
            tau += tau_b.unwrap_or(0.0);
            n_tau_undefined += usize::from(tau_b.is_none());
        }
        let mean = |sum: f64, n: usize| (n > 0).then(|| sum / n as f64);
        Self {
            n_reports,
            n_tau_undefined,
            exact: mean(exact as f64, n_reports),
            lccs_over_gold: mean(over_gold, n_reports),
            lccs_over_max: mean(over_max, n_reports),
            tau_b: mean(tau, n_reports),
            tau_b_defined: mean(tau, n_reports - n_tau_undefined),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(gold: &[&[&str]], pred: &[&[&str]]) -> StageAgreement {
        StageAgreement::between(&StageSequence::new(gold), &StageSequence::new(pred))
    }

    /// Deterministic timelines that cover ties, gaps and different lengths.
    fn timelines() -> Vec<Vec<Vec<String>>> {
        let mut state = 7_u32;
        let mut next = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        (0..40)
            .map(|_| {
                let mut buckets = vec![Vec::new(); 1 + next(5) as usize];
                for item in 0..9_u32 {
                    if next(4) > 0 {
                        let bucket = next(buckets.len() as u32) as usize;
                        buckets[bucket].push(format!("s{item}"));
                    }
                }
                buckets.retain(|bucket| !bucket.is_empty());
                buckets
            })
            .collect()
    }

    #[test]
    fn a_timeline_agrees_with_itself_and_its_reverse_does_not() {
        for buckets in timelines() {
            let gold = StageSequence::new(&buckets);
            let same = StageAgreement::between(&gold, &gold);
            assert!(same.exact && same.lccs == gold.n_stages());
            assert!(same.pairs.tau_b().is_none_or(|tau| tau == 1.0));
            let turned: Vec<_> = buckets.iter().rev().cloned().collect();
            let turned = StageAgreement::between(&gold, &StageSequence::new(&turned));
            assert!(turned.pairs.tau_b().is_none_or(|tau| tau == -1.0));
        }
    }

    #[test]
    fn sides_exchange_and_names_do_not_matter() {
        let all = timelines();
        for pair in all.windows(2) {
            let (gold, pred) = (StageSequence::new(&pair[0]), StageSequence::new(&pair[1]));
            let (there, back) = (StageAgreement::between(&gold, &pred), StageAgreement::between(&pred, &gold));
            assert_eq!(there.pairs.tau_b(), back.pairs.tau_b());
            assert_eq!((there.lccs, there.lccs_over_max(), there.n_common), (back.lccs, back.lccs_over_max(), back.n_common));
            assert_eq!(there.pairs.tied_gold_only, back.pairs.tied_pred_only);
            assert!(there.pairs.tau_b().is_none_or(|tau| (-1.0..=1.0).contains(&tau)));
            let renamed = |buckets: &[Vec<String>]| -> Vec<Vec<String>> {
                buckets.iter().map(|b| b.iter().rev().map(|name| format!(" Z{name}X ")).collect()).collect()
            };
            let (gold, pred) = (StageSequence::new(&renamed(&pair[0])), StageSequence::new(&renamed(&pair[1])));
            assert_eq!(StageAgreement::between(&gold, &pred), there);
        }
    }

    #[test]
    fn a_run_is_contiguous_and_does_not_wrap() {
        assert_eq!(compare(&[&["a"], &["b"], &["c"]], &[&["a"], &["x"], &["b"], &["c"]]).lccs, 2);
        assert_eq!(compare(&[&["a"], &["a"], &["b"]], &[&["a"], &["b"], &["a"]]).lccs, 2);
        assert_eq!(longest_common_run(&[1, 2, 3, 4], &[3, 4, 1, 2]), 2);
        assert_eq!(longest_common_run::<u8>(&[], &[1]), 0);
    }

    #[test]
    fn empty_and_single_sides() {
        let none = compare(&[], &[]);
        assert!(none.exact && none.lccs_over_gold().is_none() && none.pairs.tau_b().is_none());
        let no_gold = compare(&[], &[&["a"]]);
        assert_eq!((no_gold.exact, no_gold.lccs_over_gold(), no_gold.lccs_over_max()), (false, None, Some(0.0)));
        assert_eq!(compare(&[&["a"]], &[&["A "]]).pairs.tau_b(), None);
    }

    #[test]
    fn a_repeated_name_keeps_its_first_rank() {
        let repeated = compare(&[&["a"], &["b"]], &[&["a", "a"], &["b"], &["a"]]);
        assert_eq!((repeated.n_common, repeated.pairs.concordant, repeated.exact), (2, 1, false));
    }

    #[test]
    fn undefined_correlations_count_zero_or_are_left_out() {
        let reports = [compare(&[&["a"], &["b"]], &[&["a"], &["b"]]), compare(&[&["a"]], &[&["a"]])];
        let mean = MeanAgreement::of(&reports);
        assert_eq!((mean.tau_b, mean.tau_b_defined, mean.n_tau_undefined), (Some(0.5), Some(1.0), 1));
        assert_eq!(MeanAgreement::of(&reports[1..]).tau_b_defined, None);
        assert_eq!(MeanAgreement::of(&[]), MeanAgreement::default());
    }
}
