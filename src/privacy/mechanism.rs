//! The Gaussian and the Laplace mechanism: confidential integers in, noisy integers out.
//!
//! Both charge the accountant first and draw afterwards. Their noise is exact
//! (see the `sampler` module's algorithms) and their sums are formed in 128 bits and then clamped to 64,
//! which is post-processing of the exact mechanism and can't overflow.

use super::parameter::check_positive;
use super::sampler::{LARGEST_SCALE, discrete_gaussian, discrete_laplace};
use super::{Accountant, Confidential, Cost, NoiseSource, PrivacyError, Sensitivity};

/// The variance `sigma_2^2 = 4^2` that the proof of the Gaussian mechanism sets aside for rounding.
const ROUNDING_VARIANCE: u128 = 16;

/// The smallest `sigma` with `sigma^2 > 16`.
const SMALLEST_SIGMA: u64 = 5;

/// What a mechanism gives back: plain numbers, free to be used in any way.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyAnswer {
    /// The noisy values, in lattice units, in the order of the exact ones.
    pub values: Vec<i64>,
    /// The scale of the noise in lattice units: `sigma` of the discrete Gaussian, or the scale of the
    /// discrete Laplace law.
    pub scale: u64,
    /// What was charged.
    pub cost: Cost,
}

/// Adds discrete Gaussian noise, `P(k)` proportional to `exp(-k^2 / (2 sigma^2))`, to every cell.
///
/// Adjacency and sensitivity: those of the [`Sensitivity`]. Charge: `mu^2 = Delta^2 / (sigma^2 - 16)`,
/// rounded up, which covers `rho = Delta^2 / (2 sigma^2)`; proof in the [room's documentation](super).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianMechanism {
    sensitivity: Sensitivity,
    sigma: u64,
    cost: Cost,
}

impl GaussianMechanism {
    /// The mechanism with the least noise whose charge is at most `share_mu_squared`.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless the share is finite and positive;
    /// [`PrivacyError::NoiseTooLarge`] where `sigma` would exceed 2^40 lattice units.
    pub fn new(
        sensitivity: Sensitivity,
        share_mu_squared: f64,
    ) -> Result<GaussianMechanism, PrivacyError> {
        check_positive("share of mu^2", share_mu_squared)?;
        let affordable = |sigma: u64| gaussian_charge(sensitivity, sigma) <= share_mu_squared;
        if !affordable(LARGEST_SCALE) {
            return Err(PrivacyError::NoiseTooLarge {
                share: share_mu_squared,
            });
        }
        let sigma = smallest_affordable(SMALLEST_SIGMA, LARGEST_SCALE, affordable);
        Ok(GaussianMechanism {
            sensitivity,
            sigma,
            cost: Cost::gaussian(gaussian_charge(sensitivity, sigma))?,
        })
    }

    /// `sigma` in lattice units (2^20 to a record).
    pub fn sigma(&self) -> u64 {
        self.sigma
    }

    /// The standard deviation of the noise in records. The discrete law's differs from `sigma` by less
    /// than one part in 10^200 for `sigma >= 5`.
    pub fn standard_deviation_records(&self) -> f64 {
        self.sigma as f64 / crate::schema::SCALE as f64
    }

    /// The sensitivity that the charge is for.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// What [`GaussianMechanism::release`] charges.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Charges, then adds noise to every cell.
    ///
    /// # Errors
    /// [`PrivacyError::NotAuthorised`] where the charge doesn't fit; nothing is drawn then.
    pub fn release(
        &self,
        exact: Confidential<Vec<i64>>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<NoisyAnswer, PrivacyError> {
        accountant.charge(&self.cost)?;
        Ok(NoisyAnswer {
            values: add_noise(exact, || discrete_gaussian(self.sigma, noise.generator())),
            scale: self.sigma,
            cost: self.cost,
        })
    }
}

/// Adds discrete Laplace noise, `P(k)` proportional to `exp(-|k| / scale)`, to every cell.
///
/// With neighbouring answers at most `Delta_1` apart in L1, in lattice units, the ratio of the output's
/// probabilities is at most `exp(Delta_1 / scale)` by the triangle inequality: pure
/// `epsilon = Delta_1 / scale` differential privacy. Charge: `rho = epsilon^2 / 2` (Bun and Steinke
/// 2016, proposition 1.4), rounded up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceMechanism {
    l1_sensitivity: u64,
    scale: u64,
    cost: Cost,
}

