//! Which prompts are resident in the KV cache, and which sequence holds them.
//!
//! The cache is unified: a cell (one token position) may be tagged by several sequences, so sharing the first tokens of a
//! sequence costs no memory, and a cell is free once no sequence tags it. This tree mirrors that exactly. It answers how much of
//! a new prompt is already resident, counts the cells in use and picks what to give up when room is needed.
//!
//! It knows tokens, sequence ids and the times it is told; nothing else. It never calls the model library: it returns what the
//! caller must do to the cache, and the caller tells it what was done. It must not know of slots, requests, batches or prompt
//! formats, and it never trusts a hash: two prompts are equal when their tokens are.
//!
//! # How it is built
//!
//! A radix tree over tokens. An edge owns a run of tokens and, for each time those tokens were computed separately, one
//! *stretch*: the cells of that copy, the sequences that tag them and the time something last passed through them. Every
//! sequence ends at the end of an edge, in exactly one stretch of each edge of its path. From this follows, and the code relies
//! on it:
//!
//! - sequences that share a stretch share all stretches above it (sharing arises only by forking a beginning);
//! - a stretch is never used later than the one above it, so the least recently used one is always at the end of a path.
//!
//! Misuse (an unknown sequence, a fork beyond a path's end) would let the tree and the cache drift apart without notice, so it
//! panics rather than guess.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A token id of the model's vocabulary, as the model library numbers them.
pub type Token = i32;

/// The id under which the cache tags cells. Plain numbers, chosen by the caller, who may reuse one once it has left the tree.
pub type SequenceId = i32;

/// The longest resident beginning of a prompt: the answer of [`PrefixTree::longest`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// How many of the prompt's first tokens are resident.
    pub n_tokens: usize,
    /// A sequence that holds all of them; `None` exactly when `n_tokens` is 0.
    pub sequence: Option<SequenceId>,
}

/// A removal that the caller must repeat in the cache: drop the tags of `sequence` from position `keep_tokens` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the cache still holds what the tree has forgotten until the removal is repeated there"]
pub struct Eviction {
    /// The sequence that was trimmed.
    pub sequence: SequenceId,
    /// How many of its first tokens it still holds. 0 means that it has left the tree.
    pub keep_tokens: usize,
}

impl Eviction {
    /// Whether the sequence holds nothing any more: it has left the tree and its id may be reused.
    #[must_use]
    pub fn is_release(&self) -> bool {
        self.keep_tokens == 0
    }
}

/// Index of a node in [`PrefixTree::nodes`].
type NodeId = usize;

/// The root holds no tokens and no stretches; empty sequences end here.
const ROOT: NodeId = 0;

/// One copy of an edge's tokens in the cache: as many cells as the edge has tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    /// The sequences that tag these cells: never empty, ascending.
    holders: Vec<SequenceId>,
    /// When a fork or an extension last passed through.
    used: u64,
}

impl Stretch {
    fn holds(&self, sequence: SequenceId) -> bool {
        self.holders.binary_search(&sequence).is_ok()
    }
}

/// A node and the edge that leads to it.
#[derive(Debug, Default)]
struct Node {
    tokens: Vec<Token>,
    /// How many tokens lie above this edge.
    start: usize,
    parent: NodeId,
    /// The edges below by their first token, which differs between them.
    children: Vec<(Token, NodeId)>,
    stretches: Vec<Stretch>,
    /// Whether paths ever parted or forked at this node. Such a point is likely to be one where they part again (the end of
    /// common instructions), so the edge then never grows over it: the tail can be evicted without the beginning.
    parted: bool,
}

impl Node {
    fn end(&self) -> usize {
        self.start + self.tokens.len()
    }

    fn is_held_only_by(&self, sequence: SequenceId) -> bool {
        matches!(self.stretches.as_slice(), [only] if only.holders == [sequence])
    }

    fn stretch_index(&self, sequence: SequenceId) -> usize {
        self.stretches.iter().position(|stretch| stretch.holds(sequence)).expect("a sequence holds every edge of its path")
    }

    fn stretch(&self, sequence: SequenceId) -> &Stretch {
        &self.stretches[self.stretch_index(sequence)]
    }

    fn stretch_mut(&mut self, sequence: SequenceId) -> &mut Stretch {
        let index = self.stretch_index(sequence);
        &mut self.stretches[index]
    }
}

/// A stretch at the end of idle paths: what the next step of an eviction may trim.
struct Leaf {
    node: NodeId,
    /// The holder that keeps what is left of the path; the others hold the same cells and are not needed.
    keeper: SequenceId,
    /// The position below which nothing may go: the start of the stretch or the end of the protected prefix.
    floor: usize,
}

/// The resident prompts. See the module's documentation.
#[derive(Debug)]
pub struct PrefixTree {
    /// Edges by id. Unused ones are listed in `unused` and have no stretches.
    nodes: Vec<Node>,
    unused: Vec<NodeId>,
    /// Where each sequence's path ends.
    tips: BTreeMap<SequenceId, NodeId>,
    n_cells: usize,
}

impl Default for PrefixTree {
    fn default() -> Self {
        Self::new()
    }
}

