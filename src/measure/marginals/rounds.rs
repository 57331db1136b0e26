//! What all rounds do: choose, measure, fit.

use super::candidates::Candidate;
use super::counts::{CountQuestion, MarginalCounts, count};
use super::fit::Fit;
use super::gap::gap_sensitivity;
use super::scoring::Scored;
use crate::measure::{MeasureError, Plan, measurement};
use crate::model::Variables;
use crate::privacy::{
    Accountant, Confidential, ExponentialMechanism, GaussianMechanism, NoiseSource, Sensitivity,
};
use crate::release::{MarginalRound, MarginalSelection, MeasuredAxis, Measurement, MergedLevels};
use crate::schema::{Query, SCALE};
use crate::table::CodedTable;
use crate::workload::Block;

/// The state of a release between rounds.
pub struct Rounds<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The columns that the models have whether or not a measurement names them.
    pub modelled: &'a [usize],
    table: &'a Confidential<CodedTable>,
    accountant: &'a mut Accountant,
    noise: &'a mut NoiseSource,
    queries: Vec<Query>,
    measurements: &'a mut Vec<Measurement>,
    selection: MarginalSelection,
}

/// What a private choice brought.
pub struct Choice {
    /// The position among the candidates of the round.
    pub position: usize,
    round: MarginalRound,
}

impl<'a> Rounds<'a> {
    /// The state after the plan's own measurements.
    pub fn new(
        plan: &'a Plan,
        modelled: &'a [usize],
        table: &'a Confidential<CodedTable>,
        measurements: &'a mut Vec<Measurement>,
        accountant: &'a mut Accountant,
        noise: &'a mut NoiseSource,
    ) -> Rounds<'a> {
        Rounds {
            queries: plan.queries(),
            plan,
            modelled,
            table,
            accountant,
            noise,
            measurements,
            selection: MarginalSelection::default(),
        }
    }

    /// What is left of the budget.
    pub fn remaining_rho(&self) -> f64 {
        self.accountant.remaining().rho()
    }

    /// What was measured so far.
    pub fn measurements(&self) -> &[Measurement] {
        self.measurements
    }

    /// The columns whose rare levels are merged from here on.
    pub fn merge(&mut self, merged: Vec<MergedLevels>) {
        self.selection.merged = merged;
    }

    /// The merged columns.
    pub fn merged(&self) -> &[MergedLevels] {
        &self.selection.merged
    }

    /// The exact marginals of candidates, which stay confidential.
    pub fn count(&self, candidates: &[Candidate]) -> Confidential<MarginalCounts> {
        let question = CountQuestion {
            schema: &self.plan.schema,
            candidates,
            merged: &self.selection.merged,
        };
        self.table.ask(&question, count)
    }

    /// Another question about the rows; its answer stays confidential.
    pub fn ask<Q: ?Sized, A>(
        &self,
        question: &Q,
        answer: fn(&CodedTable, &Q) -> A,
    ) -> Confidential<A> {
        self.table.ask(question, answer)
    }

    /// Fits a model to what was measured so far, from the one before.
    pub fn fit(&self, before: Option<&Fit>) -> Result<Fit, MeasureError> {
        let variables = Variables::new(&self.plan.schema, &self.queries, self.modelled)?;
        Fit::new(
            self.plan,
            variables,
            &self.queries,
            self.measurements,
            &self.selection.merged,
            before,
        )
    }

    /// Chooses one of so many candidates of a round by scores of this sensitivity; `name` tells the columns of
    /// each.
    pub fn choose(
        &mut self,
        candidates: usize,
        name: &dyn Fn(usize) -> Vec<String>,
        scores: Confidential<Vec<i64>>,
        sensitivity: u64,
        rho: f64,
    ) -> Result<Choice, MeasureError> {
        let mechanism = ExponentialMechanism::new(sensitivity, rho)?;
        let chosen = mechanism.choose(scores, 1, self.accountant, self.noise)?;
        // There is a candidate: rounds without one are not held.
        let position = chosen.first().copied().unwrap_or(0);
        let round = MarginalRound {
            chosen: name(position),
            candidates,
            epsilon: mechanism.epsilon(),
            cost: mechanism.cost(),
            measurement: String::new(),
        };
        Ok(Choice { position, round })
    }

    /// Chooses one of the scored candidates. A score moves by the sensitivity of the heaviest.
    pub fn choose_scored(
        &mut self,
        scored: Scored,
        name: &dyn Fn(usize) -> Vec<String>,
        rho: f64,
    ) -> Result<Choice, MeasureError> {
        let (adjacency, max_rows) = (
            self.plan.workload.adjacency,
            self.plan.schema.unit.max_rows(),
        );
        let sensitivity = gap_sensitivity(adjacency, max_rows, scored.most_weight);
        self.choose(scored.listed.len(), name, scored.scores, sensitivity, rho)
    }

    /// Records a choice after which nothing is measured.
    pub fn record(&mut self, choice: Choice) {
        self.selection.rounds.push(choice.round);
    }

    /// The mechanism that measures a marginal with this charge.
    pub fn gaussian(&self, query: &Query, rho: f64) -> Result<GaussianMechanism, MeasureError> {
        let sensitivity = Sensitivity::of_non_negative_sum(
            query.record_norm(),
            self.plan.workload.adjacency,
            self.plan.schema.unit.max_rows(),
        )?;
        Ok(GaussianMechanism::new(sensitivity, 2.0 * rho)?)
    }

    /// Measures a marginal and, where it was chosen, records the round.
    pub fn measure(
        &mut self,
        block: Block,
        query: Query,
        choice: Option<Choice>,
        mechanism: GaussianMechanism,
        exact: Confidential<Vec<i64>>,
    ) -> Result<(), MeasureError> {
        let axes = self.measured_axes(&query);
        let shape = axes.iter().zip(query.shape(&self.plan.schema));
        let shape = shape
            .map(|(axis, levels)| self.cells(axis, levels))
            .collect();
        let noisy = mechanism.release(exact, self.accountant, self.noise)?;
        if let Some(Choice { mut round, .. }) = choice {
            round.measurement.clone_from(&query.name);
            self.selection.rounds.push(round);
        }
        let measured = measurement(block, &query, axes, shape, &mechanism, noisy);
        debug_assert_eq!(measured.scale, SCALE);
        self.measurements.push(measured);
        self.queries.push(query);
        Ok(())
    }

    fn measured_axes(&self, query: &Query) -> Vec<MeasuredAxis> {
        let axes = query.axes.iter().map(|axis| {
            let column = self.plan.schema.columns[axis.column].name.clone();
            MeasuredAxis {
                merged: self.selection.merging(&column).is_some(),
                column,
                feature: axis.feature,
            }
        });
        axes.collect()
    }

    fn cells(&self, axis: &MeasuredAxis, levels: usize) -> usize {
        let merging = self.selection.merging(&axis.column);
        merging.map_or(levels, MergedLevels::count)
    }

    /// The record of all choices.
    pub fn finish(self) -> MarginalSelection {
        self.selection
    }
}
