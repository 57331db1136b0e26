//! The Gaussian mechanism on integer sums.
//!
//! **Adjacency.** Add-remove or replace-one of a privacy unit of at most `k` rows; see [`Sensitivity`].
//!
//! **Mechanism.** `q + Z`, `q` a vector of integers, `Z` independent discrete Gaussians of an integer
//! scale `sigma`: `P(Z = z)` proportional to `exp(-z^2 / (2 sigma^2))`.
//!
//! **Charge.** In zCDP exactly `rho = Delta^2 / (2 sigma^2)` (Canonne, Kamath and Steinke 2020, Theorem 14).
//! In GDP `mu^2 = Delta^2 / (sigma^2 - 16)`, by the following argument. Write `sigma^2 = a^2 + b^2` with
//! `b = 4`. Let `M'(q)` add `N(0, a^2)` to every coordinate and then round each coordinate `y` at random to
//! an integer `k` with probability `rho_b(k - y) / rho_b(Z - y)`, `rho_b(x) = exp(-x^2 / (2 b^2))`. The
//! rounding does not look at the data, so `M'` is post-processing of the continuous Gaussian mechanism
//! and is `Delta/a`-GDP. Because `q` is a vector of integers, the noise of `M'` is that of `M'(0)` shifted
//! by `q`; its mass at an integer `k` is
//!
//! ```text
//! f(k) = integral phi_a(y) rho_b(k - y) / rho_b(Z - y) dy .
//! ```
//!
//! By Poisson summation `rho_b(Z - y) = sqrt(2 pi) b (1 + 2 sum_j exp(-2 pi^2 b^2 j^2) cos(2 pi j y))` lies
//! within a factor `1 ± eta` of a constant, `eta = 2 sum_j exp(-2 pi^2 b^2 j^2)`, and the convolution of the
//! two Gaussians is proportional to `exp(-k^2 / (2 sigma^2))`. So `f` and the law of `Z` differ at every
//! point by a factor between `(1 - eta)/(1 + eta)` and its inverse (the convolution lemma of Peikert 2010).
//! For `b = 4`, `eta < 1e-136`: even `10^12` coordinates move every probability by a relative `1e-123` at
//! most, which the accountant's slack of `1e-9` covers. Hence the release is `Delta / sqrt(sigma^2 - 16)`-GDP.

use super::accounting::{Accountant, Cost};
use super::sampler::{LARGEST_SCALE, discrete_gaussian};
use super::{Adjacency, Confidential, NoiseSource, PrivacyError};

/// `b^2` of the argument above.
const SMOOTHING: u128 = 16;

/// A squared L2 sensitivity, exact, in squared units of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    squared: u128,
}

impl Sensitivity {
    /// The sensitivity of sums over rows of non-negative vectors of L2 norm at most `record_norm`, for a
    /// unit of at most `max_rows` rows.
    ///
    /// A unit's rows add up to a vector `u >= 0` of norm at most `k * record_norm` (triangle inequality;
    /// attained where all its rows fall in one cell). Add-remove changes the sums by `u`. Replace-one
    /// changes them by `u - v` with `u, v >= 0`, and `|u - v|^2 = |u|^2 + |v|^2 - 2 u'v <= |u|^2 + |v|^2`, so
    /// its square is at most `2 (k * record_norm)^2` (attained where `u` and `v` fall in different cells).
    pub fn of_counts(record_norm: i64, adjacency: Adjacency, max_rows: u32) -> Sensitivity {
        // record_norm <= 2^20 and max_rows < 2^32: the square is below 2^104.
        let norm = u128::from(record_norm.unsigned_abs()) * u128::from(max_rows);
        let one = norm * norm;
        Sensitivity {
            squared: match adjacency {
                Adjacency::AddRemove => one,
                Adjacency::ReplaceOne => 2 * one,
            },
        }
    }

    /// The squared sensitivity.
    pub fn squared(&self) -> u128 {
        self.squared
    }

    /// The sensitivity as a double, rounded up.
    pub fn value(&self) -> f64 {
        (self.squared as f64).sqrt().next_up()
    }
}

/// A Gaussian mechanism whose scale was chosen for a charge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianMechanism {
    sensitivity: Sensitivity,
    sigma: u64,
}

/// A noisy vector of sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoisyAnswer {
    /// The noisy sums.
    pub values: Vec<i64>,
}

