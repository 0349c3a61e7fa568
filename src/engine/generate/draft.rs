//! Draft tokens by prompt lookup, for speculative decoding without a second model.
//!
//! A reply that quotes its prompt, or repeats its own JSON scaffolding, can be guessed: [`PromptLookup`] finds an earlier place
//! in the sequence that ends like the sequence does now and proposes what followed there. [`DraftLength`] says how many tokens
//! are worth proposing. The engine checks a whole draft in one pass and keeps a token only if it is its own greedy choice, so
//! nothing here can change a reply: a poor guess costs time, never correctness.
//!
//! This module must not know: text or the tokenizer (tokens are opaque numbers, JSON included), the model, its cache, how a
//! draft is verified, clocks, or random numbers. The same calls in the same order give the same answers.

use super::prefix_tree::Token;

/// Fewest tokens that must agree before anything is proposed. One token says too little; the index is keyed by pairs.
pub const SHORTEST_MATCH: usize = 2;

/// Agreement beyond this counts no further: with longer matches the scaffolding before a value would tie it all the more to the
/// reply's previous value, although the next one comes from the prompt.
pub const LONGEST_MATCH: usize = 4;

/// Most earlier occurrences of the last pair that one lookup looks at, latest first; bounds a lookup in very repetitive text.
pub const MOST_CANDIDATES: usize = 256;

/// "No position" in the chains of an [`Index`].
const NONE: u32 = u32::MAX;

/// Where each pair of neighbouring tokens occurs: a hash table of the latest occurrences, and from each a chain to earlier ones.
///
/// Built in linear time. Takes 8 bytes a token and a table of 4 to 8 bytes a token. Positions are 32 bits wide.
#[derive(Clone, Debug)]
struct Index {
    tokens: Vec<Token>,
    /// For the pair that ends at a position, the position before it in the same bucket.
    earlier: Vec<u32>,
    /// For a bucket, the latest position; the length is a power of two, at least 2.
    latest: Vec<u32>,
}

impl Index {
    /// Bytes held on the heap.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        4 * (self.tokens.capacity() + self.earlier.capacity() + self.latest.capacity())
    }

    fn new(tokens: &[Token]) -> Self {
        let mut index = Self {
            tokens: Vec::with_capacity(tokens.len()),
            earlier: Vec::with_capacity(tokens.len()),
            latest: vec![NONE; tokens.len().next_power_of_two().max(2)],
        };
        for &token in tokens {
            index.push(token);
        }
        index
    }

    fn push(&mut self, token: Token) {
        self.tokens.push(token);
        self.earlier.push(NONE);
        if self.tokens.len() <= self.latest.len() {
            self.link(self.tokens.len() - 1);
        } else {
            // Doubling keeps the chains short and costs a constant per token over time.
            self.latest = vec![NONE; 2 * self.latest.len()];
            for position in 0..self.tokens.len() {
                self.link(position);
            }
        }
    }

    fn link(&mut self, position: usize) {
        if position > 0 {
            let bucket = self.bucket(self.tokens[position - 1], self.tokens[position]);
            self.earlier[position] = std::mem::replace(&mut self.latest[bucket], position as u32);
        }
    }

    fn bucket(&self, first: Token, second: Token) -> usize {
        let pair = u64::from(first as u32) << 32 | u64::from(second as u32);
        // Multiplicative hashing: the upper bits of the product are the well mixed ones.
        (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.latest.len().trailing_zeros())) as usize
    }

    /// Positions of the pairs in the bucket of this pair, latest first; other pairs may share the bucket.
    fn chain(&self, first: Token, second: Token) -> impl Iterator<Item = usize> {
        let link = |position: u32| (position != NONE).then_some(position);
        let latest = link(self.latest[self.bucket(first, second)]);
        std::iter::successors(latest, move |&position| link(self.earlier[position as usize])).map(|position| position as usize)
    }
}

/// How good a place is to copy from; the greatest is taken, the fields deciding in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Tokens that agree, at most [`LONGEST_MATCH`].
    agreeing: usize,
    /// The values of a reply are quotes from the prompt; its own earlier ones seldom return.
    in_prompt: bool,
    /// The latest place, which is the likeliest to be about the same matter.
    end: usize,
}

