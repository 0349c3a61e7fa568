//! One-to-one matching of reference and predicted events by distance.
//!
//! It knows distances only: no text and no times. A threshold is applied to a finished matching, so that one
//! matching serves every threshold.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
pub use super::candidates::{Distance, DistanceMatrix};
use super::error::MeasureError;
use super::finding::vocabulary;

vocabulary! {
    /// How pairs are chosen. The two differ on real data, so results must say which one ran.
    Matcher, "a matcher", "greedy, rounds", {
        /// [`greedy`]: the procedure as uid.txt prints it.
        Greedy = "greedy",
        /// [`rounds`]: what the authors' published script does.
        Rounds = "rounds",
    }
}

/// A reference and the prediction it was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the reference.
    pub reference: u32,
    /// Index of the prediction.
    pub prediction: u32,
    /// Their distance, in the unit of the matrix.
    pub distance: f64,
}

impl Matcher {
    /// Matches everything that can be matched: greedy pairs by distance, rounds' pairs by (round, reference).
    pub fn pairs<D: Distance>(self, distances: DistanceMatrix<'_, D>) -> Vec<Pair> {
        match self {
            Self::Greedy => greedy(distances),
            Self::Rounds => rounds(distances).into_iter().map(|(_, pair)| pair).collect(),
        }
    }
}

/// Recursive best match: the smallest remaining distance again and again, in the order of selection.
///
/// Among equal distances the lowest reference goes first, then the lowest prediction. NaN and infinity are never
/// picked.
///
/// # Numerics
/// O(N_ref N_pred log N_pred) for any input; the order is total, so the answer is unique.
///
/// # Source
/// uid.txt, Algorithm E.1, without its threshold: see [`kept_below`].
pub fn greedy<D: Distance>(distances: DistanceMatrix<'_, D>) -> Vec<Pair> {
    greedy_below(distances, f64::INFINITY)
}

/// The pairs of [`greedy`] with a distance below `limit`, without looking at anything farther.
///
/// The choice is made in order of distance, so what lies beyond the limit cannot change what lies below. That does
/// not hold for [`rounds`].
pub fn greedy_below<D: Distance>(distances: DistanceMatrix<'_, D>, limit: f64) -> Vec<Pair> {
    let mut candidates = Candidates::new(distances, limit);
    let mut pairs = Vec::with_capacity(distances.n_ref().min(distances.n_pred()));
    // Free references in ascending order, each with the nearest prediction that was free when last looked at.
    let mut free: Vec<(u32, D::Key)> = Vec::with_capacity(distances.n_ref());
    free.extend((0..distances.n_ref() as u32).filter_map(|reference| Some((reference, candidates.nearest(reference)?))));
    let mut best = smallest::<D>(&free);
    // A pass over the free references a selection: no more passes in all than the matrix has distances.
    while let Some((reference, key)) = best {
        let prediction = D::index(key);
        candidates.take(prediction);
        pairs.push(Pair { reference, prediction, distance: D::value(key) });
        best = None;
        free.retain_mut(|(other, nearest)| {
            if *other == reference {
                return false;
            }
            if D::index(*nearest) == prediction {
                match candidates.nearest(*other) {
                    Some(next) => *nearest = next,
                    None => return false,
                }
            }
            if best.is_none_or(|(_, least)| D::is_nearer(*nearest, least)) {
                best = Some((*other, *nearest));
            }
            true
        });
    }
    pairs
}

/// The first of the smallest distances.
fn smallest<D: Distance>(free: &[(u32, D::Key)]) -> Option<(u32, D::Key)> {
    let nearer = |best: (u32, D::Key), next: &(u32, D::Key)| if D::is_nearer(next.1, best.1) { *next } else { best };
    let (first, rest) = free.split_first()?;
    Some(rest.iter().fold(*first, nearer))
}

