//! Distance bands of matched pairs, the strata of a matcher audit. It knows no review and draws no sample.

use std::collections::HashSet;

use super::error::MeasureError;

/// Half-open bands [lo, hi) between ascending edges.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceBands {
    edges: Vec<f64>,
}

impl DistanceBands {
    /// Bands between each edge and the next.
    ///
    /// # Errors
    /// Edges that are not finite or do not ascend.
    ///
    /// # Source
    /// gavel.txt, matcher audit.
    pub fn new(edges: Vec<f64>) -> Result<Self, MeasureError> {
        if let Some(&got) = edges.iter().find(|edge| !edge.is_finite()) {
            return Err(MeasureError::NumberOutOfRange { what: "a band edge", expected: "finite", got });
        }
        if let Some(pair) = edges.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(MeasureError::NumberOutOfRange {
                what: "a band edge",
                expected: "above the edge before it",
                got: pair[1],
            });
        }
        Ok(Self { edges })
    }

    /// Number of bands.
    pub fn n_bands(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// The band that holds a distance; None outside all bands and for NaN.
    pub fn band(&self, distance: f64) -> Option<usize> {
        let n_below = self.edges.partition_point(|&edge| edge <= distance);
        n_below.checked_sub(1).filter(|&band| band < self.n_bands())
    }

    /// How many of the distances each band holds, and how many none.
    pub fn counts(&self, distances: impl IntoIterator<Item = f64>) -> BandCounts {
        let mut counts = BandCounts { bands: vec![0; self.n_bands()], out_of_range: 0 };
        for distance in distances {
            match self.band(distance) {
                Some(band) => counts.bands[band] += 1,
                None => counts.out_of_range += 1,
            }
        }
        counts
    }
}

/// Pairs a band.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BandCounts {
    /// Of each band, in order.
    pub bands: Vec<usize>,
    /// Outside all bands.
    pub out_of_range: usize,
}

/// The positions of the pairs that an audit pools: those with a finite distance, of equal text pairs the first.
///
/// # Source
/// gavel.txt, matcher audit.
pub fn pooled_pairs<'t>(pairs: impl IntoIterator<Item = (&'t str, &'t str, f64)>) -> Vec<usize> {
    let mut seen = HashSet::new();
    let pairs = pairs.into_iter().enumerate();
    pairs
        .filter(|&(_, (reference, prediction, distance))| distance.is_finite() && seen.insert((reference, prediction)))
        .map(|(position, _)| position)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_their_lower_edge() {
        let bands = DistanceBands::new(vec![0.0, 0.08, 0.1, 0.3]).unwrap();
        assert_eq!(bands.n_bands(), 3);
        for (distance, band) in [
            (-1e-9, None),
            (-0.0, Some(0)),
            (0.0, Some(0)),
            (0.08, Some(1)),
            (0.1, Some(2)),
            (0.3_f64.next_down(), Some(2)),
            (0.3, None),
            (f64::INFINITY, None),
            (f64::NAN, None),
        ] {
            assert_eq!(bands.band(distance), band, "{distance}");
        }
        let counts = bands.counts([0.0, 0.09, 0.5, 0.09]);
        assert_eq!((counts.bands, counts.out_of_range), (vec![1, 2, 0], 1));
    }

    #[test]
    fn a_repeated_pair_keeps_its_first_finite_row() {
        let pairs = [("a", "b", f64::NAN), ("a", "b", 0.2), ("b", "a", 0.2), ("a", "b", 0.1), ("c", "c", f64::INFINITY)];
        assert_eq!(pooled_pairs(pairs), vec![1, 2]);
        assert!(pooled_pairs([]).is_empty());
    }

    #[test]
    fn edges_must_ascend() {
        assert!(DistanceBands::new(vec![0.0, 0.0]).is_err());
        assert!(DistanceBands::new(vec![0.1, 0.0]).is_err());
        assert!(DistanceBands::new(vec![0.0, f64::INFINITY]).is_err());
        for edges in [vec![], vec![0.5]] {
            let bands = DistanceBands::new(edges).unwrap();
            assert_eq!((bands.n_bands(), bands.band(0.5)), (0, None));
        }
    }
}
