//! What to measure and when: from schema and workload to a plan, from a plan and data to a release.
//!
//! A [`Plan`] is made of public quantities only and can be looked at before any data are touched.
//! Counting is done in one pass; the ledger records the whole cost; only then [`run`] draws noise. Mechanisms
//! whose later questions depend on earlier noisy answers have the coded rows kept beside the counts.

mod causal;
pub mod causal_aim;
pub mod effects;
pub mod marginals;
mod plan;

pub use plan::{Guarantee, Plan, PlannedMeasurement, default_delta};

use crate::model::ModelError;
use crate::privacy::{
    Accountant, Authorisation, Confidential, GaussianMechanism, NoiseSource, NoisyAnswer,
    PrivacyError,
};
use crate::release::{
    Accounting, DeploymentCard, FORMAT, MeasuredAxis, Measurement, Provenance, Release,
};
use crate::schema::{Query, SCALE, SchemaFile};
use crate::table::CodedTable;
use crate::workload::{Block, WorkloadFile};

/// Why a plan can't be made or carried out.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Adjacency, budget and schema do not go together.
    #[error("{0}")]
    Configuration(String),
    /// The privacy room refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A model is too large, or impossible.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A query has more cells than memory can address.
    #[error(
        "the answer to {query} would have more cells than can be addressed; use fewer or coarser bins"
    )]
    TooManyCells {
        /// The query's name.
        query: String,
    },
}

/// The public documents that a release embeds.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The schema as written.
    pub schema: SchemaFile,
    /// The workload as written.
    pub workload: WorkloadFile,
}

/// What was counted for a plan.
pub struct Counted {
    /// The exact answers to [`Plan::queries`], in order.
    pub answers: Confidential<Vec<Vec<i64>>>,
    /// The coded rows, with the values of numeric covariates, where [`Plan::keeps_rows`].
    pub rows: Option<Confidential<CodedTable>>,
}

/// Draws the noise of a plan and writes the release.
///
/// `counted` is of the table and the plan. The authorisation stands for the
/// whole cost of the plan: whoever holds it has the charge in the ledger already (or declined one).
///
/// # Errors
/// Where the accountant or the sampler refuses; nothing is released then, and the charge stays.
pub fn run(
    plan: &Plan,
    documents: Documents,
    counted: Counted,
    authorisation: Authorisation,
    noise: &mut NoiseSource,
) -> Result<Release, MeasureError> {
    let mut accountant = Accountant::new(authorisation);
    let mut measurements = Vec::with_capacity(plan.measurements.len());
    for (planned, answer) in plan.measurements.iter().zip(counted.answers.into_parts()) {
        let noisy = planned.mechanism.release(answer, &mut accountant, noise)?;
        let query = &planned.query;
        measurements.push(measurement(
            planned.block,
            query,
            measured_axes(plan, query),
            query.shape(&plan.schema),
            &planned.mechanism,
            noisy,
        ));
    }
    let rows = counted.rows.as_ref();
    let effects = match &plan.effects {
        Some(effects) => Some(effects::run(
            effects,
            &plan.schema,
            plan.workload.adjacency,
            rows.ok_or_else(no_rows)?,
            &mut accountant,
            noise,
        )?),
        None => None,
    };
    let selection = match (&plan.marginals, &plan.causal_aim) {
        (Some(marginals), _) => Some(marginals::run(
            plan,
            marginals,
            rows.ok_or_else(no_rows)?,
            &mut measurements,
            &mut accountant,
            noise,
        )?),
        (None, Some(causal_aim)) => Some(causal_aim::run(
            plan,
            causal_aim,
            effects.as_ref(),
            rows.ok_or_else(no_rows)?,
            &mut measurements,
            &mut accountant,
            noise,
        )?),
        (None, None) => None,
    };
    let accounting = Accounting {
        accountant: plan.accountant(),
        adjacency: plan.workload.adjacency,
        max_rows_per_unit: plan.schema.unit.max_rows(),
        budget: plan.guarantee.budget,
        spent: accountant.spent(),
        delta: plan.guarantee.delta,
        epsilon: plan.guarantee.epsilon(accountant.spent())?,
    };
    let mut card = DeploymentCard::new(&plan.schema, &accounting, measurements.len());
    if let Some(effects) = &effects {
        card.add_effects(effects);
    }
    if let Some(selection) = &selection {
        card.add_selection(selection);
    }
    Ok(Release {
        format: FORMAT.into(),
        id: accountant.release().clone(),
        mechanism: plan.workload.mechanism_name().into(),
        provenance: Provenance {
            program: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            insecure_seed: noise.is_insecure(),
        },
        deployment_card: card,
        accounting,
        measurements,
        effects,
        selection,
        schema: documents.schema,
        workload: documents.workload,
    })
}

fn no_rows() -> MeasureError {
    MeasureError::Configuration("the plan needs the rows, which were not kept".into())
}

/// A noisy answer as the release holds it.
fn measurement(
    block: Block,
    query: &Query,
    axes: Vec<MeasuredAxis>,
    shape: Vec<usize>,
    mechanism: &GaussianMechanism,
    noisy: NoisyAnswer,
) -> Measurement {
    Measurement {
        block,
        name: query.name.clone(),
        axes,
        shape,
        mechanism: "discrete-gaussian".into(),
        scale: SCALE,
        sigma: mechanism.sigma(),
        sigma_squared: u128::from(mechanism.sigma()).pow(2).to_string(),
        sensitivity_squared: mechanism.sensitivity().squared().to_string(),
        cost: mechanism.cost(),
        values: noisy.values,
    }
}

fn measured_axes(plan: &Plan, query: &Query) -> Vec<MeasuredAxis> {
    query
        .axes
        .iter()
        .map(|axis| MeasuredAxis {
            column: plan.schema.columns[axis.column].name.clone(),
            feature: axis.feature,
            merged: false,
        })
        .collect()
}
