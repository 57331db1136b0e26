//! Regression adjustment from the arms' second moments, on a table or on a model.
//!
//! With `z = (1, s)`, `s` the scores, arm `t` has the regression `m_t(s) = ybar_t + (s - sbar_t)' beta_t`,
//! `beta_t = (C_t + lambda I)^-1 c_t`, where `C_t` and `c_t` are the arm's covariances of the scores, and of
//! the scores with the outcome. For a target population of mean score `s*`
//!
//! ```text
//! tau = m_a(s*) - m_0(s*)
//! ```
//!
//! `s*` is the mean over everyone for the ATE and over arm `a` for the ATT. Only first and second moments
//! within arms enter, so a model that yields them gives the estimate exactly, without sampling rows.
//!
//! Sampling variance, residuals homoskedastic within arms (`l_t = (C_t + lambda I)^-1 (s* - sbar_t)`):
//!
//! ```text
//! V = sum over t in {0, a} of sigma_t^2 (1 + l_t' C_t l_t) / N_t  +  Var(m_a(s) - m_0(s)) / N*
//! ```
//!
//! The last term, over the target population of `N*` records, is there because the population's
//! covariates are a sample too. `sigma_t^2` is the residual variance times `N_t / (N_t - p_t)`, `p_t` the
//! effective number of coefficients, `1 + trace(C_t (C_t + lambda I)^-1)`.
//!
//! Source: Lin (2013), *Agnostic notes on regression adjustments to experimental data*; the
//! superpopulation term as in Negi and Wooldridge (2021).

use faer::Mat;
use faer::linalg::solvers::Llt;
use ndarray::{Array1, Array2};

use super::linear::{dot, factor, quadratic_form, solve};
use super::{Estimand, Estimate, EstimateError};

/// The ridge `lambda`, in units of a score's variance (scores lie in `[-1, 1]`). It only breaks ties:
/// a level seen once in a million records has variance `1e-6`, ten thousand times as much, while a
/// direction that an arm lacks (rounding leaves it `1e-16`) gets coefficient 0.
pub const RIDGE: f64 = 1e-10;

/// One arm's moments, all of them means over the arm's records.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmMoments {
    /// The arm's number of records; need not be whole.
    pub weight: f64,
    /// `E[z z']`, `z = (1, scores)`: `(K + 1) x (K + 1)`, its first entry 1.
    pub gram: Array2<f64>,
    /// `E[z y]`, of length `K + 1`, `y` in the outcome's own units.
    pub cross: Array1<f64>,
    /// `E[y^2]`.
    pub second_moment: f64,
}

impl ArmMoments {
    /// The moments of several groups of records of the arm together; `length` is that of `z`.
    pub fn pool<'a>(groups: impl Iterator<Item = &'a ArmMoments>, length: usize) -> ArmMoments {
        let mut pooled = ArmMoments {
            weight: 0.0,
            gram: Array2::zeros((length, length)),
            cross: Array1::zeros(length),
            second_moment: 0.0,
        };
        for group in groups.filter(|group| group.weight > 0.0) {
            pooled.weight += group.weight;
            pooled.gram.scaled_add(group.weight, &group.gram);
            pooled.cross.scaled_add(group.weight, &group.cross);
            pooled.second_moment += group.weight * group.second_moment;
        }
        if pooled.weight > 0.0 {
            pooled.gram /= pooled.weight;
            pooled.cross /= pooled.weight;
            pooled.second_moment /= pooled.weight;
        }
        pooled
    }
}

/// One arm's regression.
pub(super) struct ArmRegression {
    pub weight: f64,
    /// `sbar_t`.
    pub mean_scores: Vec<f64>,
    /// `ybar_t`.
    pub mean_outcome: f64,
    /// `beta_t`.
    pub slopes: Vec<f64>,
    /// `C_t`.
    covariance: Mat<f64>,
    /// Of `C_t + lambda I`.
    cholesky: Llt<f64>,
    /// `p_t`.
    pub parameters: f64,
    /// Mean squared residual.
    residual_variance: f64,
}