/// Proposes what may follow a sequence by looking its last tokens up in the sequence itself.
///
/// The longest match wins (2 to 4 tokens); among equal ones a place in the prompt comes before one in the reply, then the latest.
#[derive(Clone, Debug)]
pub struct PromptLookup {
    /// The prompt, and the reply so far.
    index: Index,
    prompt_len: usize,
}

impl PromptLookup {
    /// Starts a sequence with this prompt.
    pub fn new(prompt: &[Token]) -> Self {
        Self { index: Index::new(prompt), prompt_len: prompt.len() }
    }

    /// Adds a token of the reply; only tokens that are final, for none can be taken back.
    pub fn push(&mut self, token: Token) {
        self.index.push(token);
    }

    /// Replaces what `out` holds by at most `max` proposed tokens and returns how many tokens agreed (0 if nothing is proposed).
    pub fn draft(&self, max: usize, out: &mut Vec<Token>) -> usize {
        out.clear();
        if max == 0 {
            return 0;
        }
        let Some(Rank { agreeing, end, .. }) = self.best() else { return 0 };
        let len = self.index.tokens.len();
        for position in end + 1..end + 1 + max {
            // Past the end the draft goes on with its own start, which continues a short cycle.
            let token = if position < len { self.token(position) } else { out[position - len] };
            out.push(token);
        }
        agreeing
    }

    fn token(&self, position: usize) -> Token {
        self.index.tokens[position]
    }

    /// The best earlier match of the last tokens.
    fn best(&self) -> Option<Rank> {
        let last = self.index.tokens.len().checked_sub(1).filter(|&last| last >= SHORTEST_MATCH)?;
        let (first, second) = (self.token(last - 1), self.token(last));
        let pairs = self.index.chain(first, second);
        let matches = pairs.filter(|&end| end < last && self.token(end) == second && self.token(end - 1) == first);
        let mut best = None;
        for end in matches.take(MOST_CANDIDATES) {
            let rank = self.rank(end, last);
            best = best.max(Some(rank));
            // Places come latest first, so none after this one can rank higher.
            if rank.agreeing == LONGEST_MATCH && rank.in_prompt {
                break;
            }
        }
        best
    }

    fn rank(&self, end: usize, last: usize) -> Rank {
        let mut agreeing = SHORTEST_MATCH;
        while agreeing < LONGEST_MATCH && agreeing <= end && self.token(end - agreeing) == self.token(last - agreeing) {
            agreeing += 1;
        }
        Rank { agreeing, in_prompt: end < self.prompt_len, end }
    }
}

/// Most tokens that are ever proposed for one pass.
pub const LONGEST_DRAFT: usize = 32;

/// Depths of a draft with a rate of their own: the first token, the second, the third and fourth, all further ones. The first
/// tells whether the place is right; once it is, a copy runs on. Few groups learn fast and speak for depths not yet tried.
const GROUPS: usize = 4;

/// Acceptance to start from by group, for a stage of which nothing is known.
const GUESS: [f32; GROUPS] = [0.5, 0.8, 0.85, 0.9];

/// Tokens of observation that the guess weighs in a stage's prior.
const GUESS_WEIGHT: f32 = 16.0;

/// Passes of observation that a stage's prior stands for at the start of a sequence; they fade like others.
const PRIOR_WEIGHT: f32 = 4.0;

/// Tokens of observation that the rate of the depths before weighs in a deeper rate. It decides once the deeper one has not been
/// observed for long, so that drafts can grow again.
const LEAN: f32 = 0.5;

/// What an observation still weighs one drafted pass later; about the last dozen passes count.
const KEEP: f32 = 0.92;

/// Gain in tokens per cost below which nothing is proposed: preparing and undoing drafts has costs outside the measured one.
const LEAST_GAIN: f32 = 1.05;

/// Tokens proposed by a probe.
const PROBE: usize = 4;

/// Passes without drafts before the first probe, and at most between later ones.
const FIRST_WAIT: u32 = 8;
const LAST_WAIT: u32 = 64;

fn group(depth: usize) -> usize {
    match depth {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 2,
        _ => 3,
    }
}

