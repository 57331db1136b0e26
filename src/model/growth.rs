//! A junction tree that grows by one set of variables at a time, within a limit.
//!
//! Rounds that choose among many marginals ask of each how large the model would be with it. A new plan per candidate
//! is far too slow with a hundred variables, but a set `s` only concerns the part of the tree that connects its
//! variables, its *span*: where every clique of the span gets all variables of `s`, the tree is a junction tree
//! again, and so it is where the span is planned anew by itself, around its cliques and `s`, because whatever hangs on
//! it does so by a separator that lies within one of its cliques. The smaller of the two bounds what a model with `s`
//! needs; the widened span's size takes a multiplication per clique.
//!
//! *What is promised is kept.* A set that has room is added by [`GrowingTree::with`], which takes the smallest of both trees and
//! of a plan from scratch, so the tree that [`GrowingTree::has_room`] counted bounds it. Growth depends on the sets
//! in their order and nothing else: whoever reads the measurements in that order grows the same tree
//! ([`JunctionTree::within`]), even where a plan of all sets from scratch, being a heuristic, comes out larger than
//! the limit.

use super::junction_tree::{is_subset, spanning_tree};
use super::{Domain, JunctionTree, ModelError};

/// The most variables for which a set that the span has no room for is planned from scratch before it is refused:
/// fewer sets are refused then, at some microseconds each.
const PLANNED_ANEW: usize = 32;

/// A junction tree and where in it each variable first appears.
#[derive(Debug, Clone)]
pub struct GrowingTree {
    domain: Domain,
    /// The sets that each lie within a clique.
    sets: Vec<Vec<usize>>,
    tree: JunctionTree,
    /// The topmost clique of each variable.
    homes: Vec<usize>,
    /// The number of cliques above each clique.
    depths: Vec<usize>,
    /// The topmost clique that each clique is connected with by variables.
    components: Vec<usize>,
}

impl GrowingTree {
    /// The tree of these sets, added in their order.
    ///
    /// # Errors
    /// If a set names a variable that does not exist, or names one twice.
    pub fn new(domain: &Domain, sets: &[Vec<usize>]) -> Result<GrowingTree, ModelError> {
        let bare = JunctionTree::plan(domain, &[])?;
        let mut growing = GrowingTree::around(domain.clone(), Vec::new(), bare);
        for set in sets {
            growing = growing.with(set)?;
        }
        Ok(growing)
    }

    fn around(domain: Domain, sets: Vec<Vec<usize>>, tree: JunctionTree) -> GrowingTree {
        let count = tree.cliques().len();
        let (mut depths, mut components) = (vec![0; count], vec![0; count]);
        let mut homes = vec![usize::MAX; domain.variables()];
        for (clique, variables) in tree.cliques().iter().enumerate() {
            components[clique] = clique;
            if let Some(parent) = tree.parents()[clique] {
                depths[clique] = depths[parent] + 1;
                if !tree.separators()[clique].is_empty() {
                    components[clique] = components[parent];
                }
            }
            for &variable in variables {
                homes[variable] = clique.min(homes[variable]);
            }
        }
        GrowingTree {
            domain,
            sets,
            tree,
            homes,
            depths,
            components,
        }
    }

    /// The tree.
    pub fn tree(&self) -> &JunctionTree {
        &self.tree
    }

