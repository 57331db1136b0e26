//! The scores' covariance: the noisy matrices of the two arms, shrunk, kept positive, and whitened.
//!
//! With `p` the treated share, `W = (1-p) W_0 + p W_1` is pooled and `D = W_1 - W_0` is the arms' difference,
//! so that `W_t = W + h_t D`, `h_0 = -p`, `h_1 = 1-p`. All shrinkage is by reliability, signal variance over
//! signal plus noise variance, where the signal's is what the entries' mean square exceeds the noise by:
//!
//! * off-diagonal entries of `W` towards 0 by `k`, diagonal entries towards their mean; eigenvalues of the
//!   result are floored, which gives `W = U diag(lambda) U'`;
//! * `W^(-1/2) D W^(-1/2)` by `k_D`, its eigenvalues limited after scaling by `h_t`, so that
//!   `M_t = W^(1/2) (I + limited(k_D h_t D)) W^(1/2)` is positive definite.
//!
//! `M_t` is the centre of the sampler's law of `W_t`, `W_t = M_t + E`, `E` symmetric Gaussian of variance
//! `v_t` off and `2 v_t` on the diagonal. With `t^2` and `q` the signal variances of `W` and `D`, and `s_t^2`
//! the noise variance of `W_t` (all off the diagonal), `v_t` is `h' S h` for
//! `S = (diag(1/t^2, 1/q) + sum_t (1, h_t)(1, h_t)' / s_t^2)^-1`: the posterior variance of `W + h_t D`.

use faer::{Mat, Side};

use super::{CentredMoments, Constants};
use crate::estimate::EstimateError;

/// Least signal variance of off-diagonal entries of `W`: correlations of 0.01 at a score's usual variance of
/// 1/3, so that `W_t` is never taken to be known exactly.
const LEAST_POOLED: f64 = 1e-5;
/// The same for the entries of `D`.
const LEAST_DIFFERENCE: f64 = 1e-6;
/// Least signal variance of the diagonal of `W`: scores' variances differ by 0.01 at least.
const LEAST_DIAGONAL: f64 = 1e-4;

/// How far each part of the covariance is to be trusted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reliability {
    /// `p`.
    share: f64,
    /// `k`, of the off-diagonal entries of `W`.
    pub off_diagonal: f64,
    /// Of its diagonal entries.
    diagonal: f64,
    /// `k_D`, of the whitened `D`.
    pub difference: f64,
    /// The mean of the diagonal.
    mean: f64,
    /// Least eigenvalue of `W`.
    floor: f64,
    /// `t^2`.
    pooled_signal: f64,
    /// `q`.
    difference_signal: f64,
}

/// The arms' covariances after shrinkage.
#[derive(Debug, Clone)]
pub(super) struct Shrunk {
    /// `U`, columns are eigenvectors.
    pub vectors: Mat<f64>,
    /// `lambda`.
    pub values: Vec<f64>,
    /// `M_t`.
    pub arms: [Mat<f64>; 2],
    /// `M_t^-1`.
    pub inverses: [Mat<f64>; 2],
}

/// `h_t`: the share of the arms' difference that arm `t` has.
pub(super) fn loadings(treated_share: f64) -> [f64; 2] {
    [-treated_share, 1.0 - treated_share]
}

/// The arms' covariances as released.
pub(super) fn released(moments: &CentredMoments) -> [Mat<f64>; 2] {
    moments.arms().map(|arm| {
        let half = |i, j| 0.5 * (arm.covariance[(i, j)] + arm.covariance[(j, i)]);
        Mat::from_fn(moments.scores(), moments.scores(), half)
    })
}

impl Reliability {
    /// From the released covariances of at least one score.
    pub fn new(moments: &CentredMoments, constants: &Constants) -> Reliability {
        let (scores, share) = (moments.scores(), moments.treated_share());
        let k = scores as f64;
        let arms = released(moments);
        let noise = moments.arms().map(|arm| arm.covariance_noise.powi(2));
        let on_diagonal = (1.0 - share).powi(2) * noise[0] + share * share * noise[1];
        let pooled = mix(&arms, share);

        let mean_square = off_diagonal_mean_square(&pooled);
        let signal = (mean_square - on_diagonal / 2.0).max(0.0);
        let off_diagonal = reliability(signal, on_diagonal / 2.0);

        let diagonal = bounded_diagonal(&pooled, constants);
        let mean = diagonal.iter().sum::<f64>() / k;
        let spread = diagonal.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / k;
        let diagonal = reliability((spread - on_diagonal).max(LEAST_DIAGONAL), on_diagonal);

        let of_difference = noise[0] + noise[1];
        let square = sum_of_squares(&(&arms[1] - &arms[0]));
        let expected = of_difference * (k * (k - 1.0) / 2.0 + k);
        let difference_signal = ((square - expected) / (k * k)).max(0.0);
        let left = (k * off_diagonal * on_diagonal / 2.0).sqrt();
        Reliability {
            share,
            off_diagonal,
            diagonal,
            difference: reliability(difference_signal, of_difference / 2.0),
            mean,
            floor: (constants.eigenvalue_floor * mean).max(constants.eigenvalue_noise * left),
            pooled_signal: signal.max(LEAST_POOLED),
            difference_signal: difference_signal.max(LEAST_DIFFERENCE),
        }
    }

