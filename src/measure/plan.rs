//! The plan: every measurement with its sensitivity, noise and charge, from public quantities only.

use super::MeasureError;
use super::causal_aim::CausalAimPlan;
use super::effects::{EffectsPlan, public_rows};
use super::marginals::MarginalsPlan;
use crate::privacy::{AccountantKind, Adjacency, Budget, Cost, GaussianMechanism};
use crate::schema::{Query, Schema};
use crate::workload::{Block, Workload};

/// The guarantee that is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guarantee {
    /// The budget.
    pub budget: Budget,
    /// The delta at which an epsilon is stated.
    pub delta: Option<f64>,
}

impl Guarantee {
    /// The guarantee of a budget; a budget without a delta of its own states epsilon at `1 / n^2` where
    /// the number of rows is public.
    pub fn new(budget: Budget, schema: &Schema) -> Guarantee {
        Guarantee {
            budget,
            delta: budget.delta().or_else(|| default_delta(schema)),
        }
    }

    /// The epsilon that a cost implies at this guarantee's delta.
    ///
    /// # Errors
    /// Where the cost is too large to convert.
    pub fn epsilon(&self, cost: Cost) -> Result<Option<f64>, MeasureError> {
        Ok(self.delta.map(|delta| cost.epsilon(delta)).transpose()?)
    }
}

/// `1 / n^2` where the number of rows is public.
pub fn default_delta(schema: &Schema) -> Option<f64> {
    schema
        .rows
        .map(|rows| 1.0 / (rows as f64 * rows as f64).max(4.0))
}

fn accountant(workload: &Workload) -> AccountantKind {
    let scores = workload.effects().is_some_and(|effects| effects.selects());
    let marginals = workload.marginals().is_some_and(|block| block.selects());
    match scores || marginals || workload.causal_aim().is_some() {
        true => AccountantKind::Zcdp,
        false => workload.accountant,
    }
}

/// One planned measurement.
#[derive(Debug, Clone)]
pub struct PlannedMeasurement {
    /// The workload's block.
    pub block: Block,
    /// The question.
    pub query: Query,
    /// The number of cells of its answer.
    pub cells: usize,
    /// The mechanism, which knows sensitivity, noise scale and cost.
    pub mechanism: GaussianMechanism,
}

/// A plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The schema.
    pub schema: Schema,
    /// The workload.
    pub workload: Workload,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The measurements, in the order in which they are drawn.
    pub measurements: Vec<PlannedMeasurement>,
    /// The effects part.
    pub effects: Option<EffectsPlan>,
    /// The rounds that choose marginals.
    pub marginals: Option<MarginalsPlan>,
    /// The rounds that choose leaves.
    pub causal_aim: Option<CausalAimPlan>,
    /// What all of it costs.
    pub cost: Cost,
}

impl Plan {
    /// Divides a budget over the workload's queries. Touches no data.
    ///
    /// # Errors
    /// Replace-one adjacency without a public number of rows; a budget that the accountant refuses; a
    /// query with too many cells.
    pub fn new(
        schema: Schema,
        workload: Workload,
        guarantee: Guarantee,
    ) -> Result<Plan, MeasureError> {
        if workload.adjacency == Adjacency::ReplaceOne && schema.rows.is_none() {
            return Err(MeasureError::Configuration(
                "replace-one adjacency treats the number of rows as public, but the schema has no `rows`; \
                 add `rows: N` if it is public knowledge, or use `adjacency: add-remove`"
                    .into(),
            ));
        }
        let total = guarantee.budget.total(accountant(&workload))?;
        let measurements = super::causal::measurements(&schema, &workload, total)?;
        let effects = workload
            .effects()
            .map(|block| {
                EffectsPlan::new(
                    block.clone(),
                    block.share * total.gaussian_mu_squared(),
                    public_rows(&schema, guarantee.delta),
                )
            })
            .transpose()?;
        let marginals = MarginalsPlan::new(&schema, &workload, &measurements, total)?;
        let before = measurements
            .iter()
            .map(|m| m.mechanism.cost())
            .chain(effects.iter().map(|effects| effects.cost))
            .fold(Cost::ZERO, |sum, cost| sum.plus(&cost));
        let causal_aim = CausalAimPlan::new(&schema, &workload, total.minus(&before).rho())?;
        let cost = causal_aim
            .iter()
            .map(|rounds| rounds.cost)
            .chain(marginals.iter().map(|marginals| marginals.cost))
            .fold(before, |sum, cost| sum.plus(&cost));
        Ok(Plan {
            schema,
            workload,
            guarantee,
            measurements,
            effects,
            marginals,
            causal_aim,
            cost,
        })
    }

    /// How charges are added up: as the workload says, but by zCDP where scores or marginals are chosen, which
    /// charges a mechanism that is not Gaussian.
    pub fn accountant(&self) -> AccountantKind {
        accountant(&self.workload)
    }

    /// Whether the rows must be kept beside the counts.
    pub fn keeps_rows(&self) -> bool {
        self.effects.is_some() || self.marginals.is_some() || self.causal_aim.is_some()
    }

    /// The queries, in the order of the measurements.
    pub fn queries(&self) -> Vec<Query> {
        self.measurements.iter().map(|m| m.query.clone()).collect()
    }
}
