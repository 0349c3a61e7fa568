//! Holm's adjustment of p values for several comparisons. It knows no test.

use super::error::MeasureError;

/// The adjusted p values, in the order given: no comparison is called different at level a unless its value here is
/// at most a, and the chance of any false call is then at most a.
///
/// # Errors
/// A p value that is no number in [0, 1].
///
/// # Source
/// Holm 1979, Scandinavian Journal of Statistics 6(2), 65-70.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, MeasureError> {
    if let Some(&got) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(MeasureError::NumberOutOfRange { what: "a p value", expected: "in [0, 1]", got });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&x, &y| p_values[x].total_cmp(&p_values[y]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &position) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - rank) as f64 * p_values[position]).min(1.0);
        adjusted[position] = largest;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_r() {
        // p.adjust(c(.01, .04, .03, .005), "holm")
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]).unwrap();
        for (got, want) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-15, "{adjusted:?}");
        }
    }

    #[test]
    fn bounds_ties_and_order() {
        assert!(holm(&[]).unwrap().is_empty());
        assert_eq!(holm(&[0.7, 0.7]).unwrap(), vec![1.0, 1.0]);
        assert_eq!(holm(&[0.2, 0.2, 0.0]).unwrap(), vec![0.4, 0.4, 0.0]);
        assert_eq!(holm(&[0.5]).unwrap(), vec![0.5]);
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(holm(&[0.5, bad]).is_err());
        }
    }
}
