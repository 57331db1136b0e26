//! Measuring: charge, draw, write the release.

use super::PanelError;
use super::plan::{PanelPlan, no_fit};
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
    let donors = &plan.blocks.donors(donors);
    let mut controls = Vec::with_capacity(plan.frame.targets.len());
    for (index, target) in plan.frame.targets.iter().enumerate() {
        let selection = plan.selection(index)?;
        let penalty = selection
            .map(|selection| selection.choose(donors, &mut accountant, noise))
            .transpose()?;
        let method = plan.method_of(index, penalty.as_ref().map(|chosen| chosen.lambda))?;
        let measurements = method.measure(donors, &mut accountant, noise)?;
        let fit = match plan.division.fit {
            Some(share) => {
                let fit = method.fit().ok_or_else(no_fit)?;
                Some(fit.measure(share, donors, &mut accountant, noise)?)
            }
            None => None,
        };
        controls.push(ReleasedControl {
            target: target.unit.clone(),
            method: plan.method,
            penalty,
            measurements,
            fit,
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
