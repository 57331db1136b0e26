//! From a release to the calibration problem that it poses.
//!
//! Every column that some measurement names is a variable; a numeric outcome is carried on its
//! [`OutcomeGrid`], so that histogram, exact moments and spread are linear maps of one and the same
//! marginal: bins aggregate cells, `(1 - Y, Y)` and `Y (1 - Y)` weight them by their means.
//!
//! Where rare levels of a column were merged (see [`MergedLevels`]), marginals of several columns have one cell for
//! all of them, and so has its one-way marginal here: the model then spreads the merged cell by the reference
//! measure, evenly, instead of following the noise of its levels.

use super::merged::{merge_map, merged_counts};
use super::{AxisMap, Domain, MeasuredAxis, Measurement, ModelError, Problem, ReferenceFactor};
use crate::release::{self, CheckedRelease, MergedLevels};
use crate::schema::{Axis, Feature, OutcomeGrid, Query, Schema};
use crate::workload::Workload;
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
    /// The variables that a set of queries speaks of, and those of `further` columns.
    ///
    /// # Errors
    /// Where a column has no level.
    pub fn new(
        schema: &Schema,
        queries: &[Query],
        further: &[usize],
    ) -> Result<Variables, ModelError> {
        let named = |c: usize| {
            further.contains(&c) || queries.iter().any(|q| q.axes.iter().any(|a| a.column == c))
        };
        let columns: Vec<usize> = schema.coded().into_iter().filter(|&c| named(c)).collect();
        let of_column = |column: Option<usize>| columns.iter().position(|&c| Some(c) == column);
        let outcome = of_column(schema.outcome());
        let grid = match outcome {
            Some(variable) => {
                let column = &schema.columns[columns[variable]];
                let finer = |a: &Axis| a.feature != Feature::Levels;
                match queries.iter().any(|q| q.axes.iter().any(finer)) {
                    true => OutcomeGrid::new(column),
                    // Nothing tells the cells within a bin apart.
                    false => OutcomeGrid::of_bins(column),
                }
            }
            None => OutcomeGrid { cells: Vec::new() },
        };
        let size = |variable: usize, column: usize| {
            if Some(variable) == outcome {
                grid.cells.len()
            } else {
                schema.columns[column].levels()
            }
        };
        let sizes = columns
            .iter()
            .enumerate()
            .map(|(v, &c)| size(v, c))
            .collect();
        let names = columns
            .iter()
            .map(|&c| schema.columns[c].name.clone())
            .collect();
        let domain = Domain::new(names, sizes)?;
        Ok(Variables {
            treatment: of_column(schema.treatment()),
            outcome,
            columns,
            grid,
            domain,
        })
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
            Feature::Split => {
                AxisMap::Linear(Array2::from_shape_fn((2, cells.len()), |(side, cell)| {
                    if side == 0 {
                        1.0 - cells[cell].mean
                    } else {
                        cells[cell].mean
                    }
                }))
            }
            Feature::Spread => {
                AxisMap::Linear(Array2::from_shape_fn((1, cells.len()), |(_, cell)| {
                    cells[cell].spread
                }))
            }
        }
    }

    /// The reference measure: uniform within each outcome bin, zero on the schema's structural zeros.
    fn reference(
        &self,
        schema: &Schema,
        max_cells: u64,
    ) -> Result<Vec<ReferenceFactor>, ModelError> {
        let mut reference = Vec::new();
        if let Some(outcome) = self.outcome {
            let log_weights = self.grid.cells.iter().map(|c| c.weight.ln()).collect();
            reference.push(ReferenceFactor {
                variables: vec![outcome],
                log_weights,
            });
        }
        for zero in &schema.structural_zeros {
            let conditions: Option<Vec<(usize, Vec<u16>)>> = zero
                .conditions
                .iter()
                .map(|(column, codes)| self.condition(*column, codes))
                .collect();
            // A combination with an unmeasured column says nothing about the measured ones.
            if let Some(conditions) = conditions {
                reference.push(ReferenceFactor::structural_zero(
                    &self.domain,
                    &conditions,
                    max_cells,
                )?);
            }
        }
        Ok(reference)
    }

    /// Codes of a column as levels of its variable.
    fn condition(&self, column: usize, codes: &[u16]) -> Option<(usize, Vec<u16>)> {
        let variable = self.of_column(column)?;
        if Some(variable) != self.outcome {
            return Some((variable, codes.to_vec()));
        }
        let cells = self.grid.cells.iter().enumerate();
        Some((
            variable,
            cells
                .filter(|(_, cell)| codes.contains(&cell.bin))
                .map(|(g, _)| g as u16)
                .collect(),
        ))
    }

    /// The sets of variables that the queries and structural zeros force into cliques: what `plan` sizes.
    ///
    /// # Errors
    /// As the release's problem.
    pub fn sets(
        &self,
        schema: &Schema,
        queries: &[Query],
        max_cells: u64,
    ) -> Result<Vec<Vec<usize>>, ModelError> {
        let of_query = |q: &Query| {
            q.axes
                .iter()
                .filter_map(|a| self.of_column(a.column))
                .collect::<Vec<_>>()
        };
        let reference = self.reference(schema, max_cells)?.into_iter();
        Ok(reference
            .map(|r| r.variables)
            .chain(queries.iter().map(of_query))
            .collect())
    }
}

