//! A calibrated model: clique marginals on a junction tree, and any marginal computed from them.

use std::sync::Arc;

use super::junction_tree::is_subset;
use super::kronecker::KroneckerMap;
use super::propagation::Propagation;
use super::{Domain, Factor, JunctionTree, MeasuredAxis, Measurement, ModelError};

/// The most cells of a table that is stored on the way to a marginal (128 MiB): fewer than products may have, which are
/// summed as they are made.
const MOST_STORED: u64 = 1 << 24;

/// What all models of a calibrator share.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) domain: Domain,
    pub(crate) propagation: Propagation,
    pub(crate) max_cells: u64,
}

/// A distribution over all variables,
/// `p(x) = p(root clique) * product over the other cliques of p(clique | separator)`.
#[derive(Debug, Clone)]
pub struct Model {
    structure: Arc<Structure>,
    conditionals: Vec<Vec<f64>>,
    marginals: Vec<Vec<f64>>,
    total: f64,
}

impl Model {
    pub(crate) fn new(
        structure: Arc<Structure>,
        conditionals: Vec<Vec<f64>>,
        marginals: Vec<Vec<f64>>,
        total: f64,
    ) -> Model {
        Model {
            structure,
            conditionals,
            marginals,
            total,
        }
    }

    /// What it shares with other models of its calibrator.
    pub(crate) fn structure(&self) -> &Arc<Structure> {
        &self.structure
    }

    /// The variables.
    pub fn domain(&self) -> &Domain {
        &self.structure.domain
    }

    /// The junction tree; the other methods count cliques in its order.
    pub fn junction_tree(&self) -> &JunctionTree {
        self.structure.propagation.tree()
    }

    /// The number of records that the model was calibrated to.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The probabilities of a clique's cells, row-major over its sorted variables.
    pub fn clique_marginal(&self, clique: usize) -> &[f64] {
        &self.marginals[clique]
    }

    /// The probabilities of a clique's cells given the cell of its separator (for the root: the
    /// marginal); 0 throughout where the separator's cell is impossible.
    pub fn clique_conditional(&self, clique: usize) -> &[f64] {
        &self.conditionals[clique]
    }

    /// The marginal probabilities of any set of variables, in any order; the factor's variables are
    /// sorted. Exact: from a clique that covers them, or by summing the other variables out of the
    /// smallest part of the tree that does.
    ///
    /// # Errors
    /// If a variable does not exist or is listed twice, or if a table on the way would have more cells
    /// than the model's limit.
    pub fn marginal(&self, variables: &[usize]) -> Result<Factor, ModelError> {
        let domain = self.domain();
        domain.check(variables, "a marginal")?;
        let mut query = variables.to_vec();
        query.sort_unstable();
        self.check_size(&query)?;
        let tree = self.junction_tree();
        if let Some(clique) = tree.covering_clique(domain, &query) {
            let table = self.factor(clique, &self.marginals[clique])?;
            return Ok(table.sum_onto(&query));
        }
        let kept = covering_subtree(tree, &query);
        let mut messages: Vec<Vec<Factor>> = vec![Vec::new(); tree.cliques().len()];
        let mut result = Factor::scalar(1.0);
        for clique in (0..kept.len()).rev().filter(|&c| kept[c]) {
            // A connected part's first clique is its top: every other one has its parent in the part.
            let parent = tree.parents()[clique].filter(|&p| kept[p]);
            let table = match parent {
                Some(_) => &self.conditionals[clique],
                None => &self.marginals[clique],
            };
            let mut keep = query.clone();
            if parent.is_some() {
                keep.extend(&tree.separators()[clique]);
            }
            let incoming = std::mem::take(&mut messages[clique]);
            let incoming: Vec<&Factor> = incoming.iter().collect();
            let message = self.combine(&self.factor(clique, table)?, &incoming, &keep)?;
            match parent {
                Some(parent) => messages[parent].push(message),
                None => result = message,
            }
        }
        Ok(result)
    }

