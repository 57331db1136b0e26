//! Gaussian differential privacy: from `mu` to `(epsilon, delta)` and back.
//!
//! A `mu`-GDP mechanism is `(epsilon, delta)`-DP exactly for
//!
//! ```text
//! delta(epsilon; mu) = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)
//! ```
//!
//! (Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 1), which increases in `mu`. With
//! `a = epsilon/mu - mu/2`, `b = epsilon/mu + mu/2`, the identity `exp(epsilon) phi(b) = phi(a)` turns it
//! into `phi(a) (R(a) - R(b))` with Mills' ratio `R(x) = Phi(-x) / phi(x)`: no overflow, no tiny
//! differences of large numbers.
//!
//! # Rounding
//! All values are upper bounds on the true `delta`. The formula is evaluated at `mu (1 + 2^-40)`, which
//! moves `a` by `2^-40 b`: thousands of times its rounding error. What the subtraction loses is
//! bounded by 32 units of rounding of the two terms and added. So a `mu` found here is sound, and
//! smaller than the exact one by about one part in 10^12.

use std::f64::consts::{PI, SQRT_2};

use libm::erfc;

use super::PrivacyError;
use super::parameter::{check_delta, check_positive};
use super::search;

/// The relative outward step of `mu`.
const OUTWARD: f64 = 1.0 + 1.0 / (1u64 << 40) as f64;

/// A bound on the relative rounding error of either term of `delta`: erfc of libm is good to one unit
/// in the last place (2^-52), the exponential and the rational operations around it to a few more.
const TERM_ERROR: f64 = 32.0 * f64::EPSILON;

/// Above this, Mills' ratio is computed by its continued fraction.
const CONTINUED_FRACTION_FROM: f64 = 3.0;

/// Terms of the continued fraction: it converges like `exp(-2 x sqrt(2 n))`, which at `x = 3` and 64
/// terms is below 1e-29.
const CONTINUED_FRACTION_TERMS: u32 = 64;

/// The smallest `delta` for which a `mu`-GDP mechanism is `(epsilon, delta)`-DP, rounded up.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless both are finite and positive.
pub fn delta_from_mu(mu: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    check_positive("mu", mu)?;
    check_positive("epsilon", epsilon)?;
    Ok(delta_bound(mu, epsilon))
}

/// The largest `mu` for which every `mu`-GDP mechanism is `(epsilon, delta)`-DP, rounded down.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless `epsilon` is finite and positive and `delta` in `(0, 1)`, both of a
/// size that has a `mu` above 1e-150.
pub fn mu_from_epsilon_delta(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_positive("epsilon", epsilon)?;
    check_delta(delta)?;
    search::largest(|mu| delta_bound(mu, epsilon) <= delta).ok_or(PrivacyError::Parameter {
        name: "epsilon",
        value: epsilon,
        requirement: "large enough for any release",
    })
}

/// The smallest `epsilon` for which a `mu`-GDP mechanism is `(epsilon, delta)`-DP, rounded up; zero where
/// `delta` alone suffices.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless `mu` is finite and positive and `delta` in `(0, 1)`.
pub fn epsilon_from_mu(mu: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_positive("mu", mu)?;
    check_delta(delta)?;
    if delta_bound(mu, 0.0) <= delta {
        return Ok(0.0);
    }
    search::smallest(|epsilon| delta_bound(mu, epsilon) <= delta).ok_or(PrivacyError::Parameter {
        name: "mu",
        value: mu,
        requirement: "small enough to mean anything",
    })
}

/// An upper bound on `delta(epsilon; mu)`.
fn delta_bound(mu: f64, epsilon: f64) -> f64 {
    let mu = mu * OUTWARD;
    let a = epsilon / mu - mu / 2.0;
    let b = epsilon / mu + mu / 2.0;
    let (first, second) = if a < CONTINUED_FRACTION_FROM {
        // Here Phi(-a) is no small number, and phi(a) may underflow for very negative a.
        (upper_tail(a), normal_density(a) * mills_ratio(b))
    } else {
        let density = normal_density(a);
        (density * mills_ratio(a), density * mills_ratio(b))
    };
    (first - second + TERM_ERROR * (first + second))
        .next_up()
        .clamp(0.0, 1.0)
}

/// `P(Z > x)` of the standard normal law.
fn upper_tail(x: f64) -> f64 {
    0.5 * erfc(x / SQRT_2)
}