    /// The tree with one more set.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with(&self, set: &[usize]) -> Result<GrowingTree, ModelError> {
        self.domain.check(set, "a clique")?;
        let mut sets = self.sets.clone();
        sets.push(set.to_vec());
        let mut tree = self.tree.clone();
        if tree.covering_clique(&self.domain, set).is_none() {
            let span = self.span(set);
            tree = JunctionTree::plan(&self.domain, &sets)?;
            for grown in [self.widened(&span, set), self.span_anew(&span, set)?] {
                if grown.cells() < tree.cells() {
                    tree = grown;
                }
            }
        }
        Ok(GrowingTree::around(self.domain.clone(), sets, tree))
    }

    /// Whether the tree with one more set has at most `limit` cells, as far as the bounds tell; a set within a clique makes
    /// it no larger.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn has_room(&self, set: &[usize], limit: u64) -> Result<bool, ModelError> {
        if self.is_covered(set) {
            return Ok(true);
        }
        let limit = u128::from(limit);
        if self.domain.cells(set) > limit {
            return Ok(false);
        }
        let span = self.span(set);
        if self.widened_cells(&span, set) <= limit || self.span_anew_cells(&span, set)? <= limit {
            return Ok(true);
        }
        if self.domain.variables() > PLANNED_ANEW {
            return Ok(false);
        }
        let mut sets = self.sets.clone();
        sets.push(set.to_vec());
        Ok(JunctionTree::planned_cells(&self.domain, &sets)? <= limit)
    }

    /// Whether a clique has all of the variables. One that does lies below all of their homes, and by running
    /// intersection the lowest home is in it or has them itself.
    fn is_covered(&self, set: &[usize]) -> bool {
        let lowest = set
            .iter()
            .map(|&v| self.homes[v])
            .max_by_key(|&c| self.depths[c]);
        lowest.is_none_or(|clique| is_subset(set, &self.tree.cliques()[clique]))
    }

    /// The cliques on the paths between the homes of the variables that the tree connects; none where it connects no
    /// two of them.
    fn span(&self, set: &[usize]) -> Vec<usize> {
        let mut span: Vec<usize> = Vec::new();
        for (position, &variable) in set.iter().enumerate() {
            let home = self.homes[variable];
            let before = set[..position].iter().map(|&v| self.homes[v]);
            let connected = before.filter(|&c| self.components[c] == self.components[home]);
            for other in connected.take(1) {
                self.add_path(home, other, &mut span);
            }
        }
        span.sort_unstable();
        span.dedup();
        span
    }

    fn add_path(&self, mut one: usize, mut other: usize, path: &mut Vec<usize>) {
        path.extend([one, other]);
        while one != other {
            if self.depths[one] < self.depths[other] {
                std::mem::swap(&mut one, &mut other);
            }
            // The deeper of two different cliques is not the root.
            one = self.tree.parents()[one].unwrap_or(other);
            path.push(one);
        }
    }

    fn widened_cells(&self, span: &[usize], set: &[usize]) -> u128 {
        if span.is_empty() {
            return self.tree.cells().saturating_add(self.domain.cells(set));
        }
        span.iter().fold(self.tree.cells(), |sum, &clique| {
            let around = &self.tree.cliques()[clique];
            let own = self.domain.cells(around);
            let new = set.iter().filter(|v| !around.contains(v));
            let factor = new.fold(1u128, |cells, &v| {
                cells.saturating_mul(self.domain.sizes()[v] as u128)
            });
            sum.saturating_add(own.saturating_mul(factor) - own)
        })
    }

    fn span_anew_cells(&self, span: &[usize], set: &[usize]) -> Result<u128, ModelError> {
        let own = span
            .iter()
            .map(|&c| self.domain.cells(&self.tree.cliques()[c]));
        let own: u128 = own.fold(0, u128::saturating_add);
        let span = self.span_problem(span, set)?;
        let anew = JunctionTree::planned_cells(&span.domain, &span.sets)?;
        Ok(self.tree.cells().saturating_sub(own).saturating_add(anew))
    }

    fn span_problem(&self, span: &[usize], set: &[usize]) -> Result<SpanProblem, ModelError> {
        let cliques = span.iter().map(|&c| self.tree.cliques()[c].as_slice());
        let sets: Vec<&[usize]> = cliques.chain([set]).collect();
        let mut variables = sets.concat();
        variables.sort_unstable();
        variables.dedup();
        let place = |v: &usize| variables.partition_point(|w| w < v);
        let local = sets.iter().map(|set| set.iter().map(place).collect());
        let names = variables.iter().map(|_| String::new()).collect();
        let domain = Domain::new(names, self.domain.shape(&variables))?;
        Ok(SpanProblem {
            domain,
            sets: local.collect(),
            variables,
        })
    }

    /// The tree in which every clique of the span has all variables of the set.
    fn widened(&self, span: &[usize], set: &[usize]) -> JunctionTree {
        let mut cliques: Vec<Vec<usize>> = self.tree.cliques().to_vec();
        if span.is_empty() {
            cliques.push(sorted(set.to_vec()));
        }
        for &clique in span {
            let both = [cliques[clique].as_slice(), set].concat();
            cliques[clique] = sorted(both);
        }
        spanning_tree(&self.domain, maximal(cliques))
    }

    /// The tree with its span planned anew around the set.
    fn span_anew(&self, span: &[usize], set: &[usize]) -> Result<JunctionTree, ModelError> {
        let span_problem = self.span_problem(span, set)?;
        let anew = JunctionTree::plan(&span_problem.domain, &span_problem.sets)?;
        let of_span = anew.cliques().iter().map(|clique| {
            let variables = clique.iter().map(|&v| span_problem.variables[v]);
            variables.collect()
        });
        let others = self.tree.cliques().iter().enumerate();
        let others = others
            .filter(|(c, _)| !span.contains(c))
            .map(|(_, clique)| clique.clone());
        Ok(spanning_tree(
            &self.domain,
            maximal(of_span.chain(others).collect()),
        ))
    }
}

