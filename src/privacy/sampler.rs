//! Exact samplers of the discrete Laplace and discrete Gaussian laws.
//!
//! The algorithms are 1 to 3 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
//! Privacy" (2020), arranged so that every random comparison is between integers of at most 64 bits.
//! There is no floating point, no table, no truncation: the laws are exact, whatever the scale.
//!
//! The arrangement. Everything is built from coins:
//!
//! * A coin of bias `n / d` compares a uniform integer below `d` with `n`.
//! * Coins multiply: tossing two independent coins and asking for two heads has the product as bias.
//! * From any coin of bias `g` in `[0, 1]`, [`exponential_coin`] makes one of bias `exp(-g)`.
//! * `exp(-(g + h))` is the product of `exp(-g)` and `exp(-h)`.
//!
//! Algorithm 3 accepts a discrete Laplace draw `x` of scale `sigma` with probability
//! `exp(-(|x| - sigma)^2 / (2 sigma^2))`. With `|x| = u + sigma v`, `0 <= u < sigma`, the exponent is,
//! for `v >= 1` and `a = v - 1`, `a^2 / 2 + a (u / sigma) + (u / sigma)^2 / 2`, and for `v = 0` it is
//! `((sigma - u) / sigma)^2 / 2`: products of coins of bias `1/2` and `u / sigma`. So nothing is
//! squared, and nothing can overflow.
//!
//! Draws take a random time that depends on the draw, not on the data; a release carries no timing.

pub(in crate::privacy) mod k_norm;

use rand::Rng;

/// The largest scale, in lattice units: 2^20 records. With `u < 2^40` and the geometric part `v` a 64-bit
/// count of loop turns, a draw is below `2^40 (2^64 + 1) < 2^105`, within `i128`.
pub(in crate::privacy) const LARGEST_SCALE: u64 = 1 << 40;

/// Bounds up to this one are served from 32-bit words, at half the cost; of those, the multiplication
/// then rejects less than one in 16.
const SMALL_BOUND: u64 = 1 << 28;

