//! A junction tree that grows by one set of variables at a time, within a limit.
//!
//! Rounds that choose among many marginals ask of each how large the model would be with it. A new plan per candidate
//! is far too slow with a hundred variables, but a set `s` only concerns the part of the tree that connects its
//! variables, its *span*. One way to cover `s` is to carry its variables along the span to the clique of one of them: where
//! all cliques on the way get the variable, the tree is a junction tree again. (Variables that the tree does not
//! connect meet in a clique of their own.) Another is to plan the span anew by itself, around its cliques and `s`, because whatever hangs
//! on it does so by a separator that lies within one of its cliques. The smaller of the two bounds what a model with
//! `s` needs; what carrying takes is a multiplication per clique, and most sets that have room need no more.
//!
//! *What is promised is kept.* A set that has room is added by [`GrowingTree::with`], which takes the smallest of both trees and
//! of a plan from scratch, so the tree that [`GrowingTree::has_room`] counted bounds it. Growth depends on the sets
//! in their order and nothing else: whoever reads the measurements in that order grows the same tree
//! ([`JunctionTree::within`]), even where a plan of all sets from scratch, being a heuristic, comes out larger than
//! the limit.

use std::hash::{DefaultHasher, Hash, Hasher};

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
    /// A number for each clique that its variables determine.
    marks: Vec<u64>,
}

/// What a set would add to a tree, as far as it was worked out: true of any other tree in which the span has the same
/// cliques.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    /// The marks of the span's cliques, in the order of its paths.
    span: Option<u64>,
    /// The cells that carrying adds.
    carried: u128,
    /// The cells of the span, and those of the one planned anew.
    anew: Option<(u128, u128)>,
}

/// Variables that cliques get.
#[derive(Debug, Default)]
struct Carrying {
    /// The cells that this adds.
    cells: u128,
    /// Cliques and their new variables.
    additions: Vec<(usize, usize)>,
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
        let mark = |clique: &Vec<usize>| {
            let mut hasher = DefaultHasher::new();
            clique.hash(&mut hasher);
            hasher.finish()
        };
        let marks = tree.cliques().iter().map(mark).collect();
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
            marks,
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
            let span = sorted(self.paths(set));
            tree = JunctionTree::plan(&self.domain, &sets)?;
            for grown in [self.carried(set), self.span_anew(&span, set)?] {
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
        self.has_room_knowing(set, limit, &mut Room::default())
    }

