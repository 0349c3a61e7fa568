//! Which retrieved rows of the structured record reach the model.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::error::MeasureError;

/// The limits of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RowLimits {
    /// Rows later than discharge by more than this are left out.
    pub hours_past_discharge: f64,
    /// Smallest score kept.
    pub min_score: f64,
    /// Summaries kept for one query.
    pub summaries_per_query: usize,
    /// Rows kept for one case.
    pub rows_per_case: usize,
}

impl RowLimits {
    /// 12 hours, a score of .05, three summaries a query, 100 rows a case (uid.txt, Table C.3).
    pub const UID: Self = Self { hours_past_discharge: 12.0, min_score: 0.05, summaries_per_query: 3, rows_per_case: 100 };
}

/// A source row reached through a summary that a query retrieved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateRow<'a> {
    /// The occurrence that asked.
    pub uid: &'a str,
    /// Its query.
    pub query: &'a str,
    /// The summary that the row stands behind.
    pub summary: &'a str,
    /// Index of the row in the structured record.
    pub row: i64,
    /// Time of the row.
    pub t_hours: f64,
    /// The reranker's score of the summary for the query.
    pub score: f64,
    /// The occurrence's time as estimated from text, where there is one.
    pub text_estimate_hours: Option<f64>,
}

/// What the filter left.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilteredRows {
    /// Positions of the kept candidates, best first.
    pub ranked: Vec<usize>,
    /// Candidates left by the time limit.
    pub n_after_time: usize,
    /// Of them, those left by the score limit.
    pub n_after_score: usize,
}

