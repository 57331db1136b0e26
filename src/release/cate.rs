//! The release of the effect workload: noisy sums, and the parameters that later stages took from earlier ones.

use super::{
    Accounting, DeploymentCard, FORMAT, PanelMeasurement, Provenance, ReleaseError, SplitRelease,
};
use crate::privacy::ReleaseId;
use crate::schema::{Schema, SchemaFile};
use crate::workload::{CateFile, CateStage, CateWorkload};
use serde::{Deserialize, Serialize};

/// The release of the effect workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CateRelease {
    /// [`FORMAT`].
    pub format: String,
    /// A random identifier, not derived from the data; the ledger's entry carries the same.
    pub id: ReleaseId,
    /// `cate`.
    pub mechanism: String,
    /// Program and version.
    pub provenance: Provenance,
    /// The guarantee.
    pub accounting: Accounting,
    /// The deployment card.
    pub deployment_card: DeploymentCard,
    /// Of the learner `adaptive`, what each stage took from the noisy sums of those before; functions of these alone.
    #[serde(default, skip_serializing_if = "CateParameters::is_absent")]
    pub parameters: CateParameters,
    /// Of the other learners, how the records were divided, and what a regression is if the sums do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitRelease>,
    /// The noisy sums, one entry per stage, in the order in which they were drawn.
    pub measurements: Vec<PanelMeasurement>,
    /// The schema document.
    pub schema: SchemaFile,
    /// The workload document.
    pub workload: CateFile,
}

/// Public parameters of the later stages. Covariates and outcome are on the scale `[-1, 1]` of their bounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CateParameters {
    /// The number of records: public, or noisy and at least 20.
    pub records: f64,
    /// The share of the treated arm.
    pub treated_share: f64,
    /// By feature, the centre that the basis subtracts.
    pub means: Vec<f64>,
    /// By feature, the scale that the basis divides by.
    pub deviations: Vec<f64>,
    /// The weight of squares, products and cubes in the basis.
    pub curve_weight: f64,
    /// The outcome's rough mean.
    pub outcome_mean: f64,
    /// Its variance.
    pub outcome_variance: f64,
    /// Its standard deviation, the hub's noise included.
    pub outcome_scale: f64,
    /// The clip of the outcome around its mean.
    pub outcome_bound: f64,
    /// The propensity.
    pub propensity: ReleasedPropensity,
    /// By arm, the coefficients of the outcome regression on the basis.
    pub outcome_slopes: [Vec<f64>; 2],
    /// The coefficients of the first estimate of the effect.
    pub first_effect: Vec<f64>,
    /// The range of the pseudo-outcome whose spread was measured.
    pub pseudo_range: f64,
    /// The pseudo-outcome's spread.
    pub pseudo_spread: f64,
    /// The clip of the pseudo-outcome.
    pub pseudo_bound: f64,
}

/// The probability of treatment: `expit(intercept + slope u)` with the index `u = (phi - centre)' weights`, clipped to
/// the overlap bound; `share` where there are no weights.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedPropensity {
    /// The probability where it is the same for everyone.
    pub share: f64,
    /// The weights of the basis but its constant, scaled so that the index has unit variance; none where the
    /// probability is the same for everyone.
    pub weights: Vec<f64>,
    /// What is subtracted from the basis.
    pub centre: Vec<f64>,
    /// The intercept.
    pub intercept: f64,
    /// The slope.
    pub slope: f64,
    /// The overlap bound.
    pub overlap: f64,
}

/// A release of the effect workload whose documents were read and checked.
#[derive(Debug, Clone)]
pub struct CheckedCateRelease {
    /// The document.
    pub document: CateRelease,
    /// The schema that it embeds.
    pub schema: Schema,
    /// The workload that it embeds.
    pub workload: CateWorkload,
}

impl CateRelease {
    /// The measurement of a stage, where it was made.
    pub fn stage(&self, stage: CateStage) -> Option<&PanelMeasurement> {
        self.measurements.iter().find(|m| m.name == stage.name())
    }

