//! Wins, losses and ties of every ordered pair of sources.

use serde::Serialize;

use super::error::MeasureError;
use super::game::Game;

/// How one source fared against another.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Record {
    /// Games of the pair.
    pub n_games: u32,
    /// Games with a share above one half.
    pub wins: u32,
    /// Games with a share below one half.
    pub losses: u32,
    /// Games split evenly.
    pub ties: u32,
    /// Mean point share; None without games.
    pub mean_share: Option<f64>,
}

/// The records of all ordered pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadToHead {
    n_sources: usize,
    records: Vec<Record>,
}

impl HeadToHead {
    /// Counts the games. Leave out games without decisive findings first if they are not to
    /// count as ties.
    ///
    /// # Errors
    /// A source out of range, a source against itself, a share that is no number in [0, 1].
    pub fn from_games(n_sources: usize, games: &[Game]) -> Result<Self, MeasureError> {
        let mut records = vec![Record::default(); n_sources * n_sources];
        let mut sums = vec![0.0; n_sources * n_sources];
        for (position, game) in games.iter().enumerate() {
            game.check(position, n_sources)?;
            let (of_a, of_b) = (game.a * n_sources + game.b, game.b * n_sources + game.a);
            sums[of_a] += game.share_a;
            sums[of_b] += 1.0 - game.share_a;
            records[of_a].n_games += 1;
            records[of_b].n_games += 1;
            // Decided once, on A's share, since 1 - share rounds.
            if game.share_a > 0.5 {
                records[of_a].wins += 1;
                records[of_b].losses += 1;
            } else if game.share_a < 0.5 {
                records[of_a].losses += 1;
                records[of_b].wins += 1;
            } else {
                records[of_a].ties += 1;
                records[of_b].ties += 1;
            }
        }
        for (record, sum) in records.iter_mut().zip(sums) {
            record.mean_share = (record.n_games > 0).then(|| sum / f64::from(record.n_games));
        }
        Ok(Self { n_sources, records })
    }

    /// Number of sources.
    pub const fn n_sources(&self) -> usize {
        self.n_sources
    }

    /// The record of `source` against `opponent`; None for an index out of range.
    pub fn record(&self, source: usize, opponent: usize) -> Option<&Record> {
        (source < self.n_sources && opponent < self.n_sources).then(|| &self.records[source * self.n_sources + opponent])
    }

    /// Wins, losses, ties and mean share of `source` over all opponents; None for an index out of range.
    pub fn overall(&self, source: usize) -> Option<Record> {
        let mut total = Record::default();
        let mut shares = 0.0;
        for opponent in 0..self.n_sources {
            let record = self.record(source, opponent)?;
            total.n_games += record.n_games;
            total.wins += record.wins;
            total.losses += record.losses;
            total.ties += record.ties;
            shares += record.mean_share.unwrap_or(0.0) * f64::from(record.n_games);
        }
        if source >= self.n_sources {
            return None;
        }
        total.mean_share = (total.n_games > 0).then(|| shares / f64::from(total.n_games));
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(a: usize, b: usize, share_a: f64) -> Game {
        Game { case: 0, a, b, share_a }
    }

    #[test]
    fn both_directions_are_counted() {
        let table = HeadToHead::from_games(3, &[game(0, 1, 1.0), game(1, 0, 0.25), game(0, 1, 0.5)]).unwrap();
        let ahead = table.record(0, 1).unwrap();
        assert_eq!((ahead.n_games, ahead.wins, ahead.losses, ahead.ties), (3, 2, 0, 1));
        assert_eq!(ahead.mean_share, Some(0.75));
        let behind = table.record(1, 0).unwrap();
        assert_eq!((behind.wins, behind.losses, behind.ties), (0, 2, 1));
        assert_eq!(behind.mean_share, Some(0.25));
        assert_eq!(table.record(0, 2), Some(&Record::default()));
        assert_eq!(table.record(3, 0), None);
        assert_eq!(table.overall(0).unwrap().wins, 2);
        assert_eq!(table.overall(2).unwrap().mean_share, None);
        assert_eq!(table.overall(3), None);
    }

    #[test]
    fn swapping_and_reordering_change_nothing() {
        let games = [game(0, 1, 0.5 + f64::EPSILON / 2.0), game(2, 1, 0.125), game(0, 2, 0.75)];
        let mirrored: Vec<_> = games.iter().rev().map(|g| game(g.b, g.a, 1.0 - g.share_a)).collect();
        let (table, mirror) = (HeadToHead::from_games(3, &games).unwrap(), HeadToHead::from_games(3, &mirrored).unwrap());
        assert_eq!(table, mirror);
    }

    #[test]
    fn no_games_and_bad_games() {
        assert_eq!(HeadToHead::from_games(0, &[]).unwrap().record(0, 0), None);
        assert!(HeadToHead::from_games(2, &[game(0, 1, f64::NAN)]).is_err());
    }
}
