//! One summary for each series of a patient's structured record, with the rows behind it.
//!
//! It reads texts as they stand in a table of t, event, value; it knows no units of measurement.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One row of the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesRow<'a> {
    /// Time; not finite where it could not be read.
    pub t_hours: f64,
    /// Name of the series.
    pub event: &'a str,
    /// Value as written.
    pub value: &'a str,
}

/// A finite number from a cell of a table; None for anything else. White space around it does not matter.
pub fn cell_number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A value and when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observation<V> {
    /// Time in hours.
    pub t_hours: f64,
    /// Value.
    pub value: V,
}

/// Statistics of the values that are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NumericSummary {
    /// Values that are numbers.
    pub n_numeric: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation as a sample; None for a single value.
    pub std_sample: Option<f64>,
    /// Their standard deviation as a population.
    pub std_pop: f64,
    /// The earliest; of equal times the first row.
    pub first: Observation<f64>,
    /// The latest; of equal times the last row.
    pub last: Observation<f64>,
    /// The smallest; of equal values the earliest.
    pub min: Observation<f64>,
    /// The largest; of equal values the earliest.
    pub max: Observation<f64>,
}

/// The values that a series takes most often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoricalSummary<'a> {
    /// Up to five values with their counts; of equal counts the value whose row comes first.
    #[serde(borrow)]
    pub top: Vec<(&'a str, usize)>,
    /// Further different values.
    pub n_other_unique: usize,
}

/// What kind of series it is.
#[derive(Debug, Clone, PartialEq)]
pub enum SeriesKind<'a> {
    /// At least four values in five are finite numbers.
    Numeric(NumericSummary),
    /// Any other.
    Categorical(CategoricalSummary<'a>),
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesSummary<'a> {
    /// Its exact name.
    pub event: &'a str,
    /// Time of the earliest row.
    pub t_min: f64,
    /// Time of the latest row.
    pub t_max: f64,
    /// Indices of its rows, ascending.
    pub rows: Vec<usize>,
    /// Its statistics.
    pub kind: SeriesKind<'a>,
    /// Every observation by time, equal times in row order; None past [`KEEP_ALL`] of them.
    pub all: Option<Vec<Observation<&'a str>>>,
}

/// Most observations of which every one is kept.
pub const KEEP_ALL: usize = 12;
/// Values listed of a categorical series.
pub const TOP_VALUES: usize = 5;

/// Summarises every series, in the order of their first rows. Rows whose time is not finite are left out.
///
/// # Units
/// Hours; values as recorded.
///
/// # Numerics
/// Mean and deviations are sums in row order of differences from the first value, so equal values have a
/// deviation of exactly 0. Where the sum of squares is beyond double precision they are not finite.
///
/// # Source
/// uid.txt, section C.2 and Table C.3.
pub fn summarise<'a>(rows: &[SeriesRow<'a>]) -> Vec<SeriesSummary<'a>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.t_hours.is_finite()) {
        let place = *places.entry(row.event).or_insert(groups.len());
        if place == groups.len() {
            groups.push((row.event, Vec::new()));
        }
        groups[place].1.push(i);
    }
    groups.into_iter().map(|(event, members)| summarise_one(event, members, rows)).collect()
}

