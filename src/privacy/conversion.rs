//! Conversions between (epsilon, delta), Gaussian and zero-concentrated differential privacy.
//!
//! * `mu`-GDP is (epsilon, delta)-DP exactly for `delta >= Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2)`
//!   (Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 2.13).
//! * `rho`-zCDP is (epsilon, delta)-DP for `delta >= min_{a>1} exp((a-1)(a rho - e) + a ln(1 - 1/a)) / (a-1)`
//!   (Canonne, Kamath and Steinke 2020, Corollary 13).
//!
//! Inverses are found by bisection and rounded to the safe side: what a budget buys is rounded down,
//! what a cost implies is rounded up.

/// Relative slack by which deltas are compared, far above the rounding of the formulas (about 1e-13)
/// and far below anything that matters to a guarantee.
const ROUNDING: f64 = 1e-11;

/// Steps of a bisection: enough to exhaust the 53 bits of a double from any bracket.
const BISECTIONS: usize = 200;

/// The standard normal's upper tail.
fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The smallest delta of `mu`-GDP at `epsilon`.
pub fn delta_of_gdp(mu: f64, epsilon: f64) -> f64 {
    let first = upper_tail(epsilon / mu - mu / 2.0);
    let tail = upper_tail(epsilon / mu + mu / 2.0);
    // exp(epsilon) may overflow where the tail underflows; their product is at most `first`.
    let second = if tail > 0.0 { (epsilon + tail.ln()).exp() } else { 0.0 };
    (first - second).max(0.0)
}

/// The smallest epsilon of `mu`-GDP at `delta`, rounded up.
pub fn epsilon_of_gdp(mu: f64, delta: f64) -> f64 {
    smallest(|epsilon| delta_of_gdp(mu, epsilon) <= delta * (1.0 - ROUNDING))
}

/// The largest `mu` whose `mu`-GDP implies (epsilon, delta)-DP, rounded down.
pub fn mu_of_budget(epsilon: f64, delta: f64) -> f64 {
    largest(|mu| delta_of_gdp(mu, epsilon) <= delta * (1.0 - 2.0 * ROUNDING))
}

/// The smallest delta of `rho`-zCDP at `epsilon` that the conversion shows.
pub fn delta_of_zcdp(rho: f64, epsilon: f64) -> f64 {
    if rho == 0.0 {
        return 0.0;
    }
    // The logarithm's derivative in `a`, (2a - 1) rho - epsilon + ln(1 - 1/a), increases from -infinity;
    // whatever `a` the bisection ends at, its delta is valid.
    let mut low = 1.0;
    let mut high = (epsilon + 1.0) / (2.0 * rho) + 2.0;
    for _ in 0..BISECTIONS {
        let a = f64::midpoint(low, high);
        if (2.0 * a - 1.0) * rho - epsilon + (-1.0 / a).ln_1p() < 0.0 { low = a } else { high = a }
    }
    let a = high;
    ((a - 1.0) * (a * rho - epsilon) + a * (-1.0 / a).ln_1p() - (a - 1.0).ln()).exp().min(1.0)
}

/// The smallest epsilon of `rho`-zCDP at `delta`, rounded up.
pub fn epsilon_of_zcdp(rho: f64, delta: f64) -> f64 {
    smallest(|epsilon| delta_of_zcdp(rho, epsilon) <= delta * (1.0 - ROUNDING))
}

/// The largest `rho` whose `rho`-zCDP implies (epsilon, delta)-DP, rounded down.
pub fn rho_of_budget(epsilon: f64, delta: f64) -> f64 {
    largest(|rho| delta_of_zcdp(rho, epsilon) <= delta * (1.0 - 2.0 * ROUNDING))
}

/// The smallest non-negative number for which a monotone property holds, from above.
fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(0.0) {
        return 0.0;
    }
    let mut high = 1.0;
    while !holds(high) && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The largest number for which a property holds that holds near 0 and fails for large numbers, from below.
fn largest(holds: impl Fn(f64) -> bool) -> f64 {
    let mut high = 1.0;
    while holds(high) && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // Canonne, Kamath and Steinke's conversion, and the analytic Gaussian mechanism of Balle and Wang.
        assert!((rho_of_budget(1.0, 1e-9) - 0.0149731).abs() < 5e-8);
        assert!((1.0 / mu_of_budget(1.0, 1e-6) - 4.225).abs() < 5e-4);
    }

    #[test]
    fn gdp_against_its_closed_form_at_zero() {
        // delta(0; mu) = 2 Phi(mu/2) - 1, the total variation of two unit normals at distance mu.
        for mu in [1e-4, 0.1, 1.0, 3.0] {
            let expected = libm::erf(mu / 2.0 * std::f64::consts::FRAC_1_SQRT_2);
            assert!((delta_of_gdp(mu, 0.0) / expected - 1.0).abs() < 1e-9, "{mu}");
        }
    }

    #[test]
    fn inverses_are_safe_and_tight() {
        for epsilon in [0.01, 0.1, 1.0, 5.0, 20.0, 100.0] {
            for delta in [1e-3, 1e-6, 1e-9, 1e-12] {
                let (mu, rho) = (mu_of_budget(epsilon, delta), rho_of_budget(epsilon, delta));
                assert!(delta_of_gdp(mu, epsilon) <= delta && delta_of_gdp(mu * 1.0001, epsilon) > delta);
                assert!(delta_of_zcdp(rho, epsilon) <= delta && delta_of_zcdp(rho * 1.0001, epsilon) > delta);
                let (a, b) = (epsilon_of_gdp(mu, delta), epsilon_of_zcdp(rho, delta));
                assert!(a <= epsilon && a > 0.9999 * epsilon, "{a} {epsilon}");
                assert!(b <= epsilon && b > 0.9999 * epsilon, "{b} {epsilon}");
                // GDP is the exact account of Gaussian noise, so it buys more.
                assert!(mu * mu / 2.0 > rho);
            }
        }
    }

    #[test]
    fn zcdp_conversion_beats_the_textbook_bound() {
        for rho in [0.001f64, 0.01, 0.1, 1.0] {
            let textbook = rho + 2.0 * (rho * 1e6f64.ln()).sqrt();
            let tight = epsilon_of_zcdp(rho, 1e-6);
            assert!(tight < textbook && tight > 0.5 * textbook);
        }
    }
}