/// A uniform integer in `0..bound`, for `bound >= 1`, by Lemire's multiplication with rejection.
///
/// Of the 2^64 words `w`, exactly those with `w * bound mod 2^64 < 2^64 mod bound` are rejected; each
/// result is then the high half of the product of equally many words. The same holds with 2^32.
pub(in crate::privacy) fn uniform_below<R: Rng + ?Sized>(bound: u64, rng: &mut R) -> u64 {
    if bound <= SMALL_BOUND {
        return u64::from(uniform_below_small(bound as u32, rng));
    }
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let rejected = bound.wrapping_neg() % bound;
        while (product as u64) < rejected {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

/// [`uniform_below`] from 32-bit words.
fn uniform_below_small<R: Rng + ?Sized>(bound: u32, rng: &mut R) -> u32 {
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        let rejected = bound.wrapping_neg() % bound;
        while (product as u32) < rejected {
            product = u64::from(rng.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}

/// A fair coin.
fn fair_coin<R: Rng + ?Sized>(rng: &mut R) -> bool {
    rng.next_u32() & 1 == 1
}

/// A coin of bias `exp(-g)` from a coin of bias `g` (algorithm 1).
///
/// The number `K` of the first failure among coins of bias `g / k`, `k = 1, 2, ...` has
/// `P(K > k) = g^k / k!`, so `P(K odd) = 1 - g + g^2/2! - ... = exp(-g)`.
fn exponential_coin<R: Rng + ?Sized>(rng: &mut R, mut coin: impl FnMut(&mut R) -> bool) -> bool {
    let mut k = 1u64;
    while (k == 1 || uniform_below(k, rng) == 0) && coin(rng) {
        k += 1;
    }
    k % 2 == 1
}

/// Whether a coin of bias `exp(-times * g)` shows heads, given a coin of bias `g`.
fn repeated_exponential_coin<R: Rng + ?Sized>(
    times: u64,
    rng: &mut R,
    mut coin: impl FnMut(&mut R) -> bool,
) -> bool {
    (0..times).all(|_| exponential_coin(rng, &mut coin))
}

/// A coin of bias `exp(-numerator / denominator)`, for any two whole numbers, the second positive: the
/// whole part in coins of bias `1/e`, the rest in one.
pub(in crate::privacy) fn exponential_ratio_coin<R: Rng + ?Sized>(
    numerator: u128,
    denominator: u128,
    rng: &mut R,
) -> bool {
    let (mut whole, rest) = (numerator / denominator, numerator % denominator);
    while whole > 0 {
        if !exponential_coin(rng, |_| true) {
            return false;
        }
        whole -= 1;
    }
    exponential_coin(rng, |rng| uniform_below_wide(denominator, rng) < rest)
}

/// A uniform integer in `0..bound`, for `bound >= 1`, by rejection from as many bits as `bound` has.
fn uniform_below_wide<R: Rng + ?Sized>(bound: u128, rng: &mut R) -> u128 {
    let spare = bound.leading_zeros();
    loop {
        let bits = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
        let candidate = bits >> spare;
        if candidate < bound {
            return candidate;
        }
    }
}

/// The absolute value of a discrete Laplace draw as `(u, v)`, `|x| = u + scale * v`, before the sign:
/// `P(u, v)` is proportional to `exp(-(u / scale + v))`.
fn laplace_magnitude<R: Rng + ?Sized>(scale: u64, rng: &mut R) -> (u64, u64) {
    let remainder = loop {
        let u = uniform_below(scale, rng);
        if exponential_coin(rng, |rng| uniform_below(scale, rng) < u) {
            break u;
        }
    };
    let mut quotient = 0u64;
    while exponential_coin(rng, |_| true) {
        quotient += 1;
    }
    (remainder, quotient)
}

/// A draw of the discrete Laplace law, `P(x)` proportional to `exp(-|x| / scale)` (algorithm 2).
///
/// `scale` must be in `1..=LARGEST_SCALE`.
pub(in crate::privacy) fn discrete_laplace<R: Rng + ?Sized>(scale: u64, rng: &mut R) -> i128 {
    debug_assert!((1..=LARGEST_SCALE).contains(&scale));
    loop {
        let (u, v) = laplace_magnitude(scale, rng);
        if let Some(x) = signed(u, v, scale, rng) {
            return x;
        }
    }
}

/// A draw of the discrete Gaussian law, `P(x)` proportional to `exp(-x^2 / (2 sigma^2))` (algorithm 3,
/// with a Laplace proposal of scale `sigma`).
///
/// `sigma` must be in `1..=LARGEST_SCALE`.
pub(in crate::privacy) fn discrete_gaussian<R: Rng + ?Sized>(sigma: u64, rng: &mut R) -> i128 {
    debug_assert!((1..=LARGEST_SCALE).contains(&sigma));
    loop {
        let (u, v) = laplace_magnitude(sigma, rng);
        // The acceptance depends on |x| alone, so it may come before the sign and its rejection.
        if accepts_gaussian(u, v, sigma, rng)
            && let Some(x) = signed(u, v, sigma, rng)
        {
            return x;
        }
    }
}

/// Accepts `|x| = u + sigma v` with probability `exp(-(|x| - sigma)^2 / (2 sigma^2))`, by the
/// decomposition in the module's documentation.
fn accepts_gaussian<R: Rng + ?Sized>(u: u64, v: u64, sigma: u64, rng: &mut R) -> bool {
    let (steps, rest) = match v.checked_sub(1) {
        Some(steps) => (steps, u),
        None => (0, sigma - u),
    };
    // exp(-steps^2 / 2) in `steps` rounds of `steps` coins, so that the square is never formed.
    (0..steps).all(|_| repeated_exponential_coin(steps, rng, fair_coin))
        && repeated_exponential_coin(steps, rng, |rng| uniform_below(sigma, rng) < rest)
        && exponential_coin(rng, |rng| {
            fair_coin(rng) && uniform_below(sigma, rng) < rest && uniform_below(sigma, rng) < rest
        })
}

/// `u + scale v` with a random sign; `None` for "minus zero", which would count zero twice.
fn signed<R: Rng + ?Sized>(u: u64, v: u64, scale: u64, rng: &mut R) -> Option<i128> {
    // Below 2^40 + 2^40 2^64: see LARGEST_SCALE.
    let magnitude = i128::from(u) + i128::from(scale) * i128::from(v);
    match (fair_coin(rng), magnitude) {
        (true, 0) => None,
        (true, _) => Some(-magnitude),
        (false, _) => Some(magnitude),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::NoiseSource;
    use crate::privacy::testing::{chi_square_fits, normal_cdf};

    const DRAWS: usize = 1_000_000;

    /// Chi-square of draws against a law given by its cell probabilities: cells `-half..=half`, the
    /// tails joined to the end cells. False alarms: one in 10^6 (see `chi_square_fits`); seeds fixed.
    fn check_small(
        draw: impl Fn(&mut NoiseSource) -> i128,
        weight: impl Fn(f64) -> f64,
        reach: i64,
    ) {
        let far = 40 * reach;
        let total: f64 = (-far..=far).map(|x| weight(x as f64)).sum();
        let mut expected = vec![0.0; 2 * reach as usize + 1];
        for x in -far..=far {
            expected[(x.clamp(-reach, reach) + reach) as usize] +=
                weight(x as f64) / total * DRAWS as f64;
        }
        let mut observed = vec![0u64; expected.len()];
        let mut noise = NoiseSource::insecure_seed(20);
        for _ in 0..DRAWS {
            let x = draw(&mut noise).clamp(-i128::from(reach), i128::from(reach));
            observed[(x + i128::from(reach)) as usize] += 1;
        }
        assert!(chi_square_fits(&observed, &expected));
    }

    #[test]
    fn gaussian_of_small_sigma_has_its_law() {
        for (sigma, reach) in [(1u64, 4), (3, 12), (50, 170)] {
            let s = sigma as f64;
            check_small(
                |noise| discrete_gaussian(sigma, noise.generator()),
                |x| (-x * x / (2.0 * s * s)).exp(),
                reach,
            );
        }
    }

    #[test]
    fn laplace_of_small_scale_has_its_law() {
        for (scale, reach) in [(1u64, 9), (3, 25), (50, 330)] {
            check_small(
                |noise| discrete_laplace(scale, noise.generator()),
                |x| (-x.abs() / scale as f64).exp(),
                reach,
            );
        }
    }

    /// Large scales in 64 buckets of equal probability. By Euler-Maclaurin, the law's distribution
    /// function at a half-integer differs from the continuous one by less than `1 / (20 sigma^2)`, that
    /// is 1e-13 here, against a sampling error of 1e-3 per bucket. False alarms: one in 10^6.
    #[test]
    fn large_scales_have_their_laws() {
        const BUCKETS: usize = 64;
        let gaussian_cdf = |x: f64, s: f64| normal_cdf(x / s);
        let laplace_cdf = |x: f64, s: f64| match x {
            x if x < 0.0 => 0.5 * (x / s).exp(),
            x => 1.0 - 0.5 * (-x / s).exp(),
        };
        for scale in [1_000_000u64, LARGEST_SCALE] {
            let mut noise = NoiseSource::insecure_seed(21);
            let mut gaussian = [0u64; BUCKETS];
            let mut laplace = [0u64; BUCKETS];
            let bucket = |p: f64| ((p * BUCKETS as f64) as usize).min(BUCKETS - 1);
            for _ in 0..DRAWS {
                let x = discrete_gaussian(scale, noise.generator()) as f64;
                gaussian[bucket(gaussian_cdf(x, scale as f64))] += 1;
                let x = discrete_laplace(scale, noise.generator()) as f64;
                laplace[bucket(laplace_cdf(x, scale as f64))] += 1;
            }
            let expected = [DRAWS as f64 / BUCKETS as f64; BUCKETS];
            assert!(chi_square_fits(&gaussian, &expected));
            assert!(chi_square_fits(&laplace, &expected));
        }
    }

    /// Low bits of draws of a large odd scale are as good as uniform: a defect of the remainder's law
    /// would hide from wide buckets. False alarms: one in 10^6.
    #[test]
    fn low_bits_are_uniform() {
        let mut noise = NoiseSource::insecure_seed(22);
        let mut observed = [0u64; 64];
        for _ in 0..DRAWS {
            let x = discrete_gaussian(1_048_577, noise.generator());
            observed[x.rem_euclid(64) as usize] += 1;
        }
        assert!(chi_square_fits(&observed, &[DRAWS as f64 / 64.0; 64]));
    }

    /// Without rejection, `3 w / 8` rounded down takes residues 0, 1, 2 modulo 3 in ratio 3:3:2.
    #[test]
    fn uniform_integers_are_unbiased_below_awkward_bounds() {
        let mut noise = NoiseSource::insecure_seed(23);
        let mut large = [0u64; 3];
        let mut small = [0u64; 3];
        for _ in 0..300_000 {
            large[(uniform_below(3 << 61, noise.generator()) % 3) as usize] += 1;
            small[(uniform_below_small(3 << 29, noise.generator()) % 3) as usize] += 1;
        }
        assert!(chi_square_fits(&large, &[100_000.0; 3]));
        assert!(chi_square_fits(&small, &[100_000.0; 3]));
    }
}
