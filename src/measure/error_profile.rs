//! Which errors each entrant was charged with, per report and per matchup.

use serde::Serialize;

use super::error::MeasureError;
use super::finding::{Discrepancy, Side};
use super::game::check_pair;
use super::points::charge;
use super::rubric::{Category, N_CATEGORIES, PerCategory};

/// One game with its findings. Games that were attempted and found nothing belong in the list:
/// they are in the denominators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedGame<'a> {
    /// Index of the entrant that was timeline A.
    pub a: usize,
    /// Index of the entrant that was timeline B.
    pub b: usize,
    /// What the judge found.
    pub findings: &'a [Discrepancy],
}

/// Counted errors of all entrants, with every rate derived from them.
///
/// These are instances in pairings, not distinct errors: one error can count against several opponents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorProfile {
    /// Errors of each entrant.
    pub counts: Vec<PerCategory<u32>>,
    /// Games of each entrant.
    pub n_games: Vec<u32>,
    /// Reports in the study.
    pub n_reports: u32,
    /// All findings.
    pub n_findings: u32,
    /// Findings with verdict A or B, unscored ones included.
    pub n_decisive: u32,
}

impl ErrorProfile {
    /// Counts the findings of all games.
    ///
    /// # Errors
    /// An entrant out of range or against itself.
    pub fn from_games(n_entrants: usize, n_reports: u32, games: &[JudgedGame<'_>]) -> Result<Self, MeasureError> {
        let mut profile = Self {
            counts: vec![PerCategory::default(); n_entrants],
            n_games: vec![0; n_entrants],
            n_reports,
            n_findings: 0,
            n_decisive: 0,
        };
        for (position, game) in games.iter().enumerate() {
            check_pair(position, game.a, game.b, n_entrants)?;
            profile.n_games[game.a] += 1;
            profile.n_games[game.b] += 1;
            for finding in game.findings {
                profile.n_findings += 1;
                profile.n_decisive += u32::from(finding.verdict.is_decisive());
                if let Some(charge) = charge(finding) {
                    let entrant = match charge.side {
                        Side::A => game.a,
                        Side::B => game.b,
                    };
                    profile.counts[entrant][charge.category] += 1;
                }
            }
        }
        Ok(profile)
    }

    /// Errors of an entrant, summed over its opponents, by report; None without reports or for an unknown
    /// entrant.
    ///
    /// # Source
    /// gavel.txt, Table 4A as its text describes it.
    pub fn per_report(&self, entrant: usize) -> Option<PerCategory<f64>> {
        divided(self.counts.get(entrant)?, self.n_reports)
    }

    /// Errors of an entrant by game; None without games or for an unknown entrant.
    ///
    /// # Source
    /// gavel.txt, Table 4B; uid.txt, Table G.2(a).
    pub fn per_matchup(&self, entrant: usize) -> Option<PerCategory<f64>> {
        divided(self.counts.get(entrant)?, *self.n_games.get(entrant)?)
    }

    /// Errors of all entrants together.
    pub fn total(&self) -> PerCategory<u32> {
        let mut total = PerCategory::default();
        for counts in &self.counts {
            for (category, &count) in counts.iter() {
                total[category] += count;
            }
        }
        total
    }

    /// Each category's part of all errors; None without errors.
    ///
    /// # Units
    /// Percent.
    pub fn share_percent(&self) -> Option<PerCategory<f64>> {
        let total = self.total();
        Some(divided(&total, total.0.iter().sum())?.map(|part| 100.0 * part))
    }

    /// The average source by pooling: all errors over all entrants' games. None without games.
    ///
    /// # Source
    /// uid.txt, Table G.2(a).
    pub fn pooled_per_matchup(&self) -> Option<PerCategory<f64>> {
        divided(&self.total(), self.n_games.iter().sum())
    }

    /// The mean entrant: the plain mean of the per-report rows. None without reports or entrants.
    ///
    /// # Source
    /// gavel.txt, Table 4.
    pub fn mean_per_report(&self) -> Option<PerCategory<f64>> {
        self.mean_of(|entrant| self.per_report(entrant))
    }

    /// The mean entrant by matchup: the plain mean of the rows of entrants with a game. None without
    /// any.
    pub fn mean_per_matchup(&self) -> Option<PerCategory<f64>> {
        self.mean_of(|entrant| self.per_matchup(entrant))
    }

    fn mean_of(&self, row: impl Fn(usize) -> Option<PerCategory<f64>>) -> Option<PerCategory<f64>> {
        let mut sum = PerCategory([0.0; N_CATEGORIES]);
        let mut n_rows = 0.0;
        for row in (0..self.counts.len()).filter_map(row) {
            n_rows += 1.0;
            for category in Category::ALL {
                sum[category] += row[category];
            }
        }
        (n_rows > 0.0).then(|| sum.map(|s| s / n_rows))
    }
}

fn divided(counts: &PerCategory<u32>, by: u32) -> Option<PerCategory<f64>> {
    (by > 0).then(|| counts.map(|count| f64::from(count) / f64::from(by)))
}

#[cfg(test)]
mod tests {
    use super::super::finding::{FindingType, Polarity, Verdict};
    use super::*;