fn summarise_one<'a>(event: &'a str, members: Vec<usize>, rows: &[SeriesRow<'a>]) -> SeriesSummary<'a> {
    let mut by_time = members.clone();
    by_time.sort_by(|&i, &j| rows[i].t_hours.total_cmp(&rows[j].t_hours));
    let seen = |i: usize| Observation { t_hours: rows[i].t_hours, value: rows[i].value };
    let numbers = |order: &[usize]| -> Vec<Observation<f64>> {
        let number = |&i: &usize| cell_number(rows[i].value).map(|value| Observation { t_hours: rows[i].t_hours, value });
        order.iter().filter_map(number).collect()
    };
    let numeric = numeric_summary(&numbers(&members), &numbers(&by_time));
    let kind = match numeric {
        Some(numeric) if 5 * numeric.n_numeric >= 4 * members.len() => SeriesKind::Numeric(numeric),
        _ => SeriesKind::Categorical(categorical_summary(members.iter().map(|&i| rows[i].value))),
    };
    SeriesSummary {
        event,
        t_min: rows[by_time[0]].t_hours,
        t_max: rows[by_time[by_time.len() - 1]].t_hours,
        all: (members.len() <= KEEP_ALL).then(|| by_time.iter().map(|&i| seen(i)).collect()),
        rows: members,
        kind,
    }
}

/// None without numbers.
fn numeric_summary(in_row_order: &[Observation<f64>], by_time: &[Observation<f64>]) -> Option<NumericSummary> {
    let (&first, &last) = (by_time.first()?, by_time.last()?);
    let n = in_row_order.len() as f64;
    let origin = in_row_order.first()?.value;
    let shift = in_row_order.iter().map(|seen| seen.value - origin).sum::<f64>() / n;
    let squares: f64 = in_row_order.iter().map(|seen| (seen.value - origin - shift).powi(2)).sum();
    // The first of equal values: a later one replaces it only where it is strictly beyond.
    let extreme = |beyond: fn(f64, f64) -> bool| {
        by_time[1..].iter().fold(first, |best, seen| if beyond(seen.value, best.value) { *seen } else { best })
    };
    Some(NumericSummary {
        n_numeric: in_row_order.len(),
        mean: origin + shift,
        std_sample: (in_row_order.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
        std_pop: (squares / n).sqrt(),
        first,
        last,
        min: extreme(|value, best| value < best),
        max: extreme(|value, best| value > best),
    })
}

fn categorical_summary<'a>(values: impl Iterator<Item = &'a str>) -> CategoricalSummary<'a> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for value in values {
        let place = *places.entry(value).or_insert(counts.len());
        if place == counts.len() {
            counts.push((value, 0));
        }
        counts[place].1 += 1;
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let n_other_unique = counts.len().saturating_sub(TOP_VALUES);
    counts.truncate(TOP_VALUES);
    CategoricalSummary { top: counts, n_other_unique }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[(f64, &'static str)]) -> Vec<SeriesRow<'static>> {
        cells.iter().map(|&(t_hours, value)| SeriesRow { t_hours, event: "X", value }).collect()
    }

    fn numeric(cells: &[(f64, &'static str)]) -> NumericSummary {
        let rows = rows(cells);
        match summarise(&rows).remove(0).kind {
            SeriesKind::Numeric(numeric) => numeric,
            SeriesKind::Categorical(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn cells_are_numbers_only_when_finite() {
        for (text, number) in [(" 4.0\t", Some(4.0)), ("-1e3", Some(-1000.0)), ("+.5", Some(0.5))] {
            assert_eq!(cell_number(text), number);
        }
        for text in ["", " ", "nan", "inf", "-Infinity", "1e999", "1,000", "<5", "4 mg", "1_0", "0x10"] {
            assert_eq!(cell_number(text), None, "{text}");
        }
    }

    #[test]
    fn equal_times_follow_the_rows_and_equal_values_the_time() {
        let summary = numeric(&[(2.0, "5"), (1.0, "5"), (1.0, "7"), (2.0, "7")]);
        assert_eq!((summary.first.value, summary.last.value), (5.0, 7.0));
        assert_eq!((summary.min.t_hours, summary.max.t_hours), (1.0, 1.0));
    }

    #[test]
    fn first_and_last_are_numbers() {
        let summary = numeric(&[(0.0, "n/a"), (1.0, "1"), (2.0, "2"), (3.0, "3"), (4.0, "4")]);
        assert_eq!((summary.first.t_hours, summary.last.t_hours, summary.n_numeric), (1.0, 4.0, 4));
    }

    #[test]
    fn no_variance_is_exactly_none() {
        let summary = numeric(&[(0.0, "0.1"), (1.0, "0.1"), (2.0, "0.1")]);
        assert_eq!((summary.mean, summary.std_sample, summary.std_pop), (0.1, Some(0.0), 0.0));
        let large = numeric(&[(0.0, "1000000000000000"), (1.0, "1000000000000001"), (2.0, "1000000000000002")]);
        assert_eq!(large.std_sample, Some(1.0));
    }

    #[test]
    fn bad_times_leave_and_indices_stay() {
        let rows = rows(&[(f64::NAN, "1"), (f64::INFINITY, "2"), (-8766e3, "3")]);
        let series = summarise(&rows);
        assert_eq!((series.len(), &series[0].rows[..], series[0].t_min), (1, &[2][..], -8766e3));
        assert!(summarise(&[]).is_empty());
    }

    #[test]
    fn a_series_without_numbers_is_categorical_and_long_ones_keep_no_list() {
        let cells: Vec<_> = (0..13).map(|i| (f64::from(i), if i % 2 == 0 { "\u{201c}b\u{201d}" } else { "a" })).collect();
        let rows = rows(&cells);
        let series = summarise(&rows);
        assert_eq!(series[0].all, None);
        let SeriesKind::Categorical(summary) = &series[0].kind else { panic!("numeric") };
        assert_eq!((&summary.top[..], summary.n_other_unique), (&[("\u{201c}b\u{201d}", 7), ("a", 6)][..], 0));
        assert_eq!(summarise(&rows[..12])[0].all.as_ref().map(Vec::len), Some(12));
    }
}
