//! Combining draws: from `m` estimates and their within-variances to one interval.
//!
//! Let `V` be the sampling variance of the estimator on the `n` real records, `W` the variance that
//! the noise adds, `r = n_syn / n`, `m` the number of draws, `U` the mean within-variance and `B` the
//! variance between the draws. A draw of the released statistics varies by `W` if only the noise is
//! drawn anew (`kappa = 1`) and by `V + W` if it comes from the posterior of the population
//! (`kappa = 0`); sampling `n_syn` rows adds `V / r`, which is also what `U` estimates. Hence
//!
//! ```text
//! kappa = 1:  E[U] = V / r,  E[B] = W + V / r          kappa = 0:  E[B] = V + W + V / r
//! the mean of the draws errs with variance  V + W + E[B] / m
//!
//! unified:   T = (1 + 1/m) B + (kappa r - 1) U          nu = (m - 1) [ T / ((1 + 1/m) B) ]^2
//! ```
//!
//! At `kappa = 0` this is Raghunathan's rule, at `kappa = 1` it is Rubin's only when `r = 2`: Rubin's
//! `T = (1 + 1/m) B + U` errs by `(2/r - 1) V`. As `r` grows, `T -> kappa V + (1 + 1/m) B`.
//!
//! **Where T says nothing.** Where `U` is subtracted, chance can make `T` negative, or so small that
//! `nu < 1`. Then the resampling variance is not subtracted and the whole sampling variance is added:
//!
//! ```text
//! T* = (1 + 1/m) B + r U,      E[T*] >= V + W + E[B] / m    for either kappa and any r,
//! ```
//!
//! by at least `V / r`. It also exceeds Reiter's (2002) replacement for a negative variance, `r U`,
//! which leaves the noise out. The result carries a [`Note`] that it was used.

use super::quantile::critical_value;
use super::{Estimate, EstimateError};
use crate::impute::Kappa;

/// A combining rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The rule of this module.
    Unified {
        /// What the draws vary by.
        kappa: Kappa,
        /// `r = n_syn / n`. Infinite where the functional was evaluated on the model itself: then the
        /// within-variances must be those of `n` real records (`V`, not `V / r`).
        ratio: f64,
    },
    /// Rubin's rule for missing data, `T = (1 + 1/m) B + U`.
    Rubin,
    /// Raghunathan, Reiter and Rubin's (2003) rule for fully synthetic data, `T = (1 + 1/m) B - U`.
    Raghunathan {
        /// `r = n_syn / n`, finite; it enters where `T` has to be replaced.
        ratio: f64,
    },
}

impl Rule {
    /// The rule's name.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Unified { .. } => "unified",
            Rule::Rubin => "rubin",
            Rule::Raghunathan { .. } => "raghunathan",
        }
    }

    /// The total variance as a formula, for people.
    pub fn formula(&self) -> &'static str {
        match self {
            Rule::Unified { kappa, ratio } => match (kappa, ratio.is_infinite()) {
                (Kappa::Posterior, true) => "T = (1 + 1/m) B",
                (Kappa::Noise, true) => "T = V + (1 + 1/m) B",
                (Kappa::Posterior, false) => "T = (1 + 1/m) B - U",
                (Kappa::Noise, false) => "T = (1 + 1/m) B + (r - 1) U",
            },
            Rule::Rubin => "T = (1 + 1/m) B + U",
            Rule::Raghunathan { .. } => "T = (1 + 1/m) B - U",
        }
    }

    /// The coefficient of the mean within-variance.
    fn within_coefficient(&self) -> f64 {
        match *self {
            Rule::Unified { kappa, ratio } if ratio.is_infinite() => kappa.value(),
            Rule::Unified { kappa, ratio } => kappa.value() * ratio - 1.0,
            Rule::Rubin => 1.0,
            Rule::Raghunathan { .. } => -1.0,
        }
    }

    /// The ratio by which the within-variance becomes `V`; only asked where the coefficient is negative.
    fn ratio(&self) -> f64 {
        match *self {
            Rule::Unified { ratio, .. } | Rule::Raghunathan { ratio } => ratio,
            Rule::Rubin => 1.0,
        }
    }

    fn check(&self) -> Result<(), EstimateError> {
        let valid = match *self {
            Rule::Unified { ratio, .. } => ratio > 0.0,
            Rule::Raghunathan { ratio } => ratio > 0.0 && ratio.is_finite(),
            Rule::Rubin => true,
        };
        if valid {
            Ok(())
        } else {
            Err(EstimateError::Option(
                "the ratio of synthetic to real rows must be positive (finite for raghunathan)",
            ))
        }
    }
}