/// A part of a tree and a set that it shall cover, on their own.
struct SpanProblem {
    domain: Domain,
    /// The part's cliques, and the set.
    sets: Vec<Vec<usize>>,
    /// What its variables stand for.
    variables: Vec<usize>,
}

impl JunctionTree {
    /// The tree planned from scratch or, where that has more than `limit` cells, the one that grows set by set, if it has
    /// fewer.
    ///
    /// # Errors
    /// If a set names a variable that does not exist, or names one twice.
    pub fn within(
        domain: &Domain,
        sets: &[Vec<usize>],
        limit: u64,
    ) -> Result<JunctionTree, ModelError> {
        let planned = JunctionTree::plan(domain, sets)?;
        if planned.cells() <= u128::from(limit) {
            return Ok(planned);
        }
        let grown = GrowingTree::new(domain, sets)?.tree;
        Ok(if grown.cells() < planned.cells() {
            grown
        } else {
            planned
        })
    }
}

fn sorted(mut set: Vec<usize>) -> Vec<usize> {
    set.sort_unstable();
    set.dedup();
    set
}

/// The cliques that are in no other one, sorted.
fn maximal(mut cliques: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    cliques.sort_by_key(|clique| std::cmp::Reverse(clique.len()));
    let mut kept: Vec<Vec<usize>> = Vec::with_capacity(cliques.len());
    for clique in cliques {
        if !kept.iter().any(|larger| is_subset(&clique, larger)) {
            kept.push(clique);
        }
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(sizes: &[usize]) -> Domain {
        let names = (0..sizes.len()).map(|i| format!("v{i}")).collect();
        Domain::new(names, sizes.to_vec()).unwrap()
    }

    /// Every set of one to three of seven variables, around a chain that some sets close to a cycle and a pair beside
    /// it: in a chordal graph the bounds are what a new plan takes.
    #[test]
    fn room_is_what_a_new_plan_takes() {
        let domain = domain(&[2, 3, 4, 5, 2, 3, 2]);
        let sets = vec![vec![0, 1], vec![1, 2], vec![2, 3], vec![3, 4], vec![5, 6]];
        let growing = GrowingTree::new(&domain, &sets).unwrap();
        for mask in 1..128usize {
            let set: Vec<usize> = (0..7).filter(|v| mask >> v & 1 == 1).collect();
            let mut more = sets.clone();
            more.push(set.clone());
            let cells = JunctionTree::plan(&domain, &more).unwrap().cells() as u64;
            let is_inside = sets.iter().any(|c| set.iter().all(|v| c.contains(v)));
            assert!(growing.has_room(&set, cells).unwrap(), "{set:?}");
            let below = growing.has_room(&set, cells - 1).unwrap();
            assert_eq!(below, is_inside, "{set:?}");
        }
    }

    proptest::proptest! {
        /// Sets are added as long as they have room: the tree stays within the limit and is a junction tree of all of
        /// them, and a reader grows the same one.
        #[test]
        fn growth_keeps_what_it_promises(
            sizes in proptest::collection::vec(2usize..6, 40),
            offered in proptest::collection::vec(proptest::collection::btree_set(0usize..40, 1..4), 0..60),
            limit in 300u64..5000,
        ) {
            let domain = domain(&sizes);
            let mut growing = GrowingTree::new(&domain, &[]).unwrap();
            let mut sets = Vec::new();
            for set in offered {
                let set: Vec<usize> = set.into_iter().collect();
                let is_within = growing.tree().covering_clique(&domain, &set).is_some();
                assert_eq!(growing.is_covered(&set), is_within);
                if growing.has_room(&set, limit).unwrap() {
                    growing = growing.with(&set).unwrap();
                    sets.push(set);
                    assert!(growing.tree().cells() <= u128::from(limit));
                    assert!(growing.tree().has_running_intersection(&domain));
                }
            }
            let reader = JunctionTree::within(&domain, &sets, limit).unwrap();
            assert!(reader.cells() <= u128::from(limit));
            for set in &sets {
                assert!(growing.tree().covering_clique(&domain, set).is_some());
                assert!(reader.covering_clique(&domain, set).is_some());
            }
        }
    }
}
