//! What other numerics change: the same games judged several ways, compared with exact mode reply by reply, and what that does to
//! findings, scores and ratings.
//!
//! It must not know how a judge is started or where its replies are kept: it draws the games, names the settings and compares what
//! came back.

mod compare;
mod sample;
mod setting;
mod tables;

pub use compare::{Comparison, Judged, Reply, ReplyDifference, compare};
pub use sample::draw_games;
pub use setting::{Setting, settings};
pub use tables::tables;

/// Games drawn unless asked otherwise.
pub const N_GAMES: usize = 12;

#[cfg(test)]
mod tests;
