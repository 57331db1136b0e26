//! A second estimate, without a prior: safe where the first one's prior may be wrong, and wider.
//!
//! `tau_2 = dY - a' [(1-p) b_1 + p b_0]`, `b_t = M_t^-1 c_t` less the bias that noise in `W_t` gives an inverse:
//! for symmetric Gaussian noise `E` of variance `v` off the diagonal, `E[E A E] = v (A + tr(A) I)`, so to
//! second order `E (M+E)^-1 c = b + v A (A + tr(A) I) b`, `A = M^-1`. The correction is capped.
//!
//! Variance of `a' b` over the noise, `Sigma_b = sum_t (1-p_t)^2 vc_t A_t^2`, to second order and unbiased:
//!
//! ```text
//! a' Sigma_b a + va |b|^2 - va tr(Sigma_b)                              noise of a and c_t
//! sum_s s_s^2 |sym sum_t (1-p_t) f_st (A_t a) b_t'|_F^2                 noise of W_s
//! ```
//!
//! `Var(x' E y) = s^2 |sym x y'|_F^2` for noise `E` of standard deviation `s` on the diagonal, and `f_st` is how
//! far noise of `W_s` reaches `W_t`: `sqrt(k) (share of s) +- sqrt(k_D) (h_t)`. A shrunk entry is in error
//! by `k` times the noise's variance (noise passed on and signal held back together), whence the roots.

use faer::Mat;

use super::covariance::{Reliability, Shrunk, loadings, released};
use super::dense::dot;
use super::sampling::{Point, Sampling};
use super::{AdjustedEstimate, Arm, CentredMoments, Constants, LeftOut, Target, VarianceTerms};
use crate::estimate::EstimateError;
use crate::estimate::quantile::critical_value;

/// The prior-free estimate of the ATE, on the outcome's `[-1, 1]` scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondEstimate {
    /// The point estimate.
    pub value: f64,
    /// The parts of its variance; `adjustment` is the noise's variance, not a posterior's.
    pub variance: VarianceTerms,
}

impl SecondEstimate {
    /// The square root of the variance terms' sum.
    pub fn standard_error(&self) -> f64 {
        self.variance.total().sqrt()
    }

    /// The normal interval of the level given.
    ///
    /// # Errors
    /// A level outside `(0, 1)`.
    pub fn interval(&self, level: f64) -> Result<[f64; 2], EstimateError> {
        let half = critical_value(level, f64::INFINITY)? * self.standard_error();
        Ok([self.value - half, self.value + half])
    }
}

/// How far the two estimates of the ATE lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disagreement {
    /// The first less the second.
    pub difference: f64,
    /// The standard error of the difference, where the prior is right.
    pub standard_error: f64,
}

impl Disagreement {
    /// Whether noise explains the difference less often than with the probability `1 - level`.
    ///
    /// # Errors
    /// A level outside `(0, 1)`.
    pub fn is_beyond(&self, level: f64) -> Result<bool, EstimateError> {
        Ok(self.difference.abs() > critical_value(level, f64::INFINITY)? * self.standard_error)
    }
}

/// Least variance of the difference, as a part of the second estimate's: both variances are estimates, and
/// a difference of nearly equal ones would be noise.
const LEAST_DIFFERENCE: f64 = 0.25;

/// Compares the first estimate of the ATE with the second.
///
/// Means, sampling and omitted confounders are common to both and cancel. What is left is the error of
/// imbalance times slope. If the prior is right, no function of the release correlates with the error of a posterior mean,
/// which the first, of posterior medians, is close to; so `Var(second - first) = Var(second) - Var(first)` (Hausman 1978). It is
/// taken to be at least a quarter of `Var(second)`.
pub fn disagreement(first: &AdjustedEstimate, second: &SecondEstimate) -> Disagreement {
    let [first_variance, variance] = [first.variance, second.variance].map(|v| v.adjustment);
    let between = (variance - first_variance).max(LEAST_DIFFERENCE * variance);
    Disagreement {
        difference: first.value - second.value,
        standard_error: between.sqrt(),
    }
}

/// The prior-free estimate.
///
/// # Errors
/// As for [`fit`](super::fit).
pub fn second_estimate(
    moments: &CentredMoments,
    constants: &Constants,
) -> Result<SecondEstimate, EstimateError> {
    moments.check()?;
    constants.check()?;
    let arms = moments.arms();
    let difference = arms[1].mean - arms[0].mean;
    let (adjustment, adjustment_variance, sampling) = if moments.scores() == 0 {
        (0.0, 0.0, Sampling::unadjusted(moments))
    } else {
        let slopes = Slopes::new(moments, constants)?;
        (
            dot(&moments.imbalance, &slopes.mixed),
            slopes.variance(moments),
            Sampling::new(moments, &slopes.shrunk, &slopes.point(moments), constants),
        )
    };
    let of_target = sampling.of_target(Target::Everyone);
    let variance = VarianceTerms {
        sampling: [Arm::Reference, Arm::Treated]
            .map(|arm| sampling.of_arm(arm, Target::Everyone))
            .iter()
            .sum(),
        heterogeneity: (of_target[0][0] + of_target[1][1] - 2.0 * of_target[0][1]).max(0.0),
        mean_noise: arms[0].mean_noise + arms[1].mean_noise,
        clipping: moments.clipping,
        adjustment: adjustment_variance,
        omitted: moments.left_out.as_ref().map_or(0.0, LeftOut::bound),
    };
    let value = difference - adjustment;
    if value.is_finite() && variance.total().is_finite() {
        Ok(SecondEstimate { value, variance })
    } else {
        Err(EstimateError::NotFinite)
    }
}

