//! How well predicted times keep the order of the reference times. It knows times only.

use serde::{Deserialize, Serialize};

use super::timed_pair::TimedPair;

/// What pairs of matched events do to each other's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OrderCounts {
    /// Pairs in all.
    pub n_pairs: u64,
    /// In the same order on both sides.
    pub concordant: u64,
    /// In opposite order.
    pub discordant: u64,
    /// With equal reference times alone.
    pub tied_ref_only: u64,
    /// With equal predicted times alone.
    pub tied_pred_only: u64,
    /// With both equal.
    pub tied_both: u64,
}

impl OrderCounts {
    /// Compares every two of the matched events, given as (reference, predicted) times without NaN.
    ///
    /// # Numerics
    /// O(n log n), exact.
    ///
    /// # Source
    /// Knight 1966, doi:10.1080/01621459.1966.10480879.
    pub fn from_times(times: &[(f64, f64)]) -> Self {
        let mut sorted = times.to_vec();
        // Not total_cmp: zeros of both signs are one time.
        let order = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or(std::cmp::Ordering::Equal);
        sorted.sort_by(|x, y| order(x.0, y.0).then(order(x.1, y.1)));
        let tied_both = n_tied(&sorted, |x, y| x == y);
        let tied_ref = n_tied(&sorted, |x, y| x.0 == y.0);
        let mut predicted: Vec<f64> = sorted.iter().map(|&(_, t_pred)| t_pred).collect();
        let discordant = sort_counting_inversions(&mut predicted, &mut vec![0.0; sorted.len()]);
        let tied_pred = n_tied(&predicted, |x, y| x == y);
        let n_pairs = n_pairs(times.len());
        Self {
            n_pairs,
            concordant: n_pairs + tied_both - tied_ref - tied_pred - discordant,
            discordant,
            tied_ref_only: tied_ref - tied_both,
            tied_pred_only: tied_pred - tied_both,
            tied_both,
        }
    }

    /// Adds the pairs that one more event forms with those already counted.
    pub(super) fn add_event(&mut self, (t_ref, t_pred): (f64, f64), counted: &[(f64, f64)]) {
        let sign = |x: f64, y: f64| i32::from(x > y) - i32::from(x < y);
        let (mut concordant, mut discordant, mut ref_ties, mut pred_ties, mut both) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        for &(other_ref, other_pred) in counted {
            let (by_ref, by_pred) = (sign(t_ref, other_ref), sign(t_pred, other_pred));
            concordant += u64::from(by_ref * by_pred > 0);
            discordant += u64::from(by_ref * by_pred < 0);
            ref_ties += u64::from(by_ref == 0);
            pred_ties += u64::from(by_pred == 0);
            both += u64::from(by_ref == 0 && by_pred == 0);
        }
        self.n_pairs += counted.len() as u64;
        self.concordant += concordant;
        self.discordant += discordant;
        self.tied_ref_only += ref_ties - both;
        self.tied_pred_only += pred_ties - both;
        self.tied_both += both;
    }

    /// Concordant over comparable pairs; a tie on either side is not comparable. None without a comparable pair.
    ///
    /// # Source
    /// uid.txt, Appendix E.2.
    pub fn strict(&self) -> Option<f64> {
        ratio(self.concordant as f64, self.concordant + self.discordant)
    }

    /// The same with a tie of predicted times as half a concordant pair: Harrell's index, which the authors'
    /// published script reports.
    pub fn with_half_ties(&self) -> Option<f64> {
        let n_comparable = self.concordant + self.discordant + self.tied_pred_only;
        ratio(self.concordant as f64 + 0.5 * self.tied_pred_only as f64, n_comparable)
    }
}

fn ratio(part: f64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part / whole as f64)
}

fn n_pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

/// Pairs within the runs of equal neighbours.
fn n_tied<T>(sorted: &[T], equal: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(equal).map(|run| n_pairs(run.len())).sum()
}

/// Merge sort that counts the pairs which stood the wrong way round.
fn sort_counting_inversions(values: &mut [f64], buffer: &mut [f64]) -> u64 {
    let middle = values.len() / 2;
    if middle == 0 {
        return 0;
    }
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    let mut n_inversions = sort_counting_inversions(&mut values[..middle], left_buffer);
    n_inversions += sort_counting_inversions(&mut values[middle..], right_buffer);
    let (mut left, mut right) = (0, middle);
    for slot in buffer.iter_mut() {
        if left < middle && (right == values.len() || values[left] <= values[right]) {
            *slot = values[left];
            left += 1;
        } else {
            // It passes everything that is left of the left half.
            n_inversions += (middle - left) as u64;
            *slot = values[right];
            right += 1;
        }
    }
    values.copy_from_slice(buffer);
    n_inversions
}

/// What two equal predicted times count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionTies {
    /// Nothing: not comparable (uid.txt).
    NotComparable,
    /// Half a concordant pair (the authors' published script).
    Half,
}

/// What a time that is N/A does to concordance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingTimes {
    /// The matched pair takes no part.
    Outside,
    /// It counts as [`FAR_HOURS`] (the authors' published script).
    Far,
}

/// The time that the authors' published script puts in the place of N/A.
///
/// # Units
/// Hours.
pub const FAR_HOURS: f64 = 1e8;

/// How concordance is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConcordanceRule {
    /// Equal predicted times.
    pub prediction_ties: PredictionTies,
    /// Times that are N/A.
    pub missing_times: MissingTimes,
}

impl ConcordanceRule {
    /// The rule of uid.txt, Appendix E.2.
    pub const PAPER: Self = Self { prediction_ties: PredictionTies::NotComparable, missing_times: MissingTimes::Outside };
    /// The rule of the authors' published script.
    pub const PUBLISHED_SCRIPT: Self = Self { prediction_ties: PredictionTies::Half, missing_times: MissingTimes::Far };