impl GaussianMechanism {
    /// The smallest integer scale whose charge is at most `mu_squared`.
    ///
    /// # Errors
    /// Where the share is so small that the scale would exceed what the sampler draws exactly.
    pub fn new(sensitivity: Sensitivity, mu_squared: f64) -> Result<GaussianMechanism, PrivacyError> {
        let wanted = (sensitivity.squared as f64 / mu_squared + SMOOTHING as f64).sqrt().ceil();
        // A NaN or a negative share fails the comparison too.
        if !(wanted < LARGEST_SCALE as f64) {
            return Err(PrivacyError::NoiseTooLarge);
        }
        // At least 5: the argument needs sigma^2 > 16.
        let mut mechanism = GaussianMechanism { sensitivity, sigma: (wanted as u64).max(5) };
        while mechanism.cost().gaussian_mu_squared > mu_squared {
            mechanism.sigma += 1;
        }
        Ok(mechanism)
    }

    /// The noise scale, in the units of the sums.
    pub fn sigma(&self) -> u64 {
        self.sigma
    }

    /// The sensitivity.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// What a release costs, rounded up.
    pub fn cost(&self) -> Cost {
        let variance = u128::from(self.sigma).pow(2) - SMOOTHING;
        // Two conversions and a division, each within half a unit in the last place: two steps up cover them.
        let mu_squared = (self.sensitivity.squared as f64 / variance as f64).next_up().next_up();
        Cost { gaussian_mu_squared: mu_squared, other_rho: 0.0 }
    }