/// The corrected slopes, and what their variance needs.
struct Slopes {
    share: f64,
    reliability: Reliability,
    shrunk: Shrunk,
    /// `b_t`.
    arms: [Vec<f64>; 2],
    /// `(1-p) b_1 + p b_0`.
    mixed: Vec<f64>,
}

impl Slopes {
    fn new(moments: &CentredMoments, constants: &Constants) -> Result<Slopes, EstimateError> {
        let reliability = Reliability::new(moments, constants);
        let shrunk =
            reliability.shrink(&released(moments), constants.safe_arm_limits, constants)?;
        let share = moments.treated_share();
        let noise = moments.arms().map(|arm| arm.covariance_noise.powi(2));
        let pooled = (1.0 - share).powi(2) * noise[0] + share * share * noise[1];
        let arms = [0, 1].map(|t| {
            let of_difference = (noise[0] + noise[1]) * loadings(share)[t].powi(2);
            let left = reliability.off_diagonal * pooled + reliability.difference * of_difference;
            let inverse = &shrunk.inverses[t];
            let plain = times(inverse, &moments.arms()[t].cross);
            let once = times(inverse, &plain);
            let twice = times(inverse, &once);
            let trace = trace(inverse);
            let correction: Vec<f64> = (twice.iter().zip(&once))
                .map(|(twice, once)| left / 2.0 * (twice + trace * once))
                .collect();
            let size = dot(&correction, &correction).sqrt();
            let cap = constants.correction_cap * dot(&plain, &plain).sqrt();
            let kept = if size > cap { cap / size } else { 1.0 };
            (plain.iter().zip(&correction))
                .map(|(plain, correction)| plain - kept * correction)
                .collect::<Vec<f64>>()
        });
        let mixed = (arms[0].iter().zip(&arms[1]))
            .map(|(b0, b1)| (1.0 - share) * b1 + share * b0)
            .collect();
        Ok(Slopes {
            share,
            reliability,
            shrunk,
            arms,
            mixed,
        })
    }

    /// The variance of `a' b` over the noise of `a`, `c_t` and `W_t`.
    fn variance(&self, moments: &CentredMoments) -> f64 {
        let weights = [self.share, 1.0 - self.share];
        let reached = [0, 1].map(|t| times(&self.shrunk.inverses[t], &moments.imbalance));
        let noise = moments.imbalance_noise;
        let (mut of_cross, mut of_both) = (0.0, 0.0);
        for t in 0..2 {
            let scale = weights[t].powi(2) * moments.arms()[t].cross_noise;
            of_cross += scale * dot(&reached[t], &reached[t]);
            of_both += noise * scale * self.shrunk.inverses[t].squared_norm_l2();
        }
        let of_imbalance = noise * dot(&self.mixed, &self.mixed);
        let vectors = (of_cross + of_imbalance - of_both).max(of_both);
        vectors + self.covariance_part(moments, &weights, &reached)
    }

    fn covariance_part(
        &self,
        moments: &CentredMoments,
        weights: &[f64; 2],
        reached: &[Vec<f64>; 2],
    ) -> f64 {
        let scores = moments.scores();
        let share_of = [1.0 - self.share, self.share];
        let pooled = self.reliability.off_diagonal.sqrt();
        let difference = self.reliability.difference.sqrt();
        let of_arm = |s: usize| {
            let sign = if s == 1 { 1.0 } else { -1.0 };
            let factor = [0, 1].map(|t| {
                let reach = pooled * share_of[s] + sign * difference * loadings(self.share)[t];
                weights[t] * reach
            });
            let entry = |i: usize, j: usize| {
                let each = (0..2).map(|t| factor[t] * reached[t][i] * self.arms[t][j]);
                each.sum::<f64>()
            };
            let symmetric = Mat::from_fn(scores, scores, |i, j| 0.5 * (entry(i, j) + entry(j, i)));
            moments.arms()[s].covariance_noise.powi(2) * symmetric.squared_norm_l2()
        };
        of_arm(0) + of_arm(1)
    }

    /// The plug-in point with what noise adds to its squares.
    fn point(&self, moments: &CentredMoments) -> Point {
        let arms = moments.arms();
        let noise = moments.imbalance_noise;
        let whitened = [0, 1].map(|t| {
            let inverse = &self.shrunk.inverses[t];
            dot(&moments.imbalance, &times(inverse, &moments.imbalance)) - noise * trace(inverse)
        });
        Point {
            imbalance: moments.imbalance.clone(),
            slopes: self.arms.clone(),
            slope_excess: [0, 1].map(|t| arms[t].cross_noise * trace(&self.shrunk.inverses[t])),
            leverage_excess: [0, 1].map(|t| noise * trace(&self.shrunk.inverses[t])),
            whitened: f64::midpoint(whitened[0], whitened[1]).max(0.0),
        }
    }
}

fn times(matrix: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    (0..x.len())
        .map(|i| (0..x.len()).map(|j| matrix[(i, j)] * x[j]).sum())
        .collect()
}

fn trace(matrix: &Mat<f64>) -> f64 {
    (0..matrix.nrows()).map(|i| matrix[(i, i)]).sum()
}
