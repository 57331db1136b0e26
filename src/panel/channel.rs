//! From a confidential statistic of real numbers to noisy integers: the lattice, its cost, and the mechanism.
//!
//! Mechanisms of the privacy room take integers. A statistic becomes integers in units of `2^-b`, fine enough that
//! the noise's scale is about 2^30 units, in one of two ways:
//!
//! * **Sums over donors.** Every donor's contribution, of length at most `reach`, is rounded towards zero before
//!   the sum is formed, which lengthens no vector, and is held to the integer length `floor(reach 2^b)` exactly; the
//!   sum is one of integers. Replacing a donor moves it by at most twice that length: rounding costs nothing.
//! * **Other statistics** are computed in floating point and rounded to the nearest unit. Two answers at most `Delta`
//!   apart become integers at most `Delta 2^b + e + e` apart, where `e` is the length of a vector of ones, `sqrt(d)`
//!   or 1: once for rounding both answers by at most half a unit a coordinate, and once for the floating-point
//!   error, which has to stay below half a unit, some 2^-31 of the noise's scale (ridge penalties that are too small for
//!   that are refused). So rounding costs `2 e / 2^30` of
//!   the noise's scale. So do sums whose sensitivity is less than twice a contribution's length: rounding each contribution
//!   towards zero moves the difference of two by less than a unit a coordinate.
//!
//! Noise is added to integers, so what comes out is `x + k` with the law of `k` independent of `x`; there are no
//! floating-point numbers whose last bits could tell the answer.

use super::{PanelError, law};
use crate::privacy::{
    Accountant, Adjacency, Confidential, Cost, GaussianMechanism, KNormMechanism, NoiseSource,
    Norm, Sensitivity,
};
use crate::release::{NoiseLaw, PanelMeasurement};
use crate::table::DonorRows;

/// The scale of Gaussian noise, in lattice units: `2^30`, half way to the largest.
const GAUSSIAN_SCALE_BITS: f64 = 30.0;

/// More than the relative error of a length in floating point, and far less than a unit of a reach of 2^30.
const ROUNDING_ERROR: f64 = 1e-11;

/// A part of a budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// So much `epsilon`, spent on pure mechanisms.
    Pure(f64),
    /// So much `mu^2`, spent on Gaussian mechanisms.
    Gaussian(f64),
}

impl Share {
    /// A fraction of it: epsilons add up, and so do squared parameters.
    pub fn part(self, fraction: f64) -> Share {
        match self {
            Share::Pure(epsilon) => Share::Pure(epsilon * fraction),
            Share::Gaussian(mu_squared) => Share::Gaussian(mu_squared * fraction),
        }
    }

    /// The standard deviation of one coordinate's noise in `dimension` coordinates of this L2 sensitivity.
    pub fn deviation(self, dimension: usize, sensitivity: f64) -> f64 {
        match self {
            // E |z|^2 = d (d + 1) a^2 for a Gamma length of shape d and scale a, spread over d coordinates.
            Share::Pure(epsilon) => (dimension as f64 + 1.0).sqrt() * sensitivity / epsilon,
            Share::Gaussian(mu_squared) => sensitivity / mu_squared.sqrt(),
        }
    }
}

/// How a statistic becomes integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// A sum of donors' contributions, each rounded towards zero.
    Sum,
    /// Computed in floating point, rounded to nearest.
    Nearest,
}

/// A statistic to be released: how far neighbours' answers lie apart, and the mechanism for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    lattice_bits: i32,
    sensitivity: u64,
    noise: Noise,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    KNorm(Norm, KNormMechanism),
    Gaussian(GaussianMechanism),
}

