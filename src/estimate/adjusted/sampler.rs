//! The Gibbs sampler of imbalance, slopes and covariances.
//!
//! In the whitened coordinates of [`super::covariance`], `alpha = Lambda^(-1/2) U' a` and
//! `beta_t = B (gamma + g_t delta)`, `g_0 = -(1-p)`, `g_1 = p`, so that `a' beta = alpha' gamma` and
//! `gamma` belongs to `beta = (1-p) beta_1 + p beta_0`. The law of everything:
//!
//! ```text
//! a^ ~ N(a, va I)                     c_t ~ N(W_t beta_t, vc_t I)         W_t ~ M_t + E,  E off-diagonal N(0, v_t)
//! (alpha_j, gamma_j) ~ N(0, s_j Omega)    s_j ~ inverse chi^2, so a multivariate t
//! Omega ~ inverse Wishart             delta_j ~ N(0, w),  w inverse chi^2
//! ```
//!
//! Imbalance and slope share a **correlated** prior: confounders that move the treatment move the outcome
//! the same way more often than not, and a fit that shrank both separately would shrink their product to
//! "no confounding". The steps, each a draw from a closed form:
//!
//! 1. `(gamma, delta)` given `W_t`, `Omega`, `s`, `w`, with `alpha` integrated out: one normal of size `2K`;
//! 2. `alpha_j` given `gamma_j`: normals;
//! 3. `Omega` given `(alpha, gamma)` and `s`: Bartlett's decomposition of a 2 x 2 Wishart;
//! 4. `s_j` given `(alpha_j, gamma_j)` and `Omega`: inverse chi squared;
//! 5. `w` given `delta`: scaled inverse chi squared;
//! 6. `W_t` given `beta_t`: draw `W~` from the prior and `c~ = W~ beta + e`, then correct by regression
//!    (Matheron's rule): `x = [v (|beta|^2 I + beta beta') + vc I]^-1 (c - c~)`,
//!    `W = W~ + v (x beta' + beta x')`. The bracket is the covariance of `c~`, `v (x beta' + beta x')` that
//!    of `W~` with `c~`, applied to `x`.

use rand::Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::covariance::{Reliability, Shrunk};
use super::dense::{add_multiple, dot, factor_in_place, multiply, solve_transposed, solve_upper};
use super::left_out::Kept;
use super::{CentredMoments, Constants};
use crate::estimate::EstimateError;

/// Least noise variance of imbalance and covariances, in units of the squared scale of scores and outcome:
/// exact moments are those with noise of 1e-7, which keeps every precision finite.
const LEAST_NOISE: f64 = 1e-14;
/// Least standard deviation of the outcome, whose range is 2.
const LEAST_SPREAD: f64 = 1e-4;

/// What the sampler was asked for, per kept draw and on average.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    /// `a' beta_0` and `a' beta_1`, by draw.
    pub adjustments: Vec<[f64; 2]>,
    /// Posterior means of `alpha`, `gamma` and `delta`.
    pub alpha: Vec<f64>,
    pub gamma: Vec<f64>,
    pub delta: Vec<f64>,
    /// The scores' imbalance and covariance with the outcome, and their law, by draw.
    pub kept: Vec<Kept>,
}

/// One arm's part of the data and of the state.
struct Arm {
    cross: Vec<f64>,
    /// `vc_t`.
    noise: f64,
    /// `M_t`.
    centre: Vec<f64>,
    /// `v_t`.
    variance: f64,
    /// `g_t`.
    loading: f64,
    /// `W_t`, the state.
    covariance: Vec<f64>,
    /// The upper triangle of `B' W_t W_t B / vc_t`.
    precision: Vec<f64>,
}

/// The sampler: data, state and the buffers that its loop works in.
struct Sampler<'a> {
    constants: &'a Constants,
    scores: usize,
    /// `alpha^` and the noise variances of its entries.
    imbalance: Vec<f64>,
    imbalance_noise: Vec<f64>,
    /// Rows are the columns of `B`.
    basis: Vec<f64>,
    arms: [Arm; 2],
    /// Prior variances of `alpha_j`, `gamma_j` and `delta_j`.
    prior: [f64; 3],
    wishart: [ChiSquared<f64>; 2],
    difference: ChiSquared<f64>,
    /// Of `s_j`.
    tail: ChiSquared<f64>,
    /// `Omega`: variance of `alpha_j`, covariance, variance of `gamma_j`.
    omega: [f64; 3],
    /// `s_j`.
    scales: Vec<f64>,
    /// `w`.
    difference_variance: f64,
    alpha: Vec<f64>,
    /// `(gamma, delta)`.
    slopes: Vec<f64>,
    joint: Vec<f64>,
    rotated: Vec<f64>,
    transposed: Vec<f64>,
    beta: Vec<f64>,
    residual: Vec<f64>,
}