    /// Charges the accountant, then draws the noise.
    ///
    /// # Errors
    /// Where the charge was not authorised (nothing is drawn then), or a noisy sum exceeds 64 bits.
    pub fn release(
        &self,
        sums: Confidential<Vec<i64>>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<NoisyAnswer, PrivacyError> {
        accountant.charge(self.cost())?;
        let noisy = |sum: i64| sum.checked_add(discrete_gaussian(self.sigma, noise)).ok_or(PrivacyError::Overflow);
        let values = sums.open().into_iter().map(noisy).collect::<Result<_, _>>()?;
        Ok(NoisyAnswer { values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Authorisation, Budget};

    #[test]
    fn the_scale_is_the_smallest_within_the_share() {
        for norm in [1i64, 1 << 10, 1 << 20] {
            for mu_squared in [1e-4, 0.01, 1.0, 100.0] {
                let sensitivity = Sensitivity::of_counts(norm, Adjacency::ReplaceOne, 3);
                let mechanism = GaussianMechanism::new(sensitivity, mu_squared).unwrap();
                assert!(mechanism.cost().gaussian_mu_squared <= mu_squared);
                let smaller = GaussianMechanism { sigma: mechanism.sigma - 1, ..mechanism };
                assert!(mechanism.sigma == 5 || smaller.cost().gaussian_mu_squared > mu_squared);
            }
        }
        let sensitivity = Sensitivity::of_counts(1 << 20, Adjacency::AddRemove, 1);
        for share in [0.0, -1.0, f64::NAN, 1e-30] {
            assert_eq!(GaussianMechanism::new(sensitivity, share), Err(PrivacyError::NoiseTooLarge));
        }
    }

    /// The argument's bound, checked numerically where it is not negligible: `a = b = 2/5`.
    #[test]
    fn randomised_rounding_is_almost_the_discrete_gaussian() {
        let (a, b) = (0.4f64, 0.4f64);
        let sigma2 = a * a + b * b;
        let eta: f64 = 2.0 * (1..5).map(|j| (-2.0 * std::f64::consts::PI.powi(2) * b * b * f64::from(j * j)).exp()).sum::<f64>();
        let rho = |x: f64, s: f64| (-x * x / (2.0 * s * s)).exp();
        let step = 1e-3;
        let mass = |k: f64| -> f64 {
            (-20_000..=20_000)
                .map(|i| {
                    let y = f64::from(i) * step;
                    let lattice: f64 = (-30..=30).map(|z| rho(f64::from(z) - y, b)).sum();
                    rho(y, a) * rho(k - y, b) / lattice
                })
                .sum()
        };
        let masses: Vec<f64> = (-12..=12).map(|k| mass(f64::from(k))).collect();
        let laws: Vec<f64> = (-12..=12).map(|k| (-f64::from(k * k) / (2.0 * sigma2)).exp()).collect();
        let (mass_sum, law_sum): (f64, f64) = (masses.iter().sum(), laws.iter().sum());
        let bound = ((1.0 + eta) / (1.0 - eta)).ln();
        let worst = masses.iter().zip(&laws).map(|(m, l)| ((m / mass_sum) / (l / law_sum)).ln().abs()).fold(0.0, f64::max);
        assert!(worst <= bound, "{worst} > {bound}");
        // The bound is not vacuous: the two laws do differ.
        assert!(worst > bound / 100.0);
    }

    /// The sensitivities against all pairs of neighbours of a small family of non-negative sums.
    #[test]
    fn sensitivity_bounds_are_attained_and_never_exceeded() {
        // Rows are vectors (1-y, y) * 4 at one of two cells; a unit has up to 2 rows.
        let rows: Vec<[i64; 4]> = (0..2).flat_map(|cell| (0..=4).map(move |y| {
            let mut row = [0; 4];
            row[2 * cell] = 4 - y;
            row[2 * cell + 1] = y;
            row
        })).collect();
        let mut units = vec![[0i64; 4]];
        for a in &rows {
            units.push(*a);
            for b in &rows {
                units.push(std::array::from_fn(|i| a[i] + b[i]));
            }
        }
        let squared = |d: [i64; 4]| d.iter().map(|x| (x * x) as u128).sum::<u128>();
        let add = units.iter().map(|u| squared(*u)).max().unwrap();
        assert_eq!(add, Sensitivity::of_counts(4, Adjacency::AddRemove, 2).squared());
        let replace = units.iter().flat_map(|u| units.iter().map(|v| squared(std::array::from_fn(|i| u[i] - v[i])))).max().unwrap();
        assert_eq!(replace, Sensitivity::of_counts(4, Adjacency::ReplaceOne, 2).squared());
    }

    /// Lower bound on epsilon that a threshold attack on neighbouring counts finds, at confidence
    /// `1 - 2 exp(-2 n t^2)` per estimate (Hoeffding, t = .005: 1e-6 for 3e5 draws).
    fn attacked_epsilon(sigma: u64, delta: f64) -> f64 {
        let draws = 300_000;
        let mut noise = NoiseSource::insecure_seed(3);
        let mut tail = |sum: i64, threshold: i64| {
            let above = (0..draws).filter(|_| sum + discrete_gaussian(sigma, &mut noise) > threshold).count();
            above as f64 / f64::from(draws)
        };
        let margin = 0.005;
        [0i64, 500, 1000, 1500, 2000]
            .into_iter()
            .map(|threshold| {
                let (with, without) = (tail(1000, threshold) - margin, tail(0, threshold) + margin);
                ((with - delta) / without).max(1e-9).ln()
            })
            .fold(0.0, f64::max)
    }

    /// The audit: worst-case neighbours (a count that differs by one record of 1000 units).
    #[test]
    fn an_attack_finds_no_more_than_is_stated_and_catches_a_mutant() {
        let (epsilon, delta) = (1.0, 1e-3);
        let budget = Budget::approximate(epsilon, delta).unwrap();
        let share = budget.total(crate::privacy::AccountantKind::Gdp).gaussian_mu_squared;
        let mechanism = GaussianMechanism::new(Sensitivity::of_counts(1000, Adjacency::AddRemove, 1), share).unwrap();
        assert!(attacked_epsilon(mechanism.sigma(), delta) <= epsilon);
        // A mutant with a third of the noise is caught.
        assert!(attacked_epsilon(mechanism.sigma() / 3, delta) > epsilon);
    }

    #[test]
    fn nothing_is_drawn_without_authorisation() {
        let mechanism = GaussianMechanism::new(Sensitivity::of_counts(1 << 20, Adjacency::AddRemove, 1), 1.0).unwrap();
        let authorisation = Authorisation::without_ledger(Budget::gdp(1.0).unwrap(), mechanism.cost()).unwrap();
        let mut accountant = Accountant::new(authorisation);
        let mut noise = NoiseSource::insecure_seed(1);
        assert!(mechanism.release(Confidential::new(vec![0; 3]), &mut accountant, &mut noise).is_ok());
        let again = mechanism.release(Confidential::new(vec![0; 3]), &mut accountant, &mut noise);
        assert_eq!(again, Err(PrivacyError::OverBudget));
        assert!(Authorisation::without_ledger(Budget::gdp(0.5).unwrap(), mechanism.cost()).is_err());
    }
}