/// What the sequences of one stage have seen together: the start for the next one.
///
/// Counts are whole numbers and only added up, so the order in which sequences are absorbed does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagePrior {
    tried: [u64; GROUPS],
    kept: [u64; GROUPS],
}

impl StagePrior {
    /// Adds what a finished sequence has seen.
    pub fn absorb(&mut self, sequence: DraftLength) {
        for g in 0..GROUPS {
            self.tried[g] += sequence.seen.tried[g];
            self.kept[g] += sequence.seen.kept[g];
        }
    }

    fn rate(&self, g: usize) -> f32 {
        (self.kept[g] as f32 + GUESS_WEIGHT * GUESS[g]) / (self.tried[g] as f32 + GUESS_WEIGHT)
    }
}

/// How many tokens to propose for the next pass of one sequence.
///
/// A pass with `k` proposed tokens costs `1 + k * marginal` and yields one token of the model's own and every accepted one.
/// `k` maximises the expected tokens per cost, by the running acceptance at each depth given that all before were accepted.
/// Where that does not pay, nothing is proposed but for a short probe every so many passes, rarer as probes fail.
#[derive(Clone, Debug)]
pub struct DraftLength {
    tried: [f32; GROUPS],
    kept: [f32; GROUPS],
    /// All observations, unweighted, for the stage's prior.
    seen: StagePrior,
    marginal: f32,
    limit: usize,
    /// The `k` that pays best now.
    best: usize,
    /// Passes since drafts stopped or were last probed, and how many to wait for the next probe.
    idle: u32,
    wait: u32,
}

impl DraftLength {
    /// Starts a sequence of a stage. `marginal` is the measured cost of one more token in a pass, relative to a pass without
    /// drafts; `limit` bounds the drafts (at most [`LONGEST_DRAFT`]).
    pub fn new(prior: &StagePrior, marginal: f32, limit: usize) -> Self {
        let mut length = Self {
            tried: [PRIOR_WEIGHT; GROUPS],
            kept: std::array::from_fn(|g| PRIOR_WEIGHT * prior.rate(g)),
            seen: StagePrior::default(),
            marginal: 0.0,
            limit: limit.min(LONGEST_DRAFT),
            best: 0,
            idle: 0,
            wait: FIRST_WAIT,
        };
        length.set_marginal(marginal);
        length
    }

    /// Takes a new measurement of the marginal cost, which changes with the load.
    pub fn set_marginal(&mut self, marginal: f32) {
        self.marginal = marginal.max(0.0);
        self.best = self.choose();
    }

    /// How many tokens to propose for the next pass.
    pub fn length(&self) -> usize {
        if self.best == 0 && self.idle >= self.wait { PROBE.min(self.limit) } else { self.best }
    }

    /// Reports a pass: how many tokens were proposed (0 also where the lookup found nothing) and how many of them accepted.
    pub fn observe(&mut self, proposed: usize, accepted: usize) {
        if proposed == 0 {
            // A probe that finds nothing to propose costs nothing, so it stays due.
            self.idle = self.idle.saturating_add(1);
            return;
        }
        if self.best == 0 {
            self.wait = match accepted {
                0 => (2 * self.wait).min(LAST_WAIT),
                some if some >= proposed => FIRST_WAIT,
                _ => self.wait,
            };
        }
        self.idle = 0;
        for g in 0..GROUPS {
            self.tried[g] *= KEEP;
            self.kept[g] *= KEEP;
        }
        // What comes after the first rejected token was never judged.
        for depth in 1..=proposed.min(accepted.saturating_add(1)) {
            let g = group(depth);
            let kept = depth <= accepted;
            self.tried[g] += 1.0;
            self.kept[g] += f32::from(u8::from(kept));
            self.seen.tried[g] += 1;
            self.seen.kept[g] += u64::from(kept);
        }
        self.best = self.choose();
    }