/// What a reader of the interval has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The rule's variance was not positive, or had less than one degree of freedom, and was replaced
    /// by the larger `T* = (1 + 1/m) B + r U`.
    VarianceReplaced,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::VarianceReplaced => f.write_str(
                "the rule's variance was too uncertain to use; replaced by the larger T* = (1 + 1/m) B + r U: draw more imputations",
            ),
        }
    }
}

/// An estimate with its uncertainty, in the outcome's own units.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined {
    /// The mean of the draws.
    pub estimate: f64,
    /// `sqrt(T)`.
    pub standard_error: f64,
    /// `nu`; infinite where the normal law is used.
    pub degrees_of_freedom: f64,
    /// `U`, the mean within-variance.
    pub within_variance: f64,
    /// `B`, the between-variance (0 for a single table).
    pub between_variance: f64,
    /// `m`.
    pub draws: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// The rule's formula.
    pub formula: &'static str,
    /// What to know.
    pub note: Option<Note>,
}

impl Combined {
    /// One table read as if it were real: the estimator's own variance, the normal law.
    pub fn single(estimate: &Estimate) -> Combined {
        Combined {
            estimate: estimate.value,
            standard_error: estimate.variance.max(0.0).sqrt(),
            degrees_of_freedom: f64::INFINITY,
            within_variance: estimate.variance,
            between_variance: 0.0,
            draws: 1,
            rule: "single",
            formula: "T = U",
            note: None,
        }
    }

    /// The interval of a level such as .95: `estimate -+ t_nu sqrt(T)`.
    ///
    /// # Errors
    /// A level outside `(0, 1)`.
    pub fn interval(&self, level: f64) -> Result<(f64, f64), EstimateError> {
        let half = critical_value(level, self.degrees_of_freedom)? * self.standard_error;
        Ok((self.estimate - half, self.estimate + half))
    }
}

/// Combines the estimates of `m >= 2` draws.
///
/// # Errors
/// Fewer than two draws, a ratio that is not positive, an estimate that is not finite.
pub fn combine(estimates: &[Estimate], rule: Rule) -> Result<Combined, EstimateError> {
    rule.check()?;
    let draws = estimates.len();
    if draws < 2 {
        return Err(EstimateError::TooFewDraws { draws });
    }
    let m = draws as f64;
    let mean = estimates.iter().map(|e| e.value).sum::<f64>() / m;
    let within = estimates.iter().map(|e| e.variance).sum::<f64>() / m;
    let between = estimates
        .iter()
        .map(|e| (e.value - mean).powi(2))
        .sum::<f64>()
        / (m - 1.0);
    if !(mean.is_finite() && within.is_finite() && between.is_finite()) {
        return Err(EstimateError::NotFinite);
    }

    let inflated = (1.0 + 1.0 / m) * between;
    let degrees_of_freedom = |total: f64| {
        if inflated > 0.0 {
            (m - 1.0) * (total / inflated).powi(2)
        } else {
            f64::INFINITY
        }
    };
    let coefficient = rule.within_coefficient();
    let mut total = inflated + coefficient * within;
    let mut note = None;
    if coefficient < 0.0 && (total <= 0.0 || degrees_of_freedom(total) < 1.0) {
        // At an infinite ratio the within-variance is V already; no rule subtracts it there.
        total = inflated + rule.ratio() * within;
        note = Some(Note::VarianceReplaced);
    }
    Ok(Combined {
        estimate: mean,
        standard_error: total.max(0.0).sqrt(),
        degrees_of_freedom: degrees_of_freedom(total),
        within_variance: within,
        between_variance: between,
        draws,
        rule: rule.name(),
        formula: rule.formula(),
        note,
    })
}
