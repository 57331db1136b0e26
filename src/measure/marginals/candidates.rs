//! The marginals that rounds may choose from, and how much each matters.

use crate::schema::{Query, Schema};
use crate::workload::{WeightedMarginal, level_axes};
use std::collections::BTreeSet;

/// A candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its columns (indices in [`Schema::columns`]), ascending.
    pub columns: Vec<usize>,
    /// How much it matters; positive.
    pub weight: f64,
}

impl Candidate {
    /// The marginal's query, named by its columns.
    pub fn query(&self, schema: &Schema) -> Query {
        Query {
            name: self.names(schema).join("*"),
            axes: level_axes(&self.columns),
        }
    }

    /// The names of its columns.
    pub fn names(&self, schema: &Schema) -> Vec<String> {
        let names = self.columns.iter();
        names.map(|&c| schema.columns[c].name.clone()).collect()
    }

    /// The number of its cells, saturating.
    pub fn cells(&self, schema: &Schema) -> u64 {
        self.columns.iter().fold(1u64, |cells, &c| {
            cells.saturating_mul(schema.columns[c].levels() as u64)
        })
    }
}

/// All pairs of columns.
pub fn pairs(columns: &[usize]) -> Vec<Candidate> {
    let after = |(i, &a): (usize, &usize)| {
        let later = columns[i + 1..].iter();
        later.map(move |&b| vec![a, b]).collect::<Vec<_>>()
    };
    let pairs = columns.iter().enumerate().flat_map(after);
    pairs
        .map(|columns| Candidate {
            columns,
            weight: 1.0,
        })
        .collect()
}

/// The marginals of a workload as they are.
pub fn as_listed(workload: &[WeightedMarginal]) -> Vec<Candidate> {
    let listed = workload.iter().map(|marginal| Candidate {
        columns: marginal.columns.clone(),
        weight: marginal.weight,
    });
    listed.collect()
}

/// The downward closure of a workload: its marginals and all of their subsets but the empty one. A candidate `r`
/// has the weight `sum over the workload's s of c_s |r intersect s|`, what measuring it would help with.
pub fn downward_closure(workload: &[WeightedMarginal]) -> Vec<Candidate> {
    let mut sets: BTreeSet<Vec<usize>> = BTreeSet::new();
    let mut waiting: Vec<Vec<usize>> = workload.iter().map(|m| m.columns.clone()).collect();
    while let Some(set) = waiting.pop() {
        if set.is_empty() || sets.contains(&set) {
            continue;
        }
        for left_out in 0..set.len() {
            let mut smaller = set.clone();
            smaller.remove(left_out);
            waiting.push(smaller);
        }
        sets.insert(set);
    }
    // `sum_s c_s |r intersect s|` is a sum over the columns of `r` of the weight of all `s` that have the column.
    let most = workload.iter().flat_map(|m| &m.columns).max();
    let mut by_column = vec![0.0; most.map_or(0, |m| m + 1)];
    for marginal in workload {
        marginal
            .columns
            .iter()
            .for_each(|&c| by_column[c] += marginal.weight);
    }
    let candidate = |columns: Vec<usize>| Candidate {
        weight: columns.iter().map(|&c| by_column[c]).sum(),
        columns,
    };
    sets.into_iter().map(candidate).collect()
}
