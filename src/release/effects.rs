//! The effects part of a release: what the adaptive sequence of measurements gave.

use super::DeploymentCard;
use crate::privacy::Cost;
use crate::schema::ScoreForm;
use crate::workload::Stage;
use serde::{Deserialize, Serialize};

/// The effects part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectsRelease {
    /// The candidate scores, in order.
    pub scores: Vec<ReleasedScore>,
    /// The parameters that each stage took from the noisy values of those before; functions of these alone.
    pub parameters: EffectsParameters,
    /// The rounds of the choice of scores; empty where all were kept.
    pub selection: Vec<SelectionRound>,
    /// The noisy sums, in the order in which they were drawn.
    pub measurements: Vec<EffectMeasurement>,
}

/// A candidate score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedScore {
    /// Its name.
    pub name: String,
    /// The column's name.
    pub column: String,
    /// How it comes from a record.
    pub form: ScoreForm,
}

/// Public parameters of the later stages. Outcomes and residuals are on the scale `[-1, 1]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectsParameters {
    /// `N_t`, by arm: noisy numbers of records, at least 20.
    pub counts: Vec<f64>,
    /// The rough arm means, in units of `2^-20`.
    pub centres: Vec<i64>,
    /// The scale of the residuals.
    pub residual_scale: f64,
    /// The scale that the residuals' tail implies, if it is larger.
    pub residual_spread: f64,
    /// The clip of the residuals, in units of `2^-20`.
    pub residual_bound: i64,
    /// What is left of the mean excess beyond the clip.
    pub residual_excess: f64,
    /// By candidate, the interval of a numeric value that is stretched to `[-1, 1]`.
    pub ranges: Vec<[f64; 2]>,
    /// The scores that were kept: positions among the candidates, ascending.
    pub kept: Vec<usize>,
    /// The largest norm of a record's scores in the measurement of their means, in units of `2^-10`.
    pub means_radius: i64,
    /// The largest norm of a record's scores about their centre, in the later measurements, in units of `2^-10`.
    pub radius: i64,
    /// The centre of the scores, in units of `2^-10`.
    pub score_centre: Vec<i64>,
    /// The weights of the imbalance, by arm, in units of `2^-12`.
    pub weights: Vec<i64>,
    /// The constant that stands before the scores in the Gram matrices, in units of `2^-10`.
    pub gram_constant: i64,
}

/// One choice of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionRound {
    /// The score that was chosen.
    pub chosen: String,
    /// The exponential mechanism's epsilon.
    pub epsilon: f64,
    /// What it cost.
    pub cost: Cost,
}

/// The noisy sums of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectMeasurement {
    /// The stage.
    pub stage: Stage,
    /// The number of values along each axis; of triangles of symmetric matrices, one axis.
    pub shape: Vec<usize>,
    /// The mechanism: `discrete-gaussian` or `symmetric-discrete-gaussian`.
    pub mechanism: String,
    /// How many units of `values` 1 is.
    pub scale: i64,
    /// The noise's scale parameter, in the units of `values`; of symmetric matrices, on the diagonal.
    pub sigma: u64,
    /// Of symmetric matrices, the noise's scale off the diagonal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_diagonal_sigma: Option<u64>,
    /// `sigma^2`, exact, in decimal.
    pub sigma_squared: String,
    /// The squared L2 sensitivity, exact, in squared units of `values`, in decimal.
    pub sensitivity_squared: String,
    /// What it cost.
    pub cost: Cost,
    /// The noisy sums.
    pub values: Vec<i64>,
}

impl EffectMeasurement {
    /// The noisy sums in their natural units.
    pub fn sums(&self) -> Vec<f64> {
        let scale = self.scale as f64;
        self.values.iter().map(|&v| v as f64 / scale).collect()
    }

    /// The standard deviation of the noise in natural units; of symmetric matrices, on the diagonal.
    pub fn noise(&self) -> f64 {
        self.sigma as f64 / self.scale as f64
    }
}

