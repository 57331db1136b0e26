//! Junction trees: which cliques a model needs, and how they hang together.
//!
//! The statistics of a model make a graph: an edge joins two variables that some statistic involves
//! together. Inference is exact and local on a tree of cliques of a *chordal* supergraph, if every
//! variable's cliques are connected in it (the running-intersection property). The cost is the number
//! of cells of the cliques; finding the cheapest supergraph is NP-hard, and the min-fill rule is the
//! usual heuristic (Kjaerulff 1990): eliminate the variable whose neighbours need the fewest new edges.
//!
//! Everything here works on names and sizes alone: a plan of a model that would not fit costs nothing.

use super::{Domain, ModelError};

/// A tree (or forest, joined by empty separators) of cliques with the running-intersection property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunctionTree {
    cliques: Vec<Vec<usize>>,
    parents: Vec<Option<usize>>,
    separators: Vec<Vec<usize>>,
    cells: u128,
    largest: usize,
}

impl JunctionTree {
    /// Plans the tree for statistics over the given sets of variables. Every variable of the domain is
    /// in some clique, those of no set in one of their own. The plan depends on nothing but its
    /// arguments: ties are broken by the size of the clique, then by index.
    ///
    /// # Errors
    /// If a set names a variable that does not exist, or names one twice.
    pub fn plan(domain: &Domain, sets: &[Vec<usize>]) -> Result<JunctionTree, ModelError> {
        for set in sets {
            domain.check(set, "a clique")?;
        }
        let cliques = maximal(eliminate(domain, sets));
        let tree = spanning_tree(domain, cliques);
        debug_assert!(tree.has_running_intersection(domain));
        Ok(tree)
    }

    /// The number of cells of the tree that [`Self::plan`] would make, without making it; saturating.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn planned_cells(domain: &Domain, sets: &[Vec<usize>]) -> Result<u128, ModelError> {
        for set in sets {
            domain.check(set, "a clique")?;
        }
        let cliques = maximal(eliminate(domain, sets));
        let cells = cliques.iter().map(|clique| domain.cells(clique));
        Ok(cells.fold(0, u128::saturating_add))
    }

    /// The cliques, each a sorted list of variables, parents before children; the first is the root.
    pub fn cliques(&self) -> &[Vec<usize>] {
        &self.cliques
    }

    /// The parent of each clique; `None` for the root.
    pub fn parents(&self) -> &[Option<usize>] {
        &self.parents
    }

    /// The variables that each clique shares with its parent, sorted; empty for the root.
    pub fn separators(&self) -> &[Vec<usize>] {
        &self.separators
    }

    /// The number of cells of all cliques together, saturating.
    pub fn cells(&self) -> u128 {
        self.cells
    }

    /// The index of the clique with the most cells (the first of them).
    pub fn largest_clique(&self) -> usize {
        self.largest
    }

    /// The clique with the fewest cells that contains all the variables, if any does.
    pub fn covering_clique(&self, domain: &Domain, variables: &[usize]) -> Option<usize> {
        (0..self.cliques.len())
            .filter(|&c| is_subset(variables, &self.cliques[c]))
            .min_by_key(|&c| (domain.cells(&self.cliques[c]), c))
    }

    /// Refuses a plan with more than `limit` cells.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`], naming the largest clique.
    pub fn check_size(&self, domain: &Domain, limit: u64) -> Result<(), ModelError> {
        if self.cells <= u128::from(limit) {
            return Ok(());
        }
        Err(ModelError::TooLarge {
            context: "the model".into(),
            clique: domain.names_of(&self.cliques[self.largest]),
            cells: self.cells,
            limit: u128::from(limit),
        })
    }

    /// Whether the cliques that contain a variable are connected, for every variable.
    ///
    /// In a tree, a set of nodes is connected exactly if it spans one edge fewer than it has nodes, and
    /// an edge lies within the variable's set exactly if the variable is in its separator.
    pub fn has_running_intersection(&self, domain: &Domain) -> bool {
        (0..domain.variables()).all(|variable| {
            let count = |sets: &[Vec<usize>]| sets.iter().filter(|s| s.contains(&variable)).count();
            count(&self.cliques) == count(&self.separators) + 1
        })
    }
}

/// Whether every element of `small` is in `large`.
pub(crate) fn is_subset(small: &[usize], large: &[usize]) -> bool {
    small.iter().all(|v| large.contains(v))
}

/// The elements of two sorted lists that both have, sorted.
pub(crate) fn intersection(left: &[usize], right: &[usize]) -> Vec<usize> {
    left.iter().copied().filter(|v| right.contains(v)).collect()
}