/// Filters one case's candidates: time, then score, then the best summaries of each query, then the best rows.
///
/// Limits themselves are kept. Summaries of one query rank by score, equal scores as they came. Rows of the
/// case rank by score, then by distance from the text estimate (an unknown distance last), then by row
/// index; where no distance is known, equal scores stay as they came. A time or score that is no number is
/// left out.
///
/// # Units
/// Hours.
///
/// # Errors
/// A summary that a query scored in two ways.
///
/// # Source
/// uid.txt, Table C.3, primary filtering. The order of the steps, and that a query's limit counts summaries
/// while the case's counts rows, are this program's reading.
pub fn filter_rows(
    candidates: &[CandidateRow<'_>],
    discharge_hours: f64,
    limits: &RowLimits,
) -> Result<FilteredRows, MeasureError> {
    let last = discharge_hours + limits.hours_past_discharge;
    let in_time: Vec<usize> = (0..candidates.len()).filter(|&i| candidates[i].t_hours <= last).collect();
    let scored: Vec<usize> = in_time.iter().copied().filter(|&i| candidates[i].score >= limits.min_score).collect();
    let mut ranked = best_summaries(candidates, &scored, limits.summaries_per_query)?;
    ranked.sort_by(|&i, &j| rank(&candidates[i], &candidates[j]).then(i.cmp(&j)));
    ranked.truncate(limits.rows_per_case);
    Ok(FilteredRows { ranked, n_after_time: in_time.len(), n_after_score: scored.len() })
}

/// The candidates behind the `k` best summaries of each query, in the order given.
fn best_summaries(candidates: &[CandidateRow<'_>], among: &[usize], k: usize) -> Result<Vec<usize>, MeasureError> {
    // Summaries of each query in the order of their first row.
    let mut queries: HashMap<(&str, &str), Vec<(&str, f64)>> = HashMap::new();
    for &i in among {
        let row = &candidates[i];
        let summaries = queries.entry((row.uid, row.query)).or_default();
        match summaries.iter().find(|(summary, _)| *summary == row.summary) {
            None => summaries.push((row.summary, row.score)),
            Some(&(_, score)) if score == row.score => {}
            Some(_) => {
                return Err(MeasureError::NumberOutOfRange {
                    what: "the score of a summary's further row",
                    expected: "equal to that of its first row for the same query",
                    got: row.score,
                });
            }
        }
    }
    let mut kept = HashSet::new();
    for (query, mut summaries) in queries {
        summaries.sort_by(|x, y| y.1.total_cmp(&x.1));
        kept.extend(summaries.into_iter().take(k).map(|(summary, _)| (query, summary)));
    }
    let is_kept = |row: &CandidateRow<'_>| kept.contains(&((row.uid, row.query), row.summary));
    Ok(among.iter().copied().filter(|&i| is_kept(&candidates[i])).collect())
}

fn rank(x: &CandidateRow<'_>, y: &CandidateRow<'_>) -> Ordering {
    let distance = |row: &CandidateRow<'_>| {
        let estimate = row.text_estimate_hours.filter(|estimate| estimate.is_finite());
        estimate.map(|estimate| (row.t_hours - estimate).abs())
    };
    let by_distance = match (distance(x), distance(y)) {
        (Some(dx), Some(dy)) => dx.total_cmp(&dy).then(x.row.cmp(&y.row)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    y.score.total_cmp(&x.score).then(by_distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(query: &'static str, summary: &'static str, row: i64, t_hours: f64, score: f64) -> CandidateRow<'static> {
        CandidateRow { uid: "U", query, summary, row, t_hours, score, text_estimate_hours: None }
    }

    fn ranked(candidates: &[CandidateRow<'_>], limits: &RowLimits) -> Vec<usize> {
        filter_rows(candidates, 100.0, limits).unwrap().ranked
    }

    #[test]
    fn limits_are_kept_and_what_is_no_number_is_not() {
        let candidates = [
            row("q", "a", 0, 112.0, 0.05),
            row("q", "b", 1, 112.000_001, 0.9),
            row("q", "c", 2, f64::NAN, 0.9),
            row("q", "d", 3, 0.0, f64::NAN),
            row("q", "e", 4, -5e9, 0.049_999),
            row("q", "f", 5, -5e9, 0.5),
        ];
        let left = filter_rows(&candidates, 100.0, &RowLimits::UID).unwrap();
        assert_eq!((left.ranked, left.n_after_time, left.n_after_score), (vec![5, 0], 4, 2));
        assert_eq!(filter_rows(&[], 100.0, &RowLimits::UID).unwrap(), FilteredRows::default());
    }

    #[test]
    fn a_query_keeps_summaries_with_all_their_rows_and_the_case_counts_rows() {
        let mut candidates = vec![row("q", "late", 9, 200.0, 0.99)];
        for (summary, score) in [("a", 0.2), ("b", 0.9), ("c", 0.2), ("d", 0.2)] {
            candidates.extend((0..2).map(|i| row("q", summary, i, 0.0, score)));
        }
        candidates.push(row("other", "d", 7, 0.0, 0.1));
        // "d" comes fourth for q by order of arrival; the late summary took no place of the three.
        assert_eq!(ranked(&candidates, &RowLimits::UID), [3, 4, 1, 2, 5, 6, 9]);
        assert_eq!(ranked(&candidates, &RowLimits { rows_per_case: 3, ..RowLimits::UID }), [3, 4, 1]);
        assert!(ranked(&candidates, &RowLimits { summaries_per_query: 0, ..RowLimits::UID }).is_empty());
    }

    #[test]
    fn queries_of_different_occurrences_are_different() {
        let mut candidates: Vec<_> = (0..4).map(|i| row("q", ["a", "b", "c", "d"][i as usize], i, 0.0, 0.5)).collect();
        candidates[3].uid = "V";
        assert_eq!(ranked(&candidates, &RowLimits::UID).len(), 4);
    }

    #[test]
    fn equal_scores_go_by_distance_then_row() {
        let near = |index, t, estimate| CandidateRow { text_estimate_hours: estimate, ..row("q", "a", index, t, 0.5) };
        let candidates = [
            near(8, 0.0, None),
            near(5, 4.0, Some(0.0)),
            near(2, -4.0, Some(0.0)),
            near(9, 1.0, Some(0.0)),
            near(1, 0.0, Some(f64::NAN)),
        ];
        assert_eq!(ranked(&candidates, &RowLimits::UID), [3, 2, 1, 0, 4]);
    }

    #[test]
    fn a_summary_has_one_score() {
        let candidates = [row("q", "a", 0, 0.0, 0.5), row("q", "a", 1, 0.0, 0.6)];
        assert!(filter_rows(&candidates, 100.0, &RowLimits::UID).unwrap_err().to_string().contains("first row"));
    }
}