    /// Checks that the document's parts fit each other; that the numbers of values fit the basis is checked by the
    /// analysis, which knows it.
    ///
    /// # Errors
    /// [`ReleaseError::Inconsistent`] where they do not; `file` names the document.
    pub fn check(self, file: &str) -> Result<CheckedCateRelease, ReleaseError> {
        let inconsistent = |message: String| ReleaseError::Inconsistent {
            file: file.into(),
            message,
        };
        let schema = Schema::from_file(&self.schema)
            .map_err(|e| inconsistent(format!("its schema does not hold: {e}")))?;
        let workload = CateWorkload::from_file(&self.workload, &schema)
            .map_err(|e| inconsistent(format!("its workload does not hold: {e}")))?;
        let names = self.measurements.iter().map(|m| m.name.as_str());
        let expected = match &workload.split {
            None => CateStage::ALL
                .iter()
                .map(|stage| stage.name().into())
                .collect(),
            Some(settings) => SplitRelease::measurement_names(settings),
        };
        if !names.eq(expected.iter().map(String::as_str)) {
            return Err(inconsistent(
                "its measurements are not those of its stages".into(),
            ));
        }
        for measurement in &self.measurements {
            if measurement.scale == 0 || !(-60..=60).contains(&measurement.lattice_bits) {
                return Err(inconsistent(format!(
                    "measurement {:?} has no noise, or a lattice out of range",
                    measurement.name
                )));
            }
        }
        let sound = match (&workload.split, &self.split) {
            (None, None) => self.parameters.is_sound(),
            (Some(settings), Some(split)) => split.is_sound(settings, &schema),
            _ => false,
        };
        if !sound {
            return Err(inconsistent("its parameters are out of range".into()));
        }
        Ok(CheckedCateRelease {
            document: self,
            schema,
            workload,
        })
    }

    /// The document as pretty JSON with a final newline.
    pub fn to_json(&self) -> String {
        debug_assert_eq!(self.format, FORMAT);
        super::pretty(self)
    }
}

impl CateParameters {
    /// Whether there are none, as of the learners that split the sample.
    fn is_absent(&self) -> bool {
        *self == CateParameters::default()
    }

    fn is_sound(&self) -> bool {
        let positive = [
            self.records,
            self.curve_weight,
            self.outcome_scale,
            self.outcome_bound,
            self.pseudo_range,
            self.pseudo_spread,
            self.pseudo_bound,
        ];
        let finite = [
            &self.means,
            &self.first_effect,
            &self.propensity.weights,
            &self.propensity.centre,
        ];
        positive.iter().all(|x| x.is_finite() && *x > 0.0)
            && self.deviations.iter().all(|x| x.is_finite() && *x > 0.0)
            && finite
                .into_iter()
                .chain(&self.outcome_slopes)
                .flatten()
                .all(|x| x.is_finite())
            && self.treated_share > 0.0
            && self.treated_share < 1.0
            && self.propensity.weights.len() == self.propensity.centre.len()
    }
}

impl DeploymentCard {
    /// The card of a release of the effect workload.
    pub fn of_cate(schema: &Schema, accounting: &Accounting, stages: usize) -> DeploymentCard {
        let mut card = DeploymentCard::new(schema, accounting, stages);
        card.justification = "sums are of whole numbers whose length is bounded record by record, so their sensitivity is exact; every charge was taken before its noise was drawn; parameters and noise scales of a stage depend on public quantities and on earlier noisy sums only, so the charges compose adaptively".into();
        card.preprocessing.push(
            "covariates are centred and scaled, expanded into a basis whose length is clipped, and the outcome and the pseudo-outcome are clipped, all by bounds computed from earlier noisy sums"
                .into(),
        );
        card.postprocessing = vec![
            "propensity, outcome regressions, conditional effects, shape functions and averages are computed from the noisy sums alone".into(),
        ];
        card
    }
}
