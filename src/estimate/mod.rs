//! Estimators of causal effects on tables and on models, and the rules that combine imputations.
//!
//! * [`estimate`] and [`estimate_each`]: estimators on coded tables, one table or a stack of imputations.
//! * [`regression_from_moments`]: regression adjustment from arm-wise second moments, exact on a model.
//! * [`adjusted`]: adjusted effects from a release of centred moments.
//! * [`combine()`]: one interval from many draws.
//! * [`error_budget()`](error_budget::error_budget): what a plan's intervals will be, before anything is spent.
//!
//! All of them see covariates through the public scores of [`DesignMatrix`], and return the outcome's
//! own units.

pub mod adjusted;
mod analysis;
mod analysis_row;
mod augmented;
mod combine;
mod covariates;
mod effect;
mod effects_route;
mod error;
pub mod error_budget;
mod estimand;
pub(crate) mod linear;
mod model_effect;
mod model_formula;
mod moment_route;
mod moments;
mod outcome;
mod propensity;
mod quantile;
mod sample;
mod stack;
mod subgroup;
mod weighting;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

pub use analysis::{Imputed, Request, RuleKind, from_imputations, from_table};
pub use combine::{Combined, Note, Rule, combine};
pub use covariates::{Covariate, DesignMatrix};
pub use effect::{Analysis, Effect, NotEstimated, Route, VarianceTerm, note_adjusted};
pub use effects_route::from_effects;
pub use error::EstimateError;
pub use estimand::{Estimand, Scale};
pub use moment_route::from_release;
pub use moments::{ArmMoments, RIDGE, regression_from_moments};
pub use propensity::PROPENSITY_RIDGE;
pub use sample::Rows;
pub use stack::{Options, estimate, estimate_each, imputations};
pub use subgroup::{Group, Subgroup, subgroups};

/// The estimator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Difference in means, no adjustment.
    DifferenceInMeans,
    /// Hajek inverse-propensity weighting with a logistic propensity, clipped.
    Ipw,
    /// Cross-fitted augmented inverse-propensity weighting.
    Aipw,
    /// Linear regression with arm-covariate interactions.
    Regression,
    /// Difference in means less imbalance times slope, from the centred moments of a release.
    Adjusted,
    /// The same without a prior: noise-corrected regression on the released Gram matrices.
    Gram,
    /// The effect in a fitted model itself, by its own propensities and outcome regressions.
    Model,
}

/// One estimate from one table or one model, on the estimand's [`Scale`]: the outcome's own units, or
/// their logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// The within-variance: the sampling variance that the estimator reports for the rows it saw.
    pub variance: f64,
    /// The number of rows that it saw.
    pub rows: f64,
    /// How many rows had their propensity clipped (0 for estimators without one).
    pub clipped: f64,
}

impl Estimate {
    /// The estimate, if it is a finite number with a finite variance.
    fn checked(self) -> Result<Estimate, EstimateError> {
        if self.value.is_finite() && self.variance.is_finite() {
            Ok(self)
        } else {
            Err(EstimateError::NotFinite)
        }
    }
}
