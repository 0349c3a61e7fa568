//! From the findings of one game to its points and point share.

use serde::{Deserialize, Serialize};

use super::finding::{Discrepancy, FindingType, Polarity, Side};
use super::rubric::{Category, PerCategory, Rubric};

/// The category of a scored finding and the side it is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charge {
    /// Kind of error.
    pub category: Category,
    /// The side that made it: always the one the verdict went against.
    pub side: Side,
}

/// What a finding charges and whom; None for an undecided finding, and for a decided
/// SHARED_UNSUPPORTED, which no category covers.
///
/// # Source
/// gavel.txt "Scoring and Statistical Analysis"; a DUPLICATE with no extra side derivable is a
/// false duplicate of the losing side.
pub fn charge(finding: &Discrepancy) -> Option<Charge> {
    let winner = finding.verdict.winner()?;
    let category = match finding.kind {
        FindingType::Value => Category::WrongValue,
        FindingType::Timing => Category::WrongTime,
        FindingType::AOnly => one_sided(Side::A, winner, finding.polarity),
        FindingType::BOnly => one_sided(Side::B, winner, finding.polarity),
        FindingType::Duplicate if finding.extra_side == Some(winner) => Category::MissedRecurrence,
        FindingType::Duplicate => Category::FalseDuplicate,
        FindingType::SharedUnsupported => return None,
    };
    Some(Charge { category, side: winner.other() })
}

fn one_sided(owner: Side, winner: Side, polarity: Polarity) -> Category {
    match (owner == winner, polarity) {
        (true, Polarity::Present) => Category::MissedPositive,
        (true, Polarity::Absent) => Category::MissedNegative,
        (false, _) => Category::OverAnnotation,
    }
}

/// One value a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct PerSide<T> {
    /// Timeline A's.
    pub a: T,
    /// Timeline B's.
    pub b: T,
}

impl<T> PerSide<T> {
    /// The value of `side`.
    pub const fn get(&self, side: Side) -> &T {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// The value of `side`, to change.
    pub const fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }
}

/// Whether a game without any A or B verdict takes part in the rating fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyGames {
    /// Left out of the fit (gavel.txt).
    LeaveOut,
    /// Kept as a draw (uid.txt).
    Draw,
}

/// The score of one game under one rubric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GamePoints {
    /// Points charged to each side; the other side earns them.
    pub charged: PerSide<f64>,
    /// Scored errors of each side.
    pub counts: PerSide<PerCategory<u32>>,
    /// Points of both sides together.
    pub total_points: f64,
    /// A's share of the points, one half when there are none.
    pub share_a: f64,
    /// Findings with verdict A or B, unscored ones included.
    pub n_decisive: u32,
    /// No decisive finding at all.
    pub empty: bool,
    /// Both sides were charged the same, be it nothing.
    pub draw: bool,
}

/// Charges that differ by less than this part of their total are equal: weights such as 0.2 have no exact
/// double, so equal sums reached by different categories may differ in the last bit.
const DRAW_RELATIVE: f64 = 1e-12;

impl GamePoints {
    /// Scores the findings of one game.
    ///
    /// # Source
    /// gavel.txt: the share is the points earned, that is charged to the opponent, over all points.
    pub fn score(findings: &[Discrepancy], rubric: &Rubric) -> Self {
        let mut counts = PerSide::<PerCategory<u32>>::default();
        let mut n_decisive = 0;
        for finding in findings {
            n_decisive += u32::from(finding.verdict.is_decisive());
            if let Some(charge) = charge(finding) {
                counts.get_mut(charge.side)[charge.category] += 1;
            }
        }
        let charged = PerSide { a: rubric.points(&counts.a), b: rubric.points(&counts.b) };
        let total_points = charged.a + charged.b;
        let draw = (charged.a - charged.b).abs() <= DRAW_RELATIVE * total_points;
        Self {
            charged,
            counts,
            total_points,
            share_a: if draw { 0.5 } else { charged.b / total_points },
            n_decisive,
            empty: n_decisive == 0,
            draw,
        }
    }