impl ArmRegression {
    /// Fits an arm of positive weight.
    pub fn fit(moments: &ArmMoments) -> Result<ArmRegression, EstimateError> {
        let k = moments.cross.len().saturating_sub(1);
        if moments.gram.dim() != (k + 1, k + 1) || moments.cross.is_empty() {
            return Err(EstimateError::Malformed(
                "moments of unequal lengths".into(),
            ));
        }
        let mean_scores: Vec<f64> = (0..k).map(|i| moments.gram[(0, i + 1)]).collect();
        let mean_outcome = moments.cross[0];
        let covariance = Mat::from_fn(k, k, |i, j| {
            moments.gram[(i + 1, j + 1)] - mean_scores[i] * mean_scores[j]
        });
        let cross: Vec<f64> = (0..k)
            .map(|i| moments.cross[i + 1] - mean_scores[i] * mean_outcome)
            .collect();
        let cholesky = factor(covariance.clone(), |_| RIDGE)?;
        let slopes = solve(&cholesky, &cross);
        let inverse_trace: f64 = (0..k)
            .map(|i| {
                let unit: Vec<f64> = (0..k).map(|j| f64::from(i == j)).collect();
                solve(&cholesky, &unit)[i]
            })
            .sum();
        // E(y - m)^2 of the fitted line, exact for any slopes: s_yy - 2 beta'c + beta' C beta.
        let residual =
            moments.second_moment - mean_outcome * mean_outcome - 2.0 * dot(&slopes, &cross)
                + quadratic_form(&covariance, &slopes);
        Ok(ArmRegression {
            weight: moments.weight,
            mean_scores,
            mean_outcome,
            slopes,
            covariance,
            cholesky,
            parameters: 1.0 + k as f64 - RIDGE * inverse_trace,
            residual_variance: residual.max(0.0),
        })
    }

    /// `m_t(s)`.
    pub fn predict(&self, scores: &[f64]) -> f64 {
        let deviation: f64 = (self.slopes.iter().zip(scores).zip(&self.mean_scores))
            .map(|((slope, score), mean)| slope * (score - mean))
            .sum();
        self.mean_outcome + deviation
    }

    /// `l_t` for a target of mean score `target`.
    pub fn leverage(&self, target: &[f64]) -> Vec<f64> {
        let distance: Vec<f64> = (target.iter().zip(&self.mean_scores))
            .map(|(target, mean)| target - mean)
            .collect();
        solve(&self.cholesky, &distance)
    }

    /// `N_t / (N_t - p_t)`, or an error where no residual degree of freedom is left.
    pub fn residual_correction(&self, arm: &str) -> Result<f64, EstimateError> {
        let needed = self.parameters + 1.0;
        // The trace carries rounding of order 1e-6 where scores are collinear.
        if self.weight < needed - 1e-3 {
            return Err(EstimateError::TooFewRows {
                arm: arm.into(),
                rows: self.weight,
                needed: needed.round(),
            });
        }
        Ok(self.weight / (self.weight - self.parameters))
    }
}

/// Two arms' regressions and the population whose effect is asked for.
pub(super) struct Contrast {
    pub arm: ArmRegression,
    pub reference: ArmRegression,
    /// `s*`.
    pub target: Vec<f64>,
    /// `N*`.
    pub target_weight: f64,
    /// The number of records that entered.
    pub rows: f64,
}

impl Contrast {
    /// Fits arm `arm` against arm 0. All arms stand in order; for the ATE those that are not
    /// contrasted tell what the population is.
    pub fn fit(
        arms: &[ArmMoments],
        arm: u16,
        estimand: Estimand,
        name: impl Fn(u16) -> String,
    ) -> Result<Contrast, EstimateError> {
        if arm == 0 || usize::from(arm) >= arms.len() {
            return Err(EstimateError::NotAnArm {
                arm,
                levels: arms.len(),
            });
        }
        let regression = |t: u16| {
            let moments = &arms[usize::from(t)];
            if moments.weight.is_nan() || moments.weight <= 0.0 {
                return Err(EstimateError::EmptyArm { arm: name(t) });
            }
            ArmRegression::fit(moments)
        };
        let (reference, arm) = (regression(0)?, regression(arm)?);
        let contrasted = reference.weight + arm.weight;
        let (target, target_weight, rows) = match estimand {
            Estimand::Att => (arm.mean_scores.clone(), arm.weight, contrasted),
            Estimand::Ate => {
                let total = arms.iter().map(|a| a.weight).sum();
                let target = (0..arm.mean_scores.len())
                    .map(|i| arms.iter().map(|a| mean_term(a, 0, i)).sum::<f64>() / total)
                    .collect();
                (target, total, total)
            }
        };
        Ok(Contrast {
            arm,
            reference,
            target,
            target_weight,
            rows,
        })
    }

