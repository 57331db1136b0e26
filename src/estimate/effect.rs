//! One row of an analysis: an effect with its interval and everything needed to judge it.

use super::{Estimand, Estimator, Scale, Subgroup};
use serde::{Deserialize, Serialize};

/// The way from the data to the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// Straight from the release: the functional on the fitted model and on its posterior draws.
    Moment,
    /// Straight from the effects part of a release: the posterior of imbalance times slope.
    Effects,
    /// An ordinary estimator on each of the imputed tables, combined.
    Imputation,
    /// One table read as if it were the real one.
    Naive,
}

/// An estimated effect. All values are in the outcome's own units; a risk ratio has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// What is estimated.
    pub estimand: Estimand,
    /// The arm and the reference arm, such as `treat 1 - 0` (`treat 1 / 0` of a ratio); an arm mean names the
    /// arm alone.
    pub contrast: String,
    /// Whom it is about, such as `all rows` or `rows with treat = 1 and age = 16..19`.
    pub population: String,
    /// The subgroup, where it is not about everyone.
    #[serde(default)]
    pub subgroup: Option<Subgroup>,
    /// The scale on which the draws were combined and the interval is symmetric. Of a risk ratio, on the log
    /// scale, `estimate` and `interval` are exponentials, and `standard_error` and the variances are those of
    /// the logarithm times the estimate (squared): the delta method.
    #[serde(default)]
    pub scale: Scale,
    /// By which route.
    pub route: Route,
    /// By which estimator.
    pub estimator: Estimator,
    /// The combining rule's name.
    pub rule: String,
    /// Its formula.
    pub formula: String,
    /// The number of posterior draws or imputations; `None` on the naive route.
    pub m: Option<usize>,
    /// Rows per imputed table over records behind the release; `None` means infinite (the functional is
    /// evaluated on the model itself) or, on the naive route, that it does not apply.
    pub r: Option<f64>,
    /// 1 where draws carry the privacy noise only, 0 where they carry the sampling too; `None` on the
    /// naive route.
    pub kappa: Option<u8>,
    /// The number of records that the effect speaks for (public, or estimated from the release).
    pub n: f64,
    /// The point estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of the t quantile; infinite means normal (`null` in JSON).
    pub degrees_of_freedom: f64,
    /// The level of the interval, such as .95.
    pub level: f64,
    /// The interval's lower and upper end.
    pub interval: [f64; 2],
    /// The part of the variance that is sampling.
    pub sampling_variance: f64,
    /// The part of the variance that is privacy noise (and its Monte Carlo error).
    pub privacy_variance: f64,
    /// The parts of the variance by name, where the route tells them apart; they sum to the squared standard
    /// error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variance_terms: Vec<VarianceTerm>,
    /// How many propensities were clipped, on average over the draws.
    pub clipped_propensities: f64,
    /// Whether the row is computed on a table that may be confidential: such a row is not private.
    pub not_private: bool,
    /// What a reader must know about this row.
    pub notes: Vec<String>,
}

/// A part of an effect's variance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VarianceTerm {
    /// Where it comes from.
    pub source: String,
    /// Its size, in squared units of the outcome.
    pub variance: f64,
}

/// A row that was asked for and could not be estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotEstimated {
    /// What was to be estimated.
    pub estimand: Estimand,
    /// The arm and the reference arm.
    pub contrast: String,
    /// Whom it would be about.
    pub population: String,
    /// The subgroup.
    pub subgroup: Option<Subgroup>,
    /// By which route.
    pub route: Route,
    /// By which estimator.
    pub estimator: Estimator,
    /// Why not.
    pub reason: String,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// What was estimated.
    pub effects: Vec<Effect>,
    /// What was not: levels with too few rows, ratios without a risk.
    pub not_estimated: Vec<NotEstimated>,
}

/// Notes something on every effect that adjusts for covariates.
pub fn note_adjusted(effects: &mut [Effect], text: &str) {
    for effect in effects {
        if effect.estimator != Estimator::DifferenceInMeans {
            effect.notes.push(text.into());
        }
    }
}
