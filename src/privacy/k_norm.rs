//! The K-norm mechanism: noise whose probability falls with its length, drawn exactly, pure privacy.

use super::mechanism::smallest_affordable;
use super::parameter::check_positive;
use super::sampler::k_norm::{self, Ball};
use super::{Accountant, Confidential, Cost, NoiseSource, NoisyAnswer, PrivacyError};

/// How the length of a vector is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Euclid's, `sqrt(sum k_i^2)`.
    L2,
    /// The largest coordinate, `max |k_i|`.
    LInfinity,
}

/// Adds noise `k` of `d` coordinates with `P(k)` proportional to `exp(-ceil(|k|) / scale)`, for Euclid's or
/// the largest-coordinate norm (Hardt and Talwar 2010, on the integer lattice).
///
/// **Adjacency and sensitivity.** The caller states `Delta`: neighbouring answers, integer vectors, are at
/// most `Delta` apart in the norm, a whole number of lattice units. **Argument.** `ceil(|k + v|) <=
/// ceil(|k| + |v|) <= ceil(|k|) + ceil(|v|)`, so a shift of the answer by `v`, `|v| <= Delta`, changes every
/// probability by a factor of at most `exp(Delta / scale)`. **Charge.** Pure `epsilon = Delta / scale + tau`,
/// rounded up; `tau` is what the sampler in many dimensions costs (see its documentation), zero for the largest coordinate
/// and up to eight dimensions, and there below `2 d^1.5 / M_0`, `M_0 = scale / 2`.
///
/// In Euclid's norm the length is close to a Gamma variable of shape `d` and scale `scale`, and the direction
/// uniform. A length drawn as a scalar Laplace variable, as published codes do, has another law for `d > 1`,
/// and no finite `epsilon`; the room's audit rejects it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KNormMechanism {
    ball: Ball,
    sensitivity: u64,
    cost: Cost,
}

impl KNormMechanism {
    /// The mechanism with the least noise that is `epsilon`-differentially private for answers of `dimension`
    /// coordinates that are at most `sensitivity` lattice units apart.
    ///
    /// # Errors
    /// [`PrivacyError::Parameter`] unless all are finite and positive; [`PrivacyError::NoiseTooLarge`] where
    /// the scale would exceed what the sampler can draw, 2^33 lattice units (in many dimensions less).
    pub fn new(
        norm: Norm,
        dimension: usize,
        sensitivity: u64,
        epsilon: f64,
    ) -> Result<KNormMechanism, PrivacyError> {
        check_positive("epsilon", epsilon)?;
        check_positive("sensitivity", sensitivity as f64)?;
        check_positive("dimension", dimension as f64)?;
        let charge = |scale: u64| {
            let ball = Ball::new(norm, dimension, scale);
            ((sensitivity as f64).next_up() / scale as f64).next_up() + ball.sampling_cost()
        };
        let largest = k_norm::largest_scale(dimension);
        if charge(largest).next_up() > epsilon {
            return Err(PrivacyError::NoiseTooLarge { share: epsilon });
        }
        let scale = smallest_affordable(1, largest, |scale| charge(scale).next_up() <= epsilon);
        Ok(KNormMechanism {
            ball: Ball::new(norm, dimension, scale),
            sensitivity,
            cost: Cost::pure(charge(scale).next_up())?,
        })
    }

    /// A number of lattice units to one for which a sensitivity leaves the sampler room: a power of two that
    /// makes the noise's scale about 2^32 units (in thousands of dimensions less).
    pub fn lattice(dimension: usize, sensitivity: f64, epsilon: f64) -> f64 {
        let aim = k_norm::largest_scale(dimension) as f64 / 2.0;
        (aim * epsilon / sensitivity).log2().floor().exp2()
    }

    /// The scale of the noise, in lattice units.
    pub fn scale(&self) -> u64 {
        self.ball.scale()
    }

    /// The sensitivity that the charge is for, in lattice units.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// What [`KNormMechanism::release`] charges.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// A draw of the noise, for mechanisms of this room that charged for it.
    pub(super) fn draw(&self, noise: &mut NoiseSource) -> Vec<i64> {
        self.ball.draw(noise.generator())
    }

    /// Charges, then adds noise. The answer has the dimension that the mechanism was made for.
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
        let drawn = self.draw(noise);
        let values = super::mechanism::add_noise_by_cell(exact, |cell| {
            // A caller's answer that is longer than it said gets no plain values.
            i128::from(drawn.get(cell).copied().unwrap_or(i64::MAX))
        });
        Ok(NoisyAnswer {
            values,
            scale: self.scale(),
            cost: self.cost,
        })
    }
}

#[cfg(test)]
mod tests;