/// Runs the chain.
pub(super) fn run(
    moments: &CentredMoments,
    shrunk: &Shrunk,
    reliability: &Reliability,
    constants: &Constants,
    random: &mut impl Rng,
) -> Result<Chain, EstimateError> {
    let mut sampler = Sampler::new(moments, shrunk, reliability, constants)?;
    let scores = moments.scores();
    let mut chain = Chain {
        adjustments: Vec::with_capacity(constants.draws),
        alpha: vec![0.0; scores],
        gamma: vec![0.0; scores],
        delta: vec![0.0; scores],
        kept: Vec::with_capacity(constants.draws),
    };
    for iteration in 0..constants.burn_in + constants.draws {
        sampler.step(random)?;
        if iteration >= constants.burn_in {
            sampler.keep(&mut chain);
        }
    }
    let kept = 1.0 / constants.draws as f64;
    for sum in [&mut chain.alpha, &mut chain.gamma, &mut chain.delta] {
        sum.iter_mut().for_each(|v| *v *= kept);
    }
    Ok(chain)
}

impl<'a> Sampler<'a> {
    fn new(
        moments: &CentredMoments,
        shrunk: &Shrunk,
        reliability: &Reliability,
        constants: &'a Constants,
    ) -> Result<Sampler<'a>, EstimateError> {
        let scores = moments.scores();
        let (k, share) = (scores as f64, moments.treated_share());
        let spread = moments.arms().map(|arm| arm.variance.sqrt());
        let spread = spread[0].max(spread[1]).max(LEAST_SPREAD);
        let scale = constants.prior_scale;
        let prior = [scale, scale * spread, constants.difference_scale * spread].map(|s| s * s);
        let variance = reliability.posterior_variance(moments);
        let loadings = [-(1.0 - share), share];
        let arm = |t: usize| {
            let released = moments.arms()[t];
            let centre: Vec<f64> = (0..scores * scores)
                .map(|e| shrunk.arms[t][(e / scores, e % scores)])
                .collect();
            Arm {
                cross: released.cross.clone(),
                noise: released.cross_noise.max(LEAST_NOISE * spread * spread),
                covariance: centre.clone(),
                centre,
                variance: variance[t],
                loading: loadings[t],
                precision: vec![0.0; scores * scores],
            }
        };
        let basis = shrunk.basis();
        let column = |j: usize| (0..scores).map(|i| basis[(i, j)]).collect::<Vec<f64>>();
        let noise = moments.imbalance_noise.max(LEAST_NOISE);
        let degrees = |d: f64| {
            ChiSquared::new(d)
                .map_err(|_| EstimateError::Option("degrees of freedom must be positive"))
        };
        let strength = constants.prior_strength + k;
        Ok(Sampler {
            constants,
            scores,
            imbalance: (0..scores)
                .map(|j| dot(&column(j), &moments.imbalance))
                .collect(),
            imbalance_noise: shrunk.values.iter().map(|v| noise / v).collect(),
            basis: (0..scores).flat_map(column).collect(),
            arms: [arm(0), arm(1)],
            prior,
            wishart: [degrees(strength + 1.0)?, degrees(strength)?],
            difference: degrees(constants.difference_degrees + k)?,
            tail: degrees(constants.prior_degrees + 2.0)?,
            omega: [prior[0], 0.0, prior[1]],
            scales: vec![1.0; scores],
            difference_variance: prior[2],
            alpha: vec![0.0; scores],
            slopes: vec![0.0; 2 * scores],
            joint: vec![0.0; 4 * scores * scores],
            rotated: vec![0.0; scores * scores],
            transposed: vec![0.0; scores * scores],
            beta: vec![0.0; scores],
            residual: vec![0.0; scores],
        })
    }

    fn step(&mut self, random: &mut impl Rng) -> Result<(), EstimateError> {
        self.draw_slopes(random)?;
        self.draw_imbalance(random);
        self.draw_omega(random);
        self.draw_scales(random);
        let delta = &self.slopes[self.scores..];
        let prior = self.constants.difference_degrees * self.prior[2];
        self.difference_variance = (prior + dot(delta, delta)) / self.difference.sample(random);
        for t in 0..2 {
            if self.arms[t].variance > 0.0 {
                self.draw_covariance(t, random);
            }
        }
        Ok(())
    }

    /// Step 1: precision `sum_t (1, g_t)(1, g_t)' x G_t + prior`, linear term likewise.
    fn draw_slopes(&mut self, random: &mut impl Rng) -> Result<(), EstimateError> {
        let k = self.scores;
        self.slopes.fill(0.0);
        for arm in &mut self.arms {
            // Rows of `rotated` are the columns of W_t B; those of its transpose, W_t's times B.
            for (rotated, column) in (self.rotated.chunks_exact_mut(k)).zip(self.basis.chunks(k)) {
                multiply(&arm.covariance, column, rotated);
            }
            for (j, row) in self.rotated.chunks_exact(k).enumerate() {
                for (i, entry) in row.iter().enumerate() {
                    self.transposed[i * k + j] = *entry;
                }
            }
            let precision = arm.noise.recip();
            arm.precision.fill(0.0);
            let (of_gamma, of_delta) = self.slopes.split_at_mut(k);
            for (row, cross) in self.transposed.chunks_exact(k).zip(&arm.cross) {
                for (i, into) in arm.precision.chunks_exact_mut(k).enumerate() {
                    add_multiple(&mut into[i..], precision * row[i], &row[i..]);
                }
                add_multiple(of_gamma, precision * cross, row);
                add_multiple(of_delta, precision * cross * arm.loading, row);
            }
        }
        let [first, second] = &self.arms;
        let (g, h) = (first.loading, second.loading);
        for i in 0..k {
            for j in i..k {
                let (x, y) = (first.precision[i * k + j], second.precision[i * k + j]);
                self.joint[i * 2 * k + j] = x + y;
                // The off-diagonal block is wanted whole.
                self.joint[i * 2 * k + k + j] = g * x + h * y;
                self.joint[j * 2 * k + k + i] = g * x + h * y;
                self.joint[(k + i) * 2 * k + k + j] = g * g * x + h * h * y;
            }
        }
        let [of_alpha, covariance, of_gamma] = self.omega;
        for j in 0..k {
            // gamma_j given alpha^_j, alpha_j integrated out.
            let scale = self.scales[j];
            let total = scale * of_alpha + self.imbalance_noise[j];
            let mean = scale * covariance / total * self.imbalance[j];
            let explained = (scale * covariance).powi(2) / total;
            let variance = positive(scale * of_gamma - explained, scale * of_gamma);
            self.joint[j * 2 * k + j] += 1.0 / variance;
            self.slopes[j] += mean / variance;
            self.joint[(k + j) * 2 * k + k + j] += 1.0 / self.difference_variance;
        }
        if !factor_in_place(&mut self.joint, 2 * k) {
            return Err(EstimateError::NotFinite);
        }
        solve_transposed(&self.joint, &mut self.slopes);
        for x in &mut self.slopes {
            *x += normal(random);
        }
        solve_upper(&self.joint, &mut self.slopes);
        Ok(())
    }

    /// Step 2.
    fn draw_imbalance(&mut self, random: &mut impl Rng) {
        let [of_alpha, covariance, of_gamma] = self.omega;
        let slope = covariance / of_gamma;
        let variance = positive(of_alpha - covariance * slope, of_alpha);
        for j in 0..self.scores {
            let noise = self.imbalance_noise[j];
            let variance = self.scales[j] * variance;
            let posterior = 1.0 / (1.0 / variance + 1.0 / noise);
            let mean = slope * self.slopes[j] / variance + self.imbalance[j] / noise;
            self.alpha[j] = posterior * mean + posterior.sqrt() * normal(random);
        }
    }

    /// Step 3: `Omega^-1` is Wishart with the inverse of `prior + sum_j (alpha_j, gamma_j)(alpha_j, gamma_j)' / s_j`.
    fn draw_omega(&mut self, random: &mut impl Rng) {
        let strength = self.constants.prior_strength;
        let [mut s11, mut s12, mut s22] = [strength * self.prior[0], 0.0, strength * self.prior[1]];
        let pairs = self.alpha.iter().zip(&self.slopes).zip(&self.scales);
        for ((alpha, gamma), scale) in pairs {
            s11 += alpha * alpha / scale;
            s12 += alpha * gamma / scale;
            s22 += gamma * gamma / scale;
        }
        // The Cholesky factor of the inverse of S; its determinant is at least the prior's.
        let determinant = positive(s11 * s22 - s12 * s12, s11 * s22);
        let l11 = (s22 / determinant).sqrt();
        let l21 = -s12 / determinant / l11;
        let l22 = s22.sqrt().recip();
        let c1 = self.wishart[0].sample(random).sqrt();
        let c2 = self.wishart[1].sample(random).sqrt();
        let (a11, a21, a22) = (l11 * c1, l21 * c1 + l22 * normal(random), l22 * c2);
        let (w11, w12, w22) = (a11 * a11, a11 * a21, a21 * a21 + a22 * a22);
        let determinant = a11 * a11 * a22 * a22;
        self.omega = [w22 / determinant, -w12 / determinant, w11 / determinant];
    }

    /// Step 4: `s_j` given `(alpha_j, gamma_j)` and `Omega` is inverse chi squared.
    fn draw_scales(&mut self, random: &mut impl Rng) {
        let degrees = self.constants.prior_degrees;
        let [of_alpha, covariance, of_gamma] = self.omega;
        let product = of_alpha * of_gamma;
        let determinant = positive(product - covariance * covariance, product);
        for (j, scale) in self.scales.iter_mut().enumerate() {
            let (a, g) = (self.alpha[j], self.slopes[j]);
            let square = of_gamma * a * a - 2.0 * covariance * a * g + of_alpha * g * g;
            *scale = (degrees + square / determinant) / self.tail.sample(random);
        }
    }

    /// Step 6 for arm `t`.
    fn draw_covariance(&mut self, t: usize, random: &mut impl Rng) {
        let k = self.scores;
        let arm = &mut self.arms[t];
        self.beta.fill(0.0);
        for (j, column) in self.basis.chunks_exact(k).enumerate() {
            let coordinate = self.slopes[j] + arm.loading * self.slopes[k + j];
            add_multiple(&mut self.beta, coordinate, column);
        }
        let sd = arm.variance.sqrt();
        for i in 0..k {
            for j in 0..i {
                let entry = arm.centre[i * k + j] + sd * normal(random);
                arm.covariance[i * k + j] = entry;
                arm.covariance[j * k + i] = entry;
            }
            let on_diagonal = sd * std::f64::consts::SQRT_2 * normal(random);
            arm.covariance[i * k + i] = arm.centre[i * k + i] + on_diagonal;
        }
        let noise = arm.noise.sqrt();
        multiply(&arm.covariance, &self.beta, &mut self.residual);
        for (x, cross) in self.residual.iter_mut().zip(&arm.cross) {
            *x = cross - *x - noise * normal(random);
        }
        // The inverse of s I + v beta beta', by Sherman and Morrison.
        let v = arm.variance;
        let square = v * dot(&self.beta, &self.beta);
        let s = square + arm.noise;
        let along = v * dot(&self.beta, &self.residual) / (s + square);
        for (x, b) in self.residual.iter_mut().zip(&self.beta) {
            *x = (*x - b * along) / s;
        }
        for (i, row) in arm.covariance.chunks_exact_mut(k).enumerate() {
            add_multiple(row, v * self.residual[i], &self.beta);
            add_multiple(row, v * self.beta[i], &self.residual);
        }
    }

    /// `a = U Lambda^(1/2) alpha` and `c = U Lambda^(1/2) gamma`, score by score.
    fn moments(&self) -> Vec<[f64; 2]> {
        let k = self.scores;
        let mut moments = vec![[0.0; 2]; k];
        for (j, column) in self.basis.chunks_exact(k).enumerate() {
            // A column of `B` is `u_j / lambda_j^(1/2)`, so its square is `1 / lambda_j`.
            let value = 1.0 / dot(column, column);
            for (moment, entry) in moments.iter_mut().zip(column) {
                moment[0] += value * entry * self.alpha[j];
                moment[1] += value * entry * self.slopes[j];
            }
        }
        moments
    }

    fn keep(&self, chain: &mut Chain) {
        let (gamma, delta) = self.slopes.split_at(self.scores);
        let (common, difference) = (dot(&self.alpha, gamma), dot(&self.alpha, delta));
        let adjustments = [0, 1].map(|t| common + self.arms[t].loading * difference);
        chain.adjustments.push(adjustments);
        chain.kept.push(Kept {
            moments: self.moments(),
            omega: self.omega,
        });
        let sums = [&mut chain.alpha, &mut chain.gamma, &mut chain.delta];
        for (sum, draw) in sums.into_iter().zip([&self.alpha[..], gamma, delta]) {
            sum.iter_mut().zip(draw).for_each(|(sum, v)| *sum += v);
        }
    }
}

/// A difference that is positive in exact arithmetic, kept so where rounding takes it to 0.
fn positive(value: f64, scale: f64) -> f64 {
    value.max(1e-12 * scale)
}

fn normal(random: &mut impl Rng) -> f64 {
    StandardNormal.sample(random)
}
