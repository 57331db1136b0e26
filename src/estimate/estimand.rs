//! What is estimated: a function of the arms' mean potential outcomes over a population.
//!
//! Let `mu_t` be the mean of `Y(t)` over the population. All estimands are functions of `(mu_a, mu_0)`:
//!
//! | estimand | population | function |
//! |---|---|---|
//! | ATE | everyone | `mu_a - mu_0` |
//! | ATT | the rows of arm `a` | `mu_a - mu_0` |
//! | ATC | the rows of the reference arm | `mu_a - mu_0` |
//! | arm mean | everyone | `mu_a`, the reference arm included |
//! | risk ratio | everyone | `log(mu_a / mu_0)`, reported as its exponential |
//!
//! Every estimator knows how each row moves its `mu_t` (an influence function `phi_t`), so the variance
//! of a function `f` is that of `df/dmu_a phi_a + df/dmu_0 phi_0`: exact where `f` is linear, the delta
//! method for the ratio (van der Vaart 1998, *Asymptotic Statistics*, theorem 3.1). The ratio is combined
//! and given its interval on the log scale, where its law is nearer to the normal one and the interval
//! stays positive (Katz et al. 1978).

use super::EstimateError;
use crate::schema::{Column, Kind};
use serde::{Deserialize, Serialize};

/// What is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimand {
    /// Average treatment effect: mean of `Y(arm) - Y(reference)` over everyone.
    Ate,
    /// Average effect on the treated: the same over the units of the arm.
    Att,
    /// Average effect on the controls: the same over the units of the reference arm.
    Atc,
    /// Mean of `Y(arm)` over everyone.
    ArmMean,
    /// Ratio of the mean of `Y(arm)` over everyone to that of `Y(reference)`, of a two-level outcome.
    /// An [`Estimate`](super::Estimate) holds its natural logarithm.
    RiskRatio,
}

/// The scale on which an estimand is combined, and its interval symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The outcome's own units.
    #[default]
    Identity,
    /// The natural logarithm.
    Log,
}

/// Over whom potential outcomes are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Population {
    /// Everyone, whatever the arm.
    Everyone,
    /// The rows of one arm.
    Arm(u16),
}

impl Population {
    /// Whether a row of arm `t` belongs to it.
    pub fn holds(self, t: u16) -> bool {
        match self {
            Population::Everyone => true,
            Population::Arm(arm) => arm == t,
        }
    }
}

/// A function of mean potential outcomes: its value and its derivative by each of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Functional {
    pub value: f64,
    pub gradient: Vec<f64>,
}

impl Estimand {
    /// Over whom the outcomes of arm `arm` and the reference are averaged.
    pub(super) fn population(self, arm: u16) -> Population {
        match self {
            Estimand::Ate | Estimand::ArmMean | Estimand::RiskRatio => Population::Everyone,
            Estimand::Att => Population::Arm(arm),
            Estimand::Atc => Population::Arm(0),
        }
    }

    /// The arms whose means enter, in the order of [`Estimand::of_means`]: the arm, then the reference.
    pub(super) fn arms(self, arm: u16) -> Vec<u16> {
        match self {
            Estimand::ArmMean => vec![arm],
            _ => vec![arm, 0],
        }
    }

    /// The estimand as a function of the means of [`Estimand::arms`].
    pub(super) fn of_means(self, means: &[f64]) -> Result<Functional, EstimateError> {
        let (value, gradient) = match (self, means) {
            (Estimand::ArmMean, &[mean]) => (mean, vec![1.0]),
            (Estimand::RiskRatio, &[arm, reference]) => {
                if let Some(&mean) = means.iter().find(|mean| **mean <= 0.0) {
                    return Err(EstimateError::NoRisk { mean });
                }
                ((arm / reference).ln(), vec![1.0 / arm, -1.0 / reference])
            }
            (Estimand::Ate | Estimand::Att | Estimand::Atc, &[arm, reference]) => {
                (arm - reference, vec![1.0, -1.0])
            }
            _ => {
                return Err(EstimateError::Malformed(
                    "means of other arms than the estimand's".into(),
                ));
            }
        };
        Ok(Functional { value, gradient })
    }

    /// The arms that have a row of their own, of a treatment of so many levels.
    pub(super) fn rows(self, levels: usize) -> std::ops::Range<usize> {
        match self {
            Estimand::ArmMean => 0..levels,
            _ => 1..levels,
        }
    }

    /// Whether `arm` is one of [`Estimand::rows`].
    pub(super) fn check_arm(self, arm: u16, levels: usize) -> Result<(), EstimateError> {
        if self.rows(levels).contains(&usize::from(arm)) {
            Ok(())
        } else {
            Err(EstimateError::NotAnArm { arm, levels })
        }
    }

    /// The scale on which it is combined.
    pub fn scale(self) -> Scale {
        match self {
            Estimand::RiskRatio => Scale::Log,
            _ => Scale::Identity,
        }
    }

    /// Whether it has a meaning for an outcome: a risk ratio needs one with two levels, coded 0 and 1.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check_outcome(self, outcome: &Column) -> Result<(), EstimateError> {
        let two_levels = match &outcome.kind {
            Kind::Boolean | Kind::Categorical { .. } => true,
            Kind::Integer { lower, upper, .. } => (*lower, *upper) == (0, 1),
            Kind::Real { .. } => false,
        };
        if self != Estimand::RiskRatio || two_levels {
            return Ok(());
        }
        Err(EstimateError::NumericRisk {
            outcome: outcome.name.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::fixtures::{categorical, column, integer, real};
    use crate::schema::Role;

    /// Central differences of step `1e-6` err by about `1e-10` here.
    #[test]
    fn gradients_are_derivatives() {
        let means = [0.4, 0.25];
        for estimand in [
            Estimand::Ate,
            Estimand::Att,
            Estimand::Atc,
            Estimand::ArmMean,
            Estimand::RiskRatio,
        ] {
            let count = estimand.arms(1).len();
            let functional = estimand.of_means(&means[..count]).unwrap();
            for position in 0..count {
                let moved = |step: f64| {
                    let mut means = means[..count].to_vec();
                    means[position] += step;
                    estimand.of_means(&means).unwrap().value
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!(
                    (slope - functional.gradient[position]).abs() < 1e-8,
                    "{estimand:?} {position}"
                );
            }
        }
        let ratio = Estimand::RiskRatio.of_means(&means).unwrap();
        assert!((ratio.value.exp() - 1.6).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_needs_risks() {
        let of = |means: [f64; 2]| Estimand::RiskRatio.of_means(&means);
        assert_eq!(of([0.3, 0.0]), Err(EstimateError::NoRisk { mean: 0.0 }));
        assert_eq!(of([-0.1, 0.2]), Err(EstimateError::NoRisk { mean: -0.1 }));
        let outcome = |kind| column("y", Role::Outcome, kind);
        let check = |kind| Estimand::RiskRatio.check_outcome(&outcome(kind));
        for kind in [Kind::Boolean, categorical(&["no", "yes"]), integer(1)] {
            assert_eq!(check(kind), Ok(()));
        }
        for kind in [real(0.0, 1.0), integer(2)] {
            let error = check(kind).unwrap_err().to_string();
            assert!(error.contains("`y` is numeric"), "{error}");
        }
        assert_eq!(Estimand::Ate.check_outcome(&outcome(integer(9))), Ok(()));
    }
}
