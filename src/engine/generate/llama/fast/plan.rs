//! Which waiting job comes next and what is worth sharing. Pure: knows tokens, no cache.

/// What to do with a free sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// Start the job at `index` on the first `n_copied` tokens of the shared prefix.
    Admit { index: usize, n_copied: usize },
    /// First make the first `n_tokens` of the job at `index` the shared prefix: other waiting jobs begin with them too.
    Share { index: usize, n_tokens: usize },
}

impl Move {
    /// The first waiting job, sharing nothing.
    pub fn alone() -> Self {
        Self::Admit { index: 0, n_copied: 0 }
    }
}

/// A prefix that is longer by less than this is not worth moving the shared one.
const WORTH: usize = 32;

/// How many waiting jobs are looked at: comparing all pairs of a long queue costs more than it saves.
const HORIZON: usize = 64;

/// Length of the common beginning.
pub(super) fn common_prefix<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The next move for the `prompts` that wait (at least one), in their order, given the tokens now shared. The job with the longest
/// shared beginning comes first. If up to `n_siblings` other jobs have clearly more in common with it than what is shared, that
/// is shared first. At least one token of every prompt stays its own, so that its logits are computed.
pub(super) fn choose<T: PartialEq>(prompts: &[&[T]], shared: &[T], n_siblings: usize) -> Move {
    let prompts = &prompts[..prompts.len().min(HORIZON)];
    let resident = |prompt: &[T]| common_prefix(prompt, shared).min(prompt.len().saturating_sub(1));
    let (mut index, mut n_copied) = (0, 0);
    for (i, prompt) in prompts.iter().enumerate() {
        let n = resident(prompt);
        if i == 0 || n > n_copied {
            (index, n_copied) = (i, n);
        }
    }
    let chosen = prompts[index];
    let mut deeper: Vec<usize> = prompts
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != index)
        .map(|(_, prompt)| common_prefix(prompt, chosen).min(prompt.len().saturating_sub(1)).min(chosen.len().saturating_sub(1)))
        .filter(|n| *n > n_copied + WORTH)
        .collect();
    deeper.sort_unstable_by(|a, b| b.cmp(a));
    match deeper.get(n_siblings.clamp(1, deeper.len().max(1)) - 1) {
        Some(&n_tokens) => Move::Share { index, n_tokens },
        None => Move::Admit { index, n_copied },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prompt of blocks: each letter stands for 50 equal tokens.
    fn prompt(blocks: &str) -> Vec<u32> {
        blocks.chars().flat_map(|block| (0..50).map(move |i| block as u32 * 1000 + i)).collect()
    }

    fn choose_of(prompts: &[&str], shared: &str, n_siblings: usize) -> Move {
        let prompts: Vec<Vec<u32>> = prompts.iter().map(|blocks| prompt(blocks)).collect();
        let slices: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
        choose(&slices, &prompt(shared), n_siblings)
    }

    #[test]
    fn a_lone_job_shares_nothing() {
        assert_eq!(choose_of(&["irab"], "", 3), Move::Admit { index: 0, n_copied: 0 });
    }

    #[test]
    fn instructions_and_report_are_shared_by_the_games_of_a_report() {
        let waiting = ["irab", "irac", "irbc", "iRab"];
        assert_eq!(choose_of(&waiting, "", 2), Move::Share { index: 0, n_tokens: 100 });
        assert_eq!(choose_of(&waiting, "", 1), Move::Share { index: 0, n_tokens: 150 }, "with one sibling timeline A too");
    }

    #[test]
    fn the_longest_resident_prefix_comes_first() {
        assert_eq!(choose_of(&["iRab", "irbc"], "ir", 3), Move::Admit { index: 1, n_copied: 100 });
    }

    #[test]
    fn one_token_always_stays_to_be_computed() {
        assert_eq!(choose_of(&["ir"], "ir", 3), Move::Admit { index: 0, n_copied: 99 });
        assert_eq!(choose_of(&["ir", "ir"], "", 3), Move::Share { index: 0, n_tokens: 99 });
    }
}
