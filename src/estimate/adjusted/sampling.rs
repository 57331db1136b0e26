//! What would vary without any privacy noise: the variance of the records themselves.
//!
//! The mean of `Y(t)` over a target population of mean score `m*` is estimated by
//! `ybar_t + beta_t' (m* - m_t)`. All means of scores lie on the line through the arms' means, so
//! `m* - m_t = w_t a`, `a = m_1 - m_0`:
//!
//! | target | `w_0` | `w_1` | `Sigma*` | `n*` |
//! |---|---|---|---|---|
//! | everyone | `p` | `-(1-p)` | `(1-p) W_0 + p W_1 + p (1-p) a a'` | `n` |
//! | treated | `1` | `0` | `W_1` | `N_1` |
//! | reference | `0` | `-1` | `W_0` | `N_0` |
//!
//! Write `ybar_t = mu_t + beta_t' (m_t - E s) + ebar_t`. The error is `ebar_t` plus that of the slope at
//! distance `w_t a`, independent between arms, plus `beta_t' (m* - E* s)`: the target's records are a
//! sample too. With `s_t^2` the variance that scores leave unexplained,
//!
//! ```text
//! mean of Y(t):  s_t^2 / N_t (1 + w_t^2 a' W_t^-1 a)  +  beta_t' Sigma* beta_t / n*
//! effect:        the first term of both arms          +  (beta_1 - beta_0)' Sigma* (beta_1 - beta_0) / n*
//! ```
//!
//! and two arms' means covary by `beta_1' Sigma* beta_0 / n*`. All of it is for a superpopulation: `p` and
//! the `N_t` are taken as known, their noise being of second order.
//!
//! Guards, against noise in what is plugged in: `s_t^2` is at least a quarter of `v_t`, and the leverage
//! `a' W_t^-1 a` stays between half and three times `|alpha|^2` (plus 0.1), what it is when `W_t = W`.

use faer::Mat;

use super::covariance::Shrunk;
use super::dense::dot;
use super::estimate::{Arm, Target};
use super::{CentredMoments, Constants};

/// Bounds of the leverage, in units of `|alpha|^2`, and what is added to the upper one.
const LEVERAGE_BOUNDS: [f64; 2] = [0.5, 3.0];
const LEVERAGE_SLACK: f64 = 0.1;

/// The ingredients of the sampling variance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sampling {
    share: f64,
    counts: [f64; 2],
    /// `s_t^2 / N_t`.
    unexplained: [f64; 2],
    /// `a' W_t^-1 a`.
    leverage: [f64; 2],
    /// `beta_s' W_u beta_t`, at `[u][s][t]`.
    explained: [[[f64; 2]; 2]; 2],
    /// `a' beta_t`.
    between: [f64; 2],
}

/// Imbalance and slopes at which the variance is evaluated, and how much of their squares is noise.
pub(super) struct Point {
    pub imbalance: Vec<f64>,
    pub slopes: [Vec<f64>; 2],
    /// What noise adds, on average, to `beta_t' W_t beta_t`.
    pub slope_excess: [f64; 2],
    /// What noise adds, on average, to `a' W_t^-1 a`.
    pub leverage_excess: [f64; 2],
    /// `|alpha|^2`, without noise.
    pub whitened: f64,
}

impl Sampling {
    pub fn new(
        moments: &CentredMoments,
        shrunk: &Shrunk,
        point: &Point,
        constants: &Constants,
    ) -> Sampling {
        let form = |matrix: &Mat<f64>, x: &[f64], y: &[f64]| {
            let column = |j: usize| {
                (0..x.len())
                    .map(move |i| matrix[(i, j)] * x[i])
                    .sum::<f64>()
            };
            (0..y.len()).map(|j| column(j) * y[j]).sum::<f64>()
        };
        let parameters = 1.0 + moments.scores() as f64;
        let explained = [0, 1].map(|u| {
            let beta = &point.slopes;
            [0, 1].map(|s| [0, 1].map(|t| form(&shrunk.arms[u], &beta[s], &beta[t])))
        });
        let unexplained = [0, 1].map(|t| {
            let arm = moments.arms()[t];
            let explained: f64 = explained[t][t][t] - point.slope_excess[t];
            let least = constants.unexplained_floor * arm.variance;
            let residual = (arm.variance - explained).clamp(least, arm.variance);
            // The degrees of freedom that slopes take, while there are any to speak of.
            residual / (arm.count - parameters).max(arm.count / 2.0)
        });
        let [low, high] = LEVERAGE_BOUNDS.map(|bound| bound * point.whitened);
        let leverage = [0, 1].map(|t| {
            let plain = form(&shrunk.inverses[t], &point.imbalance, &point.imbalance);
            (plain - point.leverage_excess[t]).clamp(low, high + LEVERAGE_SLACK)
        });
        Sampling {
            share: moments.treated_share(),
            counts: moments.arms().map(|arm| arm.count),
            unexplained,
            leverage,
            explained,
            between: [0, 1].map(|t| dot(&point.imbalance, &point.slopes[t])),
        }
    }

    /// Without scores.
    pub fn unadjusted(moments: &CentredMoments) -> Sampling {
        // One degree of freedom for the mean, as in Welch's variance.
        let unexplained = moments
            .arms()
            .map(|arm| arm.variance / (arm.count - 1.0).max(arm.count / 2.0));
        Sampling {
            share: moments.treated_share(),
            counts: moments.arms().map(|arm| arm.count),
            unexplained,
            leverage: [0.0; 2],
            explained: Default::default(),
            between: [0.0; 2],
        }
    }

    /// `w_t`.
    pub fn distances(&self, target: Target) -> [f64; 2] {
        match target {
            Target::Everyone => [self.share, self.share - 1.0],
            Target::Treated => [1.0, 0.0],
            Target::Reference => [0.0, -1.0],
        }
    }

    /// `s_t^2 / N_t (1 + w_t^2 a' W_t^-1 a)`.
    pub fn of_arm(&self, arm: Arm, target: Target) -> f64 {
        let t = arm.index();
        let distance = self.distances(target)[t];
        self.unexplained[t] * (1.0 + distance * distance * self.leverage[t])
    }

    /// `beta_s' Sigma* beta_t / n*` for all `s`, `t`.
    pub fn of_target(&self, target: Target) -> [[f64; 2]; 2] {
        let p = self.share;
        [0, 1].map(|s| {
            [0, 1].map(|t| {
                let [reference, treated] = self.explained.map(|u| u[s][t]);
                match target {
                    Target::Everyone => {
                        let within = (1.0 - p) * reference + p * treated;
                        let between = p * (1.0 - p) * self.between[s] * self.between[t];
                        (within + between) / (self.counts[0] + self.counts[1])
                    }
                    Target::Treated => treated / self.counts[1],
                    Target::Reference => reference / self.counts[0],
                }
            })
        })
    }
}