    /// The covariances shrunk by these reliabilities, with the limits given on an arm's departure.
    pub fn shrink(
        &self,
        arms: &[Mat<f64>; 2],
        limits: [f64; 2],
        constants: &Constants,
    ) -> Result<Shrunk, EstimateError> {
        let pooled = mix(arms, self.share);
        let diagonal = bounded_diagonal(&pooled, constants);
        let scores = diagonal.len();
        let shrunk = Mat::from_fn(scores, scores, |i, j| match i == j {
            true => self.mean + self.diagonal * (diagonal[i] - self.mean),
            false => self.off_diagonal * pooled[(i, j)],
        });
        let (vectors, mut values) = eigen(&shrunk)?;
        values.iter_mut().for_each(|v| *v = v.max(self.floor));
        let root = spectral(&vectors, |i| values[i].sqrt());
        let inverse_root = spectral(&vectors, |i| values[i].powf(-0.5));

        let difference = &inverse_root * (&arms[1] - &arms[0]) * &inverse_root;
        let (axes, departures) = eigen(&difference)?;
        let factor = |loading: f64| {
            let departures = departures.iter();
            departures
                .map(|d| 1.0 + (self.difference * loading * d).clamp(limits[0], limits[1]))
                .collect::<Vec<f64>>()
        };
        let factors = loadings(self.share).map(factor);
        let arm = |t: usize| &root * spectral(&axes, |i| factors[t][i]) * &root;
        let inverse =
            |t: usize| &inverse_root * spectral(&axes, |i| 1.0 / factors[t][i]) * &inverse_root;
        Ok(Shrunk {
            arms: [arm(0), arm(1)],
            inverses: [inverse(0), inverse(1)],
            vectors,
            values,
        })
    }

    /// `v_t`, the variance of an off-diagonal entry of `W_t` about `M_t`.
    pub fn posterior_variance(&self, moments: &CentredMoments) -> [f64; 2] {
        let noise = moments.arms().map(|arm| arm.covariance_noise.powi(2) / 2.0);
        if noise.contains(&0.0) || moments.scores() == 1 {
            // An exact matrix needs no prior; and one score has no off-diagonal entry to tell what the
            // signal is, so that its variance is taken as released.
            return noise;
        }
        let loading = loadings(self.share);
        let sum = |f: &dyn Fn(f64) -> f64| f(loading[0]) / noise[0] + f(loading[1]) / noise[1];
        let a = 1.0 / self.pooled_signal + sum(&|_| 1.0);
        let b = sum(&|h| h);
        let d = 1.0 / self.difference_signal + sum(&|h| h * h);
        loading.map(|h| (d - 2.0 * b * h + a * h * h) / (a * d - b * b))
    }
}

impl Shrunk {
    /// `W^(-1/2)` in the eigenbasis: `B = U diag(lambda^(-1/2))`, so that `beta = B gamma`.
    pub fn basis(&self) -> Mat<f64> {
        let scores = self.values.len();
        Mat::from_fn(scores, scores, |i, j| {
            self.vectors[(i, j)] / self.values[j].sqrt()
        })
    }
}

/// Signal over signal plus noise; 1 where there is neither.
fn reliability(signal: f64, noise: f64) -> f64 {
    if noise > 0.0 {
        signal / (signal + noise)
    } else {
        1.0
    }
}

fn mix(arms: &[Mat<f64>; 2], share: f64) -> Mat<f64> {
    let mean = |i, j| (1.0 - share) * arms[0][(i, j)] + share * arms[1][(i, j)];
    Mat::from_fn(arms[0].nrows(), arms[0].ncols(), mean)
}

fn bounded_diagonal(matrix: &Mat<f64>, constants: &Constants) -> Vec<f64> {
    let [low, high] = constants.variance_bounds;
    (0..matrix.nrows())
        .map(|i| matrix[(i, i)].clamp(low, high))
        .collect()
}

fn sum_of_squares(matrix: &Mat<f64>) -> f64 {
    matrix.squared_norm_l2()
}

/// 0 for one score.
fn off_diagonal_mean_square(matrix: &Mat<f64>) -> f64 {
    let k = matrix.nrows();
    let diagonal: f64 = (0..k).map(|i| matrix[(i, i)].powi(2)).sum();
    (sum_of_squares(matrix) - diagonal).max(0.0) / (k * (k - 1)).max(1) as f64
}

fn eigen(matrix: &Mat<f64>) -> Result<(Mat<f64>, Vec<f64>), EstimateError> {
    let decomposition = matrix
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| EstimateError::NotFinite)?;
    let values = decomposition.S().column_vector();
    let values = (0..matrix.nrows()).map(|i| values[i]).collect();
    Ok((decomposition.U().to_owned(), values))
}

/// `U diag(f) U'`.
fn spectral(vectors: &Mat<f64>, value: impl Fn(usize) -> f64) -> Mat<f64> {
    let scaled = Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
        vectors[(i, j)] * value(j)
    });
    scaled * vectors.transpose()
}
