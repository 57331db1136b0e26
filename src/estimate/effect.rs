//! One row of an analysis: an effect with its interval and everything needed to judge it.

use super::{Estimand, Estimator};
use serde::{Deserialize, Serialize};

/// The way from the data to the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// Straight from the release: the functional on the fitted model and on its posterior draws.
    Moment,
    /// An ordinary estimator on each of the imputed tables, combined.
    Imputation,
    /// One table read as if it were the real one.
    Naive,
}

/// An estimated effect. All values are in the outcome's own units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// What is estimated.
    pub estimand: Estimand,
    /// The arm and the reference arm, such as `1 - 0`.
    pub contrast: String,
    /// Whom it is about, such as `all 445 rows` or `units with treat = 1`.
    pub population: String,
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
    /// How many propensities were clipped, on average over the draws.
    pub clipped_propensities: f64,
    /// Whether the row is computed on a table that may be confidential: such a row is not private.
    pub not_private: bool,
    /// What a reader must know about this row.
    pub notes: Vec<String>,
}

/// Notes something on every effect that adjusts for covariates.
pub fn note_adjusted(effects: &mut [Effect], text: &str) {
    for effect in effects {
        if effect.estimator != Estimator::DifferenceInMeans {
            effect.notes.push(text.into());
        }
    }
}