/// Matching in rounds: every free reference claims its nearest free prediction, each prediction goes to its nearest
/// claimant, and the winners of a round are fixed together. Returns the round, from 0, with each pair, ordered by
/// (round, reference).
///
/// A reference may thus be fixed to a far prediction that no other claims in that round, although a later round
/// would have brought a nearer claimant. Equal distances: lowest prediction for a claim, lowest reference for an
/// award. NaN and infinity are never picked.
///
/// # Numerics
/// O(N_ref N_pred log N_pred) for any input.
///
/// # Source
/// The published comparison script of the authors of uid.txt. Differs from uid.txt, Algorithm E.1: see above.
pub fn rounds<D: Distance>(distances: DistanceMatrix<'_, D>) -> Vec<(u32, Pair)> {
    let mut candidates = Candidates::new(distances, f64::INFINITY);
    let mut waiting: Vec<u32> = (0..distances.n_ref() as u32).collect();
    let mut claims: Vec<Option<D::Key>> = vec![None; distances.n_pred()];
    let mut claimed = Vec::new();
    let mut pairs = Vec::with_capacity(distances.n_ref().min(distances.n_pred()));
    for round in 0.. {
        waiting.retain(|&reference| {
            let Some(key) = candidates.nearest(reference) else {
                return false;
            };
            let claim = D::with_index(key, reference);
            match &mut claims[D::index(key) as usize] {
                Some(best) => *best = claim.min(*best),
                none => {
                    *none = Some(claim);
                    claimed.push(D::index(key));
                }
            }
            true
        });
        if claimed.is_empty() {
            break;
        }
        let first = pairs.len();
        for prediction in claimed.drain(..) {
            candidates.take(prediction);
            pairs.extend(claims[prediction as usize].take().map(|claim| {
                let pair = Pair { reference: D::index(claim), prediction, distance: D::value(claim) };
                (round, pair)
            }));
        }
        let winners = &mut pairs[first..];
        winners.sort_unstable_by_key(|(_, pair)| pair.reference);
        // Both are in ascending order of reference.
        let mut won = winners.iter().map(|(_, pair)| pair.reference).peekable();
        waiting.retain(|&reference| won.next_if_eq(&reference).is_none());
    }
    pairs
}

/// The pairs that count at a threshold: strictly below it, in the order given.
///
/// # Source
/// uid.txt, Appendix E.1.
pub fn kept_below(pairs: &[Pair], threshold: f64) -> impl Iterator<Item = &Pair> {
    pairs.iter().filter(move |pair| pair.distance < threshold)
}

