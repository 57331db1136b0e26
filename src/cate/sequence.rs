//! The sequence of stages: charge, draw, and take from the noisy sums what the next stage needs.

use super::basis::Basis;
use super::document::{Drawn, document};
use super::hub::{self, Hub};
use super::moments::Moments;
use super::outcome::{self, Regressions};
use super::plan::CatePlan;
use super::pseudo::PseudoOutcome;
use super::statistics::{ArmCross, ArmGrams, HubTotals, PseudoCross, PseudoSpread};
use super::{CateError, propensity, split};
use crate::measure::effects::{Questions, Statistic, totals};
use crate::privacy::{
    Accountant, Adjacency, Authorisation, Confidential, GaussianMechanism, NoiseSource,
    Sensitivity, SymmetricGaussianMechanism,
};
use crate::release::{CateParameters, CateRelease, NoiseLaw, PanelMeasurement, ReleasedPropensity};
use crate::schema::{Design, SchemaFile};
use crate::table::CodedTable;
use crate::workload::{CateFile, CateStage};

/// The clip of the outcome around its mean, in its standard deviations (chosen by simulation).
const OUTCOME_CLIP: f64 = 2.2;

/// The range of the pseudo-outcome whose spread is measured, in the standard deviations that regressions and
/// propensity imply.
const PSEUDO_RANGE: f64 = 8.0;

/// The least mean of `e (1 - e)` that the range is computed with.
const LEAST_OVERLAP: f64 = 0.08;

/// The least mean size of the pseudo-outcome, as a share of its range.
const LEAST_SIZE: f64 = 0.02;

/// A spread from a mean size: 1.25 for normal laws, somewhat more for the heavier tails that weights bring.
const SPREAD_OF_MEAN_SIZE: f64 = 1.35;

/// The least clip of the pseudo-outcome, in half-ranges of the outcome.
const LEAST_CLIP: f64 = 0.05;

/// The public documents that a release embeds.
#[derive(Debug, Clone)]
pub struct CateDocuments {
    /// The schema as written.
    pub schema: SchemaFile,
    /// The workload as written.
    pub workload: CateFile,
}

/// Draws the noise of a plan and writes the release. The authorisation stands for the whole cost of the plan.
///
/// # Errors
/// Where the accountant or a sampler refuses; nothing is released then, and the charge stays.
pub fn run(
    plan: &CatePlan,
    documents: CateDocuments,
    table: &Confidential<CodedTable>,
    authorisation: Authorisation,
    noise: &mut NoiseSource,
) -> Result<CateRelease, CateError> {
    if let Some(settings) = &plan.workload.split {
        return split::run(plan, settings, documents, table, authorisation, noise);
    }
    let mut sequence = Sequence {
        plan,
        table,
        accountant: Accountant::new(authorisation),
        noise,
        measurements: Vec::new(),
    };
    let parameters = sequence.measure_all()?;
    let drawn = Drawn {
        parameters,
        split: None,
        measurements: sequence.measurements,
    };
    let insecure = sequence.noise.is_insecure();
    document(plan, documents, &sequence.accountant, drawn, insecure)
}

struct Sequence<'a> {
    plan: &'a CatePlan,
    table: &'a Confidential<CodedTable>,
    accountant: Accountant,
    noise: &'a mut NoiseSource,
    measurements: Vec<PanelMeasurement>,
}

