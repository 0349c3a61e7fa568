//! The one error type of the statistics layer. It knows indices and numbers, never case text.

/// Why a measure refused its input or could not be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A name that is not one of a closed list.
    #[error("expected one of {expected} as {what}, got {got:?}; hint: the spelling is exact")]
    UnknownName {
        /// What the name stands for.
        what: &'static str,
        /// The accepted names.
        expected: &'static str,
        /// The name given.
        got: String,
    },
    /// An entrant index past the number of entrants.
    #[error("expected an entrant index below {n_entrants}, got {entrant} in game {game}")]
    EntrantOutOfRange {
        /// Position in the list of games or scheduled pairs.
        game: usize,
        /// The index given.
        entrant: usize,
        /// Number of entrants.
        n_entrants: usize,
    },
    /// A case index past the number of cases.
    #[error("expected a case index below {n_cases}, got {case} at position {position}")]
    CaseOutOfRange {
        /// Position in the list of games, or of a resample's indices.
        position: usize,
        /// The index given.
        case: usize,
        /// Number of cases.
        n_cases: usize,
    },
    /// Both sides of a game are one entrant.
    #[error("expected two different entrants, got {entrant} on both sides of game {game}")]
    SelfGame {
        /// Position in the list of games.
        game: usize,
        /// The entrant.
        entrant: usize,
    },
    /// A point share that is no number in [0, 1].
    #[error("expected a share in [0, 1], got {share} at position {position}; hint: a game with no points is 0.5")]
    ShareOutOfRange {
        /// Position in the list.
        position: usize,
        /// The share given.
        share: f64,
    },
    /// A weight, floor or level outside its range.
    #[error("expected {what} to be {expected}, got {got}")]
    NumberOutOfRange {
        /// Which setting.
        what: &'static str,
        /// The range in words.
        expected: &'static str,
        /// The number given.
        got: f64,
    },
    /// Deciding whether a fit exists from totals alone needs every subset of entrants.
    #[error("expected at most {limit} entrants with totals only, got {got}; hint: pass the games instead")]
    TooManyEntrants {
        /// Most entrants answered.
        limit: usize,
        /// Entrants given.
        got: usize,
    },
    /// Newton's method did not settle although the maximum exists.
    #[error(
        "expected the rating fit to settle within {n_iterations} iterations, last step was {last_step:e}; \
         hint: some share is so close to 0 or 1 that the ratings are beyond double precision"
    )]
    NotConverged {
        /// Iterations done.
        n_iterations: usize,
        /// Largest change of a log-ability difference in the last iteration.
        last_step: f64,
    },
}
