//! The model of all noisy answers so far, and how large the next one would be.

use crate::measure::{MeasureError, Plan};
use crate::model::{
    Calibrator, Evidence, GrowingTree, Marginals, Model, ModelError, Problem, Released, Room,
    Settings, Targets, Variables, WarmStart, entropy_weight,
};
use crate::release::{Measurement, MergedLevels, rows_from_measurements};
use crate::schema::{Query, Schema};
use crate::workload::level_axes;

/// How strictly a model is fitted that only the next choice looks at: an objective within this much of its optimum
/// moves expected counts by far less than the noise of the choice. What is released are the measurements, to
/// which a strict fit is made at the end.
pub const BETWEEN_ROUNDS: Settings = Settings {
    tolerance: 1e-4,
    max_evaluations: 300,
};

/// How many cells may be run through to compute an expected marginal, in models of the size limit. The model's own
/// size is checked before it is fitted.
const MARGINAL_WORK: u64 = 64;

/// The multiplications that what a model expects of a round's candidates may take, together: some ten seconds. Those that
/// take most, because they lie on both sides of a large part of the model, are beyond it, and no candidates.
const ROUND_WORK: f64 = 1e10;
/// With more candidates than this the work of a round falls in proportion: so many columns come with as many more rounds.
const MANY_CANDIDATES: f64 = 1e4;

/// The multiplications that a round of so many candidates may take.
pub fn round_work(candidates: usize) -> f64 {
    ROUND_WORK * (MANY_CANDIDATES / candidates.max(1) as f64).min(1.0)
}

/// A fitted model.
pub struct Fit {
    variables: Variables,
    model: Model,
    /// The dual parameters, where the next fit starts: measurements are only ever added at the end.
    parameters: Vec<f64>,
    tree: GrowingTree,
    /// The number of sets that the tree was grown from.
    sets: usize,
}

impl Fit {
    /// Fits a model to measurements, starting from the one before, if there is one.
    pub fn new(
        plan: &Plan,
        variables: Variables,
        queries: &[Query],
        measurements: &[Measurement],
        merged: &[MergedLevels],
        before: Option<&Fit>,
    ) -> Result<Fit, MeasureError> {
        let evidence = Evidence {
            schema: &plan.schema,
            queries,
            measurements,
            merged,
            // There is a total or a marginal wherever the number of rows is not public.
            rows: rows_from_measurements(&plan.schema, queries, measurements).unwrap_or(1.0),
            max_cells: plan.workload.max_cells.saturating_mul(MARGINAL_WORK),
            entropy_weight: entropy_weight(&plan.workload, measurements),
        };
        let released = Released::from_evidence(variables, &evidence)?;
        let tree = grow(&released.problem, before)?;
        let sets = released.problem.sets().len();
        let calibrator = Calibrator::on_tree(released.problem, tree.tree().clone())?;
        let (model, parameters) = calibrate(&calibrator, before)?;
        Ok(Fit {
            variables: released.variables,
            model,
            parameters,
            tree,
            sets,
        })
    }

    /// What the model expects of marginals, the rare levels of some columns merged.
    pub fn expected<'a>(&'a self, schema: &'a Schema, merged: &'a [MergedLevels]) -> Expected<'a> {
        Expected {
            variables: &self.variables,
            marginals: Marginals::new(&self.model),
            schema,
            merged,
        }
    }

    /// Whether the model with one more marginal, of these columns, has at most `limit` cells.
    pub fn has_room(&self, columns: &[usize], limit: u64) -> Result<bool, MeasureError> {
        let set = variables_of(&self.variables, columns);
        Ok(self.tree.has_room(&set, limit)?)
    }

    /// As [`Self::has_room`], with what was worked out of the same columns in an earlier fit.
    pub fn has_room_knowing(
        &self,
        columns: &[usize],
        limit: u64,
        known: &mut Room,
    ) -> Result<bool, MeasureError> {
        let set = variables_of(&self.variables, columns);
        Ok(self.tree.has_room_knowing(&set, limit, known)?)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The meaning of its variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// What the model's size allows.
    pub fn tree(&self) -> &GrowingTree {
        &self.tree
    }
}

/// The variables of columns that all are variables.
pub fn variables_of(variables: &Variables, columns: &[usize]) -> Vec<usize> {
    let of_column = columns.iter().filter_map(|&c| variables.of_column(c));
    of_column.collect()
}