impl Sequence<'_> {
    fn measure_all(&mut self) -> Result<CateParameters, CateError> {
        let features = &self.plan.features;
        let hub = self.measure(
            CateStage::Hub,
            &HubTotals {
                features: features.list.len(),
            },
        )?;
        let hub = hub::read(&self.plan.schema, features, &hub);
        let curve_weight = hub::curve_weight(hub.records, self.plan.mu_squared.sqrt());
        let (means, deviations) = (hub.means.clone(), hub.deviations.clone());
        let basis = Basis::new(features, means, deviations, curve_weight);
        let outcome_bound = (OUTCOME_CLIP * hub.outcome_scale).min(1.0);
        let gram = self.measure(CateStage::Gram, &ArmGrams { basis: &basis })?;
        let cross = self.measure(
            CateStage::Cross,
            &ArmCross {
                basis: &basis,
                centre: hub.outcome_mean,
                bound: outcome_bound,
            },
        )?;
        let moments = moments(self.plan, &basis, &gram, &hub);
        let regressions = outcome::fit(
            &basis,
            &hub,
            &moments,
            &cross.numbers(),
            cross.noise_scale(),
        )?;
        let (propensity, spread) = self.propensity(&basis, &moments)?;
        let mut parameters = parameters(&hub, &basis, &regressions, propensity);
        parameters.outcome_bound = outcome_bound;
        let share = moments.share;
        let overlap = (share * (1.0 - share) - spread * spread).max(LEAST_OVERLAP);
        parameters.pseudo_range = (PSEUDO_RANGE * (regressions.residual_variance / overlap).sqrt())
            .min(self.largest_pseudo_outcome());
        self.measure_effect(&basis, &mut parameters)?;
        Ok(parameters)
    }

    /// Both stages of the pseudo-outcome: its spread, which sets its clip, and its products with the basis.
    fn measure_effect(
        &mut self,
        basis: &Basis,
        parameters: &mut CateParameters,
    ) -> Result<(), CateError> {
        let range = parameters.pseudo_range;
        let pseudo = PseudoOutcome { basis, parameters };
        let sizes = self.measure(
            CateStage::Spread,
            &PseudoSpread {
                pseudo: &pseudo,
                range,
            },
        )?;
        let size = (sizes.numbers()[0] / parameters.records).max(LEAST_SIZE);
        parameters.pseudo_spread = SPREAD_OF_MEAN_SIZE * range * size;
        let multiple = (self.plan.workload.clip)
            .unwrap_or_else(|| hub::clip_multiple(parameters.records, self.plan.mu_squared.sqrt()));
        let clip = multiple * parameters.pseudo_spread;
        parameters.pseudo_bound = clip.max(LEAST_CLIP).min(self.largest_pseudo_outcome());
        let bound = parameters.pseudo_bound;
        let pseudo = PseudoOutcome { basis, parameters };
        self.measure(
            CateStage::Effect,
            &PseudoCross {
                pseudo: &pseudo,
                bound,
            },
        )?;
        Ok(())
    }

    /// Residuals are at most 2 and inverse probabilities at most `1 / eta`.
    fn largest_pseudo_outcome(&self) -> f64 {
        let known = hub::known_share(&self.plan.schema)
            .map_or(self.plan.workload.overlap, |share| share.min(1.0 - share));
        2.0 / known
    }

    /// The propensity and the standard deviation of its index: by the design where it is randomised, else fitted.
    fn propensity(
        &self,
        basis: &Basis,
        moments: &Moments,
    ) -> Result<(ReleasedPropensity, f64), CateError> {
        let overlap = self.plan.workload.overlap;
        if self.plan.schema.design == Design::Observational {
            return propensity::fit(basis, moments, overlap);
        }
        let constant = ReleasedPropensity {
            share: moments.share,
            overlap,
            ..ReleasedPropensity::default()
        };
        Ok((constant, 0.0))
    }

    /// Asks for a stage's exact sums, charges, draws.
    fn measure(
        &mut self,
        stage: CateStage,
        statistic: &dyn Statistic,
    ) -> Result<PanelMeasurement, CateError> {
        let questions = Questions {
            treatment: self.plan.workload.treatment,
            scorer: &self.plan.features,
            statistics: vec![statistic],
        };
        let exact = self.table.ask(&questions, |table, questions| {
            totals(table, questions)
                .into_iter()
                .flatten()
                .collect::<Vec<i64>>()
        });
        let (reach, rows) = (statistic.reach(), self.plan.schema.unit.max_rows());
        let adjacency = self.plan.workload.adjacency;
        let sensitivity = Sensitivity::of_sum(reach.norm, reach.diameter, adjacency, rows)?;
        let charge = self.plan.charge(stage);
        let (values, scale, law, cost) = if stage == CateStage::Gram {
            let mechanism = SymmetricGaussianMechanism::new(sensitivity, charge)?;
            let order = self.plan.features.terms.len();
            let values = mechanism.release(exact, order, &mut self.accountant, self.noise)?;
            (
                values,
                mechanism.sigma(),
                NoiseLaw::SymmetricDiscreteGaussian,
                mechanism.cost(),
            )
        } else {
            let mechanism = GaussianMechanism::new(sensitivity, charge)?;
            let noisy = mechanism.release(exact, &mut self.accountant, self.noise)?;
            (
                noisy.values,
                mechanism.sigma(),
                NoiseLaw::DiscreteGaussian,
                mechanism.cost(),
            )
        };
        let reach = match adjacency {
            Adjacency::AddRemove => reach.norm,
            Adjacency::ReplaceOne => reach.diameter.max(reach.norm),
        };
        let measurement = PanelMeasurement {
            name: stage.name().into(),
            law,
            // Scales are powers of two.
            lattice_bits: statistic.scale().trailing_zeros() as i32,
            scale,
            sensitivity: reach.unsigned_abs() * u64::from(rows),
            cost,
            values,
        };
        self.measurements.push(measurement.clone());
        Ok(measurement)
    }
}

/// The second moments, read with what the plan knows of the design.
fn moments(plan: &CatePlan, basis: &Basis, gram: &PanelMeasurement, hub: &Hub) -> Moments {
    let known = hub::known_share(&plan.schema).is_some();
    Moments::new(basis, gram, hub.treated_share, known)
}

fn parameters(
    hub: &Hub,
    basis: &Basis,
    regressions: &Regressions,
    propensity: ReleasedPropensity,
) -> CateParameters {
    CateParameters {
        records: hub.records,
        treated_share: hub.treated_share,
        means: hub.means.clone(),
        deviations: hub.deviations.clone(),
        curve_weight: basis.curve_weight,
        outcome_mean: hub.outcome_mean,
        outcome_variance: hub.outcome_variance,
        outcome_scale: hub.outcome_scale,
        propensity,
        outcome_slopes: regressions.slopes.clone(),
        first_effect: regressions.effect.clone(),
        ..CateParameters::default()
    }
}
