//! From a release to the calibration problem that it poses.
//!
//! Every column that some measurement names is a variable; a numeric outcome is carried on its
//! [`OutcomeGrid`], so that histogram, exact moments and spread are linear maps of one and the same
//! marginal: bins aggregate cells, `(1 - Y, Y)` and `Y (1 - Y)` weight them by their means.

use super::{AxisMap, Domain, MeasuredAxis, Measurement, ModelError, Problem, Reference};
use crate::release::CheckedRelease;
use crate::schema::{Feature, OutcomeGrid, Query, Schema};
use ndarray::Array2;

/// The variables of a released model: which columns they stand for, and the outcome's grid.
#[derive(Debug, Clone)]
pub struct Variables {
    /// The schema's column index of each variable, ascending.
    pub columns: Vec<usize>,
    /// The variable of the treatment.
    pub treatment: Option<usize>,
    /// The variable of the outcome.
    pub outcome: Option<usize>,
    /// The grid of the outcome; empty where no outcome was measured.
    pub grid: OutcomeGrid,
    /// The domain.
    pub domain: Domain,
}

impl Variables {
    /// The variables that a set of queries speaks of.
    pub fn new(schema: &Schema, queries: &[Query]) -> Variables {
        let named = |c: usize| queries.iter().any(|q| q.axes.iter().any(|a| a.column == c));
        let columns: Vec<usize> = schema.coded().into_iter().filter(|&c| named(c)).collect();
        let of_column = |column: Option<usize>| columns.iter().position(|&c| Some(c) == column);
        let outcome = of_column(schema.outcome());
        let grid = match outcome {
            Some(variable) => OutcomeGrid::new(&schema.columns[columns[variable]]),
            None => OutcomeGrid { cells: Vec::new() },
        };
        let size = |variable: usize, column: usize| {
            if Some(variable) == outcome { grid.cells.len() } else { schema.columns[column].levels() }
        };
        let domain = Domain {
            sizes: columns.iter().enumerate().map(|(v, &c)| size(v, c)).collect(),
            names: columns.iter().map(|&c| schema.columns[c].name.clone()).collect(),
        };
        Variables { treatment: of_column(schema.treatment()), outcome, columns, grid, domain }
    }

    /// The variable of a schema column.
    pub fn of_column(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|&c| c == column)
    }

    /// The linear map by which a feature reads a variable.
    fn map(&self, variable: usize, feature: Feature, schema: &Schema) -> AxisMap {
        if Some(variable) != self.outcome {
            return AxisMap::Identity;
        }
        let cells = &self.grid.cells;
        match feature {
            Feature::Levels => {
                let bins = schema.columns[self.columns[variable]].levels();
                if bins == cells.len() {
                    return AxisMap::Identity;
                }
                AxisMap::Linear(Array2::from_shape_fn((bins, cells.len()), |(bin, cell)| {
                    f64::from(u8::from(usize::from(cells[cell].bin) == bin))
                }))
            }
            Feature::Split => AxisMap::Linear(Array2::from_shape_fn((2, cells.len()), |(side, cell)| {
                if side == 0 { 1.0 - cells[cell].mean } else { cells[cell].mean }
            })),
            Feature::Spread => AxisMap::Linear(Array2::from_shape_fn((1, cells.len()), |(_, cell)| cells[cell].spread)),
        }
    }

    /// The reference measure: uniform within each outcome bin, zero on the schema's structural zeros.
    fn reference(&self, schema: &Schema) -> Vec<Reference> {
        let mut reference = Vec::new();
        if let Some(outcome) = self.outcome {
            let weights = self.grid.cells.iter().map(|c| c.weight.ln()).collect();
            reference.push(Reference { variables: vec![outcome], log_weights: weights });
        }
        for zero in &schema.structural_zeros {
            let conditions: Option<Vec<(usize, &Vec<u16>)>> =
                zero.conditions.iter().map(|(column, codes)| Some((self.of_column(*column)?, codes))).collect();
            // A combination with an unmeasured column says nothing about the measured ones.
            if let Some(mut conditions) = conditions {
                conditions.sort_by_key(|(variable, _)| *variable);
                reference.push(self.structural_zero(&conditions));
            }
        }
        reference
    }

    fn structural_zero(&self, conditions: &[(usize, &Vec<u16>)]) -> Reference {
        let sizes: Vec<usize> = conditions.iter().map(|(v, _)| self.domain.sizes[*v]).collect();
        let cells: usize = sizes.iter().product();
        let log_weights = (0..cells)
            .map(|cell| {
                let mut rest = cell;
                let ruled_out = conditions.iter().zip(&sizes).rev().all(|((variable, codes), &size)| {
                    let level = rest % size;
                    rest /= size;
                    let code = if Some(*variable) == self.outcome { self.grid.cells[level].bin } else { level as u16 };
                    codes.contains(&code)
                });
                if ruled_out { f64::NEG_INFINITY } else { 0.0 }
            })
            .collect();
        Reference { variables: conditions.iter().map(|(v, _)| *v).collect(), log_weights }
    }

    /// The cliques that the queries and structural zeros force into a model: what `plan` sizes.
    pub fn cliques(&self, schema: &Schema, queries: &[Query]) -> Vec<Vec<usize>> {
        let of_query = |q: &Query| q.axes.iter().filter_map(|a| self.of_column(a.column)).collect::<Vec<_>>();
        let zeros = self.reference(schema).into_iter().map(|r| r.variables);
        queries.iter().map(of_query).chain(zeros).collect()
    }
}

/// A calibration problem with the meaning of its variables.
#[derive(Debug, Clone)]
pub struct Released {
    /// The variables.
    pub variables: Variables,
    /// The problem at the released values.
    pub problem: Problem,
}

impl Released {
    /// The problem of a release.
    ///
    /// # Errors
    /// Where the reference measure rules out everything.
    pub fn new(release: &CheckedRelease) -> Result<Released, ModelError> {
        let schema = &release.schema;
        let variables = Variables::new(schema, &release.queries);
        let measurements = release
            .queries
            .iter()
            .zip(&release.document.measurements)
            .map(|(query, measured)| Measurement {
                name: query.name.clone(),
                axes: query
                    .axes
                    .iter()
                    .filter_map(|axis| {
                        let variable = variables.of_column(axis.column)?;
                        Some(MeasuredAxis { variable, map: variables.map(variable, axis.feature, schema) })
                    })
                    .collect(),
                values: measured.records(),
                sigma: measured.sigma_records(),
            })
            .collect();
        let problem = Problem {
            domain: variables.domain.clone(),
            reference: variables.reference(schema),
            measurements,
            total: release.estimated_rows(),
            max_cells: release.workload.max_cells,
        };
        Ok(Released { variables, problem })
    }
}