/// Eliminates the variables by min-fill; returns the sorted cliques in order of elimination. The rule's costs are
/// kept and brought up to date where an elimination changes them: plans for many candidates depend on it.
fn eliminate(domain: &Domain, sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph = Graph::new(domain, sets);
    let mut remaining: Vec<usize> = (0..domain.variables()).collect();
    let mut cliques = Vec::with_capacity(remaining.len());
    while let Some(chosen) = remaining.iter().copied().min_by_key(|&v| graph.costs[v]) {
        let mut clique = graph.eliminate(domain, chosen);
        clique.push(chosen);
        clique.sort_unstable();
        cliques.push(clique);
        remaining.retain(|&v| v != chosen);
    }
    cliques
}

/// The variables not eliminated yet.
struct Graph {
    adjacent: Vec<Vec<bool>>,
    neighbours: Vec<Vec<usize>>,
    /// What the rule minimises: edges to fill in, cells of the clique, index.
    costs: Vec<(usize, u128, usize)>,
}

impl Graph {
    fn new(domain: &Domain, sets: &[Vec<usize>]) -> Graph {
        let count = domain.variables();
        let mut graph = Graph {
            adjacent: vec![vec![false; count]; count],
            neighbours: vec![Vec::new(); count],
            costs: Vec::with_capacity(count),
        };
        for set in sets {
            for (i, &v) in set.iter().enumerate() {
                set[..i].iter().for_each(|&w| graph.join(v, w));
            }
        }
        graph.costs = (0..count).map(|v| graph.cost(domain, v)).collect();
        graph
    }

    fn join(&mut self, v: usize, w: usize) {
        if !self.adjacent[v][w] {
            self.adjacent[v][w] = true;
            self.adjacent[w][v] = true;
            self.neighbours[v].push(w);
            self.neighbours[w].push(v);
        }
    }

    fn cost(&self, domain: &Domain, v: usize) -> (usize, u128, usize) {
        let around = &self.neighbours[v];
        let missing = around
            .iter()
            .enumerate()
            .map(|(i, &a)| {
                around[..i]
                    .iter()
                    .filter(|&&b| !self.adjacent[a][b])
                    .count()
            })
            .sum::<usize>();
        let cells = domain.cells(around);
        (missing, cells.saturating_mul(domain.sizes()[v] as u128), v)
    }

    /// Takes a variable out and joins its neighbours, which are returned.
    fn eliminate(&mut self, domain: &Domain, chosen: usize) -> Vec<usize> {
        let around = std::mem::take(&mut self.neighbours[chosen]);
        for &v in &around {
            self.neighbours[v].retain(|&w| w != chosen);
        }
        let mut changed = around.clone();
        if self.costs[chosen].0 > 0 {
            for (i, &v) in around.iter().enumerate() {
                around[..i].iter().for_each(|&w| self.join(v, w));
            }
            // An edge filled in is no longer missing among the neighbours of whoever has both of its ends.
            changed.extend(around.iter().flat_map(|&v| &self.neighbours[v]));
            changed.sort_unstable();
            changed.dedup();
        }
        for v in changed {
            self.costs[v] = self.cost(domain, v);
        }
        around
    }
}

/// The cliques that are in no other one.
fn maximal(cliques: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut kept: Vec<Vec<usize>> = Vec::with_capacity(cliques.len());
    // A clique of elimination holds its eliminated variable, which no later one does: only an earlier
    // clique can contain it.
    for clique in cliques {
        if !kept.iter().any(|earlier| is_subset(&clique, earlier)) {
            kept.push(clique);
        }
    }
    kept.sort_unstable();
    kept
}

