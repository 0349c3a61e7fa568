//! Games whose findings charge each entrant with given numbers of errors.

use assize::measure::bradley_terry::Meeting;
use assize::measure::error_profile::{ErrorProfile, JudgedGame};
use assize::measure::finding::{Discrepancy, FindingType, Polarity, Side, Verdict};
use assize::measure::rubric::{Category, PerCategory};

struct StudyGame {
    a: usize,
    b: usize,
    findings: Vec<Discrepancy>,
}

/// A schedule played out, with the findings charged so far.
pub struct Study {
    n_entrants: usize,
    games: Vec<StudyGame>,
}

impl Study {
    /// All games of the schedule, without a finding; every second game of a pair has its sides exchanged.
    pub fn new(n_entrants: usize, schedule: &[Meeting]) -> Self {
        let mut games = Vec::new();
        for meeting in schedule {
            for game in 0..meeting.n_games {
                let (a, b) = if game % 2 == 0 { (meeting.a, meeting.b) } else { (meeting.b, meeting.a) };
                games.push(StudyGame { a, b, findings: Vec::new() });
            }
        }
        Self { n_entrants, games }
    }

    /// A round robin over `n_reports`.
    pub fn round_robin(n_entrants: usize, n_reports: u32) -> Self {
        let mut schedule = Vec::new();
        for a in 0..n_entrants {
            schedule.extend((a + 1..n_entrants).map(|b| Meeting { a, b, n_games: n_reports }));
        }
        Self::new(n_entrants, &schedule)
    }

    /// More games of one pair.
    pub fn add_games(&mut self, a: usize, b: usize, n_games: u32) {
        self.games.extend((0..n_games).map(|_| StudyGame { a, b, findings: Vec::new() }));
    }

    /// Number of games.
    pub const fn n_games(&self) -> usize {
        self.games.len()
    }

    /// Spreads errors of an entrant over its games.
    pub fn charge(&mut self, entrant: usize, errors: &PerCategory<u32>) {
        let mut places: Vec<_> = self.games.iter_mut().filter(|game| game.a == entrant || game.b == entrant).collect();
        let n_places = places.len();
        let categories = errors.iter().flat_map(|(category, &n)| std::iter::repeat_n(category, n as usize));
        for (place, category) in categories.enumerate() {
            let game = &mut places[place % n_places];
            let side = if game.a == entrant { Side::A } else { Side::B };
            game.findings.push(finding_against(side, category));
        }
    }

    /// Charges every entrant with a printed rate a game or report; `n_units` games or reports must make it a whole
    /// number of errors.
    pub fn charge_rates(&mut self, rates: &[PerCategory<f64>], n_units: impl Fn(usize) -> u32) {
        for (entrant, rates) in rates.iter().enumerate() {
            let errors = rates.map(|rate| {
                let errors = rate * f64::from(n_units(entrant));
                assert!((errors - errors.round()).abs() < 1e-6, "{rate} over {} is no whole number", n_units(entrant));
                errors.round() as u32
            });
            self.charge(entrant, &errors);
        }
    }

    /// Spreads findings without a decision over all games.
    pub fn add_undecided(&mut self, n_findings: u32) {
        let n_games = self.games.len();
        for (place, verdict) in
            (0..n_findings as usize).zip([Verdict::Both, Verdict::Neither, Verdict::Unclear].into_iter().cycle())
        {
            let finding = Discrepancy { kind: FindingType::Timing, verdict, polarity: Polarity::Present, extra_side: None };
            self.games[place % n_games].findings.push(finding);
        }
    }

    /// The library's profile of these games.
    pub fn profile(&self, n_reports: u32) -> ErrorProfile {
        let games: Vec<_> = self.games.iter().map(|game| JudgedGame { a: game.a, b: game.b, findings: &game.findings }).collect();
        ErrorProfile::from_games(self.n_entrants, n_reports, &games).unwrap()
    }
}

/// A finding that the judge decided against `side`, of the kind that makes it this error.
fn finding_against(side: Side, category: Category) -> Discrepancy {
    let other = side.other();
    let only = |owner| match owner {
        Side::A => FindingType::AOnly,
        Side::B => FindingType::BOnly,
    };
    let (kind, polarity, extra_side) = match category {
        Category::OverAnnotation => (only(side), Polarity::Present, None),
        Category::FalseDuplicate => (FindingType::Duplicate, Polarity::Present, Some(side)),
        Category::WrongTime => (FindingType::Timing, Polarity::Present, None),
        Category::WrongValue => (FindingType::Value, Polarity::Present, None),
        Category::MissedPositive => (only(other), Polarity::Present, None),
        Category::MissedNegative => (only(other), Polarity::Absent, None),
        Category::MissedRecurrence => (FindingType::Duplicate, Polarity::Present, Some(other)),
    };
    let verdict = match other {
        Side::A => Verdict::A,
        Side::B => Verdict::B,
    };
    Discrepancy { kind, verdict, polarity, extra_side }
}

/// All errors of one entrant's row.
pub fn row_total(row: &PerCategory<f64>) -> f64 {
    row.0.iter().sum()
}