    fn finding(kind: FindingType, verdict: Verdict) -> Discrepancy {
        Discrepancy { kind, verdict, polarity: Polarity::Present, extra_side: None }
    }

    #[test]
    fn pooled_and_plain_means_differ_with_uneven_schedules() {
        let timing = [finding(FindingType::Timing, Verdict::A)];
        let games = [JudgedGame { a: 0, b: 1, findings: &timing }, JudgedGame { a: 0, b: 2, findings: &[] }];
        let profile = ErrorProfile::from_games(4, 2, &games).unwrap();
        let wrong_time = |rates: Option<PerCategory<f64>>| rates.unwrap()[Category::WrongTime];
        assert_eq!(wrong_time(profile.per_matchup(1)), 1.0);
        assert_eq!(wrong_time(profile.per_report(1)), 0.5);
        assert_eq!(wrong_time(profile.pooled_per_matchup()), 0.25);
        assert_eq!(wrong_time(profile.mean_per_matchup()), 1.0 / 3.0);
        assert_eq!(wrong_time(profile.mean_per_report()), 0.125);
        assert_eq!(profile.per_matchup(3), None);
        assert_eq!(profile.per_matchup(4), None);
        assert_eq!(wrong_time(profile.share_percent()), 100.0);
    }

    #[test]
    fn nothing_is_undefined_and_not_zero() {
        let profile = ErrorProfile::from_games(0, 0, &[]).unwrap();
        assert_eq!(profile.share_percent(), None);
        assert_eq!(profile.pooled_per_matchup(), None);
        assert_eq!(profile.mean_per_report(), None);
        let one = ErrorProfile::from_games(1, 3, &[]).unwrap();
        assert_eq!(one.mean_per_report(), Some(PerCategory([0.0; 7])));
        assert_eq!(one.mean_per_matchup(), None);
        let bad = JudgedGame { a: 0, b: 0, findings: &[] };
        assert!(ErrorProfile::from_games(1, 1, &[bad]).is_err());
    }

    #[test]
    fn swapping_the_sides_of_a_game_changes_nothing() {
        let mut findings = Vec::new();
        for kind in FindingType::ALL {
            for verdict in Verdict::ALL {
                findings.push(finding(kind, verdict));
            }
        }
        let mirrored: Vec<_> = findings.iter().rev().map(|f| f.swapped()).collect();
        let game = JudgedGame { a: 0, b: 1, findings: &findings };
        let mirror = JudgedGame { a: 1, b: 0, findings: &mirrored };
        let profile = ErrorProfile::from_games(2, 1, &[game]).unwrap();
        assert_eq!(profile, ErrorProfile::from_games(2, 1, &[mirror]).unwrap());
        // Two decided findings each of six kinds; the shared one is counted and charged to nobody.
        assert_eq!((profile.n_findings, profile.n_decisive), (30, 12));
        assert_eq!(profile.total().0.iter().sum::<u32>(), 10);
    }
}