    /// As [`Self::has_room`], with what was worked out of the same set in an earlier tree.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn has_room_knowing(
        &self,
        set: &[usize],
        limit: u64,
        known: &mut Room,
    ) -> Result<bool, ModelError> {
        if self.is_covered(set) {
            return Ok(true);
        }
        let limit = u128::from(limit);
        if self.domain.cells(set) > limit {
            return Ok(false);
        }
        let paths = self.paths(set);
        // Of 2^64 numbers: two spans with the same one are never seen.
        let mark = paths
            .iter()
            .fold(0u64, |all, &c| all.rotate_left(7) ^ self.marks[c]);
        if known.span != Some(mark) {
            *known = Room {
                span: Some(mark),
                carried: self.carrying(set).cells,
                anew: None,
            };
        }
        let cells = self.tree.cells();
        if cells.saturating_add(known.carried) <= limit {
            return Ok(true);
        }
        let (own, anew) = match known.anew {
            Some(found) => found,
            None => *known.anew.insert(self.anew_cells(&sorted(paths), set)?),
        };
        if cells.saturating_sub(own).saturating_add(anew) <= limit {
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

    /// The cliques on the paths between the homes of the variables that the tree connects, path by path; none where it
    /// connects no two of them.
    fn paths(&self, set: &[usize]) -> Vec<usize> {
        let mut paths: Vec<usize> = Vec::new();
        for (position, &variable) in set.iter().enumerate() {
            let home = self.homes[variable];
            let before = set[..position].iter().map(|&v| self.homes[v]);
            let connected = before.filter(|&c| self.components[c] == self.components[home]);
            for other in connected.take(1) {
                self.add_path(home, other, &mut paths);
            }
        }
        paths
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

    /// How the variables of a set are carried to each other with the fewest cells.
    fn carrying(&self, set: &[usize]) -> Carrying {
        let mut whole = Carrying::default();
        let mut components: Vec<usize> = set.iter().map(|&v| self.component(v)).collect();
        components.sort_unstable();
        components.dedup();
        for &component in &components {
            let together = || set.iter().filter(|&&v| self.component(v) == component);
            let ways = together().map(|&target| self.carrying_to(target, together()));
            if let Some(best) = ways.min_by_key(|way| way.cells) {
                whole.cells = whole.cells.saturating_add(best.cells);
                whole.additions.extend(best.additions);
            }
        }
        if components.len() > 1 {
            whole.cells = whole.cells.saturating_add(self.domain.cells(set));
        }
        whole
    }

    fn component(&self, variable: usize) -> usize {
        self.components[self.homes[variable]]
    }

    fn carrying_to<'s>(
        &self,
        target: usize,
        variables: impl Iterator<Item = &'s usize>,
    ) -> Carrying {
        let mut additions = Vec::new();
        let mut path = Vec::new();
        for &variable in variables {
            path.clear();
            self.add_path(self.homes[target], self.homes[variable], &mut path);
            let without = |c: &&usize| !self.tree.cliques()[**c].contains(&variable);
            additions.extend(path.iter().filter(without).map(|&c| (c, variable)));
        }
        additions.sort_unstable();
        additions.dedup();
        let of_clique = additions.chunk_by(|a, b| a.0 == b.0);
        let cells = of_clique.fold(0u128, |sum, added| {
            let own = self.domain.cells(&self.tree.cliques()[added[0].0]);
            let sizes = added.iter().map(|&(_, v)| self.domain.sizes()[v] as u128);
            let grown = sizes.fold(own, u128::saturating_mul);
            sum.saturating_add(grown - own)
        });
        Carrying { cells, additions }
    }

    /// The cells of the span, and of the span planned anew around the set.
    fn anew_cells(&self, span: &[usize], set: &[usize]) -> Result<(u128, u128), ModelError> {
        let own = span
            .iter()
            .map(|&c| self.domain.cells(&self.tree.cliques()[c]));
        let own: u128 = own.fold(0, u128::saturating_add);
        let span = self.span_problem(span, set)?;
        let anew = JunctionTree::planned_cells(&span.domain, &span.sets)?;
        Ok((own, anew))
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

    /// The tree in which a set's variables are carried to each other.
    fn carried(&self, set: &[usize]) -> JunctionTree {
        let mut cliques: Vec<Vec<usize>> = self.tree.cliques().to_vec();
        for (clique, variable) in self.carrying(set).additions {
            cliques[clique].push(variable);
        }
        let mut cliques: Vec<Vec<usize>> = cliques.into_iter().map(sorted).collect();
        // Where it is within a clique already it is dropped.
        cliques.push(sorted(set.to_vec()));
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

/// A tree with more cells than this, planned from scratch, is worth a second one that grows set by set: evaluations take the
/// time that it saves many times over.
const LARGE: u128 = 1 << 14;

impl JunctionTree {
    /// The tree planned from scratch or, where that is large or has more than `limit` cells, the one that grows set by
    /// set, if it has fewer.
    ///
    /// # Errors
    /// If a set names a variable that does not exist, or names one twice.
    pub fn within(
        domain: &Domain,
        sets: &[Vec<usize>],
        limit: u64,
    ) -> Result<JunctionTree, ModelError> {
        let planned = JunctionTree::plan(domain, sets)?;
        if planned.cells() <= LARGE.min(u128::from(limit)) {
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
#[path = "growth_tests.rs"]
mod tests;
