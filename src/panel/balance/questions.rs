//! The questions of the measurements to the donors' rows: sums of bounded contributions.

use super::features::Features;
use super::posterior::Posterior;
use crate::panel::channel::Lattice;
use crate::panel::linear::{clip_length, dot, length};
use crate::schema::PanelSchema;
use crate::table::DonorRows;
use std::f64::consts::SQRT_2;

/// What the mean residual counts for beside the products: it is a correction of a mean that is released already.
pub(super) const MEAN_WEIGHT: f64 = 0.5;
/// `4.5 + 4 MEAN_WEIGHT^2`, the squared sensitivity of the moments.
pub(super) const MOMENTS_SENSITIVITY_SQUARED: f64 = 4.5 + 4.0 * MEAN_WEIGHT * MEAN_WEIGHT;

/// How a donor's past and residual are clipped, by one common factor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clip {
    /// The past's length.
    pub past: f64,
    /// The residual's length.
    pub residual: f64,
}

/// The public question of the means.
pub(super) struct MeansQuestion<'a> {
    pub schema: &'a PanelSchema,
    pub features: &'a Features,
    /// The length that a donor's past and errors have together at most.
    pub clip: f64,
    pub lattice: Lattice,
}

pub(super) fn sum_of_means(rows: &DonorRows, question: &MeansQuestion<'_>) -> Vec<i64> {
    let features = question.features;
    let mut sum = vec![0; features.order() + features.periods()];
    for row in rows {
        let (mut both, errors) = features.of(row, question.schema);
        both.extend(errors.iter().zip(&features.drift).map(|(b, c)| b + c));
        clip_length(&mut both, question.clip);
        question.lattice.add(&mut sum, &both);
    }
    sum
}

/// The public question of the moments about what is known already.
pub(super) struct MomentsQuestion<'a> {
    pub schema: &'a PanelSchema,
    pub features: &'a Features,
    pub known: &'a Posterior,
    pub clip: Clip,
    pub lattice: Lattice,
}

/// The number of values of the moments: a triangle, a matrix and a mean.
pub(super) fn cells_of_moments(order: usize, periods: usize) -> usize {
    order * (order + 1) / 2 + periods * order + periods
}

pub(super) fn sum_of_moments(rows: &DonorRows, question: &MomentsQuestion<'_>) -> Vec<i64> {
    let features = question.features;
    let mut sum = vec![0; cells_of_moments(features.order(), features.periods())];
    for row in rows {
        let (u, v) = question.contribution(row);
        let triangle = (0..u.len()).flat_map(|i| (i..u.len()).map(move |j| (i, j)));
        // In the Frobenius norm an entry off the diagonal stands for two.
        let triangle = triangle.map(|(i, j)| u[i] * u[j] * if i == j { 1.0 } else { SQRT_2 });
        let cross = v.iter().flat_map(|v| u.iter().map(move |u| v * u));
        let mean = v.iter().map(|v| MEAN_WEIGHT * v);
        let all = triangle.chain(cross).chain(mean);
        question.lattice.add_truncated(&mut sum, all);
    }
    sum
}

impl MomentsQuestion<'_> {
    /// A donor's past and residual, scaled by one factor such that neither is longer than one.
    fn contribution(&self, row: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut a, mut b) = self.features.of(row, self.schema);
        let known = self.known;
        a.iter_mut().zip(&known.centre).for_each(|(a, c)| *a -= c);
        for (b, (mean, slopes)) in b.iter_mut().zip(known.mean.iter().zip(&known.slopes)) {
            *b -= mean + dot(slopes, &a);
        }
        let clip = self.clip;
        let factor = (clip.past / length(&a))
            .min(clip.residual / length(&b))
            .min(1.0);
        a.iter_mut().for_each(|a| *a *= factor / clip.past);
        b.iter_mut().for_each(|b| *b *= factor / clip.residual);
        (a, b)
    }
}