impl Channel {
    /// A channel for `dimension` numbers whose neighbouring values lie at most `sensitivity` apart in the norm. A
    /// pure share is spent on noise of that norm; a Gaussian one on Gaussian noise, whose L2 sensitivity is then
    /// `sqrt(dimension)` times that of the largest coordinate.
    ///
    /// # Errors
    /// Where the share is too small for the noise to be drawn.
    pub fn new(
        share: Share,
        norm: Norm,
        dimension: usize,
        sensitivity: f64,
        rounding: Rounding,
    ) -> Result<Channel, PanelError> {
        match share {
            Share::Pure(epsilon) => {
                let bits = KNormMechanism::lattice(dimension, sensitivity, epsilon).log2();
                let ones = match norm {
                    Norm::L2 => (dimension as f64).sqrt(),
                    Norm::LInfinity => 1.0,
                };
                let units = units(sensitivity * bits.exp2(), ones, rounding);
                let noise = KNormMechanism::new(norm, dimension, units, epsilon)?;
                Ok(Channel {
                    lattice_bits: bits as i32,
                    sensitivity: units,
                    noise: Noise::KNorm(norm, noise),
                })
            }
            Share::Gaussian(mu_squared) => {
                let root = (dimension as f64).sqrt();
                let l2 = match norm {
                    Norm::L2 => sensitivity,
                    Norm::LInfinity => sensitivity * root,
                };
                let (bits, units) = gaussian_lattice(l2, mu_squared, root, rounding);
                let noise = GaussianMechanism::new(l2_sensitivity(units)?, mu_squared)?;
                Ok(Channel {
                    lattice_bits: bits,
                    sensitivity: units,
                    noise: Noise::Gaussian(noise),
                })
            }
        }
    }

    /// What a release costs.
    pub fn cost(&self) -> Cost {
        match &self.noise {
            Noise::KNorm(_, mechanism) => mechanism.cost(),
            Noise::Gaussian(mechanism) => mechanism.cost(),
        }
    }

    /// The law of the noise.
    pub fn law(&self) -> NoiseLaw {
        match &self.noise {
            Noise::KNorm(Norm::L2, _) => NoiseLaw::KNormL2,
            Noise::KNorm(Norm::LInfinity, _) => NoiseLaw::KNormLInfinity,
            Noise::Gaussian(_) => NoiseLaw::DiscreteGaussian,
        }
    }

    /// The noise's scale.
    pub fn scale(&self) -> f64 {
        self.scale_units() as f64 * f64::from(-self.lattice_bits).exp2()
    }

    /// The standard deviation of one coordinate's noise in `dimension` coordinates.
    pub fn deviation(&self, dimension: usize) -> f64 {
        law::deviation(self.law(), self.scale(), dimension)
    }

    fn scale_units(&self) -> u64 {
        match &self.noise {
            Noise::KNorm(_, mechanism) => mechanism.scale(),
            Noise::Gaussian(mechanism) => mechanism.sigma(),
        }
    }

    /// How a statistic becomes integers, for the function that computes it.
    pub fn lattice(&self) -> Lattice {
        Lattice {
            units: f64::from(self.lattice_bits).exp2(),
            reach: (self.sensitivity / 2) as i64,
            largest_coordinate: matches!(self.noise, Noise::KNorm(Norm::LInfinity, _)),
        }
    }

