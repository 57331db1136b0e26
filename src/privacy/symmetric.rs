//! The Gaussian mechanism for symmetric matrices, such as sums of `z z'`.

use super::sampler::discrete_gaussian;
use super::{Accountant, Confidential, Cost, GaussianMechanism, NoiseSource, PrivacyError};
use super::{Sensitivity, mechanism::add_noise_by_cell};

/// Adds discrete Gaussian noise to the upper triangle of a symmetric matrix: of scale `sigma` on the
/// diagonal and of the smaller scale `tau`, `2 (tau^2 - 16) >= sigma^2 - 16`, above it.
///
/// **Adjacency and sensitivity.** Those of the [`Sensitivity`], which is of the *whole* matrix, in the
/// Frobenius norm. **Argument.** Let neighbouring matrices differ by `D`, `|D|_F <= Delta`: on the upper
/// triangle by `D_ii` and `D_ij`, and `sum D_ii^2 + 2 sum_{i<j} D_ij^2 = |D|_F^2`. Cell by cell the
/// [mechanism](super) charges `D_ii^2 / (sigma^2 - 16)` and `D_ij^2 / (tau^2 - 16) <= 2 D_ij^2 / (sigma^2 - 16)`;
/// squared parameters add, so together at most `Delta^2 / (sigma^2 - 16)`. The lower triangle repeats the
/// upper one. **Charge.** `mu^2 = Delta^2 / (sigma^2 - 16)`: that of [`GaussianMechanism`] with this `sigma`.
///
/// Off the diagonal this is less noise, by a factor of the square root of 2, than noise of one scale would be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SymmetricGaussianMechanism {
    diagonal: GaussianMechanism,
    off_diagonal: u64,
}

impl SymmetricGaussianMechanism {
    /// The mechanism with the least noise whose charge is at most `share_mu_squared`; the sensitivity is in
    /// the Frobenius norm.
    ///
    /// # Errors
    /// As [`GaussianMechanism::new`].
    pub fn new(
        sensitivity: Sensitivity,
        share_mu_squared: f64,
    ) -> Result<SymmetricGaussianMechanism, PrivacyError> {
        let diagonal = GaussianMechanism::new(sensitivity, share_mu_squared)?;
        let enough = |tau: u64| {
            let square = |x: u64| u128::from(x).pow(2);
            square(tau) >= 16 && 2 * (square(tau) - 16) >= square(diagonal.sigma()) - 16
        };
        // From below the answer, at most a few steps.
        let mut off_diagonal = (diagonal.sigma() as f64 / std::f64::consts::SQRT_2) as u64;
        while !enough(off_diagonal) {
            off_diagonal += 1;
        }
        Ok(SymmetricGaussianMechanism {
            diagonal,
            off_diagonal,
        })
    }

    /// `sigma` on the diagonal, in lattice units.
    pub fn sigma(&self) -> u64 {
        self.diagonal.sigma()
    }

    /// `tau`, off the diagonal, in lattice units.
    pub fn off_diagonal_sigma(&self) -> u64 {
        self.off_diagonal
    }

    /// The sensitivity, in the Frobenius norm.
    pub fn sensitivity(&self) -> Sensitivity {
        self.diagonal.sensitivity()
    }

    /// What [`SymmetricGaussianMechanism::release`] charges.
    pub fn cost(&self) -> Cost {
        self.diagonal.cost()
    }

    /// Charges, then adds noise to every cell of the upper triangles of matrices of this order, each
    /// row-major from its diagonal on: `(0,0), (0,1), .., (1,1), (1,2), ..`. The sensitivity is that of
    /// all of them together.
    ///
    /// # Errors
    /// [`PrivacyError::NotAuthorised`] where the charge doesn't fit; nothing is drawn then.
    pub fn release(
        &self,
        exact: Confidential<Vec<i64>>,
        order: usize,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<i64>, PrivacyError> {
        accountant.charge(&self.cost())?;
        let on_diagonal: Vec<bool> = (0..order)
            .flat_map(|i| (i..order).map(move |j| i == j))
            .collect();
        Ok(add_noise_by_cell(exact, |cell| {
            let sigma = match on_diagonal[cell % on_diagonal.len().max(1)] {
                true => self.sigma(),
                false => self.off_diagonal,
            };
            discrete_gaussian(sigma, noise.generator())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Adjacency, Authorisation, Budget, ReleaseId};

    #[test]
    fn the_scales_keep_the_charge() {
        for norm in [1i64 << 10, 12_345, 1 << 22] {
            let sensitivity =
                Sensitivity::of_non_negative_sum(norm, Adjacency::AddRemove, 1).unwrap();
            for share in [0.01, 0.3, 7.0] {
                let mechanism = SymmetricGaussianMechanism::new(sensitivity, share).unwrap();
                let (sigma, tau) = (
                    mechanism.sigma() as f64,
                    mechanism.off_diagonal_sigma() as f64,
                );
                assert!(mechanism.cost().gaussian_mu_squared() <= share);
                assert!(2.0 * (tau * tau - 16.0) >= sigma * sigma - 16.0);
                assert!(2.0 * ((tau - 1.0).powi(2) - 16.0) < sigma * sigma - 16.0);
            }
        }
    }

    /// The sample variances of 4000 draws per cell are within 6 standard errors, `sqrt(2 / 4000)` of the
    /// variance each: false alarms below 1e-8.
    #[test]
    fn the_noise_has_its_two_scales() {
        let sensitivity =
            Sensitivity::of_non_negative_sum(1 << 12, Adjacency::AddRemove, 1).unwrap();
        let mechanism = SymmetricGaussianMechanism::new(sensitivity, 1e-3).unwrap();
        let cost = Cost::gaussian(4000.0).unwrap();
        let budget = Budget::gdp(100.0).unwrap();
        let id = ReleaseId::random().unwrap();
        let mut accountant =
            Accountant::new(Authorisation::without_ledger(id, cost, &budget).unwrap());
        let mut noise = NoiseSource::insecure_seed(8);
        let mut squares = [0.0f64; 3];
        for _ in 0..4000 {
            let exact = Confidential::new(vec![0, 0, 0]);
            let values = mechanism
                .release(exact, 2, &mut accountant, &mut noise)
                .unwrap();
            for (square, value) in squares.iter_mut().zip(values) {
                *square += (value as f64).powi(2) / 4000.0;
            }
        }
        let scales = [
            mechanism.sigma(),
            mechanism.off_diagonal_sigma(),
            mechanism.sigma(),
        ];
        for (square, scale) in squares.into_iter().zip(scales) {
            let ratio = square / (scale as f64).powi(2);
            assert!(
                (ratio - 1.0).abs() < 6.0 * (2.0f64 / 4000.0).sqrt(),
                "{ratio}"
            );
        }
    }
}
