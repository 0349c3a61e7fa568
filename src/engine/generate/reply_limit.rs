//! How long a reply may be.

use serde::{Deserialize, Serialize};

/// Most tokens of a reply where no setting says otherwise and the context leaves so many.
pub const DEFAULT_REPLY_TOKENS: u32 = 16_384;

/// With fewer tokens left by the context a prompt counts as too long.
const LEAST: u32 = 256;

/// How long a reply may be. Unit: tokens of the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyLimit {
    /// So many; a prompt that does not leave them is too long.
    Fixed(u32),
    /// As many as a context of `context_tokens` leaves after the prompt and the reasoning, up to `most`.
    Context { most: u32, context_tokens: u32 },
}

impl ReplyLimit {
    /// Most tokens that any reply may have.
    #[must_use]
    pub fn most(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Context { most, context_tokens } => most.min(context_tokens),
        }
    }

    /// Fewest tokens that must be left for the reply.
    #[must_use]
    pub fn least(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Context { most, .. } => most.min(LEAST),
        }
    }

    /// The limit of one reply where `n_left` tokens are left for it; `None` where they are too few.
    #[must_use]
    pub fn within(self, n_left: usize) -> Option<u32> {
        let n = self.most().min(u32::try_from(n_left).unwrap_or(u32::MAX));
        (n >= self.least()).then_some(n)
    }

    /// The context that decides about the limit, as it stands in the item key.
    #[must_use]
    pub fn context_tokens(self) -> Option<u32> {
        match self {
            Self::Fixed(_) => None,
            Self::Context { context_tokens, .. } => Some(context_tokens),
        }
    }
}

impl std::fmt::Display for ReplyLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(n) => n.fmt(f),
            Self::Context { most, context_tokens } => write!(f, "{most}, or as many as the context of {context_tokens} leaves"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_gets_what_the_context_leaves() {
        let fixed = ReplyLimit::Fixed(100);
        assert_eq!((fixed.within(100), fixed.within(99), fixed.most()), (Some(100), None, 100));
        let context = ReplyLimit::Context { most: 16_384, context_tokens: 32_768 };
        assert_eq!((context.within(30_000), context.within(5_000), context.within(255)), (Some(16_384), Some(5_000), None));
        let short = ReplyLimit::Context { most: 16_384, context_tokens: 8_192 };
        assert_eq!((short.most(), short.least()), (8_192, 256));
        assert_eq!(ReplyLimit::Context { most: 48, context_tokens: 8_192 }.least(), 48);
    }
}