    fn choose(&self) -> usize {
        let mut rates = [self.kept[0] / self.tried[0]; GROUPS];
        for g in 1..GROUPS {
            rates[g] = (self.kept[g] + LEAN * rates[g - 1]) / (self.tried[g] + LEAN);
        }
        let (mut tokens, mut chance) = (1.0, 1.0);
        let (mut best, mut gain) = (0, LEAST_GAIN);
        for k in 1..=self.limit {
            chance *= rates[group(k)];
            tokens += chance;
            let here = tokens / (1.0 + k as f32 * self.marginal);
            if here > gain {
                (best, gain) = (k, here);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator, so that the tests need nothing and repeat exactly.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as usize) % bound
        }

        fn tokens(&mut self, count: usize, from: Token, bound: usize) -> Vec<Token> {
            (0..count).map(|_| from + self.below(bound) as Token).collect()
        }
    }

    /// The same rules without an index: every position is compared, and the rules are applied one after the other.
    struct Plain {
        tokens: Vec<Token>,
        prompt_len: usize,
    }

    impl Plain {
        fn best(&self) -> Option<(usize, usize)> {
            let last = self.tokens.len().checked_sub(1)?;
            let agreeing =
                |end: usize| (0..4.min(end + 1)).take_while(|&i| self.tokens[end - i] == self.tokens[last - i]).count();
            let mut ends: Vec<usize> = (0..last).rev().filter(|&end| agreeing(end) >= 2).take(MOST_CANDIDATES).collect();
            let longest = ends.iter().map(|&end| agreeing(end)).max()?;
            ends.retain(|&end| agreeing(end) == longest);
            let prompt: Vec<usize> = ends.iter().copied().filter(|&end| end < self.prompt_len).collect();
            let end = prompt.first().copied().or(ends.first().copied())?;
            Some((end, longest))
        }

        fn draft(&self, max: usize) -> Vec<Token> {
            let Some((end, _)) = self.best() else { return Vec::new() };
            let mut all = self.tokens.clone();
            for position in end + 1..end + 1 + max {
                all.push(all[position]);
            }
            all.split_off(self.tokens.len())
        }
    }

    fn drafted(lookup: &PromptLookup, max: usize) -> Vec<Token> {
        let mut out = vec![77; 3];
        let agreeing = lookup.draft(max, &mut out);
        assert_eq!(agreeing > 0, !out.is_empty());
        out
    }

    #[test]
    fn drafts_equal_a_plain_search() {
        let mut numbers = Numbers(1);
        let mut proposed = 0;
        for round in 0..120 {
            let alphabet = 2 + numbers.below(if round % 2 == 0 { 4 } else { 30 });
            let count = numbers.below(120);
            let prompt = numbers.tokens(count, -1, alphabet);
            let mut plain = Plain { tokens: prompt.clone(), prompt_len: prompt.len() };
            let mut whole = PromptLookup::new(&prompt);
            for step in 0..100 {
                let max = 1 + step % 9;
                let expected = plain.draft(max);
                assert_eq!(drafted(&whole, max), expected, "round {round} step {step}");
                proposed += expected.len();
                // Sometimes the draft is right, so that copies run on.
                let next = match expected.first() {
                    Some(&token) if numbers.below(3) > 0 => token,
                    _ => numbers.below(alphabet) as Token - 1,
                };
                plain.tokens.push(next);
                whole.push(next);
                assert_eq!(whole.index.tokens, plain.tokens);
            }
        }
        assert!(proposed > 20_000, "{proposed} tokens compared");
    }

    #[test]
    fn a_long_chain_is_searched_only_so_far() {
        // The pair (1, 2) occurs more often than is looked at; the only longer match lies first, beyond reach.
        let mut tokens = vec![8, 9, 1, 2, 50];
        for i in 0..MOST_CANDIDATES as Token {
            tokens.extend([100 + i, 1, 2, 60]);
        }
        tokens.extend([8, 9, 1, 2]);
        let plain = Plain { tokens: tokens.clone(), prompt_len: tokens.len() };
        assert_eq!(plain.best().map(|best| best.1), Some(2));
        assert_eq!(drafted(&PromptLookup::new(&tokens), 5), plain.draft(5));
    }