    /// A's share as the rating fit takes it; None when the game stays out.
    pub fn fit_share(&self, empty_games: EmptyGames) -> Option<f64> {
        (!self.empty || empty_games == EmptyGames::Draw).then_some(self.share_a)
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::super::rubric::Scheme;
    use super::*;

    fn all_findings() -> Vec<Discrepancy> {
        let mut all = Vec::new();
        for kind in FindingType::ALL {
            for verdict in Verdict::ALL {
                for polarity in Polarity::ALL {
                    for extra_side in [None, Some(Side::A), Some(Side::B)] {
                        all.push(Discrepancy { kind, verdict, polarity, extra_side });
                    }
                }
            }
        }
        all
    }

    #[test]
    fn the_losing_side_is_always_charged() {
        for finding in all_findings() {
            let charge = charge(&finding);
            assert_eq!(charge.is_some(), finding.verdict.is_decisive() && finding.kind != FindingType::SharedUnsupported);
            if let Some(charge) = charge {
                assert_eq!(Some(charge.side.other()), finding.verdict.winner());
            }
        }
    }

    #[test]
    fn swapping_the_sides_swaps_the_charges() {
        for finding in all_findings() {
            let swapped = charge(&finding.swapped());
            let expected = charge(&finding).map(|c| Charge { category: c.category, side: c.side.other() });
            assert_eq!(swapped, expected, "{finding:?}");
        }
        let findings = &all_findings()[7..150];
        let mirrored: Vec<_> = findings.iter().rev().map(|f| f.swapped()).collect();
        for scheme in Scheme::ALL {
            let rubric = Rubric::from(scheme);
            let game = GamePoints::score(findings, &rubric);
            let mirror = GamePoints::score(&mirrored, &rubric);
            assert_eq!(game.charged.a, mirror.charged.b);
            assert_eq!(game.counts.b, mirror.counts.a);
            assert!((game.share_a + mirror.share_a - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn no_findings_is_an_empty_draw_that_only_one_paper_keeps() {
        let game = GamePoints::score(&[], &Scheme::Default.into());
        assert!(game.empty && game.draw);
        assert_eq!(game.share_a, 0.5);
        assert_eq!(game.fit_share(EmptyGames::LeaveOut), None);
        assert_eq!(game.fit_share(EmptyGames::Draw), Some(0.5));
    }

    #[test]
    fn a_decided_shared_unsupported_keeps_the_game_but_earns_nothing() {
        let finding = Discrepancy {
            kind: FindingType::SharedUnsupported,
            verdict: Verdict::A,
            polarity: Polarity::Present,
            extra_side: None,
        };
        let game = GamePoints::score(&[finding], &Scheme::Default.into());
        assert_eq!((game.n_decisive, game.empty, game.total_points), (1, false, 0.0));
        assert_eq!(game.fit_share(EmptyGames::LeaveOut), Some(0.5));
    }

    #[test]
    fn equal_sums_of_inexact_weights_are_a_draw() {
        let finding = |kind, verdict| Discrepancy { kind, verdict, polarity: Polarity::Present, extra_side: None };
        // Ten omissions at 0.2 against one wrong value at 2; then three times 0.1 against 0.3, which
        // doubles hold apart.
        let mut findings = vec![finding(FindingType::Value, Verdict::A)];
        findings.extend(vec![finding(FindingType::BOnly, Verdict::B); 10]);
        let game = GamePoints::score(&findings, &Scheme::TimingWeighted.into());
        assert!(game.draw, "{game:?}");
        let rubric = Rubric::new(PerCategory([0.3, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0])).unwrap();
        let mut findings = vec![finding(FindingType::Timing, Verdict::A); 3];
        findings.push(finding(FindingType::AOnly, Verdict::B));
        let game = GamePoints::score(&findings, &rubric);
        assert_ne!(game.charged.a, game.charged.b);
        assert!(game.draw && game.share_a == 0.5, "{game:?}");
    }
}