    /// The answers that the model gives to a measurement, in records (noise-free).
    ///
    /// # Errors
    /// As [`Self::marginal`], or if the measurement does not fit the domain.
    pub fn answer(&self, measurement: &Measurement) -> Result<Vec<f64>, ModelError> {
        measurement.check(self.domain())?;
        self.expected_counts(&measurement.axes)
    }

    /// What the model expects of a statistic with these axes, in records. Their maps must fit the domain
    /// (see [`Measurement::check`]).
    ///
    /// # Errors
    /// As [`Self::marginal`].
    pub fn expected_counts(&self, axes: &[MeasuredAxis]) -> Result<Vec<f64>, ModelError> {
        let order: Vec<usize> = axes.iter().map(|axis| axis.variable).collect();
        let table = self.marginal(&order)?.values_in_order(&order);
        let map = KroneckerMap::new(self.domain(), axes);
        Ok(map.apply(table).iter().map(|p| p * self.total).collect())
    }

    pub(super) fn factor(&self, clique: usize, values: &[f64]) -> Result<Factor, ModelError> {
        let variables = self.junction_tree().cliques()[clique].clone();
        Factor::new(self.domain(), variables, values.to_vec())
    }

    /// The product of a clique's table and its children's messages, summed onto `keep`; each variable
    /// is summed out as early as no later message has it.
    pub(super) fn combine(
        &self,
        table: &Factor,
        messages: &[&Factor],
        keep: &[usize],
    ) -> Result<Factor, ModelError> {
        let needed = |later: &[&Factor]| -> Vec<usize> {
            let variables = later.iter().flat_map(|f| f.variables().iter().copied());
            variables.chain(keep.iter().copied()).collect()
        };
        let mut product = table.sum_onto(&needed(messages));
        for (index, message) in messages.iter().enumerate() {
            let mut union = product.variables().to_vec();
            union.extend(message.variables());
            union.sort_unstable();
            union.dedup();
            self.check_size(&union)?;
            let needed = needed(&messages[index + 1..]);
            union.retain(|v| needed.contains(v));
            self.check_cells(&union, MOST_STORED)?;
            product = product.contract(message, &needed);
        }
        Ok(product)
    }

    pub(crate) fn check_size(&self, variables: &[usize]) -> Result<(), ModelError> {
        self.check_cells(variables, self.structure.max_cells)
    }

    fn check_cells(&self, variables: &[usize], limit: u64) -> Result<(), ModelError> {
        let cells = self.domain().cells(variables);
        let limit = u128::from(limit);
        if cells <= limit {
            return Ok(());
        }
        Err(ModelError::TooLarge {
            context: "a marginal".into(),
            clique: self.domain().names_of(variables),
            cells,
            limit,
        })
    }
}