    #[test]
    fn pushing_a_token_at_a_time_equals_building_at_once() {
        let mut numbers = Numbers(2);
        let tokens = numbers.tokens(600, 0, 5);
        let mut grown = Index::new(&[]);
        for (count, &token) in tokens.iter().enumerate() {
            grown.push(token);
            if count % 37 == 0 {
                let built = Index::new(&tokens[..=count]);
                for (first, second) in (0..25).map(|pair| (pair / 5, pair % 5)) {
                    // Buckets may be shared differently, the positions of the pair itself may not differ.
                    let positions = |index: &Index| -> Vec<usize> {
                        let pair = |&at: &usize| (tokens[at - 1], tokens[at]) == (first, second);
                        index.chain(first, second).filter(pair).collect()
                    };
                    assert_eq!(positions(&grown), positions(&built));
                }
            }
        }
    }

    #[test]
    fn an_index_takes_at_most_sixteen_bytes_a_token() {
        for count in [1, 2, 3, 63, 64, 65, 5000, 8193] {
            let index = Index::new(&Numbers(3).tokens(count, 0, 900));
            assert!(index.tokens.len() == count && index.bytes() <= 16 * count, "{} bytes for {count}", index.bytes());
        }
        assert!(Index::new(&[]).tokens.is_empty());
    }

    #[test]
    fn a_copied_passage_is_proposed_after_two_tokens() {
        let mut numbers = Numbers(4);
        let mut prompt: Vec<Token> = (0..300).collect();
        prompt.extend(numbers.tokens(300, 1000, 50));
        let mut lookup = PromptLookup::new(&prompt);
        for token in [5000, 5001, 120] {
            lookup.push(token);
            assert_eq!(drafted(&lookup, 8), Vec::<Token>::new());
        }
        lookup.push(121);
        assert_eq!(drafted(&lookup, 8), (122..130).collect::<Vec<_>>());
        assert_eq!(drafted(&lookup, 0), Vec::<Token>::new());
    }

    #[test]
    fn unrelated_or_too_little_text_proposes_nothing() {
        let mut lookup = PromptLookup::new(&(0..1000).collect::<Vec<_>>());
        for token in 2000..2200 {
            lookup.push(token);
            assert_eq!(drafted(&lookup, 8), Vec::<Token>::new());
        }
        for prompt in [&[][..], &[1], &[1, 1]] {
            assert_eq!(drafted(&PromptLookup::new(prompt), 8), Vec::<Token>::new());
        }
    }

    #[test]
    fn a_short_cycle_goes_on() {
        assert_eq!(drafted(&PromptLookup::new(&[9, 1, 1, 1]), 4), [1, 1, 1, 1]);
        assert_eq!(drafted(&PromptLookup::new(&[1, 2, 3, 1, 2, 3, 1, 2]), 5), [3, 1, 2, 3, 1]);
    }

    #[test]
    fn ties_go_to_the_prompt_and_there_to_the_latest_place() {
        let mut lookup = PromptLookup::new(&[50, 1, 2, 10, 51, 1, 2, 20, 52]);
        for token in [60, 1, 2] {
            lookup.push(token);
        }
        assert_eq!(drafted(&lookup, 1), [20]);
        for token in [30, 61, 1, 2] {
            lookup.push(token);
        }
        assert_eq!(drafted(&lookup, 1), [20]);
        // A longer match in the reply comes before a shorter one in the prompt.
        for token in [40, 61, 1, 2] {
            lookup.push(token);
        }
        assert_eq!(drafted(&lookup, 1), [40]);
    }

    /// Passes with drafts, proposed tokens, and tokens gained over `passes`, each token being accepted with this chance.
    fn drive(length: &mut DraftLength, numbers: &mut Numbers, percent: usize, passes: usize) -> (usize, usize, usize) {
        let (mut with, mut proposed, mut tokens) = (0, 0, 0);
        for _ in 0..passes {
            let k = length.length();
            let accepted = (0..k).take_while(|_| numbers.below(100) < percent).count();
            length.observe(k, accepted);
            with += usize::from(k > 0);
            proposed += k;
            tokens += 1 + accepted;
        }
        (with, proposed, tokens)
    }

