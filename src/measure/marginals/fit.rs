//! The model of all noisy answers so far, and how large the next one would be.

use super::room::{Room, variables_of};
use crate::measure::{MeasureError, Plan};
use crate::model::{
    Calibrator, Evidence, Model, ModelError, Released, Settings, Targets, Variables, WarmStart,
    entropy_weight,
};
use crate::release::{Measurement, MergedLevels, rows_from_measurements};
use crate::schema::Query;

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

/// A fitted model.
pub struct Fit {
    variables: Variables,
    model: Model,
    /// The dual parameters, where the next fit starts: measurements are only ever added at the end.
    parameters: Vec<f64>,
    room: Room,
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
        let room = Room::new(&released.variables.domain, released.problem.sets())?;
        let calibrator = Calibrator::new(released.problem)?;
        let (model, parameters) = calibrate(&calibrator, before)?;
        Ok(Fit {
            variables: released.variables,
            model,
            parameters,
            room,
        })
    }

    /// What the model expects of a marginal, in records.
    pub fn expected(
        &self,
        plan: &Plan,
        query: &Query,
        merged: &[MergedLevels],
    ) -> Result<Vec<f64>, MeasureError> {
        let merging = |column: usize| {
            let name = &plan.schema.columns[column].name;
            merged.iter().find(|m| m.column == *name)
        };
        let merged: Vec<_> = query.axes.iter().map(|a| merging(a.column)).collect();
        let axes = self.variables.axes(&plan.schema, query, &merged);
        Ok(self.model.expected_counts(&axes)?)
    }

    /// What the model expects of those of the queries that are listed, each with its position among the queries. A
    /// marginal that is spread over so much of the model that it would take too long is left out: no candidate in a
    /// round, which is decided by the model alone.
    pub fn expectations(
        &self,
        plan: &Plan,
        queries: &[Query],
        listed: &[usize],
    ) -> Result<Vec<(usize, Vec<f64>)>, MeasureError> {
        let mut expectations = Vec::with_capacity(listed.len());
        for &at in listed {
            match self.expected(plan, &queries[at], &[]) {
                Ok(expected) => expectations.push((at, expected)),
                Err(MeasureError::Model(ModelError::TooLarge { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(expectations)
    }

    /// Whether the model with one more marginal, of these columns, has at most `limit` cells.
    pub fn has_room(&self, columns: &[usize], limit: u64) -> Result<bool, MeasureError> {
        let set = variables_of(&self.variables, columns);
        Ok(self.room.is_enough_for(&set, limit)?)
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
    pub fn room(&self) -> &Room {
        &self.room
    }
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