    /// The point estimate.
    pub fn effect(&self) -> f64 {
        self.arm.predict(&self.target) - self.reference.predict(&self.target)
    }

    /// `m_a(s) - m_0(s)`.
    pub fn effect_at(&self, scores: &[f64]) -> f64 {
        self.arm.predict(scores) - self.reference.predict(scores)
    }
}

/// An arm's contribution to the sum of `z_i z_{j+1}` over records; nothing for an empty arm, whose
/// means may be undefined.
fn mean_term(arm: &ArmMoments, i: usize, j: usize) -> f64 {
    if arm.weight > 0.0 {
        arm.weight * arm.gram[(i, j + 1)]
    } else {
        0.0
    }
}

/// Difference in means of arm `arm` against arm 0, from all arms' moments, with Welch's variance.
///
/// # Errors
/// An empty arm, or an arm of not more than one record.
pub fn difference_from_moments(arms: &[ArmMoments], arm: u16) -> Result<Estimate, EstimateError> {
    let mut value = 0.0;
    let mut variance = 0.0;
    let mut rows = 0.0;
    for (t, sign) in [(arm, 1.0), (0, -1.0)] {
        let moments = arms.get(usize::from(t)).ok_or(EstimateError::NotAnArm {
            arm: t,
            levels: arms.len(),
        })?;
        let records = moments.weight;
        if records <= 1.0 {
            return Err(EstimateError::TooFewRows {
                arm: t.to_string(),
                rows: records,
                needed: 2.0,
            });
        }
        let mean = moments.cross[0];
        value += sign * mean;
        variance += (moments.second_moment - mean * mean).max(0.0) / (records - 1.0);
        rows += records;
    }
    Estimate {
        value,
        variance,
        rows,
        clipped: 0.0,
    }
    .checked()
}

/// Regression adjustment of arm `arm` against arm 0, from all arms' moments (in the order of the
/// treatment's codes).
///
/// # Errors
/// An empty arm, an arm without residual degrees of freedom, moments that are not those of a law.
pub fn regression_from_moments(
    arms: &[ArmMoments],
    arm: u16,
    estimand: Estimand,
) -> Result<Estimate, EstimateError> {
    let name = |t: u16| t.to_string();
    let k = arms.first().map_or(0, |a| a.cross.len());
    if arms
        .iter()
        .any(|a| a.gram.dim() != (k, k) || a.cross.len() != k)
    {
        return Err(EstimateError::Malformed(
            "moments of unequal lengths".into(),
        ));
    }
    let contrast = Contrast::fit(arms, arm, estimand, name)?;
    let mut variance = 0.0;
    for (t, regression) in [(0, &contrast.reference), (arm, &contrast.arm)] {
        let leverage = regression.leverage(&contrast.target);
        let sigma2 = regression.residual_variance * regression.residual_correction(&name(t))?;
        variance +=
            sigma2 * (1.0 + quadratic_form(&regression.covariance, &leverage)) / regression.weight;
    }
    let difference: Vec<f64> = (contrast.arm.slopes.iter())
        .zip(&contrast.reference.slopes)
        .map(|(a, b)| a - b)
        .collect();
    let covariance = match estimand {
        Estimand::Att => contrast.arm.covariance.clone(),
        Estimand::Ate => {
            let n = contrast.target_weight;
            let mean = &contrast.target;
            Mat::from_fn(mean.len(), mean.len(), |i, j| {
                arms.iter().map(|a| mean_term(a, i + 1, j)).sum::<f64>() / n - mean[i] * mean[j]
            })
        }
    };
    variance += quadratic_form(&covariance, &difference).max(0.0) / contrast.target_weight;
    Estimate {
        value: contrast.effect(),
        variance,
        rows: contrast.rows,
        clipped: 0.0,
    }
    .checked()
}