    #[test]
    fn good_acceptance_makes_long_drafts() {
        let mut length = DraftLength::new(&StagePrior::default(), 0.05, LONGEST_DRAFT);
        let mut numbers = Numbers(5);
        drive(&mut length, &mut numbers, 90, 50);
        let (with, proposed, tokens) = drive(&mut length, &mut numbers, 90, 500);
        // The best fixed length here is 13, for 4.67 tokens per cost.
        let mean = proposed as f32 / 500.0;
        let gain = tokens as f32 / (500.0 + 0.05 * proposed as f32);
        println!("{mean} tokens proposed for a pass, gain {gain}");
        assert!(with == 500 && (8.0..20.0).contains(&mean) && gain > 4.2, "{with} passes, {mean} tokens, gain {gain}");
    }

    #[test]
    fn poor_acceptance_leaves_rare_probes() {
        for (marginal, most) in [(0.05, 0.15), (0.2, 0.04)] {
            let mut length = DraftLength::new(&StagePrior::default(), marginal, LONGEST_DRAFT);
            let mut numbers = Numbers(6);
            drive(&mut length, &mut numbers, 10, 100);
            let (with, proposed, tokens) = drive(&mut length, &mut numbers, 10, 2000);
            let share = with as f32 / 2000.0;
            let gain = tokens as f32 / (2000.0 + marginal * proposed as f32);
            println!("cost {marginal}: drafts in {share} of the passes, gain {gain}");
            assert!(with > 10 && share < most && gain > 0.98, "cost {marginal}: share {share}, gain {gain}");
        }
    }

    #[test]
    fn a_change_is_followed_both_ways() {
        for marginal in [0.05, 0.2] {
            let mut length = DraftLength::new(&StagePrior::default(), marginal, LONGEST_DRAFT);
            let mut numbers = Numbers(7);
            drive(&mut length, &mut numbers, 95, 100);
            assert!(length.length() >= 5);
            drive(&mut length, &mut numbers, 0, 40);
            assert_eq!(length.best, 0);
            drive(&mut length, &mut numbers, 0, 1000);
            let mut passes = 0;
            while length.best < 5 {
                drive(&mut length, &mut numbers, 95, 1);
                passes += 1;
                assert!(passes < 160, "no drafts again after {passes} passes at cost {marginal}");
            }
        }
    }

    #[test]
    fn a_due_probe_waits_for_something_to_propose() {
        let mut length = DraftLength::new(&StagePrior::default(), 0.3, 8);
        while length.best > 0 {
            length.observe(length.length(), 0);
        }
        (0..FIRST_WAIT).for_each(|_| {
            assert_eq!(length.length(), 0);
            length.observe(0, 0);
        });
        (0..100).for_each(|_| {
            assert_eq!(length.length(), PROBE);
            length.observe(0, 0);
        });
        length.observe(PROBE, 0);
        assert_eq!((length.length(), length.wait), (0, 2 * FIRST_WAIT));
    }

    #[test]
    fn costs_and_limits_bound_the_length() {
        let prior = StagePrior::default();
        assert_eq!(DraftLength::new(&prior, 0.0, 500).length(), LONGEST_DRAFT);
        assert_eq!(DraftLength::new(&prior, f32::NAN, 6).length(), 6);
        assert_eq!(DraftLength::new(&prior, f32::INFINITY, 6).length(), 0);
        assert_eq!(DraftLength::new(&prior, 0.01, 0).length(), 0);
        let mut length = DraftLength::new(&prior, 0.02, 16);
        let cheap = length.length();
        length.set_marginal(0.2);
        assert!(length.length() < cheap);
        // One token in ten is worth a little more than it costs here, but less than the least gain.
        let poor = StagePrior { tried: [100_000; GROUPS], kept: [10_000; GROUPS] };
        assert_eq!(DraftLength::new(&poor, 0.05, 8).length(), 0);
        assert_eq!(DraftLength::new(&poor, 0.03, 8).length(), 1);
    }