/// The smallest connected part of the tree that covers the variables: leaves are cut off as long as
/// their neighbour has all of the variables that they have (by running intersection, any other clique
/// of the part then reaches them through it).
fn covering_subtree(tree: &JunctionTree, variables: &[usize]) -> Vec<bool> {
    let count = tree.cliques().len();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (child, parent) in tree.parents().iter().enumerate() {
        if let Some(parent) = *parent {
            neighbours[child].push(parent);
            neighbours[parent].push(child);
        }
    }
    let wanted: Vec<Vec<usize>> = tree
        .cliques()
        .iter()
        .map(|c| super::junction_tree::intersection(c, variables))
        .collect();
    let mut kept = vec![true; count];
    let mut waiting: Vec<usize> = (0..count).rev().collect();
    while let Some(clique) = waiting.pop() {
        let Some(&neighbour) = neighbours[clique].first() else {
            continue;
        };
        let leaf = neighbours[clique].len() == 1;
        if leaf && is_subset(&wanted[clique], &tree.cliques()[neighbour]) {
            kept[clique] = false;
            neighbours[clique].clear();
            neighbours[neighbour].retain(|&c| c != clique);
            waiting.push(neighbour);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Joint, close, codes, index, random_problem};
    use super::super::{Calibrator, FullConditional, Problem, Settings};
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn fitted(problem: &Problem) -> (Model, Vec<f64>) {
        let calibrator = Calibrator::new(problem.clone()).unwrap();
        let fit = calibrator
            .calibrate(&calibrator.targets(), &Settings::default(), &mut |_, _| {})
            .unwrap();
        (fit.model, fit.parameters)
    }

    /// Every subset of the variables of 120 random models.
    #[test]
    fn any_marginal_matches_enumeration() {
        for seed in 0..120 {
            let problem = random_problem(seed);
            let (model, parameters) = fitted(&problem);
            let joint = Joint::new(&problem, &parameters);
            let count = problem.domain.variables();
            for mask in 0..1usize << count {
                let set: Vec<usize> = (0..count).rev().filter(|v| mask >> v & 1 == 1).collect();
                let factor = model.marginal(&set).unwrap();
                let expected = joint.marginal(&set);
                assert!(
                    close(&factor.values_in_order(&set), &expected, 1e-11),
                    "{seed} {set:?}"
                );
            }
        }
    }

    #[test]
    fn answers_match_enumeration() {
        for seed in 0..60 {
            let problem = random_problem(seed);
            let (model, parameters) = fitted(&problem);
            let answers = problem
                .measurements
                .iter()
                .flat_map(|m| model.answer(m).unwrap());
            let answers: Vec<f64> = answers.collect();
            assert!(
                close(&answers, &Joint::new(&problem, &parameters).answers(), 1e-8),
                "{seed}"
            );
        }
    }

    /// The conditional law of up to two variables given all others, at every cell of the joint table.
    #[test]
    fn conditionals_match_enumeration() {
        for seed in 0..120 {
            let problem = random_problem(seed);
            let domain = &problem.domain;
            let (model, parameters) = fitted(&problem);
            let joint = Joint::new(&problem, &parameters);
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let mut free = vec![random.random_range(0..domain.variables())];
            let other = random.random_range(0..domain.variables());
            if !free.contains(&other) {
                free.push(other);
            }
            let law = FullConditional::new(&model, &free).unwrap();
            let mut found = vec![0.0; law.cells()];
            for cell in 0..joint.probabilities.len() {
                let row = codes(domain, cell);
                let mut expected = vec![0.0; law.cells()];
                for (other, p) in joint.probabilities.iter().enumerate() {
                    let codes = codes(domain, other);
                    if (0..row.len()).all(|v| free.contains(&v) || row[v] == codes[v]) {
                        expected[index(domain, &free, &codes)] += p;
                    }
                }
                let sum: f64 = expected.iter().sum();
                let possible = law.probabilities(|v| row[v] as u16, &mut found).unwrap();
                if sum > 0.0 {
                    expected.iter_mut().for_each(|p| *p /= sum);
                    assert!(possible && close(&found, &expected, 1e-9), "{seed} {cell}");
                }
            }
        }
    }

    #[test]
    fn marginals_above_the_limit_are_refused() {
        let names = (0..6).map(|i| format!("v{i}")).collect();
        let problem = Problem {
            domain: Domain::new(names, vec![10; 6]).unwrap(),
            reference: vec![],
            measurements: vec![],
            total: 10.0,
            max_cells: 1000,
            entropy_weight: 1.0,
        };
        let model = Calibrator::new(problem).unwrap().reference_model();
        let uniform = model.marginal(&[5, 0, 3]).unwrap();
        assert!(uniform.values().iter().all(|p| (p - 1e-3).abs() < 1e-15));
        let error = model.marginal(&[5, 0, 3, 1]).unwrap_err();
        assert!(error.to_string().contains("v0, v1, v3, v5"), "{error}");
    }
}