impl EffectsRelease {
    /// The measurement of a stage, where it was made.
    pub fn stage(&self, stage: Stage) -> Option<&EffectMeasurement> {
        self.measurements.iter().find(|m| m.stage == stage)
    }

    /// The names of the scores that were kept.
    pub fn kept_names(&self) -> Vec<&str> {
        let kept = self.parameters.kept.iter();
        kept.map(|&at| self.scores[at].name.as_str()).collect()
    }

    /// Checks that the parts fit each other, for `arms` arms and an outcome that is `numeric` or has two
    /// levels.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, arms: usize, numeric: bool) -> Result<(), String> {
        let scores = self.parameters.kept.len();
        if self
            .parameters
            .kept
            .iter()
            .any(|&at| at >= self.scores.len())
        {
            return Err("the effects keep a score that is not listed".into());
        }
        let triangle = (scores + 1) * (scores + 2) / 2;
        for measurement in &self.measurements {
            let cells = match measurement.stage {
                Stage::Arms => 2 * arms,
                Stage::Spread | Stage::OutcomeMeans => arms,
                Stage::ScoreMeans => scores,
                Stage::Imbalance => (arms - 1) * scores,
                Stage::Cross => arms * scores,
                Stage::Covariance => arms * triangle,
                Stage::Ranges | Stage::Scale | Stage::Selection => measurement.values.len(),
            };
            let stage = measurement.stage;
            if measurement.values.len() != cells {
                return Err(format!(
                    "the effects' stage {stage} does not have {cells} values"
                ));
            }
            if measurement.sigma == 0 || measurement.scale <= 0 {
                return Err(format!(
                    "the effects' stage {stage} has no noise or no scale"
                ));
            }
        }
        let needed = [
            (Stage::Arms, true),
            (Stage::Scale, numeric),
            (Stage::Spread, numeric),
            (Stage::OutcomeMeans, true),
            (Stage::ScoreMeans, scores > 0),
            (Stage::Imbalance, scores > 0),
            (Stage::Cross, scores > 0),
            (Stage::Covariance, scores > 0),
        ];
        let lacks = |&&(stage, needed): &&(Stage, bool)| needed && self.stage(stage).is_none();
        if let Some((stage, _)) = needed.iter().find(lacks) {
            return Err(format!("the effects lack their stage {stage}"));
        }
        let parameters = &self.parameters;
        if [parameters.counts.len(), parameters.centres.len()] != [arms, arms]
            || parameters
                .counts
                .iter()
                .any(|n| !(n.is_finite() && *n > 0.0))
            || parameters.residual_bound <= 0
            || (scores > 0
                && (parameters.weights.len() != arms
                    || parameters.score_centre.len() != scores
                    || parameters.weights.iter().any(|w| *w <= 0)
                    || parameters.gram_constant <= 0
                    || parameters.radius <= 0))
        {
            return Err("the effects' parameters do not fit the schema".into());
        }
        Ok(())
    }
}

impl DeploymentCard {
    /// Adds what the effects part measures.
    pub fn add_effects(&mut self, effects: &EffectsRelease) {
        self.justification = "sums are integers, so their sensitivity is exact; every charge was taken before its noise was drawn; the noise scales depend on public quantities and on earlier noisy answers only, so the charges compose adaptively".into();
        self.preprocessing.push(
            "for effects, scores of covariates are clipped in norm and outcome residuals in size, to bounds computed from earlier noisy answers, and rounded towards zero"
                .into(),
        );
        self.mechanisms.push(format!(
            "{} discrete Gaussian measurements of sums of scores and residuals, each with parameters from the noisy answers before it",
            effects.measurements.len()
        ));
        if !effects.selection.is_empty() {
            self.mechanisms.push(format!(
                "{} choices by the exponential mechanism, drawn exactly",
                effects.selection.len()
            ));
        }
    }
}