/// Part of the references that were matched; None without references, 0 without predictions.
///
/// # Source
/// uid.txt, Appendix E.1.
pub fn match_rate(n_kept: u64, n_ref: u64) -> Option<f64> {
    (n_ref > 0).then(|| n_kept as f64 / n_ref as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The procedure as printed: look at every free pair, again and again.
    fn literal_greedy(n_ref: usize, n_pred: usize, values: &[f64]) -> Vec<Pair> {
        let (mut refs, mut preds): (Vec<_>, Vec<_>) = ((0..n_ref).collect(), (0..n_pred).collect());
        let mut pairs = Vec::new();
        loop {
            let mut best = None;
            for &r in &refs {
                for &p in &preds {
                    let d = values[r * n_pred + p];
                    if d < best.map_or(f64::INFINITY, |(_, _, d)| d) {
                        best = Some((r, p, d));
                    }
                }
            }
            let Some((r, p, distance)) = best else {
                return pairs;
            };
            refs.retain(|&x| x != r);
            preds.retain(|&x| x != p);
            pairs.push(Pair { reference: r as u32, prediction: p as u32, distance });
        }
    }

    fn literal_rounds(n_ref: usize, n_pred: usize, values: &[f64]) -> Vec<(u32, Pair)> {
        let (mut refs, mut preds): (Vec<_>, Vec<_>) = ((0..n_ref).collect(), (0..n_pred).collect());
        let mut pairs = Vec::new();
        for round in 0.. {
            let at = |r: usize, p: usize| values[r * n_pred + p];
            let nearest = |r: usize| {
                let free = preds.iter().copied().filter(|&p| at(r, p) < f64::INFINITY);
                free.min_by(|&x, &y| at(r, x).partial_cmp(&at(r, y)).unwrap())
            };
            let claims: Vec<_> = refs.iter().filter_map(|&r| nearest(r).map(|p| (r, p))).collect();
            if claims.is_empty() {
                break;
            }
            let mut winners = Vec::new();
            for &p in &preds {
                let claimants = claims.iter().filter(|c| c.1 == p).map(|c| c.0);
                winners.extend(claimants.min_by(|&x, &y| at(x, p).partial_cmp(&at(y, p)).unwrap()).map(|r| (r, p)));
            }
            winners.sort_unstable();
            for &(r, p) in &winners {
                pairs.push((round, Pair { reference: r as u32, prediction: p as u32, distance: at(r, p) }));
            }
            refs.retain(|r| winners.iter().all(|w| w.0 != *r));
            preds.retain(|p| winners.iter().all(|w| w.1 != *p));
        }
        pairs
    }

    /// Pseudo-random integers; a test needs no better ones.
    struct Lcg(u64);

    impl Lcg {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    /// Matrices of many shapes: continuous, with many ties, with NaN, with rows alike.
    fn matrices() -> Vec<(usize, usize, Vec<f64>)> {
        let mut lcg = Lcg(1);
        let mut all = Vec::new();
        for case in 0..240 {
            let (n_ref, n_pred) = (lcg.below(60) as usize, lcg.below(60) as usize);
            let levels = [1_000_000, 20, 3, 1][case % 4];
            let mut values: Vec<_> = (0..n_ref * n_pred).map(|_| lcg.below(levels) as f64 / levels as f64).collect();
            if case % 3 == 1 {
                values.iter_mut().for_each(|v| *v = if lcg.below(3) == 0 { f64::NAN } else { *v });
            }
            if case % 5 == 2 {
                (0..values.len()).for_each(|i| values[i] = (i % n_pred) as f64);
            }
            all.push((n_ref, n_pred, values));
        }
        all
    }

    #[test]
    fn both_matchers_equal_their_literal_procedure() {
        for (n_ref, n_pred, values) in matrices() {
            let matrix = DistanceMatrix::new(n_ref, n_pred, &values).unwrap();
            let pairs = greedy(matrix);
            assert_eq!(pairs, literal_greedy(n_ref, n_pred, &values));
            assert!(pairs.is_sorted_by_key(|p| p.distance));
            assert_eq!(rounds(matrix), literal_rounds(n_ref, n_pred, &values));
            for threshold in [0.0, 0.05, 0.5, f64::NAN] {
                let kept: Vec<_> = kept_below(&pairs, threshold).copied().collect();
                assert_eq!(greedy_below(matrix, threshold), kept);
            }
        }
    }

    #[test]
    fn narrow_distances_match_like_wide_ones_of_the_same_value() {
        for (n_ref, n_pred, values) in matrices() {
            let narrow: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            let wide: Vec<f64> = narrow.iter().map(|&v| f64::from(v)).collect();
            let (narrow, wide) =
                (DistanceMatrix::new(n_ref, n_pred, &narrow).unwrap(), DistanceMatrix::new(n_ref, n_pred, &wide).unwrap());
            for matcher in Matcher::ALL {
                assert_eq!(matcher.pairs(narrow), matcher.pairs(wide));
            }
        }
    }

    #[test]
    fn relabelling_and_exchanging_sides_carry_over_without_ties() {
        let (n_ref, n_pred) = (23, 31);
        // 7919 is prime to the size, so all distances differ.
        let values: Vec<f64> = (0..n_ref * n_pred).map(|i| ((i * 7_919) % (n_ref * n_pred)) as f64).collect();
        let pairs = greedy(DistanceMatrix::new(n_ref, n_pred, &values).unwrap());
        let mut exchanged = vec![0.0; values.len()];
        let mut relabelled = vec![0.0; values.len()];
        let (label_r, label_p) = (|r: usize| (r * 5 + 3) % n_ref, |p: usize| (p * 7 + 2) % n_pred);
        for r in 0..n_ref {
            for p in 0..n_pred {
                exchanged[p * n_ref + r] = values[r * n_pred + p];
                relabelled[label_r(r) * n_pred + label_p(p)] = values[r * n_pred + p];
            }
        }
        let exchanged = greedy(DistanceMatrix::new(n_pred, n_ref, &exchanged).unwrap());
        let back = |p: &Pair| Pair { reference: p.prediction, prediction: p.reference, ..*p };
        assert_eq!(exchanged.iter().map(back).collect::<Vec<_>>(), pairs);
        let matrix = DistanceMatrix::new(n_ref, n_pred, &relabelled).unwrap();
        let renamed = |p: &Pair| Pair {
            reference: label_r(p.reference as usize) as u32,
            prediction: label_p(p.prediction as usize) as u32,
            ..*p
        };
        assert_eq!(greedy(matrix), pairs.iter().map(renamed).collect::<Vec<_>>());
    }

    #[test]
    fn empty_sides_single_events_and_infinities() {
        for (n_ref, n_pred) in [(0, 0), (0, 3), (3, 0)] {
            let matrix = DistanceMatrix::<f64>::new(n_ref, n_pred, &[]).unwrap();
            assert!(Matcher::ALL.iter().all(|m| m.pairs(matrix).is_empty()));
        }
        assert_eq!((match_rate(0, 0), match_rate(0, 3), match_rate(2, 4)), (None, Some(0.0), Some(0.5)));
        let never = [f64::INFINITY, f64::NAN];
        assert!(Matcher::ALL.iter().all(|m| m.pairs(DistanceMatrix::new(1, 2, &never).unwrap()).is_empty()));
        let below_zero = [-0.0, -1e-9];
        assert_eq!(greedy(DistanceMatrix::new(1, 2, &below_zero).unwrap())[0].prediction, 1);
        let at_threshold = greedy(DistanceMatrix::new(1, 1, &[0.1]).unwrap());
        assert_eq!(kept_below(&at_threshold, 0.1).count(), 0);
        assert_eq!(kept_below(&at_threshold, 10.0 / 100.0 + f64::EPSILON).count(), 1);
    }

    #[test]
    fn a_kept_pair_is_small() {
        assert!(size_of::<Pair>() <= 24);
    }
}
