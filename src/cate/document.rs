//! The release document, from what was drawn.

use super::{CateDocuments, CateError, CatePlan};
use crate::privacy::Accountant;
use crate::release::{
    Accounting, CateParameters, CateRelease, DeploymentCard, FORMAT, PanelMeasurement, Provenance,
    SplitRelease,
};
use crate::workload::CateWorkload;

/// What was drawn.
pub struct Drawn {
    /// The parameters of the learner `adaptive`.
    pub parameters: CateParameters,
    /// The parts of the other learners.
    pub split: Option<SplitRelease>,
    /// The noisy sums.
    pub measurements: Vec<PanelMeasurement>,
}

/// Puts a release together.
///
/// # Errors
/// Where the cost can't be stated as an epsilon.
pub fn document(
    plan: &CatePlan,
    documents: CateDocuments,
    accountant: &Accountant,
    drawn: Drawn,
    insecure_seed: bool,
) -> Result<CateRelease, CateError> {
    let spent = accountant.spent();
    let private = drawn
        .split
        .as_ref()
        .is_none_or(|split| split.not_private.is_none());
    // What is not private has no epsilon.
    let delta = plan.guarantee.delta.filter(|_| private);
    let accounting = Accounting {
        accountant: plan.workload.accountant,
        adjacency: plan.workload.adjacency,
        max_rows_per_unit: plan.schema.unit.max_rows(),
        budget: plan.guarantee.budget,
        spent,
        delta,
        epsilon: delta.map(|delta| spent.epsilon(delta)).transpose()?,
    };
    let deployment_card = match (&plan.workload.split, &drawn.split) {
        (Some(settings), Some(split)) => {
            DeploymentCard::of_cate_split(&plan.schema, &accounting, settings, split)
        }
        _ => DeploymentCard::of_cate(&plan.schema, &accounting, drawn.measurements.len()),
    };
    Ok(CateRelease {
        format: FORMAT.into(),
        id: accountant.release().clone(),
        mechanism: CateWorkload::MECHANISM.into(),
        provenance: Provenance {
            program: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            insecure_seed,
        },
        deployment_card,
        accounting,
        parameters: drawn.parameters,
        split: drawn.split,
        measurements: drawn.measurements,
        schema: documents.schema,
        workload: documents.workload,
    })
}