/// Joins the cliques of a chordal graph to a tree that maximises the total size of the separators,
/// which is what gives running intersection (Jensen and Jensen 1994). Prim's algorithm from the first
/// clique; among equally large separators the one with fewest cells, then the lowest indices.
pub(super) fn spanning_tree(domain: &Domain, cliques: Vec<Vec<usize>>) -> JunctionTree {
    let count = cliques.len();
    let mut order = vec![0];
    let mut parents = vec![None];
    let mut separators = vec![Vec::new()];
    // For each clique outside the tree, its best link so far: the tree's clique (by its position in
    // `order`) and the shared variables.
    let mut links: Vec<(usize, Vec<usize>)> = cliques
        .iter()
        .map(|c| (0, intersection(c, &cliques[0])))
        .collect();
    let mut outside: Vec<usize> = (1..count).collect();
    let quality = |separator: &[usize]| {
        let cells = std::cmp::Reverse(domain.cells(separator));
        (separator.len(), cells)
    };
    while let Some(next) = outside
        .iter()
        .copied()
        .max_by_key(|&c| (quality(&links[c].1), std::cmp::Reverse(c)))
    {
        outside.retain(|&c| c != next);
        let position = order.len();
        order.push(next);
        parents.push(Some(links[next].0));
        separators.push(std::mem::take(&mut links[next].1));
        for &c in &outside {
            let shared = intersection(&cliques[c], &cliques[next]);
            if quality(&shared) > quality(&links[c].1) {
                links[c] = (position, shared);
            }
        }
    }
    let cliques: Vec<Vec<usize>> = order.iter().map(|&c| cliques[c].clone()).collect();
    let sizes: Vec<u128> = cliques.iter().map(|c| domain.cells(c)).collect();
    let largest = (0..count)
        .max_by_key(|&c| (sizes[c], std::cmp::Reverse(c)))
        .unwrap_or(0);
    JunctionTree {
        parents,
        separators,
        cells: sizes.iter().fold(0u128, |sum, &s| sum.saturating_add(s)),
        largest,
        cliques,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(sizes: &[usize]) -> Domain {
        let names = (0..sizes.len()).map(|i| format!("v{i}")).collect();
        Domain::new(names, sizes.to_vec()).unwrap()
    }

    #[test]
    fn star_keeps_its_leaves() {
        let domain = domain(&[2, 10, 3, 4, 5]);
        let sets = vec![vec![0, 1, 2], vec![0, 1, 3], vec![4, 1, 0]];
        let tree = JunctionTree::plan(&domain, &sets).unwrap();
        assert_eq!(tree.cliques(), [[0, 1, 2], [0, 1, 3], [0, 1, 4]]);
        assert_eq!(tree.separators()[1..], [[0, 1], [0, 1]]);
        assert_eq!(tree.cells(), 20 * 12);
        assert_eq!(tree.largest_clique(), 2);
    }

    #[test]
    fn cycles_are_triangulated_and_unused_variables_kept() {
        let domain = domain(&[2; 6]);
        let sets = vec![vec![0, 1], vec![1, 2], vec![2, 3], vec![3, 0]];
        let tree = JunctionTree::plan(&domain, &sets).unwrap();
        assert_eq!(tree.cliques().len(), 4);
        assert_eq!(tree.cliques().iter().filter(|c| c.len() == 3).count(), 2);
        assert!(tree.has_running_intersection(&domain));
    }

    #[test]
    fn a_model_too_large_is_refused_with_its_clique() {
        let domain = domain(&[65536; 20]);
        let all: Vec<usize> = (0..20).collect();
        let tree = JunctionTree::plan(&domain, &[all]).unwrap();
        assert_eq!(tree.cells(), u128::MAX);
        let error = tree.check_size(&domain, 1 << 40).unwrap_err();
        assert!(error.to_string().contains("v0, v1, v2"), "{error}");
    }

    /// Min-fill with every cost computed anew.
    fn eliminate_by_definition(domain: &Domain, sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let mut cliques = Vec::new();
        let mut sets = sets.to_vec();
        let mut remaining: Vec<usize> = (0..domain.variables()).collect();
        while !remaining.is_empty() {
            let graph = Graph::new(domain, &sets);
            let chosen = remaining
                .iter()
                .copied()
                .min_by_key(|&v| graph.costs[v])
                .unwrap();
            let mut around = graph.neighbours[chosen].clone();
            sets.iter_mut().for_each(|set| set.retain(|&v| v != chosen));
            sets.push(around.clone());
            around.push(chosen);
            around.sort_unstable();
            cliques.push(around);
            remaining.retain(|&v| v != chosen);
        }
        cliques
    }

    proptest::proptest! {
        /// Any sets over any domain: the tree covers them, is one, and a set that is not of the domain
        /// is an error.
        #[test]
        fn any_sets_make_a_tree(
            sizes in proptest::collection::vec(1usize..2000, 1..12),
            sets in proptest::collection::vec(proptest::collection::vec(0usize..13, 0..6), 0..14),
        ) {
            let domain = domain(&sizes);
            let valid = sets.iter().all(|set| domain.check(set, "").is_ok());
            match JunctionTree::plan(&domain, &sets) {
                Err(_) => assert!(!valid),
                Ok(tree) => {
                    assert!(valid && tree.has_running_intersection(&domain));
                    assert!(tree.parents().iter().enumerate().all(|(c, p)| match p {
                        Some(parent) => *parent < c,
                        None => c == 0,
                    }));
                    for set in &sets {
                        assert!(tree.covering_clique(&domain, set).is_some());
                    }
                }
            }
        }

        /// The same with repetitions removed, so that most cases are valid.
        #[test]
        fn valid_sets_make_a_tree(
            sizes in proptest::collection::vec(1usize..2000, 8..12),
            sets in proptest::collection::vec(proptest::collection::btree_set(0usize..8, 0..5), 0..14),
        ) {
            let domain = domain(&sizes);
            let sets: Vec<Vec<usize>> = sets.into_iter().map(|s| s.into_iter().collect()).collect();
            let tree = JunctionTree::plan(&domain, &sets).unwrap();
            assert!(tree.has_running_intersection(&domain));
            assert_eq!(JunctionTree::planned_cells(&domain, &sets).unwrap(), tree.cells());
            assert!(eliminate(&domain, &sets) == eliminate_by_definition(&domain, &sets));
            assert!(sets.iter().all(|set| tree.covering_clique(&domain, set).is_some()));
        }
    }
}
