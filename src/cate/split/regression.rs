//! One part's private regression, by either base.

use super::ebm::{self, Boosted, Task};
use super::second_moment::{self, MOMENT_SCALE, MomentBasis, MomentQuestion, moments};
use super::target::Targets;
use crate::cate::{CateError, CatePlan};
use crate::privacy::{GaussianMechanism, NoiseSource, Part, Sensitivity};
use crate::release::{AdditiveModel, BoostedModel, NoiseLaw, PanelMeasurement};
use crate::schema::Schema;
use crate::table::CodedTable;
use crate::workload::{CateWorkload, SplitPart, SplitSettings};

/// What a part's regression releases, and its fit in multiples of the targets' bound.
pub struct Regression {
    /// The noisy sums.
    pub measurement: PanelMeasurement,
    /// The boosted fit, where the sums do not say it.
    pub boosted: Option<BoostedModel>,
    /// The fit.
    pub model: AdditiveModel,
}

/// The basis of a part's regression on second moments.
pub fn basis(plan: &CatePlan, settings: &SplitSettings, part: SplitPart) -> MomentBasis {
    basis_of(&plan.schema, &plan.workload, settings, part)
}

/// As [`basis`], of the documents that a release embeds.
pub fn basis_of(
    schema: &Schema,
    workload: &CateWorkload,
    settings: &SplitSettings,
    part: SplitPart,
) -> MomentBasis {
    match part == SplitPart::Propensity && settings.is_randomised {
        true => MomentBasis::constant(),
        false => MomentBasis::new(schema, &workload.columns, settings.basis),
    }
}

/// The task of a part's boosting.
pub fn task<'a>(
    plan: &'a CatePlan,
    settings: &SplitSettings,
    part: SplitPart,
    targets: &'a Targets,
) -> Task<'a> {
    Task {
        schema: &plan.schema,
        columns: &plan.workload.columns,
        treatment: plan.workload.treatment,
        targets,
        part,
        boosting: settings.boosting,
        adjacency: plan.workload.adjacency,
        mu_squared: plan.mu_squared,
        clips: true,
    }
}

/// The mechanism of second moments.
///
/// # Errors
/// Where the budget has no room for Gaussian noise.
pub fn mechanism(
    plan: &CatePlan,
    question: &MomentQuestion,
) -> Result<GaussianMechanism, CateError> {
    let reach = second_moment::reach(question);
    let adjacency = plan.workload.adjacency;
    let sensitivity = Sensitivity::of_sum(reach.norm, reach.diameter, adjacency, 1)?;
    Ok(GaussianMechanism::new(sensitivity, plan.mu_squared)?)
}

/// Regresses targets on covariates in a part, with the whole budget.
///
/// # Errors
/// Where the account or a sampler refuses.
pub fn regress(
    plan: &CatePlan,
    settings: &SplitSettings,
    kind: SplitPart,
    targets: &Targets,
    part: &mut Part<CodedTable>,
    noise: &mut NoiseSource,
) -> Result<Regression, CateError> {
    if settings.boosts(kind) {
        let Boosted { counts, model } =
            ebm::train(&task(plan, settings, kind, targets), part, noise)?;
        return Ok(Regression {
            measurement: counts,
            model: model.model.clone(),
            boosted: Some(model),
        });
    }
    let basis = basis(plan, settings, kind);
    let question = MomentQuestion {
        basis: &basis,
        targets,
        treatment: plan.workload.treatment,
    };
    let mechanism = mechanism(plan, &question)?;
    let exact = part.table.ask(&question, moments);
    let noisy = mechanism.release(exact, &mut part.accountant, noise)?;
    let measurement = PanelMeasurement {
        name: kind.name().into(),
        law: NoiseLaw::DiscreteGaussian,
        // A power of two.
        lattice_bits: (MOMENT_SCALE * MOMENT_SCALE).trailing_zeros() as i32,
        scale: mechanism.sigma(),
        sensitivity: ebm::length(&mechanism),
        cost: mechanism.cost(),
        values: noisy.values,
    };
    let fit = second_moment::fit(&measurement, &basis, targets)?;
    Ok(Regression {
        measurement,
        boosted: None,
        model: fit.model(&basis),
    })
}