impl LaplaceMechanism {
    /// The mechanism with the least noise that is `epsilon`-differentially private for answers that are
    /// at most `l1_sensitivity` lattice units apart.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless both are finite and positive;
    /// [`PrivacyError::NoiseTooLarge`] where the scale would exceed 2^40 lattice units.
    pub fn new(l1_sensitivity: u64, epsilon: f64) -> Result<LaplaceMechanism, PrivacyError> {
        check_positive("epsilon", epsilon)?;
        check_positive("L1 sensitivity", l1_sensitivity as f64)?;
        let affordable = |scale: u64| laplace_epsilon(l1_sensitivity, scale) <= epsilon;
        if !affordable(LARGEST_SCALE) {
            return Err(PrivacyError::NoiseTooLarge { share: epsilon });
        }
        let scale = smallest_affordable(1, LARGEST_SCALE, affordable);
        let epsilon = laplace_epsilon(l1_sensitivity, scale);
        Ok(LaplaceMechanism {
            l1_sensitivity,
            scale,
            cost: Cost::other((epsilon * epsilon / 2.0).next_up())?,
        })
    }

    /// The scale of the noise in lattice units (2^20 to a record).
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// The pure differential privacy of one release, rounded up.
    pub fn epsilon(&self) -> f64 {
        laplace_epsilon(self.l1_sensitivity, self.scale)
    }

    /// What [`LaplaceMechanism::release`] charges.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Charges, then adds noise to every cell.
    ///
    /// # Errors
    /// [`PrivacyError::NotAuthorised`] where the charge doesn't fit; nothing is drawn then.
    pub fn release(
        &self,
        exact: Confidential<Vec<i64>>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<NoisyAnswer, PrivacyError> {
        accountant.charge(&self.cost)?;
        Ok(NoisyAnswer {
            values: add_noise(exact, || discrete_laplace(self.scale, noise.generator())),
            scale: self.scale,
            cost: self.cost,
        })
    }
}

/// `Delta^2 / (sigma^2 - 16)`, rounded up twice: once for the division, once for the proof's slack.
fn gaussian_charge(sensitivity: Sensitivity, sigma: u64) -> f64 {
    // sigma <= 2^40, so the square is at most 2^80; sigma >= 5, so the difference is positive.
    let variance = u128::from(sigma) * u128::from(sigma) - ROUNDING_VARIANCE;
    let nearest = variance as f64;
    let rounded_down = if nearest as u128 > variance {
        nearest.next_down()
    } else {
        nearest
    };
    (sensitivity.squared_rounded_up() / rounded_down)
        .next_up()
        .next_up()
}

/// `Delta_1 / scale`, rounded up.
fn laplace_epsilon(l1_sensitivity: u64, scale: u64) -> f64 {
    // Both conversions round by at most half a unit in the last place (the scale's is exact).
    ((l1_sensitivity as f64).next_up() / scale as f64).next_up()
}

/// The smallest scale from `smallest` to `largest` that is affordable, given that the largest is;
/// affordability is monotone.
pub(super) fn smallest_affordable(
    smallest: u64,
    largest: u64,
    affordable: impl Fn(u64) -> bool,
) -> u64 {
    let (mut low, mut high) = (smallest, largest);
    while low < high {
        let middle = low + (high - low) / 2;
        if affordable(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// The exact values plus independent noise, clamped to 64 bits.
fn add_noise(exact: Confidential<Vec<i64>>, mut draw: impl FnMut() -> i128) -> Vec<i64> {
    add_noise_by_cell(exact, |_| draw())
}

/// The exact values plus independent noise that may depend on the cell, clamped to 64 bits.
pub(super) fn add_noise_by_cell(
    exact: Confidential<Vec<i64>>,
    mut draw: impl FnMut(usize) -> i128,
) -> Vec<i64> {
    exact
        .open()
        .into_iter()
        .enumerate()
        .map(|(cell, value)| {
            // |noise| < 2^105 (see LARGEST_SCALE), |value| <= 2^63: no overflow.
            let noisy = i128::from(value) + draw(cell);
            noisy.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
        })
        .collect()
}

#[cfg(test)]
mod tests;
