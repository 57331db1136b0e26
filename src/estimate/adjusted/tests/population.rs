//! A simulated population whose effects are known, and noisy releases of its samples.
//!
//! Records have `K = 5` correlated scores in `[-1, 1]`, a propensity and outcomes linear in them, and
//! heterogeneous effects. A sample's exact moments get Gaussian noise of a given size.

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::estimate::adjusted::{CentredArm, CentredMoments, Target};

pub(super) const SCORES: usize = 5;

/// Of the slopes of the propensity, of `Y(0)` and of the effect.
const CONFOUNDING: [f64; SCORES] = [0.2, 0.15, -0.1, 0.1, 0.05];
const BASELINE: [f64; SCORES] = [0.25, 0.1, -0.15, 0.05, 0.1];
const EFFECT: [f64; SCORES] = [0.15, -0.1, 0.05, 0.0, 0.1];
pub(super) const MEAN_EFFECT: f64 = 0.1;
const RESIDUAL: f64 = 0.3;
/// Correlation comes from a common uniform: `s_j = (1 - MIX) u_j + MIX u_0`.
const MIX: f64 = 0.4;

fn normal(random: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(random)
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `E[s s']` by the mixing, with `Var(u) = 1/3`.
fn score_covariance(i: usize, j: usize) -> f64 {
    let own = (1.0 - MIX).powi(2) * f64::from(u8::from(i == j));
    (own + MIX * MIX) / 3.0
}

/// The law's own effects and means. The propensity is `1/2 + s' CONFOUNDING / 2`, so that
/// `E[s | T = 1] = E[s T] / E[T] = Cov(s) CONFOUNDING`, and the opposite for `T = 0`.
pub(super) fn truth(target: Target) -> f64 {
    let moved = |i: usize| -> f64 {
        (0..SCORES)
            .map(|j| score_covariance(i, j) * CONFOUNDING[j])
            .sum()
    };
    let shift: f64 = (0..SCORES).map(|i| moved(i) * EFFECT[i]).sum();
    match target {
        Target::Everyone => MEAN_EFFECT,
        Target::Treated => MEAN_EFFECT + shift,
        Target::Reference => MEAN_EFFECT - shift,
    }
}

/// How much noise: the standard deviation of the noise in an arm's sums, in units of one record.
#[derive(Clone, Copy)]
pub(super) struct Noise {
    /// Of means, covariances with the outcome, and (doubled, over all records) imbalance.
    pub vectors: f64,
    /// On the diagonal of the scores' covariance.
    pub covariance: f64,
}

/// Scores and outcome.
type Record = (Vec<f64>, f64);

/// An arm's exact moments, and its mean scores.
fn exact(rows: &[Record]) -> (CentredArm, Vec<f64>) {
    let count = rows.len() as f64;
    let mean = |f: &dyn Fn(&Record) -> f64| rows.iter().map(f).sum::<f64>() / count;
    let outcome = mean(&|row| row.1);
    let scores: Vec<f64> = (0..SCORES).map(|j| mean(&|row| row.0[j])).collect();
    let centred = |row: &Record, j: usize| row.0[j] - scores[j];
    let arm = CentredArm {
        count,
        mean: outcome,
        mean_noise: 0.0,
        variance: mean(&|row| (row.1 - outcome).powi(2)),
        cross: (0..SCORES)
            .map(|j| mean(&|row| centred(row, j) * (row.1 - outcome)))
            .collect(),
        cross_noise: 0.0,
        covariance: Array2::from_shape_fn((SCORES, SCORES), |(i, j)| {
            mean(&|row| centred(row, i) * centred(row, j))
        }),
        covariance_noise: 0.0,
    };
    (arm, scores)
}

fn add_noise(arm: &mut CentredArm, noise: Noise, random: &mut ChaCha8Rng) {
    let sd = noise.vectors / arm.count;
    arm.mean += sd * normal(random);
    arm.mean_noise = sd * sd;
    arm.cross.iter_mut().for_each(|c| *c += sd * normal(random));
    arm.cross_noise = sd * sd;
    let sd = noise.covariance / arm.count;
    arm.covariance_noise = sd;
    for i in 0..SCORES {
        for j in 0..i {
            let entry = sd / 2f64.sqrt() * normal(random);
            arm.covariance[(i, j)] += entry;
            arm.covariance[(j, i)] += entry;
        }
        arm.covariance[(i, i)] += sd * normal(random);
    }
}

/// A release of `rows` records of the population.
pub(super) fn release(rows: usize, noise: Noise, seed: u64) -> CentredMoments {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut arms = [Vec::new(), Vec::new()];
    for _ in 0..rows {
        let common = random.random_range(-1.0..1.0);
        let scores: Vec<f64> = (0..SCORES)
            .map(|_| (1.0 - MIX) * random.random_range(-1.0..1.0) + MIX * common)
            .collect();
        let treated = random.random_bool(0.5 + inner(&scores, &CONFOUNDING) / 2.0);
        let effect = MEAN_EFFECT + inner(&scores, &EFFECT);
        let outcome = inner(&scores, &BASELINE)
            + f64::from(u8::from(treated)) * effect
            + RESIDUAL * normal(random);
        arms[usize::from(treated)].push((scores, outcome));
    }
    let [(mut reference, m0), (mut treated, m1)] = arms.map(|rows| exact(&rows));
    add_noise(&mut reference, noise, random);
    add_noise(&mut treated, noise, random);
    let sd = 2.0 * noise.vectors / rows as f64;
    CentredMoments {
        imbalance: (m1.iter().zip(m0))
            .map(|(m1, m0)| m1 - m0 + sd * normal(random))
            .collect(),
        imbalance_noise: sd * sd,
        reference,
        treated,
        clipping: 0.0,
        left_out: None,
    }
}
