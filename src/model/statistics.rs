//! The linear map from a model to the answers of its measurements, and its transpose.
//!
//! Measurements over the same variables in the same order share a table: its index map into the
//! clique, its expansion and its marginal are computed once for all of them.

use std::ops::Range;

use super::measurement::KroneckerMap;
use super::projection::Projection;
use super::propagation::{Propagation, Workspace};
use super::{Domain, Measurement};

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
}
