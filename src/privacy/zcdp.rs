//! Zero-concentrated differential privacy: from `rho` to `(epsilon, delta)` and back.
//!
//! A `rho`-zCDP mechanism is `(epsilon, delta)`-DP for
//!
//! ```text
//! delta(epsilon; rho) = min over alpha > 1 of
//!     exp((alpha - 1) (alpha rho - epsilon) + alpha ln(1 - 1/alpha)) / (alpha - 1)
//! ```
//!
//! (Canonne, Kamath and Steinke 2020, proposition 12 and its corollary). Every `alpha` gives a valid bound,
//! so how well the minimum is found affects tightness, never soundness; rounding is covered by adding a
//! bound on it to the exponent. The logarithm's derivative is `(2 alpha - 1) rho - epsilon +
//! ln(1 - 1/alpha)`, increasing in `alpha`: its root is the minimum.

use super::PrivacyError;
use super::parameter::{check_delta, check_positive};
use super::search;

/// A bound on the relative rounding error of each term of the exponent: a few operations each.
const TERM_ERROR: f64 = 16.0 * f64::EPSILON;

/// A `delta` for which every `rho`-zCDP mechanism is `(epsilon, delta)`-DP, rounded up.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless both are finite and positive.
pub fn delta_from_rho(rho: f64, epsilon: f64) -> Result<f64, PrivacyError> {
    check_positive("rho", rho)?;
    check_positive("epsilon", epsilon)?;
    Ok(delta_bound(rho, epsilon))
}

/// The largest `rho` for which every `rho`-zCDP mechanism is `(epsilon, delta)`-DP by the conversion,
/// rounded down.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless `epsilon` is finite and positive and `delta` in `(0, 1)`, both of a
/// size that has a `rho` above 1e-150.
pub fn rho_from_epsilon_delta(epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_positive("epsilon", epsilon)?;
    check_delta(delta)?;
    search::largest(|rho| delta_bound(rho, epsilon) <= delta).ok_or(PrivacyError::Parameter {
        name: "epsilon",
        value: epsilon,
        requirement: "large enough for any release",
    })
}

/// The smallest `epsilon` for which every `rho`-zCDP mechanism is `(epsilon, delta)`-DP by the
/// conversion, rounded up; practically zero (1e-150) where `delta` alone suffices.
///
/// # Errors
/// [`PrivacyError::Parameter`] unless `rho` is finite and positive and `delta` in `(0, 1)`.
pub fn epsilon_from_rho(rho: f64, delta: f64) -> Result<f64, PrivacyError> {
    check_positive("rho", rho)?;
    check_delta(delta)?;
    search::smallest(|epsilon| delta_bound(rho, epsilon) <= delta).ok_or(PrivacyError::Parameter {
        name: "rho",
        value: rho,
        requirement: "small enough to mean anything",
    })
}

/// An upper bound on `delta(epsilon; rho)`, at the minimising `alpha = 1 + order`.
fn delta_bound(rho: f64, epsilon: f64) -> f64 {
    let slope = |order: f64| (2.0 * order + 1.0) * rho - epsilon - (1.0 / order).ln_1p();
    let Some(order) = search::largest(|order| slope(order) <= 0.0) else {
        return 1.0;
    };
    let moment = order * (1.0 + order) * rho;
    let offset = order * epsilon;
    // ln(1 - 1/alpha) = -ln(1 + 1/order).
    let entropy = (1.0 + order) * (1.0 / order).ln_1p();
    let scale = order.ln();
    let exponent = moment - offset - entropy - scale;
    let rounding = TERM_ERROR * (1.0 + moment + offset + entropy + scale.abs());
    let delta = (exponent + rounding).exp().next_up();
    // NaN (infinite terms at absurd parameters) is no guarantee.
    if delta < 1.0 { delta } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::mu_from_epsilon_delta;

    #[test]
    fn published_value() {
        let rho = rho_from_epsilon_delta(1.0, 1e-9).unwrap();
        assert!((rho - 0.0149731).abs() < 5e-8, "{rho}");
    }

    #[test]
    fn the_minimum_over_alpha_is_found() {
        for (rho, epsilon) in [(0.01, 1.0), (0.5, 4.0), (3.0, 9.0), (1e-4, 0.2)] {
            let best = (1..400_000)
                .map(|i| {
                    let alpha = 1.0 + f64::from(i) * 1e-2;
                    ((alpha - 1.0) * (alpha * rho - epsilon) + alpha * (1.0 - 1.0 / alpha).ln())
                        .exp()
                        / (alpha - 1.0)
                })
                .fold(1.0, f64::min);
            let delta = delta_from_rho(rho, epsilon).unwrap();
            assert!(delta <= best * (1.0 + 1e-12) && delta > best * (1.0 - 1e-4));
        }
    }

    #[test]
    fn conversions_invert_each_other_and_beat_the_simple_bound() {
        for epsilon in [0.01f64, 0.1, 1.0, 10.0, 100.0] {
            for delta in [1e-100f64, 1e-12, 1e-6, 0.1] {
                let rho = rho_from_epsilon_delta(epsilon, delta).unwrap();
                assert!(delta_from_rho(rho, epsilon).unwrap() <= delta);
                let back = epsilon_from_rho(rho, delta).unwrap();
                assert!(back <= epsilon && back > epsilon * (1.0 - 1e-9));
                // rho + 2 sqrt(rho ln(1/delta)) <= epsilon solves to a smaller rho (Bun and Steinke 2016).
                let log = (1.0 / delta).ln();
                let simple = ((log + epsilon).sqrt() - log.sqrt()).powi(2);
                assert!(rho > simple);
                // The Gaussian mechanism's own conversion is exact, so it allows at least as much.
                let mu = mu_from_epsilon_delta(epsilon, delta).unwrap();
                assert!(mu * mu / 2.0 >= rho);
            }
        }
    }
}
