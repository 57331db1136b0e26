//! The names of things on the screen and in pictures.

use crate::estimate::{Effect, Estimand, Estimator, Route};
use crate::schema;

/// The outcome that effects are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its column's name.
    pub name: String,
    /// What it is and in which unit, such as `earnings in 1978, US dollars`.
    pub label: Option<String>,
}

impl Outcome {
    /// The outcome of an outcome column.
    pub fn of(column: &schema::Column) -> Outcome {
        Outcome {
            name: column.name.clone(),
            label: column.label.clone(),
        }
    }

    /// The name, and the label where there is one: `re78: earnings in 1978, US dollars`.
    pub fn description(&self) -> String {
        match &self.label {
            Some(label) => format!("{}: {label}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The mark of a row that was computed on a table that may be confidential.
pub(super) const NOT_PRIVATE: &str = "NOT PRIVATE";

/// The estimand as abbreviated in the field.
pub(super) fn estimand(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::Ate => "ATE",
        Estimand::Att => "ATT",
        Estimand::Atc => "ATC",
        Estimand::ArmMean => "Mean",
        Estimand::RiskRatio => "Risk ratio",
    }
}

/// The estimator's name.
pub(super) fn estimator(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::DifferenceInMeans => "difference in means",
        Estimator::Ipw => "IPW",
        Estimator::Aipw => "AIPW",
        Estimator::Regression => "regression",
        Estimator::Adjusted => "adjusted",
        Estimator::Gram => "Gram, no prior",
        Estimator::Model => "model",
    }
}

/// The route's name.
pub(super) fn route(route: Route) -> &'static str {
    match route {
        Route::Moment => "moment",
        Route::Effects => "effects",
        Route::Imputation => "imputation",
        Route::Naive => "naive",
    }
}

/// What is estimated: `ATE (1 - 0)`.
pub(super) fn effect(effect: &Effect) -> String {
    format!("{} ({})", estimand(effect.estimand), effect.contrast)
}

/// The subgroup that a row is about: `age = 16..19`, or `all`.
pub(super) fn subgroup(effect: &Effect) -> String {
    let named = effect.subgroup.as_ref().map(ToString::to_string);
    named.unwrap_or_else(|| "all".into())
}

/// How it is estimated: `imputation, difference in means`.
pub(super) fn method(effect: &Effect) -> String {
    format!("{}, {}", route(effect.route), estimator(effect.estimator))
}

/// The level in percent as it stands before the word "interval": `95 %`.
pub(super) fn level(level: f64) -> String {
    format!("{} %", super::numbers::significant(100.0 * level, 4))
}

/// The share of the variance that is privacy noise, where the variance is positive and finite.
pub(super) fn privacy_share(effect: &Effect) -> Option<f64> {
    let privacy = effect.privacy_variance.max(0.0);
    let total = effect.sampling_variance.max(0.0) + privacy;
    (total.is_finite() && total > 0.0).then(|| privacy / total)
}

#[cfg(test)]
pub(super) mod examples {
    use super::*;
    use crate::estimate::Scale;

    /// An effect on LaLonde's outcome.
    pub(in crate::report) fn lalonde(route: Route, estimator: Estimator, estimate: f64) -> Effect {
        let standard_error = 671.0;
        let naive = route == Route::Naive;
        Effect {
            estimand: Estimand::Ate,
            contrast: "1 - 0".into(),
            population: "all 445 rows".into(),
            subgroup: None,
            scale: Scale::Identity,
            route,
            estimator,
            rule: if naive { "none" } else { "unified" }.into(),
            formula: if naive {
                ""
            } else {
                "T = (1 + 1/m) B + (kappa r - 1) U"
            }
            .into(),
            m: (!naive).then_some(50),
            r: (route == Route::Imputation).then_some(1.0),
            kappa: (!naive).then_some(1),
            n: 445.0,
            estimate,
            standard_error,
            degrees_of_freedom: if naive { 443.0 } else { f64::INFINITY },
            level: 0.95,
            interval: [estimate - 1315.0, estimate + 1315.0],
            sampling_variance: if naive { 450_241.0 } else { 396_212.0 },
            privacy_variance: if naive { 0.0 } else { 54_029.0 },
            variance_terms: vec![],
            clipped_propensities: if naive { 0.0 } else { 0.4 },
            not_private: naive,
            notes: vec![],
        }
    }

    pub(in crate::report) fn earnings() -> Outcome {
        Outcome {
            name: "re78".into(),
            label: Some("earnings in 1978, US dollars".into()),
        }
    }
}