impl PrefixTree {
    /// An empty tree, for an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self { nodes: vec![Node::default()], unused: Vec::new(), tips: BTreeMap::new(), n_cells: 0 }
    }

    /// The longest beginning of `prompt` that is resident, and a sequence that holds all of it.
    ///
    /// It is shorter than the prompt by at least one token: the last token has to be computed for its logits. Among several
    /// copies the most recently used one is named, so that the others grow old and are evicted first; among its holders, the
    /// lowest.
    #[must_use]
    pub fn longest(&self, prompt: &[Token]) -> Resident {
        let mut rest = &prompt[..prompt.len().saturating_sub(1)];
        let mut n_tokens = 0;
        let mut at = ROOT;
        while let Some(child) = rest.first().and_then(|&token| self.child(at, token)) {
            let tokens = &self.nodes[child].tokens;
            let common = common_prefix(tokens, rest);
            n_tokens += common;
            rest = &rest[common..];
            at = child;
            if common < tokens.len() {
                break;
            }
        }
        let newest = self.nodes[at].stretches.iter().max_by_key(|stretch| (stretch.used, Reverse(stretch.holders[0])));
        Resident { n_tokens, sequence: newest.map(|stretch| stretch.holders[0]) }
    }

    /// Adds `sequence`, which from now on shares the cells of the first `n_tokens` of `source`, and marks those as used at
    /// `now` (any clock that never goes backwards). With `n_tokens` 0 it starts empty and `source` is not looked at.
    ///
    /// # Panics
    ///
    /// When `sequence` is in the tree already, or `source` does not hold `n_tokens`.
    pub fn fork(&mut self, source: Option<SequenceId>, n_tokens: usize, sequence: SequenceId, now: u64) {
        assert!(!self.tips.contains_key(&sequence), "sequence {sequence} is in the tree already");
        let mut tip = ROOT;
        if n_tokens > 0 {
            let source = source.expect("a fork of some tokens names the sequence that holds them");
            tip = self.tip(source);
            assert!(n_tokens <= self.nodes[tip].end(), "sequence {source} does not hold {n_tokens} tokens");
            while self.nodes[tip].start >= n_tokens {
                tip = self.nodes[tip].parent;
            }
            if n_tokens < self.nodes[tip].end() {
                tip = self.split(tip, n_tokens);
            }
            self.nodes[tip].parted = true;
            let mut at = tip;
            while at != ROOT {
                let stretch = self.nodes[at].stretch_mut(source);
                stretch.used = stretch.used.max(now);
                let place = stretch.holders.partition_point(|&holder| holder < sequence);
                stretch.holders.insert(place, sequence);
                at = self.nodes[at].parent;
            }
        }
        self.tips.insert(sequence, tip);
    }

    /// Adds `tokens`, computed by `sequence` in cells of its own, to the end of its path, and marks the whole path as used at
    /// `now`. Tokens that another sequence holds too are counted again: the cache holds them twice.
    ///
    /// # Panics
    ///
    /// When `sequence` is not in the tree.
    pub fn extend(&mut self, sequence: SequenceId, tokens: &[Token], now: u64) {
        let tip = self.tip(sequence);
        let mut at = tip;
        while at != ROOT {
            let stretch = self.nodes[at].stretch_mut(sequence);
            stretch.used = stretch.used.max(now);
            at = self.nodes[at].parent;
        }
        self.n_cells += tokens.len();
        let mut rest = tokens;
        at = tip;
        while let Some(&first) = rest.first() {
            let Some(mut child) = self.child(at, first) else {
                at = self.append(at, sequence, rest, now);
                break;
            };
            let common = common_prefix(&self.nodes[child].tokens, rest);
            if common < self.nodes[child].tokens.len() {
                child = self.split(child, self.nodes[child].start + common);
            }
            self.nodes[child].stretches.push(Stretch { holders: vec![sequence], used: now });
            rest = &rest[common..];
            at = child;
        }
        self.tips.insert(sequence, at);
        if at != tip {
            self.join_with_child(tip);
        }
    }

    /// How many tokens `sequence` holds; `None` when it is not in the tree.
    #[must_use]
    #[cfg(test)]
    pub fn path_len(&self, sequence: SequenceId) -> Option<usize> {
        self.tips.get(&sequence).map(|&tip| self.nodes[tip].end())
    }

    /// The sequences in the tree, ascending, empty ones included.
    #[cfg(test)]
    pub fn sequences(&self) -> impl Iterator<Item = SequenceId> + '_ {
        self.tips.keys().copied()
    }

    /// How many cells of the cache are in use: each shared one once, each copy of equal tokens separately.
    #[must_use]
    pub fn n_cells(&self) -> usize {
        self.n_cells
    }

    /// Leaves `sequence` only its first `n_tokens`; with 0 it leaves the tree. Other sequences keep what they share with it.
    /// Nothing happens when it holds no more than that, or is not in the tree.
    pub fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) {
        let Some(&tip) = self.tips.get(&sequence) else { return };
        let mut at = tip;
        while at != ROOT && self.nodes[at].start >= n_tokens {
            let parent = self.nodes[at].parent;
            self.leave(at, sequence);
            at = parent;
        }
        if self.nodes[at].end() > n_tokens {
            let node = &mut self.nodes[at];
            if node.is_held_only_by(sequence) {
                // Whoever holds a child holds this edge too, so there are no children left.
                self.n_cells -= node.end() - n_tokens;
                node.tokens.truncate(n_tokens - node.start);
                node.parted = false;
            } else {
                let tail = at;
                at = self.split(tail, n_tokens);
                self.leave(tail, sequence);
            }
        }
        if n_tokens == 0 {
            self.tips.remove(&sequence);
        } else {
            self.tips.insert(sequence, at);
        }
    }

    /// How many cells [`Self::evict`] could free with the same arguments. Looks at every edge.
    #[must_use]
    pub fn evictable(&self, busy: impl Fn(SequenceId) -> bool, protected: Option<(SequenceId, usize)>) -> usize {
        let stretches = self.nodes.iter().flat_map(|node| node.stretches.iter().map(move |stretch| (node, stretch)));
        let idle = stretches.filter(|(_, stretch)| !stretch.holders.iter().any(|&holder| busy(holder)));
        idle.map(|(node, stretch)| node.end() - floor(node, stretch, protected)).sum()
    }

    /// Frees `n_cells` cells, or as many as it can, and returns the removals that do the same to the cache: at most one for a
    /// sequence, ascending.
    ///
    /// Only idle (not `busy`) sequences are trimmed, from their ends: the least recently used stretch first, and of the last one
    /// only as much as is still needed. Cells that several idle sequences tag go when all of these are trimmed. No cell is freed
    /// that a busy sequence or the `protected` beginning (a sequence and how many of its tokens) needs; the protected sequence
    /// itself also stays in the tree. Any other trimmed sequence of which another one holds all remaining cells is released,
    /// which loses nothing and makes its id available.
    pub fn evict(
        &mut self,
        n_cells: usize,
        busy: impl Fn(SequenceId) -> bool,
        protected: Option<(SequenceId, usize)>,
    ) -> Vec<Eviction> {
        let protected = protected.filter(|&(_, n_tokens)| n_tokens > 0);
        let target = self.n_cells.saturating_sub(n_cells);
        let mut kept = BTreeMap::new();
        while self.n_cells > target {
            let Some(leaf) = self.oldest_leaf(&busy, protected) else { break };
            let (node, keeper) = (&self.nodes[leaf.node], leaf.keeper);
            let keep_tokens = node.end().saturating_sub(self.n_cells - target).max(leaf.floor);
            let mut others = node.stretch(keeper).holders.clone();
            others.retain(|&holder| holder != keeper);
            for sequence in others {
                self.truncate(sequence, 0);
                kept.insert(sequence, 0);
            }
            self.truncate(keeper, keep_tokens);
            kept.insert(keeper, keep_tokens);
            let is_protected = protected.is_some_and(|(sequence, _)| sequence == keeper);
            if keep_tokens > 0 && !is_protected && self.nodes[self.tip(keeper)].stretch(keeper).holders.len() > 1 {
                self.truncate(keeper, 0);
                kept.insert(keeper, 0);
            }
        }
        kept.into_iter().map(|(sequence, keep_tokens)| Eviction { sequence, keep_tokens }).collect()
    }

    /// Frees one sequence id: removes one idle (not `busy`) sequence; `None` when there is none.
    ///
    /// A sequence whose tokens others hold as well is preferred, for then every prompt stays as resident as it was. After that
    /// the one whose end was used least recently goes, and among equals the one with the fewest tokens of its own. A caller
    /// about to fork from a sequence must call that one busy.
    pub fn evict_sequence(&mut self, busy: impl Fn(SequenceId) -> bool) -> Option<Eviction> {
        let idle = self.tips.iter().filter(|&(&sequence, _)| !busy(sequence));
        let (.., sequence) = idle
            .map(|(&sequence, &tip)| {
                let used = (tip != ROOT).then(|| self.nodes[tip].stretch(sequence).used);
                let loss = self.n_tokens_held_only_by(sequence, tip);
                (loss > 0, used, loss, sequence)
            })
            .min()?;
        self.truncate(sequence, 0);
        Some(Eviction { sequence, keep_tokens: 0 })
    }

    fn tip(&self, sequence: SequenceId) -> NodeId {
        *self.tips.get(&sequence).unwrap_or_else(|| panic!("sequence {sequence} is not in the tree"))
    }

    fn child(&self, at: NodeId, first: Token) -> Option<NodeId> {
        self.nodes[at].children.iter().find(|&&(token, _)| token == first).map(|&(_, child)| child)
    }

    /// How many tokens at the end of the path would no longer be resident without `sequence`.
    fn n_tokens_held_only_by(&self, sequence: SequenceId, tip: NodeId) -> usize {
        let mut at = tip;
        // Holders only grow in number towards the root, so the first shared edge ends the search.
        while at != ROOT && self.nodes[at].is_held_only_by(sequence) {
            at = self.nodes[at].parent;
        }
        self.nodes[tip].end() - self.nodes[at].end()
    }

    /// The least recently used stretch that ends the paths of all its holders, has only idle ones and has a cell to give.
    fn oldest_leaf(&self, busy: impl Fn(SequenceId) -> bool, protected: Option<(SequenceId, usize)>) -> Option<Leaf> {
        let tips = self.tips.iter().filter(|&(_, &tip)| tip != ROOT);
        let leaves = tips.filter_map(|(&sequence, &tip)| {
            let node = &self.nodes[tip];
            let stretch = node.stretch(sequence);
            let floor = floor(node, stretch, protected);
            let is_trimmable = |&holder: &SequenceId| !busy(holder) && self.tips[&holder] == tip;
            if stretch.holders[0] != sequence || floor == node.end() || !stretch.holders.iter().all(is_trimmable) {
                return None;
            }
            let keeper = protected.map(|(keeper, _)| keeper).filter(|&keeper| stretch.holds(keeper)).unwrap_or(sequence);
            // Of equally old stretches the one furthest from the root: a beginning serves more prompts.
            Some(((stretch.used, Reverse(node.end())), Leaf { node: tip, keeper, floor }))
        });
        leaves.min_by_key(|&(age, _)| age).map(|(_, leaf)| leaf)
    }

    /// Cuts the edge of `at` at position `end`, counted from the root. The new node above the cut is returned; `at` remains the
    /// node below it, so that the paths that end there and its children need no change.
    fn split(&mut self, at: NodeId, end: usize) -> NodeId {
        let node = &mut self.nodes[at];
        let head = Node {
            tokens: node.tokens.drain(..end - node.start).collect(),
            start: node.start,
            parent: node.parent,
            children: vec![(node.tokens[0], at)],
            stretches: node.stretches.clone(),
            parted: false,
        };
        node.start = end;
        let parent = head.parent;
        let head = self.insert(head);
        self.nodes[at].parent = head;
        self.replace_child(parent, at, head);
        head
    }

    /// Puts tokens that no child of `at` begins with behind it: on the same edge where that has the same cells' holders, else
    /// on a new one. Returns the node where they end. The cells are already counted.
    fn append(&mut self, at: NodeId, sequence: SequenceId, tokens: &[Token], now: u64) -> NodeId {
        let node = &mut self.nodes[at];
        if node.children.is_empty() && !node.parted && node.is_held_only_by(sequence) {
            node.tokens.extend_from_slice(tokens);
            return at;
        }
        node.parted |= !node.children.is_empty();
        let start = node.end();
        let stretches = vec![Stretch { holders: vec![sequence], used: now }];
        let leaf = Node { tokens: tokens.to_vec(), start, parent: at, stretches, ..Node::default() };
        let leaf = self.insert(leaf);
        self.nodes[at].children.push((tokens[0], leaf));
        leaf
    }

    /// Undoes a split that a path's end caused, once the path has moved on. Without this, two sequences that compute equal
    /// tokens in step would leave one edge for every token.
    fn join_with_child(&mut self, at: NodeId) {
        let node = &self.nodes[at];
        let &[(_, child)] = node.children.as_slice() else { return };
        let below = &self.nodes[child].stretches;
        let is_held_alike = node.stretches.len() == below.len() && node.stretches.iter().all(|stretch| below.contains(stretch));
        if at == ROOT || node.parted || !is_held_alike {
            return;
        }
        let mut head = self.recycle(at);
        let tail = &mut self.nodes[child];
        head.tokens.append(&mut tail.tokens);
        tail.tokens = head.tokens;
        tail.start = head.start;
        tail.parent = head.parent;
        self.replace_child(head.parent, at, child);
    }

    /// Takes `sequence` off the edge of `at`, and removes the cells and the edge that nobody holds any more.
    fn leave(&mut self, at: NodeId, sequence: SequenceId) {
        let node = &mut self.nodes[at];
        let index = node.stretch_index(sequence);
        let holders = &mut node.stretches[index].holders;
        holders.retain(|&holder| holder != sequence);
        if !holders.is_empty() {
            return;
        }
        self.n_cells -= node.tokens.len();
        node.stretches.swap_remove(index);
        if node.stretches.is_empty() {
            let parent = node.parent;
            self.nodes[parent].children.retain(|&(_, child)| child != at);
            self.recycle(at);
        }
    }

    fn replace_child(&mut self, parent: NodeId, old: NodeId, new: NodeId) {
        let children = &mut self.nodes[parent].children;
        let entry = children.iter_mut().find(|(_, child)| *child == old).expect("a node is a child of its parent");
        entry.1 = new;
    }

    fn insert(&mut self, node: Node) -> NodeId {
        if let Some(id) = self.unused.pop() {
            self.nodes[id] = node;
            return id;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn recycle(&mut self, id: NodeId) -> Node {
        self.unused.push(id);
        std::mem::take(&mut self.nodes[id])
    }
}

/// The position below which no cell of the stretch may be freed for the sake of the protected beginning.
fn floor(node: &Node, stretch: &Stretch, protected: Option<(SequenceId, usize)>) -> usize {
    match protected {
        Some((sequence, n_tokens)) if stretch.holds(sequence) => n_tokens.clamp(node.start, node.end()),
        _ => node.start,
    }
}

/// How many first tokens both have in common. By blocks, since those compare as memory: prompts have many thousand tokens.
fn common_prefix(a: &[Token], b: &[Token]) -> usize {
    const BLOCK: usize = 64;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap};

    const IDLE: fn(SequenceId) -> bool = |_| false;

    fn resident(n_tokens: usize, sequence: SequenceId) -> Resident {
        Resident { n_tokens, sequence: Some(sequence) }
    }

    fn eviction(sequence: SequenceId, keep_tokens: usize) -> Eviction {
        Eviction { sequence, keep_tokens }
    }

    fn run(first: Token, len: usize) -> Vec<Token> {
        (first..).take(len).collect()
    }

    /// What an engine does with a new prompt: reuse what is resident, compute the rest.
    fn admit(tree: &mut PrefixTree, sequence: SequenceId, prompt: &[Token], now: u64) -> usize {
        let found = tree.longest(prompt);
        tree.fork(found.sequence, found.n_tokens, sequence, now);
        tree.extend(sequence, &prompt[found.n_tokens..], now);
        tree.check();
        found.n_tokens
    }

    impl PrefixTree {
        fn n_edges(&self) -> usize {
            self.nodes.len() - self.unused.len() - 1
        }

        /// The invariants that the module's documentation states.
        fn check(&self) {
            let mut n_cells = 0;
            let mut n_edges = 0;
            let mut open = vec![ROOT];
            while let Some(at) = open.pop() {
                let node = &self.nodes[at];
                let firsts: BTreeSet<Token> = node.children.iter().map(|&(token, _)| token).collect();
                assert_eq!(firsts.len(), node.children.len());
                for &(token, child) in &node.children {
                    let below = &self.nodes[child];
                    assert_eq!((below.parent, below.start, below.tokens[0]), (at, node.end(), token));
                    assert!(!below.stretches.is_empty());
                    for stretch in &below.stretches {
                        assert!(!stretch.holders.is_empty() && stretch.holders.is_sorted_by(|a, b| a < b));
                        for &holder in &stretch.holders {
                            assert_eq!(below.stretches.iter().filter(|other| other.holds(holder)).count(), 1);
                        }
                        if at != ROOT {
                            let above = node.stretch(stretch.holders[0]);
                            assert!(above.used >= stretch.used);
                            assert!(stretch.holders.iter().all(|&holder| above.holds(holder)));
                        }
                    }
                    n_cells += below.tokens.len() * below.stretches.len();
                    n_edges += 1;
                    open.push(child);
                }
            }
            assert_eq!((n_cells, n_edges), (self.n_cells, self.n_edges()));
            for (&sequence, &tip) in &self.tips {
                let is_below = |&&(_, child): &&(Token, NodeId)| self.nodes[child].stretches.iter().any(|s| s.holds(sequence));
                assert_eq!(self.nodes[tip].children.iter().find(is_below), None);
                assert!(tip == ROOT || self.nodes[tip].stretches.iter().any(|stretch| stretch.holds(sequence)));
            }
        }
    }

    #[test]
    fn empty_and_one_token_prompts_reuse_nothing() {
        let mut tree = PrefixTree::new();
        let nothing = Resident { n_tokens: 0, sequence: None };
        assert_eq!(tree.longest(&[]), nothing);
        assert_eq!(tree.longest(&[7]), nothing);
        assert_eq!(admit(&mut tree, 0, &[7], 1), 0);
        assert_eq!((tree.n_cells(), tree.path_len(0)), (1, Some(1)));
        assert_eq!(tree.longest(&[7]), nothing);
        assert_eq!(tree.longest(&[]), nothing);
        assert_eq!(tree.longest(&[7, 7]), resident(1, 0));
        assert_eq!(tree.longest(&[8, 7]), nothing);
        // A second one-token prompt is computed again, in a cell of its own.
        assert_eq!(admit(&mut tree, 1, &[7], 2), 0);
        assert_eq!((tree.n_cells(), tree.n_edges()), (2, 1));
    }

    #[test]
    fn an_empty_sequence_is_known_and_goes_first() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 3, &run(0, 9), 1);
        tree.fork(None, 0, 5, 2);
        tree.extend(5, &[], 2);
        tree.truncate(5, 4);
        tree.check();
        assert_eq!((tree.path_len(5), tree.path_len(6)), (Some(0), None));
        assert_eq!(tree.sequences().collect::<Vec<_>>(), [3, 5]);
        assert_eq!(tree.evict_sequence(IDLE), Some(eviction(5, 0)));
        assert_eq!(tree.path_len(5), None);
        assert_eq!(tree.evict_sequence(IDLE), Some(eviction(3, 0)));
        assert_eq!(tree.evict_sequence(IDLE), None);
        assert_eq!((tree.n_cells(), tree.n_edges()), (0, 0));
    }

    /// Instructions used by all, a report on them used by two games, and the games A and B.
    fn games() -> PrefixTree {
        let (instructions, report) = (run(0, 100), run(1_000, 50));
        let mut tree = PrefixTree::new();
        let with_report = [instructions.clone(), report].concat();
        assert_eq!(admit(&mut tree, 0, &[with_report.clone(), run(2_000, 30)].concat(), 1), 0);
        assert_eq!(admit(&mut tree, 1, &[with_report, run(3_000, 20)].concat(), 2), 150);
        assert_eq!(admit(&mut tree, 2, &[instructions, run(4_000, 10)].concat(), 3), 100);
        assert_eq!((tree.n_cells(), tree.n_edges()), (210, 5));
        tree
    }

    #[test]
    fn the_least_recently_used_stretch_goes_first() {
        let mut tree = games();
        assert_eq!(tree.evictable(IDLE, None), 210);
        // Game A is the oldest; a part of it is enough.
        assert_eq!(tree.evict(10, IDLE, None), [eviction(0, 170)]);
        assert_eq!(tree.n_cells(), 200);
        // The rest of A, whose beginning B holds as well, then some of B.
        assert_eq!(tree.evict(25, IDLE, None), [eviction(0, 0), eviction(1, 165)]);
        // The rest of B and the report, not the instructions, which the third game used last; so B is no longer needed.
        assert_eq!(tree.evict(65, IDLE, None), [eviction(1, 0)]);
        assert_eq!(tree.n_cells(), 110);
        assert_eq!(tree.longest(&run(0, 101)), resident(100, 2));
        assert_eq!(tree.evict(1_000, IDLE, None), [eviction(2, 0)]);
        assert_eq!((tree.n_cells(), tree.n_edges(), tree.sequences().count()), (0, 0, 0));
    }

    #[test]
    fn of_equally_old_stretches_the_furthest_goes_first() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 10), 1);
        admit(&mut tree, 1, &run(100, 20), 1);
        assert_eq!(tree.evict(1, IDLE, None), [eviction(1, 19)]);
    }

    #[test]
    fn neither_busy_nor_protected_cells_are_freed() {
        let mut tree = games();
        let busy = |sequence| sequence == 1;
        let protected = Some((0, 155));
        // Of A all but the report and five tokens may go, of the third game all but the instructions.
        assert_eq!(tree.evictable(busy, protected), 25 + 10);
        assert_eq!(tree.evict(1_000, busy, protected), [eviction(0, 155), eviction(2, 0)]);
        tree.check();
        assert_eq!(tree.n_cells(), 175);
        // The protected sequence stays even where another one holds all that is protected of it.
        let protected = Some((0, 120));
        assert_eq!(tree.evict(1_000, busy, protected), [eviction(0, 150)]);
        assert_eq!(tree.evict(1_000, busy, Some((0, 0))), []);
        assert_eq!((tree.evictable(busy, None), tree.n_cells()), (0, 170));
    }

    #[test]
    fn a_split_point_outlives_the_sibling_that_made_it() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 100), 1);
        admit(&mut tree, 1, &[run(0, 40), run(500, 10)].concat(), 2);
        tree.truncate(1, 0);
        assert_eq!((tree.n_cells(), tree.n_edges()), (100, 2));
        tree.truncate(0, 40);
        tree.extend(0, &run(600, 5), 3);
        tree.check();
        assert_eq!((tree.n_cells(), tree.n_edges()), (45, 2));
    }

    #[test]
    fn paths_part_where_a_fork_was_or_where_they_differ() {
        // A fork whose sequence went away before it computed anything.
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 40), 1);
        tree.fork(Some(0), 40, 1, 2);
        tree.truncate(1, 0);
        tree.extend(0, &run(40, 10), 3);
        assert_eq!(tree.n_edges(), 2);
        // Within the edge nothing ever parted.
        tree.truncate(0, 30);
        tree.extend(0, &run(30, 10), 4);
        assert_eq!((tree.n_cells(), tree.n_edges()), (40, 1));
        // Equal beginnings without any fork.
        let mut tree = PrefixTree::new();
        for (sequence, rest) in [(0, 100), (1, 200)] {
            tree.fork(None, 0, sequence, 1);
            tree.extend(sequence, &[run(0, 40), run(rest, 10)].concat(), 1);
        }
        tree.truncate(1, 0);
        tree.truncate(0, 40);
        tree.extend(0, &run(300, 10), 2);
        tree.check();
        assert_eq!((tree.n_cells(), tree.n_edges()), (50, 2));
    }

    #[test]
    fn joining_edges_changes_no_age() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 10), 1);
        admit(&mut tree, 1, &run(100, 10), 5);
        // Sequence 2 passes through the first half of sequence 0, whose second half stays old.
        tree.fork(Some(0), 10, 2, 1);
        tree.truncate(2, 5);
        tree.extend(2, &[], 9);
        tree.truncate(2, 0);
        tree.fork(None, 0, 3, 10);
        tree.extend(3, &run(0, 5), 10);
        tree.extend(3, &run(5, 5), 11);
        tree.check();
        assert_eq!(tree.evict(10, IDLE, None), [eviction(0, 5), eviction(1, 5)]);
    }

    #[test]
    fn truncation_within_an_edge_leaves_the_others_theirs() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 50), 1);
        tree.fork(Some(0), 50, 1, 2);
        tree.truncate(1, 20);
        tree.check();
        assert_eq!((tree.path_len(0), tree.path_len(1), tree.n_cells()), (Some(50), Some(20), 50));
        assert_eq!(tree.longest(&run(0, 31)), resident(30, 0));
        tree.truncate(0, 30);
        tree.truncate(0, 31);
        tree.truncate(9, 1);
        tree.check();
        assert_eq!((tree.path_len(0), tree.n_cells()), (Some(30), 30));
        tree.truncate(0, 10);
        tree.check();
        assert_eq!((tree.path_len(0), tree.path_len(1), tree.n_cells()), (Some(10), Some(20), 20));
        assert_eq!(tree.longest(&run(0, 31)), resident(20, 1));
        tree.truncate(1, 0);
        assert_eq!(tree.n_cells(), 10);
    }

    #[test]
    fn equal_tokens_computed_twice_count_twice() {
        let mut tree = PrefixTree::new();
        for sequence in 0..2 {
            tree.fork(None, 0, sequence, 1);
            tree.extend(sequence, &run(0, 60), 1 + u64::try_from(sequence).unwrap());
        }
        tree.check();
        assert_eq!((tree.n_cells(), tree.n_edges()), (120, 1));
        // The newer copy is named, so the older one is the first to go.
        assert_eq!(tree.longest(&run(0, 99)), resident(60, 1));
        tree.fork(Some(1), 30, 2, 3);
        assert_eq!(tree.evict(60, IDLE, None), [eviction(0, 0)]);
        tree.check();
        assert_eq!((tree.n_cells(), tree.longest(&run(0, 99))), (60, resident(60, 1)));
        // A shared beginning and then separate copies: what was shared is counted once.
        tree.extend(2, &run(30, 30), 4);
        tree.check();
        assert_eq!((tree.n_cells(), tree.n_edges()), (90, 2));
        // Both copies of the end are dispensable, for each is the other's; the older one goes.
        assert_eq!(tree.evict_sequence(IDLE), Some(eviction(1, 0)));
        assert_eq!((tree.n_cells(), tree.longest(&run(0, 99))), (60, resident(60, 2)));
    }

    #[test]
    fn equal_paths_computed_in_step_stay_one_edge() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 40), 1);
        tree.fork(Some(0), 40, 1, 2);
        for (token, now) in (40..240).zip(3..) {
            tree.extend(0, &[token], now);
            tree.extend(1, &[token], now);
        }
        tree.check();
        assert_eq!(tree.n_cells(), 40 + 400);
        // The fork's point, where they may part again, and the last step, which one of them has taken first.
        assert!(tree.n_edges() <= 3, "{} edges", tree.n_edges());
    }

    #[test]
    fn stretches_of_several_idle_sequences_go_together() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 30), 1);
        for sequence in 1..4 {
            tree.fork(Some(0), 30, sequence, 2);
        }
        assert_eq!(tree.evict(5, |sequence| sequence == 2, None), []);
        assert_eq!(
            tree.evict(5, IDLE, Some((3, 10))),
            [0, 1, 2].map(|sequence| eviction(sequence, 0)).into_iter().chain([eviction(3, 25)]).collect::<Vec<_>>()
        );
        assert_eq!((tree.n_cells(), tree.path_len(3)), (25, Some(25)));
    }

    #[test]
    fn a_sequence_whose_path_is_held_elsewhere_is_freed_before_older_ones() {
        let mut tree = games();
        tree.fork(Some(2), 105, 3, 9);
        assert_eq!(tree.evict_sequence(|sequence| sequence == 2), Some(eviction(3, 0)));
        assert_eq!(tree.n_cells(), 210);
        assert_eq!(tree.evict_sequence(|sequence| sequence == 0), Some(eviction(1, 0)));
        assert!(tree.evict_sequence(|sequence| sequence != 0).is_some_and(|eviction| eviction.is_release()));
    }

    #[test]
    fn depth_does_not_matter() {
        let mut tree = PrefixTree::new();
        admit(&mut tree, 0, &run(0, 5_000), 0);
        for n_tokens in 1..5_000 {
            tree.fork(Some(0), 5_000 - n_tokens, 1, 1);
            tree.truncate(1, 0);
        }
        assert_eq!(tree.n_edges(), 5_000);
        assert_eq!(tree.longest(&run(0, 5_001)), resident(5_000, 0));
        assert_eq!(tree.evict(4_990, IDLE, None), [eviction(0, 10)]);
        tree.check();
        assert_eq!((tree.n_cells(), tree.n_edges()), (10, 10));
    }

    #[test]
    fn common_prefix_is_exact_around_blocks() {
        for len in [0, 1, 63, 64, 65, 128, 200] {
            let a = run(0, len);
            for differs_at in 0..len {
                let mut b = a.clone();
                b[differs_at] = -1;
                assert_eq!(common_prefix(&a, &b), differs_at);
                assert_eq!(common_prefix(&a, &a[..differs_at]), differs_at);
            }
            assert_eq!(common_prefix(&a, &[a.clone(), vec![1, 2]].concat()), len);
        }
    }

    #[test]
    #[should_panic(expected = "in the tree already")]
    fn a_sequence_is_forked_once() {
        games().fork(Some(0), 1, 1, 9);
    }

    #[test]
    #[should_panic(expected = "does not hold 181")]
    fn no_more_is_forked_than_there_is() {
        games().fork(Some(0), 181, 7, 9);
    }

    /// A small generator of pseudo-random numbers (splitmix64), so that every run tests the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((z ^ (z >> 31)) % u64::try_from(n).unwrap()).unwrap()
        }

        fn tokens(&mut self, alphabet: usize, n_at_most: usize) -> Vec<Token> {
            (0..self.below(n_at_most + 1)).map(|_| Token::try_from(self.below(alphabet)).unwrap()).collect()
        }

        fn pick(&mut self, of: &[SequenceId]) -> Option<SequenceId> {
            (!of.is_empty()).then(|| of[self.below(of.len())])
        }
    }

    /// The cache itself: every cell under its own number, and when something last passed through it.
    #[derive(Default)]
    struct Cache {
        paths: BTreeMap<SequenceId, Vec<(Token, usize)>>,
        used: Vec<u64>,
    }

    impl Cache {
        fn fork(&mut self, source: Option<SequenceId>, n_tokens: usize, sequence: SequenceId, now: u64) {
            let path = source.map_or(Vec::new(), |source| self.paths[&source][..n_tokens].to_vec());
            for &(_, cell) in &path {
                self.used[cell] = now;
            }
            self.paths.insert(sequence, path);
        }

        fn extend(&mut self, sequence: SequenceId, tokens: &[Token], now: u64) {
            let path = self.paths.get_mut(&sequence).unwrap();
            for &token in tokens {
                path.push((token, self.used.len()));
                self.used.push(now);
            }
            for &(_, cell) in path.iter() {
                self.used[cell] = now;
            }
        }

        fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) {
            if n_tokens == 0 {
                self.paths.remove(&sequence);
            } else if let Some(path) = self.paths.get_mut(&sequence) {
                path.truncate(n_tokens);
            }
        }

        fn cells<'a>(paths: impl IntoIterator<Item = &'a Vec<(Token, usize)>>) -> BTreeSet<usize> {
            paths.into_iter().flatten().map(|&(_, cell)| cell).collect()
        }

        fn all(&self) -> BTreeSet<usize> {
            Self::cells(self.paths.values())
        }

        fn evictable(&self, busy: impl Fn(SequenceId) -> bool, protected: Option<(SequenceId, usize)>) -> BTreeSet<usize> {
            let needed = Self::cells(self.paths.iter().filter(|&(&sequence, _)| busy(sequence)).map(|(_, path)| path));
            let beginning = protected.map(|(sequence, n_tokens)| self.paths[&sequence].iter().copied().take(n_tokens).collect());
            &(&self.all() - &needed) - &Self::cells(&beginning)
        }

        fn tokens(&self, sequence: SequenceId) -> Vec<Token> {
            self.paths[&sequence].iter().map(|&(token, _)| token).collect()
        }

        /// How many first tokens of `prompt` the sequence holds.
        fn common(&self, sequence: SequenceId, prompt: &[Token]) -> usize {
            self.paths[&sequence].iter().zip(prompt).take_while(|((mine, _), token)| mine == *token).count()
        }

        /// How many of the sequence's tokens no other sequence holds.
        fn loss(&self, sequence: SequenceId) -> usize {
            let tokens = self.tokens(sequence);
            let others = self.paths.keys().filter(|&&other| other != sequence);
            tokens.len() - others.map(|&other| self.common(other, &tokens)).max().unwrap_or(0)
        }
    }

    /// Compares the tree with the cache over random operations.
    fn drive(seed: u64, n_operations: usize, alphabet: usize, n_sequences: SequenceId, len: usize) {
        let mut random = Random(seed);
        let mut tree = PrefixTree::new();
        let mut cache = Cache::default();
        let mut now = 0;
        for _ in 0..n_operations {
            // Often the same time twice, so that ties occur.
            now += u64::from(random.below(3) > 0);
            let known: Vec<SequenceId> = tree.sequences().collect();
            let unknown: Vec<SequenceId> = (0..n_sequences).filter(|sequence| !known.contains(sequence)).collect();
            let busy: Vec<SequenceId> = known.iter().copied().filter(|_| random.below(3) == 0).collect();
            let is_busy = |sequence| busy.contains(&sequence);
            match random.below(12) {
                // A new prompt: often a variation of a resident one, sometimes not sharing all that it could.
                0..=3 => {
                    let Some(sequence) = random.pick(&unknown) else { continue };
                    let mut prompt = Vec::new();
                    if let Some(like) = random.pick(&known) {
                        prompt = cache.tokens(like);
                        prompt.truncate(random.below(prompt.len() + 1));
                    }
                    prompt.extend(random.tokens(alphabet, len));
                    let found = tree.longest(&prompt);
                    let reuse = if random.below(3) > 0 { found.n_tokens } else { random.below(found.n_tokens + 1) };
                    tree.fork(found.sequence, reuse, sequence, now);
                    cache.fork(found.sequence, reuse, sequence, now);
                    tree.extend(sequence, &prompt[reuse..], now);
                    cache.extend(sequence, &prompt[reuse..], now);
                }
                4..=6 => {
                    let Some(sequence) = random.pick(&known) else { continue };
                    // Often the very tokens with which another sequence goes on.
                    let mut tokens = random.tokens(alphabet, 3);
                    if let Some(like) = random.pick(&known).filter(|_| random.below(2) == 0) {
                        let common = cache.common(like, &cache.tokens(sequence));
                        tokens = cache.tokens(like)[common..].to_vec();
                        tokens.truncate(random.below(4));
                    }
                    tree.extend(sequence, &tokens, now);
                    cache.extend(sequence, &tokens, now);
                }
                7 => {
                    let Some(sequence) = random.pick(&known) else { continue };
                    let n_tokens = random.below(cache.paths[&sequence].len() + 2);
                    tree.truncate(sequence, n_tokens);
                    cache.truncate(sequence, n_tokens);
                }
                8..=9 => {
                    let Some(sequence) = random.pick(&unknown) else { continue };
                    let source = random.pick(&known);
                    let n_tokens = source.map_or(0, |source| random.below(cache.paths[&source].len() + 1));
                    tree.fork(source, n_tokens, sequence, now);
                    cache.fork(source, n_tokens, sequence, now);
                }
                10 => {
                    let protected = random.pick(&known).map(|sequence| (sequence, random.below(len * 2)));
                    let protected = protected.filter(|_| random.below(3) > 0);
                    let n_cells = random.below(len * 3);
                    check_evict(&mut tree, &mut cache, n_cells, is_busy, protected);
                }
                _ => check_evict_sequence(&mut tree, &mut cache, is_busy),
            }
            tree.check();
            let lens: Vec<_> = cache.paths.iter().map(|(&sequence, path)| (sequence, Some(path.len()))).collect();
            assert_eq!(tree.sequences().map(|sequence| (sequence, tree.path_len(sequence))).collect::<Vec<_>>(), lens);
            assert_eq!(tree.n_cells(), cache.all().len());
            check_longest(&tree, &cache, &mut random, alphabet, len);
        }
    }

    fn check_longest(tree: &PrefixTree, cache: &Cache, random: &mut Random, alphabet: usize, len: usize) {
        let mut prompt = Vec::new();
        if let Some(like) = random.pick(&cache.paths.keys().copied().collect::<Vec<_>>()) {
            prompt = cache.tokens(like);
            prompt.truncate(random.below(prompt.len() + 1));
        }
        prompt.extend(random.tokens(alphabet, len));
        let limit = &prompt[..prompt.len().saturating_sub(1)];
        let found = tree.longest(&prompt);
        let best = cache.paths.keys().map(|&sequence| cache.common(sequence, limit)).max().unwrap_or(0);
        assert_eq!(found.n_tokens, best);
        match found.sequence {
            Some(sequence) => assert!(best > 0 && cache.common(sequence, limit) == best),
            None => assert_eq!(best, 0),
        }
    }

    fn check_evict(
        tree: &mut PrefixTree,
        cache: &mut Cache,
        n_cells: usize,
        busy: impl Fn(SequenceId) -> bool,
        protected: Option<(SequenceId, usize)>,
    ) {
        let before = cache.all();
        let evictable = cache.evictable(&busy, protected);
        assert_eq!(tree.evictable(&busy, protected), evictable.len());
        let lens: HashMap<SequenceId, usize> = cache.paths.iter().map(|(&sequence, path)| (sequence, path.len())).collect();
        let evictions = tree.evict(n_cells, &busy, protected);
        assert!(evictions.is_sorted_by_key(|eviction| eviction.sequence));
        for &Eviction { sequence, keep_tokens } in &evictions {
            assert!(!busy(sequence) && keep_tokens < lens[&sequence]);
            assert!(protected.is_none_or(|(kept, n_tokens)| kept != sequence || keep_tokens >= n_tokens));
            cache.truncate(sequence, keep_tokens);
        }
        // Exactly as many as asked for, all of them free to go, and none used later than one that was left.
        let freed = &before - &cache.all();
        assert_eq!(freed.len(), n_cells.min(evictable.len()));
        assert!(freed.is_subset(&evictable));
        let newest_freed = freed.iter().map(|&cell| cache.used[cell]).max();
        let oldest_left = (&evictable - &freed).iter().map(|&cell| cache.used[cell]).min();
        assert!(newest_freed.is_none() || oldest_left.is_none() || newest_freed <= oldest_left);
        for eviction in evictions.iter().filter(|eviction| !eviction.is_release()) {
            let (_, last) = cache.paths[&eviction.sequence][eviction.keep_tokens - 1];
            let holders = cache.paths.values().filter(|path| path.iter().any(|&(_, cell)| cell == last)).count();
            let is_protected = protected.is_some_and(|(sequence, n)| n > 0 && sequence == eviction.sequence);
            assert!(holders == 1 || is_protected, "a trimmed sequence of which another holds all should be released");
        }
    }

    fn check_evict_sequence(tree: &mut PrefixTree, cache: &mut Cache, busy: impl Fn(SequenceId) -> bool) {
        let rank = |sequence: SequenceId| {
            let loss = cache.loss(sequence);
            (loss > 0, cache.paths[&sequence].last().map(|&(_, cell)| cache.used[cell]), loss)
        };
        let best = cache.paths.keys().filter(|&&sequence| !busy(sequence)).map(|&sequence| rank(sequence)).min();
        let evicted = tree.evict_sequence(&busy);
        assert_eq!(evicted.map(|eviction| rank(eviction.sequence)), best);
        if let Some(Eviction { sequence, keep_tokens }) = evicted {
            assert!(!busy(sequence) && keep_tokens == 0);
            cache.truncate(sequence, keep_tokens);
        }
    }

    #[test]
    fn random_operations_agree_with_a_cache_of_single_cells() {
        for seed in 0..20 {
            drive(seed, 500, 2, 6, 6);
            drive(100 + seed, 400, 1, 5, 8);
            drive(200 + seed, 400, 3, 12, 10);
            drive(300 + seed, 60, 2, 64, 80);
        }
    }
}
