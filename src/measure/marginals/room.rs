//! How large a model would be with one more marginal.

use crate::model::{Domain, JunctionTree, ModelError, Variables};

/// The junction tree of the marginals so far.
#[derive(Debug, Clone)]
pub struct Room {
    domain: Domain,
    /// The sets of variables that must each lie within a clique.
    sets: Vec<Vec<usize>>,
    tree: JunctionTree,
    /// For each variable, the smallest that sets connect it with.
    components: Vec<usize>,
}

impl Room {
    /// The tree around these sets of variables.
    pub fn new(domain: &Domain, sets: Vec<Vec<usize>>) -> Result<Room, ModelError> {
        Ok(Room {
            tree: JunctionTree::plan(domain, &sets)?,
            components: components(&sets, domain.variables()),
            domain: domain.clone(),
            sets,
        })
    }

    /// Refuses a tree above the limit.
    pub fn check_size(&self, limit: u64) -> Result<(), ModelError> {
        self.tree.check_size(&self.domain, limit)
    }

    /// The tree with one more set.
    pub fn with(&self, set: Vec<usize>) -> Result<Room, ModelError> {
        let mut sets = self.sets.clone();
        sets.push(set);
        Room::new(&self.domain, sets)
    }

    /// The cells of the tree.
    pub fn cells(&self) -> u128 {
        self.tree.cells()
    }

    /// Whether the tree with one more set has at most `limit` cells; a set within a clique makes it no larger.
    pub fn is_enough_for(&self, set: &[usize], limit: u64) -> Result<bool, ModelError> {
        if self.tree.covering_clique(&self.domain, set).is_some() {
            return Ok(true);
        }
        let (own, limit) = (self.domain.cells(set), u128::from(limit));
        if own > limit {
            return Ok(false);
        }
        // Where nothing connects the variables yet, the set becomes a clique and the others stay as they are:
        // no need for a new plan, which is what takes time with many columns.
        let mut apart: Vec<usize> = set.iter().map(|&v| self.components[v]).collect();
        apart.sort_unstable();
        apart.dedup();
        if apart.len() == set.len() && self.tree.cells().saturating_add(own) <= limit {
            return Ok(true);
        }
        let mut sets = self.sets.clone();
        sets.push(set.to_vec());
        Ok(JunctionTree::planned_cells(&self.domain, &sets)? <= limit)
    }
}

/// The variables of columns that all are variables.
pub fn variables_of(variables: &Variables, columns: &[usize]) -> Vec<usize> {
    let of_column = columns.iter().filter_map(|&c| variables.of_column(c));
    of_column.collect()
}

fn components(sets: &[Vec<usize>], variables: usize) -> Vec<usize> {
    let mut component: Vec<usize> = (0..variables).collect();
    for set in sets {
        let joined: Vec<usize> = set.iter().map(|&v| component[v]).collect();
        let Some(&least) = joined.iter().min() else {
            continue;
        };
        let members = component.iter_mut().filter(|c| joined.contains(c));
        members.for_each(|c| *c = least);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of one to three of seven variables, at every limit that matters, against a new plan.
    #[test]
    fn room_is_what_a_new_plan_takes() {
        let sizes = vec![2, 3, 4, 5, 2, 3, 2];
        let names = (0..sizes.len()).map(|i| format!("v{i}")).collect();
        let domain = Domain::new(names, sizes).unwrap();
        // A chain, which some sets close to a cycle, and a pair beside it.
        let sets = vec![vec![0, 1], vec![1, 2], vec![2, 3], vec![3, 4], vec![5, 6]];
        let room = Room::new(&domain, sets.clone()).unwrap();
        for mask in 1..128usize {
            let set: Vec<usize> = (0..7).filter(|v| mask >> v & 1 == 1).collect();
            let mut more = sets.clone();
            more.push(set.clone());
            let cells = JunctionTree::plan(&domain, &more).unwrap().cells() as u64;
            let is_inside = sets.iter().any(|c| set.iter().all(|v| c.contains(v)));
            assert!(room.is_enough_for(&set, cells).unwrap(), "{set:?}");
            let below = room.is_enough_for(&set, cells - 1).unwrap();
            assert_eq!(below, is_inside, "{set:?}");
        }
    }
}
