//! Regression adjustment from the arms' second moments, on a table or on a model.
//!
//! With `z = (1, s)`, `s` the scores, arm `t` has the regression `m_t(s) = ybar_t + (s - sbar_t)' beta_t`,
//! `beta_t = (C_t + lambda I)^-1 c_t`, where `C_t` and `c_t` are the arm's covariances of the scores, and of
//! the scores with the outcome. For a target population of mean score `s*`
//!
//! ```text
//! mu_t = m_t(s*),     tau = f(mu_a, mu_0),     g_t = df / dmu_t
//! ```
//!
//! `s*` is the mean over everyone, or over an arm where that is the population ([`Estimand`]). Only first
//! and second moments within arms enter, so a model that yields them gives the estimate exactly, without
//! sampling rows.
//!
//! Sampling variance, residuals homoskedastic within arms (`l_t = (C_t + lambda I)^-1 (s* - sbar_t)`):
//!
//! ```text
//! V = sum over t of g_t^2 sigma_t^2 (1 + l_t' C_t l_t) / N_t  +  Var(sum over t of g_t m_t(s)) / N*
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

use super::estimand::{Functional, Population};
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

/// The regressions of an estimand's arms, and the population over which they are averaged.
pub(super) struct Contrast {
    /// The arms with their regressions: the arm, then the reference where it enters.
    pub sides: Vec<(u16, ArmRegression)>,
    /// `s*`.
    pub target: Vec<f64>,
    /// `N*`.
    pub target_weight: f64,
    /// The number of records that entered.
    pub rows: f64,
    /// The estimand at the means `m_t(s*)`.
    pub functional: Functional,
}

impl Contrast {
    /// Fits the estimand of arm `arm`. All arms stand in order; where the population is everyone those
    /// that do not enter tell who that is.
    pub fn fit(
        arms: &[ArmMoments],
        arm: u16,
        estimand: Estimand,
        name: impl Fn(u16) -> String,
    ) -> Result<Contrast, EstimateError> {
        estimand.check_arm(arm, arms.len())?;
        let regression = |t: u16| {
            let moments = &arms[usize::from(t)];
            if moments.weight.is_nan() || moments.weight <= 0.0 {
                return Err(EstimateError::EmptyArm { arm: name(t) });
            }
            Ok((t, ArmRegression::fit(moments)?))
        };
        let sides = (estimand.arms(arm).into_iter())
            .map(regression)
            .collect::<Result<Vec<_>, _>>()?;
        let (target, target_weight) = target(arms, estimand.population(arm));
        let rows = match estimand.population(arm) {
            Population::Everyone => target_weight,
            Population::Arm(_) => sides.iter().map(|(_, side)| side.weight).sum(),
        };
        let means: Vec<f64> = (sides.iter())
            .map(|(_, side)| side.predict(&target))
            .collect();
        let functional = estimand.of_means(&means)?;
        Ok(Contrast {
            sides,
            target,
            target_weight,
            rows,
            functional,
        })
    }

    /// `sum over t of g_t (m_t(s) - m_t(s*))`: by how much a row of the population moves the estimand,
    /// times `N*`.
    pub fn deviation_at(&self, scores: &[f64]) -> f64 {
        (self.sides.iter().zip(&self.functional.gradient))
            .map(|((_, side), slope)| slope * (side.predict(scores) - side.predict(&self.target)))
            .sum()
    }
}

/// The mean scores of a population and its number of records.
fn target(arms: &[ArmMoments], population: Population) -> (Vec<f64>, f64) {
    let members: Vec<&ArmMoments> = (0u16..)
        .zip(arms)
        .filter_map(|(t, arm)| population.holds(t).then_some(arm))
        .collect();
    let total: f64 = members.iter().map(|a| a.weight).sum();
    let scores = arms.first().map_or(0, |a| a.cross.len().saturating_sub(1));
    let mean = |i| members.iter().map(|a| mean_term(a, 0, i)).sum::<f64>() / total;
    ((0..scores).map(mean).collect(), total)
}

/// The covariance matrix of the scores in a population of mean scores `mean`.
fn covariance(arms: &[ArmMoments], population: Population, mean: &[f64], total: f64) -> Mat<f64> {
    Mat::from_fn(mean.len(), mean.len(), |i, j| {
        let sum: f64 = (0u16..)
            .zip(arms)
            .filter(|(t, _)| population.holds(*t))
            .map(|(_, a)| mean_term(a, i + 1, j))
            .sum();
        sum / total - mean[i] * mean[j]
    })
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

/// The estimand from the arms' own means, unadjusted, with Welch's variance.
///
/// # Errors
/// An empty arm, or an arm of not more than one record.
pub fn difference_from_moments(
    arms: &[ArmMoments],
    arm: u16,
    estimand: Estimand,
) -> Result<Estimate, EstimateError> {
    let mut means = Vec::new();
    let mut variances = Vec::new();
    let mut rows = 0.0;
    for t in estimand.arms(arm) {
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
        means.push(mean);
        variances.push((moments.second_moment - mean * mean).max(0.0) / (records - 1.0));
        rows += records;
    }
    let functional = estimand.of_means(&means)?;
    let variance = (functional.gradient.iter().zip(&variances))
        .map(|(slope, variance)| slope * slope * variance)
        .sum();
    Estimate {
        value: functional.value,
        variance,
        rows,
        clipped: 0.0,
    }
    .checked()
}

/// Regression adjustment of an estimand of arm `arm`, from all arms' moments (in the order of the
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
    let gradient = &contrast.functional.gradient;
    let mut variance = 0.0;
    let mut slopes = vec![0.0; contrast.target.len()];
    for ((t, regression), g) in contrast.sides.iter().zip(gradient) {
        let leverage = regression.leverage(&contrast.target);
        let sigma2 = regression.residual_variance * regression.residual_correction(&name(*t))?;
        variance += g * g * sigma2 * (1.0 + quadratic_form(&regression.covariance, &leverage))
            / regression.weight;
        for (sum, slope) in slopes.iter_mut().zip(&regression.slopes) {
            *sum += g * slope;
        }
    }
    let total = contrast.target_weight;
    let spread = covariance(arms, estimand.population(arm), &contrast.target, total);
    variance += quadratic_form(&spread, &slopes).max(0.0) / total;
    Estimate {
        value: contrast.functional.value,
        variance,
        rows: contrast.rows,
        clipped: 0.0,
    }
    .checked()
}
