//! Measuring: charge, draw, write the release.

use super::PanelError;
use super::plan::PanelPlan;
use crate::privacy::{Accountant, Adjacency, Authorisation, Confidential, NoiseSource};
use crate::release::{
    Accounting, DeploymentCard, FORMAT, PanelRelease, Provenance, ReleasedControl,
};
use crate::schema::PanelFile;
use crate::table::DonorRows;
use crate::workload::{DpscFile, DpscWorkload};

/// The public documents that a release embeds.
#[derive(Debug, Clone)]
pub struct PanelDocuments {
    /// The schema as written.
    pub schema: PanelFile,
    /// The workload as written.
    pub workload: DpscFile,
}

/// Draws the noise of a plan and writes the release. The authorisation stands for the whole cost of the plan.
///
/// # Errors
/// Where the accountant or a sampler refuses; nothing is released then, and the charge stays.
pub fn run(
    plan: &PanelPlan,
    documents: PanelDocuments,
    donors: &Confidential<DonorRows>,
    authorisation: Authorisation,
    noise: &mut NoiseSource,
) -> Result<PanelRelease, PanelError> {
    let mut accountant = Accountant::new(authorisation);
    let mut controls = Vec::with_capacity(plan.frame.targets.len());
    for (index, target) in plan.frame.targets.iter().enumerate() {
        let method = plan.method_of(index)?;
        controls.push(ReleasedControl {
            target: target.unit.clone(),
            method: plan.method,
            measurements: method.measure(donors, &mut accountant, noise)?,
        });
    }
    let (epsilon, delta) = plan.epsilon(accountant.spent())?;
    let accounting = Accounting {
        accountant: plan.accountant(),
        adjacency: Adjacency::ReplaceOne,
        max_rows_per_unit: 1,
        budget: plan.budget,
        spent: accountant.spent(),
        delta,
        epsilon,
    };
    Ok(PanelRelease {
        format: FORMAT.into(),
        id: accountant.release().clone(),
        mechanism: DpscWorkload::MECHANISM.into(),
        provenance: Provenance {
            program: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            insecure_seed: noise.is_insecure(),
        },
        deployment_card: DeploymentCard::of_panel(
            &plan.schema,
            &plan.frame,
            &accounting,
            &controls,
        ),
        accounting,
        frame: plan.frame.clone(),
        controls,
        schema: documents.schema,
        workload: documents.workload,
    })
}
