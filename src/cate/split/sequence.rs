//! The sequence of parts: divide, regress, use the fits for the next part's targets, join the accounts.

use super::published;
use super::regression::{Regression, regress};
use super::target::{Propensity, Targets};
use crate::cate::document::{Drawn, document};
use crate::cate::{CateDocuments, CateError, CatePlan};
use crate::privacy::{Accountant, Authorisation, Confidential, NoiseSource, Part, join};
use crate::release::{AdditiveModel, CateParameters, CateRelease, ReleasedPart, SplitRelease};
use crate::table::CodedTable;
use crate::workload::{CateLearner, CateWorkload, SplitPart, SplitSettings};

/// Draws the noise of a plan whose learner splits the sample, and writes the release.
///
/// # Errors
/// Where the accountant or a sampler refuses; nothing is released then, and the charge stays.
pub fn run(
    plan: &CatePlan,
    settings: &SplitSettings,
    documents: CateDocuments,
    table: &Confidential<CodedTable>,
    authorisation: Authorisation,
    noise: &mut NoiseSource,
) -> Result<CateRelease, CateError> {
    let mut whole = Accountant::new(authorisation);
    let shares: Vec<f64> = settings.parts.iter().map(|(_, share)| *share).collect();
    let parts = Part::divide(table, &shares, &whole, noise)?;
    if settings.published {
        return published::run(plan, settings, documents, parts, whole, noise);
    }
    let mut fits = Fits::new(settings);
    let mut drawn = Vec::with_capacity(parts.len());
    let mut accounts = Vec::with_capacity(parts.len());
    for (&(kind, share), mut part) in settings.parts.iter().zip(parts) {
        let targets = fits.targets(kind, &plan.workload, settings);
        let regression = regress(plan, settings, kind, &targets, &mut part, noise)?;
        fits.keep(
            kind,
            &regression,
            settings.is_randomised,
            plan.workload.overlap,
        );
        let stated = ReleasedPart {
            name: kind.name().into(),
            share,
            spent: part.accountant.spent(),
        };
        drawn.push((stated, regression));
        accounts.push(part.accountant);
    }
    join(accounts, &mut whole)?;
    let mut measurements = Vec::new();
    let (mut stated, mut boosted) = (Vec::new(), Vec::new());
    for (part, regression) in drawn {
        stated.push(part);
        measurements.push(regression.measurement);
        boosted.extend(regression.boosted);
    }
    let drawn = Drawn {
        parameters: CateParameters::default(),
        split: Some(SplitRelease::new(stated, boosted)),
        measurements,
    };
    document(plan, documents, &whole, drawn, noise.is_insecure())
}

/// What earlier parts' regressions found.
struct Fits {
    propensity: Propensity,
    outcome: AdditiveModel,
}

impl Fits {
    fn new(settings: &SplitSettings) -> Fits {
        Fits {
            propensity: Propensity::Constant(settings.known_propensity.unwrap_or(0.5)),
            outcome: AdditiveModel::default(),
        }
    }

    fn keep(&mut self, kind: SplitPart, regression: &Regression, constant: bool, overlap: f64) {
        let model = regression.model.clone();
        match kind {
            SplitPart::Propensity if constant => {
                let share = 0.5 + 0.5 * model.intercept;
                self.propensity = Propensity::Constant(share.clamp(overlap, 1.0 - overlap));
            }
            SplitPart::Propensity => self.propensity = Propensity::Fitted { model, overlap },
            SplitPart::Outcome => self.outcome = model,
            SplitPart::Effect => (),
        }
    }

    fn targets(
        &self,
        kind: SplitPart,
        workload: &CateWorkload,
        settings: &SplitSettings,
    ) -> Targets {
        match (kind, workload.learner) {
            (SplitPart::Propensity, _) => Targets::Treatment,
            (SplitPart::Outcome, learner) => Targets::Outcome {
                with_treatment: learner == CateLearner::Dr,
            },
            (SplitPart::Effect, CateLearner::R) => Targets::Residual {
                propensity: self.propensity.clone(),
                outcome: self.outcome.clone(),
                weight_bound: 1.0 - settings.overlap(workload.overlap),
            },
            (SplitPart::Effect, CateLearner::Dr) => Targets::DoublyRobust {
                propensity: self.propensity.clone(),
                outcome: self.outcome.clone(),
                clip: effect_bound(workload, settings),
            },
            (SplitPart::Effect, _) => Targets::Outcome {
                with_treatment: true,
            },
        }
    }
}

/// What the effect's targets would be without a fit: for what a plan can say, and for reading a release.
pub fn public_targets(
    kind: SplitPart,
    workload: &CateWorkload,
    settings: &SplitSettings,
) -> Targets {
    Fits::new(settings).targets(kind, workload, settings)
}

/// What a fit of 1 is in the part for the effect, in half-ranges of the outcome: the pseudo-outcome's clip, or 1.
pub fn effect_bound(workload: &CateWorkload, settings: &SplitSettings) -> f64 {
    match workload.learner {
        CateLearner::Dr => {
            // Checked workloads of this learner have one.
            workload.clip.unwrap_or(1.0) * settings.clip_unit(workload.overlap)
        }
        CateLearner::R | CateLearner::S | CateLearner::Adaptive => 1.0,
    }
}
