//! The linear map from a model to the answers of its measurements, and its transpose.
//!
//! Measurements over the same variables in the same order share a table: its index map into the
//! clique, its expansion and its marginal are computed once for all of them.

use std::ops::Range;

use faer::Mat;

use super::kronecker::KroneckerMap;
use super::projection::Projection;
use super::propagation::{Propagation, Workspace};
use super::{Domain, Measurement, Model, ModelError};

/// The measured statistics of a model on a junction tree.
#[derive(Debug)]
pub(crate) struct Statistics {
    tables: Vec<Table>,
    length: usize,
}

/// A table over an ordered list of variables, with the measurements taken of it.
#[derive(Debug)]
struct Table {
    clique: usize,
    variables: Vec<usize>,
    projection: Projection,
    measured: Vec<Measured>,
}

/// One measurement: its map, and where its values stand among those of all measurements.
#[derive(Debug)]
struct Measured {
    map: KroneckerMap,
    squared: KroneckerMap,
    range: Range<usize>,
}

impl Statistics {
    /// The statistics of checked measurements; `propagation` has a clique around each.
    pub(crate) fn new(
        domain: &Domain,
        propagation: &Propagation,
        measurements: &[Measurement],
    ) -> Statistics {
        let tree = propagation.tree();
        let mut tables: Vec<Table> = Vec::new();
        let mut length = 0;
        for measurement in measurements {
            let variables = measurement.variables();
            let map = KroneckerMap::new(domain, &measurement.axes);
            let range = length..length + measurement.values.len();
            length = range.end;
            let measured = Measured {
                squared: map.squared(),
                map,
                range,
            };
            if let Some(table) = tables.iter_mut().find(|t| t.variables == variables) {
                table.measured.push(measured);
                continue;
            }
            // The tree was planned around every measurement's variables: a clique covers them.
            let clique = tree.covering_clique(domain, &variables).unwrap_or(0);
            let around = &tree.cliques()[clique];
            tables.push(Table {
                clique,
                projection: Projection::new(around, &domain.shape(around), &variables),
                variables,
                measured: vec![measured],
            });
        }
        Statistics { tables, length }
    }

    /// The number of values of all measurements.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Adds `Q' parameters` to the log potentials.
    pub(crate) fn add_potentials(&self, parameters: &[f64], workspace: &mut Workspace) {
        let mut potential = Vec::new();
        for table in &self.tables {
            potential.clear();
            potential.resize(table.projection.cells(), 0.0);
            for measured in &table.measured {
                let block = &parameters[measured.range.clone()];
                for (sum, term) in potential
                    .iter_mut()
                    .zip(measured.map.apply_transposed(block))
                {
                    *sum += term;
                }
            }
            let cells = &mut workspace.cells[table.clique];
            table.projection.add_expanded(&potential, cells);
        }
    }

    /// The expectations of the statistics under the clique marginals, times `total`.
    pub(crate) fn answers(&self, workspace: &Workspace, total: f64, answers: &mut [f64]) {
        self.expectations(workspace, total, answers, |measured| &measured.map);
    }

    /// The expectations of the squares of the statistics, times `total`.
    pub(crate) fn second_moments(&self, workspace: &Workspace, total: f64, moments: &mut [f64]) {
        self.expectations(workspace, total, moments, |measured| &measured.squared);
    }

    fn expectations(
        &self,
        workspace: &Workspace,
        total: f64,
        result: &mut [f64],
        map: impl Fn(&Measured) -> &KroneckerMap,
    ) {
        for table in &self.tables {
            let mut marginal = vec![0.0; table.projection.cells()];
            let cells = &workspace.cells[table.clique];
            table.projection.sum(cells, &mut marginal);
            for measured in &table.measured {
                let values = map(measured).apply(marginal.clone());
                for (target, value) in result[measured.range.clone()].iter_mut().zip(values) {
                    *target = total * value;
                }
            }
        }
    }

    /// The cells of the marginals that [`Self::covariance`] computes, saturating.
    pub(crate) fn cross_cells(&self, domain: &Domain) -> u128 {
        self.pairs()
            .map(|(left, right)| domain.cells(&union(left, right)))
            .fold(0, u128::saturating_add)
    }

    /// The covariances of the statistics of a table of `total` independent records from the model; the
    /// lower triangle only.
    ///
    /// # Errors
    /// If a marginal is above the model's size limit.
    pub(crate) fn covariance(&self, model: &Model) -> Result<Mat<f64>, ModelError> {
        let total = model.total();
        let mut matrix = Mat::zeros(self.length, self.length);
        let mut means = vec![0.0; self.length];
        for table in &self.tables {
            let marginal = model.marginal(&table.variables)?;
            for measured in &table.measured {
                let values = measured
                    .map
                    .apply(marginal.values_in_order(&table.variables));
                means[measured.range.clone()].copy_from_slice(&values);
            }
        }
        for (left, right) in self.pairs() {
            let variables = union(left, right);
            let marginal = model.marginal(&variables)?.values_in_order(&variables);
            let position = |v| left.variables.iter().position(|w| w == v);
            let shared: Vec<Option<usize>> = right.variables.iter().map(position).collect();
            for a in &left.measured {
                for b in &right.measured {
                    let moments =
                        KroneckerMap::cross_moments(&a.map, &b.map, &shared, marginal.clone());
                    for (moments, i) in moments.chunks_exact(b.range.len()).zip(a.range.clone()) {
                        for (moment, j) in moments.iter().zip(b.range.clone()) {
                            let covariance = total * (moment - means[i] * means[j]);
                            matrix[(i.max(j), i.min(j))] = covariance;
                        }
                    }
                }
            }
        }
        Ok(matrix)
    }

    /// All pairs of tables, each once, those of a table with itself included.
    fn pairs(&self) -> impl Iterator<Item = (&Table, &Table)> {
        let right = |index: usize| self.tables[..=index].iter();
        let left = self.tables.iter().enumerate();
        left.flat_map(move |(index, left)| right(index).map(move |right| (left, right)))
    }
}

/// The variables of the left table in its order, then the right one's others in theirs.
fn union(left: &Table, right: &Table) -> Vec<usize> {
    let others = right
        .variables
        .iter()
        .filter(|v| !left.variables.contains(v));
    left.variables.iter().chain(others).copied().collect()
}
