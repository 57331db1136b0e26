//! What the released moments say of the errors' regression on the past: a normal posterior, by coordinate of the errors.
//!
//! Coordinate `r` of an error, of a unit whose past is `a`, is taken for `mean_r + slopes_r' (a - centre)` and a remainder.
//! The prior is from the target's own model, whose variance of that coordinate is `s_r`: normal about zero, with variance
//! `4 s_r` of the mean and `s_r` of every slope, so that a past of typical length explains an error of typical length.
//!
//! Given the noisy moments `K` of the past, negative eigenvalues taken as zero, and `C_r = K slopes_r + noise` of the
//! residuals with the past, the slopes' precision grows by `K^2 / v_r`. `v_r` is the noise's variance and what the noise in
//! `K` adds to it: a symmetric matrix of noise of variance `v` times a vector of slopes of variance `t` each has
//! variances of `v t (d + 1) / 2`.

use super::questions::{Clip, MEAN_WEIGHT};
use crate::panel::linear::{Spectrum, dot, times};
use faer::Mat;

/// The prior variance of the mean error, in the target's own: errors of donors unlike the target are larger.
const MEAN_PRIOR: f64 = 4.0;

/// A measurement of moments, per donor.
pub(super) struct Moments {
    /// Of the past.
    pub past: Mat<f64>,
    /// Of the residuals with the past: a row per coordinate of the errors.
    pub cross: Vec<Vec<f64>>,
    /// The residuals' mean.
    pub mean: Vec<f64>,
}

impl Moments {
    /// From the released sums, in the order in which they are summed.
    pub fn new(numbers: &[f64], donors: f64, order: usize, periods: usize) -> Moments {
        let (triangle, rest) = numbers.split_at(order * (order + 1) / 2);
        let (cross, mean) = rest.split_at(order * periods);
        let at = |i: usize, j: usize| {
            let (low, high) = (i.min(j), i.max(j));
            let value = triangle[low * order - low * (low + 1) / 2 + high] / donors;
            if i == j {
                value
            } else {
                value / std::f64::consts::SQRT_2
            }
        };
        let rows = cross.chunks(order);
        Moments {
            past: Mat::from_fn(order, order, at),
            cross: rows
                .map(|row| row.iter().map(|x| x / donors).collect())
                .collect(),
            mean: mean.iter().map(|x| x / donors / MEAN_WEIGHT).collect(),
        }
    }
}

/// What is known of the regression.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    /// The past that the regression is about.
    pub centre: Vec<f64>,
    /// The errors there.
    pub mean: Vec<f64>,
    /// By coordinate of the errors, the slopes.
    pub slopes: Vec<Vec<f64>>,
    /// The variance of `mean`.
    mean_variance: Vec<f64>,
    /// The slopes' precisions.
    precisions: Vec<Mat<f64>>,
}

/// A prediction of the estimate that there would be without noise: by coordinate of the errors, its mean and variance.
pub(super) struct Prediction {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

impl Posterior {
    /// From the released means of past and errors, with noise of this variance per coordinate.
    pub fn new(variances: &[f64], centre: Vec<f64>, errors: &[f64], noise: f64) -> Posterior {
        let order = centre.len();
        let gains: Vec<f64> = variances
            .iter()
            .map(|s| MEAN_PRIOR * s / (MEAN_PRIOR * s + noise))
            .collect();
        let precision =
            |s: &f64| Mat::from_fn(order, order, |i, j| if i == j { 1.0 / s } else { 0.0 });
        Posterior {
            centre,
            mean: errors.iter().zip(&gains).map(|(e, g)| e * g).collect(),
            slopes: vec![vec![0.0; order]; variances.len()],
            mean_variance: gains.iter().map(|g| g * noise).collect(),
            precisions: variances.iter().map(precision).collect(),
        }
    }

    /// Learns from moments that were clipped so and have noise of this deviation per coordinate.
    pub fn learn(&mut self, moments: &Moments, clip: Clip, noise: f64) {
        let past = Spectrum::new(moments.past.as_ref()).map(|value| value);
        let squared = &past * &past;
        let order = self.centre.len();
        // From slopes in units of the clips to slopes.
        let unit = clip.residual / clip.past;
        let mean_noise = (clip.residual * noise / MEAN_WEIGHT).powi(2);
        for r in 0..self.mean.len() {
            let covariance = inverse(&self.precisions[r]);
            let trace: f64 = (0..order).map(|k| covariance[(k, k)]).sum();
            let of_slopes = trace / order as f64 / (unit * unit);
            let variance = noise * noise * (1.0 + of_slopes * (order + 1) as f64 / 2.0);
            self.precisions[r] += &squared * faer::Scale(1.0 / (variance * unit * unit));
            let right: Vec<f64> = times(&past, &moments.cross[r]);
            let right: Vec<f64> = right.iter().map(|x| x / (variance * unit)).collect();
            let step = times(&inverse(&self.precisions[r]), &right);
            self.slopes[r]
                .iter_mut()
                .zip(step)
                .for_each(|(s, x)| *s += x);

            let gain = self.mean_variance[r] / (self.mean_variance[r] + mean_noise);
            self.mean[r] += gain * clip.residual * moments.mean[r];
            self.mean_variance[r] = gain * mean_noise;
        }
    }

    /// The errors of a unit with this past.
    pub fn predict(&self, past: &[f64]) -> Prediction {
        let x: Vec<f64> = past.iter().zip(&self.centre).map(|(a, c)| a - c).collect();
        let mut prediction = Prediction {
            mean: Vec::new(),
            variance: Vec::new(),
        };
        for (r, precision) in self.precisions.iter().enumerate() {
            let of_slopes = dot(&x, &times(&inverse(precision), &x));
            prediction
                .mean
                .push(self.mean[r] + dot(&self.slopes[r], &x));
            prediction.variance.push(of_slopes + self.mean_variance[r]);
        }
        prediction
    }
}

/// Of a matrix that is at least a prior's precision: positive definite.
fn inverse(precision: &Mat<f64>) -> Mat<f64> {
    Spectrum::new(precision.as_ref()).map(|value| 1.0 / value)
}