/// What a model expects of marginals; what they have in common is computed once.
pub struct Expected<'a> {
    variables: &'a Variables,
    marginals: Marginals<'a>,
    schema: &'a Schema,
    merged: &'a [MergedLevels],
}

impl Expected<'_> {
    /// The expected counts of the marginal of some columns, in records.
    pub fn of(&mut self, columns: &[usize]) -> Result<Vec<f64>, MeasureError> {
        self.of_query(&Query {
            name: String::new(),
            axes: level_axes(columns),
        })
    }

    /// Calls `visit` with the position and the expected counts of the marginals of many sets of columns, ascending, in an order
    /// that the model determines. One that would take too large a table is left out, and so are
    /// the most expensive ones beyond `most_work` multiplications together.
    pub fn each(
        &mut self,
        sets: &[&[usize]],
        most_work: f64,
        visit: &mut dyn FnMut(usize, &[f64]),
    ) -> Result<(), MeasureError> {
        if !self.is_plain() {
            for (position, columns) in sets.iter().enumerate() {
                match self.of(columns) {
                    Ok(records) => visit(position, &records),
                    Err(MeasureError::Model(ModelError::TooLarge { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
            return Ok(());
        }
        // Variables are in the order of their columns.
        let columns = self
            .variables
            .columns
            .iter()
            .max()
            .map_or(0, |most| most + 1);
        let of_column: Vec<Option<usize>> = (0..columns)
            .map(|column| self.variables.of_column(column))
            .collect();
        let of_set = |columns: &&[usize]| -> Vec<usize> {
            let variables = columns.iter().filter_map(|&c| *of_column.get(c)?);
            variables.collect()
        };
        let variables: Vec<Vec<usize>> = sets.iter().map(of_set).collect();
        let variables: Vec<&[usize]> = variables.iter().map(Vec::as_slice).collect();
        let total = self.marginals.total();
        let mut records = Vec::new();
        self.marginals
            .for_each(&variables, most_work, &mut |position, shares| {
                records.clear();
                records.extend(shares.iter().map(|share| share * total));
                visit(position, &records);
            })?;
        Ok(())
    }

    /// Whether a variable's levels are its column's: no outcome on a grid finer than its bins, no merged levels.
    fn is_plain(&self) -> bool {
        let sizes = self.variables.domain.sizes().iter();
        let columns = self.variables.columns.iter();
        let levels = columns.map(|&column| self.schema.columns[column].levels());
        self.merged.is_empty() && sizes.copied().eq(levels)
    }

    /// The expected answer to a query, in records.
    pub fn of_query(&mut self, query: &Query) -> Result<Vec<f64>, MeasureError> {
        let merging = |column: usize| {
            let name = &self.schema.columns[column].name;
            self.merged.iter().find(|m| m.column == *name)
        };
        let merged: Vec<_> = query.axes.iter().map(|a| merging(a.column)).collect();
        let axes = self.variables.axes(self.schema, query, &merged);
        Ok(self.marginals.expected_counts(&axes)?)
    }
}

/// The tree of a problem: that of the fit before with the new measurements' sets; or one of its own where
/// a measurement brought a new variable.
fn grow(problem: &Problem, before: Option<&Fit>) -> Result<GrowingTree, ModelError> {
    let sets = problem.sets();
    let same = |fit: &&Fit| fit.variables.domain == problem.domain;
    let Some(before) = before.filter(same) else {
        return GrowingTree::new(&problem.domain, &sets);
    };
    let mut tree = before.tree.clone();
    for set in &sets[before.sets..] {
        tree = tree.with(set)?;
    }
    Ok(tree)
}

fn calibrate(
    calibrator: &Calibrator,
    before: Option<&Fit>,
) -> Result<(Model, Vec<f64>), MeasureError> {
    let targets = calibrator.targets();
    if targets.values.is_empty() {
        return Ok((calibrator.reference_model(), Vec::new()));
    }
    let warm = before.map(|fit| {
        let mut parameters = fit.parameters.clone();
        parameters.resize(targets.values.len(), 0.0);
        WarmStart::new(parameters)
    });
    let targets = Targets {
        warm: warm.as_ref(),
        ..targets
    };
    let fitted = calibrator.calibrate(&targets, &BETWEEN_ROUNDS, &mut |_, _| ())?;
    Ok((fitted.model, fitted.parameters))
}