    #[test]
    fn a_stage_teaches_its_next_sequences_in_any_order() {
        let mut numbers = Numbers(8);
        let sequences: Vec<DraftLength> = (0..20)
            .map(|_| {
                let mut length = DraftLength::new(&StagePrior::default(), 0.1, 16);
                drive(&mut length, &mut numbers, 2, 40);
                length
            })
            .collect();
        let (mut prior, mut reversed) = (StagePrior::default(), StagePrior::default());
        sequences.iter().for_each(|sequence| prior.absorb(sequence.clone()));
        sequences.into_iter().rev().for_each(|sequence| reversed.absorb(sequence));
        assert_eq!(prior, reversed);
        assert!(DraftLength::new(&StagePrior::default(), 0.1, 16).length() > 0);
        assert_eq!(DraftLength::new(&prior, 0.1, 16).length(), 0);
    }

    /// A prompt with instructions, a list of events and a document, and the reply that judges the events in JSON.
    fn judged(numbers: &mut Numbers) -> (Vec<Token>, Vec<Token>) {
        let quote: Token = 1;
        // Few common openings and frequent words, as in prose.
        let passage = |numbers: &mut Numbers, least: usize| -> Vec<Token> {
            let mut words = vec![100 + numbers.below(4) as Token, 110 + numbers.below(6) as Token];
            for _ in 0..least + numbers.below(12) {
                let common = numbers.below(3) == 0;
                words.push(if common { 200 + numbers.below(30) as Token } else { 300 + numbers.below(3000) as Token });
            }
            words
        };
        let events: Vec<_> = (0..20).map(|_| passage(numbers, 6)).collect();
        let lines: Vec<_> = (0..150).map(|_| passage(numbers, 10)).collect();
        let opening: [Token; 6] = [10, 11, 12, 13, 14, quote];
        let between: [Token; 6] = [quote, 15, 12, 16, 14, quote];
        let verdict: [Token; 5] = [quote, 15, 12, 17, 14];
        let reason: [Token; 5] = [15, 12, 18, 14, quote];
        let mut prompt = numbers.tokens(200, 300, 3000);
        prompt.extend([&opening[..], &[20, 21], &between, &[20, 22], &verdict, &[23], &reason, &[20, 24, quote, 19]].concat());
        for (number, event) in events.iter().enumerate() {
            prompt.extend([&[30, 40 + number as Token, 31][..], event].concat());
        }
        lines.iter().for_each(|line| prompt.extend([&[32, 33][..], line].concat()));
        prompt.extend(numbers.tokens(30, 300, 3000));
        let mut reply = vec![34];
        for (number, event) in events.iter().enumerate() {
            let evidence = &lines[number * 7 + numbers.below(7)];
            let said = numbers.tokens(8, 300, 3000);
            let grade = 60 + numbers.below(3) as Token;
            reply
                .extend([&opening[..], event, &between, evidence, &verdict, &[grade], &reason, &said, &[quote, 19, 15]].concat());
        }
        (prompt, reply)
    }

    #[test]
    fn a_json_reply_that_quotes_its_prompt_takes_few_passes() {
        let marginal = 0.05;
        let mut numbers = Numbers(9);
        let mut prior = StagePrior::default();
        let (mut tokens, mut passes, mut proposed, mut accepted) = (0, 0, 0, 0);
        for _ in 0..10 {
            let (prompt, reply) = judged(&mut numbers);
            let mut lookup = PromptLookup::new(&prompt);
            let mut length = DraftLength::new(&prior, marginal, LONGEST_DRAFT);
            let mut draft = Vec::new();
            let mut done = 0;
            while done < reply.len() {
                lookup.draft(length.length(), &mut draft);
                let kept = draft.iter().zip(&reply[done..]).take_while(|(a, b)| a == b).count();
                length.observe(draft.len(), kept);
                let next = reply.len().min(done + kept + 1);
                reply[done..next].iter().for_each(|&token| lookup.push(token));
                (passes, proposed, accepted, done) = (passes + 1, proposed + draft.len(), accepted + kept, next);
            }
            tokens += reply.len();
            prior.absorb(length);
        }
        let per_token = passes as f32 / tokens as f32;
        let cost = (passes as f32 + marginal * proposed as f32) / tokens as f32;
        let seen = format!(
            "{per_token:.3} passes and {cost:.3} of the cost per token; {tokens} tokens, {passes} passes, {accepted} of {proposed} kept"
        );
        println!("{seen}");
        assert!(per_token < 0.4 && cost < 0.6, "{seen}");
    }
}