/// The standard normal density.
fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Mills' ratio `P(Z > x) / phi(x)`, for `x >= -3`, decreasing: by Laplace's continued fraction
/// `1/(x + 1/(x + 2/(x + 3/(x + ...))))` where it converges fast.
fn mills_ratio(x: f64) -> f64 {
    if x < CONTINUED_FRACTION_FROM {
        return upper_tail(x) / normal_density(x);
    }
    let tail = (1..=CONTINUED_FRACTION_TERMS)
        .rev()
        .fold(x, |denominator, k| x + f64::from(k) / denominator);
    1.0 / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Balle and Wang's analytic Gaussian mechanism: epsilon = 1, delta = 1e-6 needs sigma = 4.225 Delta.
    #[test]
    fn published_value() {
        let mu = mu_from_epsilon_delta(1.0, 1e-6).unwrap();
        assert!((1.0 / mu - 4.225).abs() < 5e-4, "{}", 1.0 / mu);
    }

    /// `delta = integral over t > epsilon of (1 - exp(epsilon - t))` under the privacy loss, which is
    /// normal with mean `mu^2/2` and variance `mu^2`; by Simpson's rule, whose error here is far below 1e-9.
    #[test]
    fn agrees_with_the_integral_over_the_privacy_loss() {
        for mu in [0.01, 0.1, 0.5, 1.0, 4.0, 12.0] {
            for epsilon in [0.01, 0.1, 1.0, 3.0, 30.0] {
                let loss = |z: f64| mu * mu / 2.0 + mu * z;
                let from = (epsilon - mu * mu / 2.0) / mu;
                let steps = 200_000;
                let from = from.max(-40.0);
                let h = 30.0 / steps as f64;
                let sum: f64 = (0..=steps)
                    .map(|i| {
                        let z = from + h * i as f64;
                        let weight = match i {
                            0 => 1.0,
                            i if i == steps => 1.0,
                            i if i % 2 == 1 => 4.0,
                            _ => 2.0,
                        };
                        weight * -(epsilon - loss(z)).exp_m1() * normal_density(z)
                    })
                    .sum();
                let integral = sum * h / 3.0;
                let bound = delta_bound(mu, epsilon);
                if integral > 1e-280 {
                    let excess = bound / integral - 1.0;
                    // The outward steps: 2^-40 of mu moves ln(delta) by at most mu phi(a) / delta 2^-40.
                    assert!((-1e-9..1e-8).contains(&excess), "{mu} {epsilon} {excess:e}");
                }
            }
        }
    }

    #[test]
    fn conversions_invert_each_other_on_the_safe_side() {
        for epsilon in [1e-3, 0.1, 1.0, 10.0, 100.0] {
            for delta in [1e-300, 1e-100, 1e-12, 1e-6, 0.1, 0.9] {
                let mu = mu_from_epsilon_delta(epsilon, delta).unwrap();
                assert!(delta_from_mu(mu, epsilon).unwrap() <= delta);
                assert!(delta_from_mu(mu * (1.0 + 1e-9), epsilon).unwrap() > delta);
                // The bound's own rounding makes it monotone only up to some 1e-13.
                let back = epsilon_from_mu(mu, delta).unwrap();
                assert!(
                    back <= epsilon * (1.0 + 1e-12) && back > epsilon * (1.0 - 1e-6) - 1e-11,
                    "{back} {epsilon}"
                );
            }
        }
    }

    #[test]
    fn delta_alone_can_suffice() {
        // Total variation 2 Phi(mu/2) - 1 = 0.0399 at mu = 0.1.
        assert_eq!(epsilon_from_mu(0.1, 0.05).unwrap(), 0.0);
        assert!(epsilon_from_mu(0.1, 0.03).unwrap() > 0.0);
    }

    #[test]
    fn meaningless_parameters_are_errors() {
        for (epsilon, delta) in [
            (0.0, 0.1),
            (-1.0, 0.1),
            (f64::NAN, 0.1),
            (f64::INFINITY, 0.1),
            (1.0, 0.0),
            (1.0, 1.0),
            (1.0, f64::NAN),
        ] {
            assert!(mu_from_epsilon_delta(epsilon, delta).is_err());
        }
    }

    #[test]
    fn mills_ratio_is_continuous_where_its_formulas_meet() {
        let below = mills_ratio(3.0f64.next_down());
        assert!((below / mills_ratio(3.0) - 1.0).abs() < 1e-14);
        // R(3) by the asymptotic bounds x/(x^2+1) < R(x) < 1/x.
        assert!(mills_ratio(3.0) > 0.3 && mills_ratio(3.0) < 1.0 / 3.0);
    }
}
