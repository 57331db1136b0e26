//! From noisy sums to an additive model: ridge regression with a penalty and an eigenvalue floor set by the noise.
//!
//! ```text
//! theta = (G + 1.5 s sqrt(p) (D + I))^-1 c,   eigenvalues at least .75 s sqrt(p)
//! ```
//!
//! with `s` the noise's standard deviation, `p` the number of functions, `I` on all but the constant, and `D` the squared
//! second differences of neighbouring functions' coefficients (hats, bins, ordered levels). The spectral norm of a
//! symmetric noise matrix is about `2 s sqrt(p)`: a ridge of this size keeps what the noise alone could explain small.

use super::basis::{Block, MomentBasis};
use crate::cate::CateError;
use crate::cate::split::Targets;
use crate::panel::linear::{Spectrum, dot, times};
use crate::release::{AdditiveModel, PanelMeasurement};
use faer::Mat;

/// The ridge, in units of `s sqrt(p)` (chosen by simulation).
const RIDGE: f64 = 1.5;

/// The weight of squared second differences, in the same units (chosen by simulation).
const SMOOTHING: f64 = 1.5;

/// The least eigenvalue, as a share of the ridge.
const FLOOR: f64 = 0.5;

/// A fit on noisy second moments, in multiples of the target's bound.
#[derive(Debug, Clone)]
pub struct MomentFit {
    /// `G` as measured; the arm last, where it is a covariate.
    pub gram: Mat<f64>,
    /// `c` as measured.
    pub cross: Vec<f64>,
    /// The sum of squared targets, where it was measured.
    pub squares: Option<f64>,
    /// The noise's standard deviation, the same in all cells.
    pub noise: f64,
    /// The coefficients.
    pub coefficients: Vec<f64>,
}

/// Reads a measurement of [`moments`](super::moments()) and fits.
///
/// # Errors
/// Where the measurement has another number of values than the basis asks for, or there is no fit.
pub fn fit(
    measured: &PanelMeasurement,
    basis: &MomentBasis,
    targets: &Targets,
) -> Result<MomentFit, CateError> {
    let order = basis.size + usize::from(targets.has_treatment());
    let triangle = order * (order + 1) / 2;
    let numbers = measured.numbers();
    if numbers.len() != triangle + order + usize::from(targets.has_squares()) {
        return Err(CateError::Release(measured.name.clone()));
    }
    let noise = measured.noise_scale();
    let mut gram = Mat::zeros(order, order);
    let places = (0..order).flat_map(|i| (i..order).map(move |j| (i, j)));
    for ((i, j), &cell) in places.zip(&numbers) {
        gram[(i, j)] = cell;
        gram[(j, i)] = cell;
    }
    let cross = numbers[triangle..triangle + order].to_vec();
    let unit = noise * (order as f64).sqrt();
    let mut penalised = &gram + penalty(basis, order, unit);
    if order == 1 {
        // The constant alone: a mean, whose noisy count is at least what its noise lets one believe.
        penalised[(0, 0)] = gram[(0, 0)].max(unit);
    }
    let floor = FLOOR * RIDGE * unit;
    let inverse = Spectrum::new(penalised.as_ref()).map(|value| 1.0 / value.max(floor));
    let coefficients = times(&inverse, &cross);
    match coefficients.iter().all(|x| x.is_finite()) {
        true => Ok(MomentFit {
            gram,
            cross,
            squares: numbers.get(triangle + order).copied(),
            noise,
            coefficients,
        }),
        false => Err(CateError::Numerical),
    }
}

impl MomentFit {
    /// The additive model.
    pub fn model(&self, basis: &MomentBasis) -> AdditiveModel {
        let treatment = self.coefficients.get(basis.size).copied().unwrap_or(0.0);
        basis.model(&self.coefficients, treatment)
    }

    /// The mean of the basis over the part's records, as far as the noise lets one say: each block's share of the
    /// constant's row of the Gram matrix, between the function's bounds.
    pub fn mean_basis(&self, size: usize) -> Vec<f64> {
        let records = self.gram[(0, 0)].max(self.noise).max(1.0);
        let mean = |j: usize| (self.gram[(0, j)] / records).clamp(-1.0, 1.0);
        let mut means: Vec<f64> = (0..size).map(mean).collect();
        means[0] = 1.0;
        means
    }

    /// The model's mean over records with this mean of the basis, without the treatment's term.
    pub fn average(&self, mean_basis: &[f64]) -> f64 {
        dot(mean_basis, &self.coefficients[..mean_basis.len()])
    }
}

/// `unit (SMOOTHING D + RIDGE I)`.
fn penalty(basis: &MomentBasis, order: usize, unit: f64) -> Mat<f64> {
    let mut penalty = Mat::zeros(order, order);
    for i in 1..order {
        penalty[(i, i)] = RIDGE * unit;
    }
    let ordered = |block: &&Block| block.is_ordered && block.of_values() > 2;
    for block in basis.blocks.iter().filter(ordered) {
        for k in block.first..block.first + block.of_values() - 2 {
            for (i, a) in [1.0, -2.0, 1.0].into_iter().enumerate() {
                for (j, b) in [1.0, -2.0, 1.0].into_iter().enumerate() {
                    penalty[(k + i, k + j)] += SMOOTHING * unit * a * b;
                }
            }
        }
    }
    penalty
}
