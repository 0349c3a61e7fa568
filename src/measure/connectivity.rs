//! Who is linked to whom in a set of games: groups, and the order between groups that only one way
//! took points.

/// Marks what `start` reaches along edges, itself included.
pub(super) fn mark_reachable(start: usize, edge: impl Fn(usize, usize) -> bool, seen: &mut [bool], pending: &mut Vec<usize>) {
    seen.fill(false);
    seen[start] = true;
    pending.clear();
    pending.push(start);
    while let Some(i) = pending.pop() {
        for (j, seen) in seen.iter_mut().enumerate() {
            if !*seen && edge(i, j) {
                *seen = true;
                pending.push(j);
            }
        }
    }
}

/// Groups of a symmetric relation, each in order.
pub(super) fn reachable_groups(n: usize, edge: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut placed = vec![false; n];
    let mut seen = vec![false; n];
    let mut pending = Vec::new();
    let mut groups = Vec::new();
    for start in 0..n {
        if !placed[start] {
            mark_reachable(start, &edge, &mut seen, &mut pending);
            let group: Vec<usize> = (0..n).filter(|&i| seen[i]).collect();
            group.iter().for_each(|&i| placed[i] = true);
            groups.push(group);
        }
    }
    groups
}

/// Strongly connected groups. A group that reaches another reaches strictly more, so sorting by how
/// many an entrant reaches puts every group before those it only took points from.
pub(super) fn tiers(n: usize, edge: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut pending = Vec::new();
    let reach: Vec<Vec<bool>> = (0..n)
        .map(|start| {
            let mut seen = vec![false; n];
            mark_reachable(start, &edge, &mut seen, &mut pending);
            seen
        })
        .collect();
    let mut tiers = reachable_groups(n, |i, j| reach[i][j] && reach[j][i]);
    tiers.sort_by_key(|tier| std::cmp::Reverse(reach[tier[0]].iter().filter(|&&r| r).count()));
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_tiers_of_a_small_graph() {
        let edges = [(3, 1), (1, 0), (0, 1), (3, 4)];
        let edge = |i, j| edges.contains(&(i, j));
        let linked = |i, j| edge(i, j) || edge(j, i);
        assert_eq!(reachable_groups(5, linked), vec![vec![0, 1, 3, 4], vec![2]]);
        assert_eq!(tiers(5, edge), vec![vec![3], vec![0, 1], vec![2], vec![4]]);
        assert!(tiers(0, edge).is_empty() && reachable_groups(0, edge).is_empty());
    }
}
