//! MST: a tree of pairs, chosen by how far each is from independence.
//!
//! The budget goes in thirds (by default) to the one-way marginals, to the choice of the tree, and to its pairs. The
//! tree is grown as by Kruskal's algorithm: `r - 1` times for `r` columns, the exponential mechanism picks among the pairs
//! that connect what is not connected yet, by the L1 distance of their counts from the independent model's. The scores
//! are fixed by then, and each pick is a charge of its own.
//!
//! **Compression.** Levels of which the noisy one-way marginal counts fewer than 3 standard deviations are merged
//! into one cell before pairs are counted; the model spreads it evenly (see [`crate::release::MergedLevels`]).

use super::candidates::{Candidate, pairs};
use super::counts::table_of;
use super::fit::variables_of;
use super::gap::gap_sensitivity;
use super::plan::MarginalsPlan;
use super::rounds::{Choice, Rounds};
use super::scoring::score;
use crate::measure::MeasureError;
use crate::model::GrowingTree;
use crate::privacy::Confidential;
use crate::release::{Measurement, MergedLevels};
use crate::workload::{Block, MstRule};

/// Chooses the tree and measures its pairs.
pub fn run(
    rule: &MstRule,
    marginals: &MarginalsPlan,
    rounds: &mut Rounds,
) -> Result<(), MeasureError> {
    let merged = rounds.measurements().iter();
    let merged = merged.filter_map(|m| merge_rare(m, rule.compression));
    let merged = merged.collect();
    rounds.merge(merged);
    let candidates = pairs(&marginals.block.columns);
    if candidates.is_empty() {
        return Ok(());
    }
    let counts = rounds.count(&candidates);
    let independent = rounds.fit(None)?;
    let all: Vec<usize> = (0..candidates.len()).collect();
    let mut expected = independent.expected(&rounds.plan.schema, rounds.merged());
    let scored = score(
        &mut expected,
        &candidates,
        &all,
        &counts,
        |_, _| (0, 1),
        f64::INFINITY,
    )?;
    if let Some(left_out) = all.iter().find(|at| !scored.listed.contains(at)) {
        // Scores are looked up by pair: one that can't be computed is an error.
        expected.of(&candidates[*left_out].columns)?;
    }
    let edges = grow_tree(
        rounds,
        marginals,
        &candidates,
        independent.tree().clone(),
        &scored.scores,
    )?;
    let rho = marginals.two_way_rho(edges.len());
    for (edge, choice) in edges {
        let mut query = candidates[edge].query(&rounds.plan.schema);
        query.name = format!("{}:{}", Block::TwoWay, query.name);
        let mechanism = rounds.gaussian(&query, rho)?;
        let exact = table_of(&counts, edge);
        rounds.measure(Block::TwoWay, query, choice, mechanism, exact)?;
    }
    Ok(())
}

/// The edges, those that the workload asks for first. A pair that the model has no room for is no candidate.
fn grow_tree(
    rounds: &mut Rounds,
    marginals: &MarginalsPlan,
    candidates: &[Candidate],
    mut tree: GrowingTree,
    scores: &Confidential<Vec<i64>>,
) -> Result<Vec<(usize, Option<Choice>)>, MeasureError> {
    let plan = rounds.plan;
    let sensitivity = gap_sensitivity(plan.workload.adjacency, plan.schema.unit.max_rows(), 1);
    let variables = &marginals.variables;
    let mut forest = Forest::new(plan.schema.columns.len());
    let mut edges: Vec<(usize, Option<Choice>)> = Vec::new();
    for set in &marginals.block.together {
        forest.join(set);
        tree = tree.with(&variables_of(variables, set))?;
        let at = candidates.iter().position(|c| c.columns == *set);
        edges.extend(at.map(|at| (at, None)));
    }
    loop {
        let mut left = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let set = variables_of(variables, &candidate.columns);
            if !forest.connects(&candidate.columns)
                && tree.has_room(&set, plan.workload.max_cells)?
            {
                left.push(at);
            }
        }
        if left.is_empty() {
            return Ok(edges);
        }
        let of_left = scores.ask(&left, |scores: &Vec<i64>, left: &Vec<usize>| {
            left.iter().map(|&at| scores[at]).collect::<Vec<i64>>()
        });
        let name = |at: usize| candidates[left[at]].names(&plan.schema);
        let rho = marginals.choice_rho();
        let choice = rounds.choose(left.len(), &name, of_left, sensitivity, rho)?;
        let edge = left[choice.position];
        forest.join(&candidates[edge].columns);
        tree = tree.with(&variables_of(variables, &candidates[edge].columns))?;
        edges.push((edge, Some(choice)));
    }
}

/// Which columns edges connect.
struct Forest(Vec<usize>);

impl Forest {
    fn new(columns: usize) -> Forest {
        Forest((0..columns).collect())
    }

    fn connects(&self, pair: &[usize]) -> bool {
        self.0[pair[0]] == self.0[pair[1]]
    }

    fn join(&mut self, pair: &[usize]) {
        let [from, to] = [self.0[pair[0]], self.0[pair[1]]];
        let members = self.0.iter_mut().filter(|c| **c == from);
        members.for_each(|c| *c = to);
    }
}

/// How the levels of a noisy one-way marginal are merged: those below `threshold` standard deviations, if there are
/// two or more, become the last cell.
pub fn merge_rare(measurement: &Measurement, threshold: f64) -> Option<MergedLevels> {
    let least = threshold * measurement.sigma_records();
    let counts = measurement.records();
    let kept = counts.iter().filter(|&&count| count >= least).count();
    if counts.len() - kept < 2 {
        return None;
    }
    let mut next = 0;
    let cell = |&count: &f64| {
        if count < least {
            return kept as u16;
        }
        next += 1;
        next - 1
    };
    Some(MergedLevels {
        column: measurement.axes.first()?.column.clone(),
        cells: counts.iter().map(cell).collect(),
    })
}