/// The weight of the relative entropy: a compromise, chosen by simulation on a confounded population of four
/// covariates and a continuous outcome, all pairs measured (n 1000 and 5000, epsilon 1 and 5). With 1, a maximum a posteriori
/// estimate, the pull towards the reference biased the effect by a third at n = 1000 and epsilon = 1, and
/// intervals of nominal 95 % covered 35 %; with .1 the bias was a tenth of the standard error and they covered
/// 97 to 100 %; with .01 the error of the smallest budgets grew by a fifth.
const ENTROPY_WEIGHT: f64 = 0.1;

/// How far, in standard deviations of its noise, a marginal of columns without roles may be pulled towards the
/// reference per unit of its log potential. A fitted value misses its measurement by `g sigma^2` times its log potential,
/// so the weight that does this is `g = .15 / sigma`; `sigma` is the geometric mean over measurements, because rounds
/// that adapt go from coarse to fine noise. The published mechanisms have no entropy term (`g` to 0). On Adult at
/// epsilon = 1, where all of MST's noise is alike, its total variation is theirs to the third digit, at a sixth of the iterations that a
/// `g` of .0001 takes, and a `g` of .1 raises it by a third. AIM, whose noise falls by an order of magnitude, is more
/// accurate than with the largest `sigma`, and faster.
const PULL_IN_SIGMAS: f64 = 0.15;

/// The weight of the relative entropy for the measurements of a workload.
pub fn entropy_weight(workload: &Workload, measurements: &[release::Measurement]) -> f64 {
    let logarithms = measurements.iter().map(|m| m.sigma_records().ln());
    let sigma = (logarithms.sum::<f64>() / measurements.len().max(1) as f64).exp();
    match workload.marginals() {
        None => ENTROPY_WEIGHT,
        Some(_) => (PULL_IN_SIGMAS / sigma).min(ENTROPY_WEIGHT),
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

/// What a problem is made from: a release, or what has been measured of one so far.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The queries.
    pub queries: &'a [Query],
    /// Their noisy answers, in order.
    pub measurements: &'a [release::Measurement],
    /// The columns whose rare levels were merged.
    pub merged: &'a [MergedLevels],
    /// The number of records.
    pub rows: f64,
    /// The size limit of the model.
    pub max_cells: u64,
    /// The weight of the relative entropy.
    pub entropy_weight: f64,
}

impl Released {
    /// The problem of a release.
    ///
    /// # Errors
    /// Where the reference measure rules out everything.
    pub fn new(release: &CheckedRelease) -> Result<Released, ModelError> {
        let further = release.workload.modelled_columns();
        let variables = Variables::new(&release.schema, &release.queries, further)?;
        let selection = release.document.selection.as_ref();
        Released::from_evidence(
            variables,
            &Evidence {
                schema: &release.schema,
                queries: &release.queries,
                measurements: &release.document.measurements,
                merged: selection.map_or(&[], |s| &s.merged),
                rows: release.estimated_rows(),
                max_cells: release.workload.max_cells,
                entropy_weight: entropy_weight(&release.workload, &release.document.measurements),
            },
        )
    }

    /// The problem of some measurements, whose columns must all be among the variables.
    ///
    /// # Errors
    /// As [`Released::new`].
    pub fn from_evidence(
        variables: Variables,
        evidence: &Evidence,
    ) -> Result<Released, ModelError> {
        let measured = evidence.queries.iter().zip(evidence.measurements);
        let measurements = measured
            // The number of records is no statistic of the model, which is normalised.
            .filter(|(query, _)| !query.axes.is_empty())
            .map(|(query, measured)| variables.measurement(query, measured, evidence))
            .collect();
        let problem = Problem {
            domain: variables.domain.clone(),
            reference: variables.reference(evidence.schema, evidence.max_cells)?,
            measurements,
            total: evidence.rows,
            max_cells: evidence.max_cells,
            entropy_weight: evidence.entropy_weight,
        };
        Ok(Released { variables, problem })
    }
}

impl Variables {
    /// The axes by which a query reads the variables; `merged` says for each axis how its levels were merged.
    pub fn axes(
        &self,
        schema: &Schema,
        query: &Query,
        merged: &[Option<&MergedLevels>],
    ) -> Vec<MeasuredAxis> {
        let axes = query.axes.iter().zip(merged);
        axes.filter_map(|(axis, merged)| {
            let variable = self.of_column(axis.column)?;
            let map = self.map(variable, axis.feature, schema);
            let levels = schema.columns[axis.column].levels();
            let map = match merged {
                Some(merged) => merge_map(&map, levels, &merged.cells),
                None => map,
            };
            Some(MeasuredAxis { variable, map })
        })
        .collect()
    }

    fn measurement(
        &self,
        query: &Query,
        measured: &release::Measurement,
        evidence: &Evidence,
    ) -> Measurement {
        let merging = |column: &str| evidence.merged.iter().find(|m| m.column == column);
        let of_axis = |axis: &release::MeasuredAxis| match axis.merged {
            true => merging(&axis.column),
            false => None,
        };
        let merged: Vec<_> = measured.axes.iter().map(of_axis).collect();
        let result = Measurement {
            name: query.name.clone(),
            axes: self.axes(evidence.schema, query, &merged),
            values: measured.records(),
            sigma: measured.sigma_records(),
        };
        match measured.axes.as_slice() {
            [axis] if axis.feature == Feature::Levels && !axis.merged => {
                match merging(&axis.column) {
                    Some(merged) => merged_counts(result, &merged.cells),
                    None => result,
                }
            }
            _ => result,
        }
    }
}