    /// The times of a matched pair as this rule takes them; None if it stays outside.
    pub fn times(&self, pair: &TimedPair) -> Option<(f64, f64)> {
        match self.missing_times {
            MissingTimes::Outside => pair.times(),
            MissingTimes::Far => Some(pair.times_or(FAR_HOURS)),
        }
    }

    /// The index; None without a comparable pair.
    pub fn value(&self, counts: &OrderCounts) -> Option<f64> {
        match self.prediction_ties {
            PredictionTies::NotComparable => counts.strict(),
            PredictionTies::Half => counts.with_half_ties(),
        }
    }

    /// The index of matched pairs.
    pub fn concordance<'p>(&self, pairs: impl IntoIterator<Item = &'p TimedPair>) -> Option<f64> {
        let times: Vec<_> = pairs.into_iter().filter_map(|pair| self.times(pair)).collect();
        self.value(&OrderCounts::from_times(&times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_events_and_exchange_of_sides_change_nothing_and_reversal_turns_it_round() {
        for n in 0..40_i32 {
            let times: Vec<(f64, f64)> = (0..n).map(|i| (f64::from(i * 7 % 11), f64::from(i * 5 % 13))).collect();
            let counts = OrderCounts::from_times(&times);
            let mut moved = times.clone();
            moved.rotate_left(n as usize / 3);
            moved.reverse();
            assert_eq!(OrderCounts::from_times(&moved), counts);
            let exchanged: Vec<_> = times.iter().map(|&(x, y)| (y, x)).collect();
            assert_eq!(OrderCounts::from_times(&exchanged).strict(), counts.strict());
            let turned: Vec<_> = times.iter().map(|&(x, y)| (x, -y)).collect();
            let turned = OrderCounts::from_times(&turned);
            assert_eq!((turned.concordant, turned.discordant), (counts.discordant, counts.concordant));
            for value in [counts.strict(), counts.with_half_ties()].into_iter().flatten() {
                assert!((0.0..=1.0).contains(&value));
            }
        }
    }

    fn one_by_one(times: &[(f64, f64)]) -> OrderCounts {
        let mut counts = OrderCounts::default();
        for (i, &event) in times.iter().enumerate() {
            counts.add_event(event, &times[..i]);
        }
        counts
    }

    fn times(n: usize, levels: usize) -> Vec<(f64, f64)> {
        (0..n).map(|i| (((i * 7_919 + 3) % levels) as f64 - 5.0, ((i * 104_729 + i * i) % levels) as f64)).collect()
    }

    #[test]
    fn sorting_and_enumeration_agree() {
        for n in [0, 1, 2, 3, 17, 64, 201] {
            for levels in [1, 2, 7, 10_007] {
                let times = times(n, levels);
                let counts = OrderCounts::from_times(&times);
                assert_eq!(counts, one_by_one(&times));
                let parts = [counts.concordant, counts.discordant, counts.tied_ref_only, counts.tied_pred_only, counts.tied_both];
                assert_eq!(parts.iter().sum::<u64>(), counts.n_pairs);
                for value in [counts.strict(), counts.with_half_ties()].into_iter().flatten() {
                    assert!((0.0..=1.0).contains(&value));
                }
            }
        }
    }

    #[test]
    fn order_of_events_scale_and_sides_do_not_matter() {
        let times = times(101, 29);
        let counts = OrderCounts::from_times(&times);
        let turned: Vec<_> = times.iter().rev().map(|&(r, p)| (r * 3.0 - 1.0, p / 7.0)).collect();
        assert_eq!(OrderCounts::from_times(&turned), counts);
        let exchanged: Vec<_> = times.iter().map(|&(r, p)| (p, r)).collect();
        assert_eq!(OrderCounts::from_times(&exchanged).strict(), counts.strict());
        let reversed: Vec<_> = times.iter().map(|&(r, p)| (r, -p)).collect();
        let mirror = OrderCounts::from_times(&reversed);
        assert_eq!((mirror.concordant, mirror.discordant), (counts.discordant, counts.concordant));
    }

    #[test]
    fn ties_zeros_and_huge_times() {
        assert_eq!(OrderCounts::from_times(&[(0.0, 1.0), (-0.0, 2.0)]).tied_ref_only, 1);
        assert_eq!(one_by_one(&[(0.0, 1.0), (-0.0, 2.0)]).tied_ref_only, 1);
        let huge = [(-1e300, -1e300), (1e300, 1e300), (0.0, 0.0)];
        assert_eq!(OrderCounts::from_times(&huge).strict(), Some(1.0));
        let all_tied = OrderCounts::from_times(&[(1.0, 0.0), (2.0, 0.0)]);
        assert_eq!((all_tied.strict(), all_tied.with_half_ties()), (None, Some(0.5)));
        assert_eq!(OrderCounts::from_times(&[(1.0, 1.0)]).with_half_ties(), None);
    }

    #[test]
    fn missing_times_stay_outside_or_go_far() {
        let pair = |r, p| TimedPair::new(0.0, r, p).unwrap();
        let pairs = [pair(Some(0.0), Some(0.0)), pair(Some(24.0), None), pair(Some(30.0), Some(5.0)), pair(None, None)];
        assert_eq!(ConcordanceRule::PAPER.concordance(&pairs), Some(1.0));
        // (24, 1e8) against (30, 5) is the wrong way round; against (1e8, 1e8) it is a tie of predictions.
        assert_eq!(ConcordanceRule::PUBLISHED_SCRIPT.concordance(&pairs), Some(4.5 / 6.0));
        assert_eq!(ConcordanceRule::PAPER.concordance(&[]), None);
    }
}