    /// Asks the donors, then charges, adds noise, and writes down what came of it.
    ///
    /// # Errors
    /// As [`Channel::release`].
    pub fn answer<Q: ?Sized>(
        &self,
        name: &str,
        (donors, question): (&Confidential<DonorRows>, &Q),
        answer: fn(&DonorRows, &Q) -> Vec<i64>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<PanelMeasurement, PanelError> {
        self.release(name, donors.ask(question, answer), accountant, noise)
    }

    /// Charges, adds noise, and writes down what came of it.
    ///
    /// # Errors
    /// Where the charge exceeds the authorisation; nothing is drawn then.
    pub fn release(
        &self,
        name: &str,
        exact: Confidential<Vec<i64>>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<PanelMeasurement, PanelError> {
        let values = match &self.noise {
            Noise::KNorm(_, mechanism) => mechanism.release(exact, accountant, noise)?.values,
            Noise::Gaussian(mechanism) => mechanism.release(exact, accountant, noise)?.values,
        };
        Ok(PanelMeasurement {
            name: name.into(),
            law: self.law(),
            lattice_bits: self.lattice_bits,
            scale: self.scale_units(),
            sensitivity: self.sensitivity,
            cost: self.cost(),
            values,
        })
    }
}

/// The sensitivity in whole units.
fn units(exact: f64, ones: f64, rounding: Rounding) -> u64 {
    match rounding {
        // Twice the whole length that contributions are held to.
        Rounding::Sum => 2 * (exact / 2.0).floor().max(1.0) as u64,
        Rounding::Nearest => (exact + 2.0 * ones).ceil() as u64,
    }
}

fn gaussian_lattice(l2: f64, mu_squared: f64, ones: f64, rounding: Rounding) -> (i32, u64) {
    let bits = (GAUSSIAN_SCALE_BITS - (l2 / mu_squared.sqrt()).log2()).floor();
    (bits as i32, units(l2 * bits.exp2(), ones, rounding))
}

fn l2_sensitivity(units: u64) -> Result<Sensitivity, PanelError> {
    let units = i64::try_from(units).unwrap_or(i64::MAX);
    Ok(Sensitivity::of_sum(units, units, Adjacency::ReplaceOne, 1)?)
}

/// How a statistic becomes integers; a public question to the confidential side.
#[derive(Debug, Clone, Copy)]
pub struct Lattice {
    units: f64,
    reach: i64,
    largest_coordinate: bool,
}

impl Lattice {
    /// Adds a donor's contribution, rounded towards zero and held to the integer reach, to a sum.
    pub fn add(&self, sum: &mut [i64], contribution: &[f64]) {
        let mut whole: Vec<i64> = contribution.iter().map(|x| self.truncated(*x)).collect();
        if self.largest_coordinate {
            whole
                .iter_mut()
                .for_each(|x| *x = (*x).clamp(-self.reach, self.reach));
        }
        if !self.largest_coordinate && !self.is_short(&whole) {
            self.shorten(&mut whole);
        }
        for (sum, x) in sum.iter_mut().zip(whole) {
            *sum = sum.saturating_add(x);
        }
    }

    /// Scales a contribution that is too long, by floating point or by its caller, down to the reach.
    fn shorten(&self, whole: &mut [i64]) {
        let square = |x: &i64| (*x as f64) * (*x as f64);
        let length = whole.iter().map(square).sum::<f64>().sqrt();
        let factor = self.reach as f64 / length * (1.0 - ROUNDING_ERROR);
        whole
            .iter_mut()
            .for_each(|x| *x = (*x as f64 * factor) as i64);
        // The allowance covers ten thousand coordinates and more; zero is always short.
        if !self.is_short(whole) {
            whole.fill(0);
        }
    }

    fn is_short(&self, whole: &[i64]) -> bool {
        let square = |x: &i64| u128::from(x.unsigned_abs()).pow(2);
        let reach = u128::from(self.reach.unsigned_abs());
        whole.iter().map(square).fold(0, u128::saturating_add) <= reach * reach
    }

    fn truncated(&self, x: f64) -> i64 {
        // NaN becomes zero; a hundredfold reach is clipped by the caller before, and conversion saturates.
        (x * self.units).clamp(-4e18, 4e18) as i64
    }

    /// A statistic rounded to the nearest unit.
    pub fn nearest(&self, statistic: &[f64]) -> Vec<i64> {
        let round = |x: &f64| (x * self.units).round().clamp(-4e18, 4e18) as i64;
        statistic.iter().map(round).collect()
    }

    /// Adds a donor's part of a statistic whose sensitivity is less than twice its length: every coordinate is rounded
    /// towards zero, which moves the difference of two donors by less than one unit a coordinate, as [`Rounding::Nearest`]
    /// allows for.
    pub fn add_truncated(&self, sum: &mut [i64], part: impl Iterator<Item = f64>) {
        for (sum, x) in sum.iter_mut().zip(part) {
            *sum = sum.saturating_add(self.truncated(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contributions at the edge of the reach and beyond it, some by rounding only: the integers are never longer.
    #[test]
    fn contributions_are_held_to_their_reach() {
        for share in [Share::Pure(0.7), Share::Gaussian(0.3)] {
            let channel = Channel::new(share, Norm::L2, 3, 2.0 * 0.3, Rounding::Sum).unwrap();
            let lattice = channel.lattice();
            assert_eq!(channel.sensitivity as i64, 2 * lattice.reach);
            for k in 0..2000 {
                let angle = f64::from(k) * 0.37;
                let x = [0.3 * angle.sin(), 0.3 * angle.cos(), 1e-12 * f64::from(k)];
                let mut sum = [0; 3];
                lattice.add(&mut sum, &x);
                assert!(lattice.is_short(&sum));
                for (whole, x) in sum.iter().zip(x) {
                    assert!((*whole as f64 - x * lattice.units).abs() < 3.0);
                }
            }
        }
    }

    /// A contribution that is a million times too long keeps its direction and is cut at once.
    #[test]
    fn an_understated_reach_is_held_at_once() {
        let share = Share::Gaussian(0.3);
        let channel = Channel::new(share, Norm::L2, 3, 2.0 * 0.3, Rounding::Sum).unwrap();
        let lattice = channel.lattice();
        for size in [0.5, 3e5, 1e300] {
            let mut sum = [0; 3];
            lattice.add(&mut sum, &[0.6 * size, -0.8 * size, 0.0]);
            assert!(lattice.is_short(&sum), "{size}");
            let reach = lattice.reach as f64;
            if size < 1e300 {
                assert!((sum[0] as f64 - 0.6 * reach).abs() < 2.0, "{size}: {sum:?}");
                assert!((sum[1] as f64 + 0.8 * reach).abs() < 2.0, "{size}: {sum:?}");
            }
        }
    }

    /// Rounding to nearest moves neighbouring answers apart by no more than the units stand for.
    #[test]
    fn rounded_answers_stay_within_the_sensitivity() {
        let channel =
            Channel::new(Share::Pure(1.0), Norm::L2, 12, 0.01, Rounding::Nearest).unwrap();
        let lattice = channel.lattice();
        let mut largest: f64 = 0.0;
        for k in 0..2000 {
            let x: Vec<f64> = (0..12).map(|i| f64::from(k * 12 + i).sin()).collect();
            let step: Vec<f64> = (0..12).map(|i| f64::from(k + i * 7).cos()).collect();
            let length = super::super::linear::length(&step);
            let y: Vec<f64> = x
                .iter()
                .zip(&step)
                .map(|(x, s)| x + 0.01 * s / length)
                .collect();
            let (a, b) = (lattice.nearest(&x), lattice.nearest(&y));
            let apart: f64 = a
                .iter()
                .zip(&b)
                .map(|(a, b)| ((a - b) as f64).powi(2))
                .sum();
            largest = largest.max(apart.sqrt());
        }
        assert!(largest <= channel.sensitivity as f64);
        assert!(largest > 0.99999 * (channel.sensitivity as f64 - 8.0));
    }

    #[test]
    fn noise_has_the_scale_that_the_share_implies() {
        for (dimension, norm) in [
            (1, Norm::L2),
            (4, Norm::L2),
            (12, Norm::L2),
            (12, Norm::LInfinity),
        ] {
            let pure =
                Channel::new(Share::Pure(0.5), norm, dimension, 0.2, Rounding::Nearest).unwrap();
            assert!((pure.scale() / 0.4 - 1.0).abs() < 1e-6, "{}", pure.scale());
            assert!(pure.cost().pure_epsilon() <= 0.5);
        }
        let gaussian = Channel::new(Share::Gaussian(4.0), Norm::L2, 3, 0.2, Rounding::Sum).unwrap();
        assert!((gaussian.scale() / 0.1 - 1.0).abs() < 1e-6);
        assert!(gaussian.cost().gaussian_mu_squared() <= 4.0);
    }
}
