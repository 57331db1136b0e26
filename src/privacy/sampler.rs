//! Exact samplers of the discrete Laplace and the discrete Gaussian law, in integer arithmetic.
//!
//! Algorithms 1-3 of Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020).
//! No floating-point number is involved: every acceptance is a comparison of integers drawn uniformly by
//! rejection, so the output has exactly the law stated, given uniform bits.

use super::noise_source::NoiseSource;

/// The largest scale. It keeps every product below within 128 bits; see the bounds at each.
pub(super) const LARGEST_SCALE: u64 = 1 << 40;

/// The number of whole scales beyond which a Laplace draw is redrawn: its probability is `exp(-2^20)`,
/// far below the chance that the machine miscounts. It keeps `|x| < 2^61`.
const LARGEST_QUOTIENT: u64 = 1 << 20;

/// True with probability `exp(-numerator / denominator)`, for `numerator <= denominator < 2^122`
/// (Algorithm 1, first case).
fn bernoulli_exp_below_one(numerator: u128, denominator: u128, noise: &mut NoiseSource) -> bool {
    // The trial number k stays below 64 but for a chance of 1/64!, so `denominator * k < 2^128`; at 64 the
    // parity is decided by what is left of the series, less than 1e-89.
    let mut k = 1u128;
    while k < 64 && noise.below(denominator * k) < numerator {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability `exp(-numerator / denominator)` (Algorithm 1); `denominator < 2^122`.
fn bernoulli_exp(mut numerator: u128, denominator: u128, noise: &mut NoiseSource) -> bool {
    while numerator > denominator {
        if !bernoulli_exp_below_one(1, 1, noise) {
            return false;
        }
        numerator -= denominator;
    }
    bernoulli_exp_below_one(numerator, denominator, noise)
}

/// The discrete Laplace law: `P(x)` proportional to `exp(-|x| / scale)` on the integers (Algorithm 2 with
/// `s = 1`). `1 <= scale <= LARGEST_SCALE`.
pub(super) fn discrete_laplace(scale: u64, noise: &mut NoiseSource) -> i64 {
    debug_assert!((1..=LARGEST_SCALE).contains(&scale));
    loop {
        let remainder = noise.below(u128::from(scale));
        if !bernoulli_exp_below_one(remainder, u128::from(scale), noise) {
            continue;
        }
        let mut quotient = 0u64;
        while quotient < LARGEST_QUOTIENT && bernoulli_exp_below_one(1, 1, noise) {
            quotient += 1;
        }
        if quotient == LARGEST_QUOTIENT {
            continue;
        }
        // remainder < 2^40 and quotient * scale < 2^60: the sum is below 2^61.
        let magnitude = remainder as i64 + (quotient * scale) as i64;
        let negative = noise.coin();
        if negative && magnitude == 0 {
            continue;
        }
        return if negative { -magnitude } else { magnitude };
    }
}

/// The discrete Gaussian law: `P(x)` proportional to `exp(-x^2 / (2 sigma^2))` on the integers
/// (Algorithm 3). `1 <= sigma <= LARGEST_SCALE`.
///
/// The proposal is discrete Laplace of scale `t = sigma`, accepted with probability
/// `exp(-(|x| - sigma^2/t)^2 / (2 sigma^2)) = exp(-(|x| - sigma)^2 / (2 sigma^2))`; the algorithm is right
/// for every `t`, and an integer `sigma` makes the exponent a ratio of integers.
pub(super) fn discrete_gaussian(sigma: u64, noise: &mut NoiseSource) -> i64 {
    // 2 sigma^2 <= 2^81; |x| < 2^61 makes the numerator less than 2^122.
    let denominator = 2 * u128::from(sigma).pow(2);
    loop {
        let x = discrete_laplace(sigma, noise);
        let distance = u128::from(x.unsigned_abs().abs_diff(sigma));
        if bernoulli_exp(distance * distance, denominator, noise) {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 1_000_000;

    /// Pearson's statistic of draws against a law on the integers, in buckets `edges[i]..edges[i+1]` with
    /// the outer ones open. `weight(x)` is proportional to the law.
    fn chi_square(draws: &[i64], edges: &[i64], weight: impl Fn(i64) -> f64, reach: i64) -> f64 {
        let bucket = |x: i64| edges.partition_point(|&edge| edge <= x);
        let mut expected = vec![0.0; edges.len() + 1];
        // Laws with a scale of millions are integrated on a stride, which errs by less than 1e-9.
        let stride = (reach / 4_000_000).max(1);
        for x in (-reach..=reach).step_by(stride as usize) {
            expected[bucket(x)] += weight(x);
        }
        let total: f64 = expected.iter().sum();
        let mut observed = vec![0.0; edges.len() + 1];
        for &x in draws {
            observed[bucket(x)] += 1.0;
        }
        observed
            .iter()
            .zip(&expected)
            .map(|(o, e)| {
                let e = e / total * draws.len() as f64;
                (o - e).powi(2) / e
            })
            .sum()
    }

    /// The upper 1e-6 point of chi-square, by Wilson and Hilferty (1931); its error there is below 1 %,
    /// which moves the false-alarm rate by less than a factor of 2.
    fn critical(degrees: f64) -> f64 {
        let z = 4.753;
        let a = 2.0 / (9.0 * degrees);
        degrees * (1.0 - a + z * a.sqrt()).powi(3)
    }

    fn edges(scale: u64) -> Vec<i64> {
        // Buckets of a quarter of the scale, out to two scales: all but the smallest hold thousands.
        let step = (scale / 4).max(1) as i64;
        let most = (2 * scale as i64 / step).max(3);
        (-most..=most).map(|i| i * step + 1).collect()
    }

    #[test]
    fn the_gaussian_has_its_law() {
        for sigma in [1u64, 3, 50, 1_000_000] {
            let mut noise = NoiseSource::insecure_seed(sigma);
            let draws: Vec<i64> = (0..DRAWS).map(|_| discrete_gaussian(sigma, &mut noise)).collect();
            let edges = edges(sigma);
            let law = |x: i64| (-(x as f64 / sigma as f64).powi(2) / 2.0).exp();
            let statistic = chi_square(&draws, &edges, law, 12 * sigma as i64);
            assert!(statistic < critical(edges.len() as f64), "sigma {sigma}: {statistic} on {}", edges.len());
        }
    }

    #[test]
    fn the_laplace_has_its_law() {
        for scale in [1u64, 3, 50, 1_000_000] {
            let mut noise = NoiseSource::insecure_seed(scale + 7);
            let draws: Vec<i64> = (0..DRAWS).map(|_| discrete_laplace(scale, &mut noise)).collect();
            let edges = edges(scale);
            let law = |x: i64| (-(x as f64 / scale as f64).abs()).exp();
            let statistic = chi_square(&draws, &edges, law, 40 * scale as i64);
            assert!(statistic < critical(edges.len() as f64), "scale {scale}: {statistic} on {}", edges.len());
        }
    }

    /// The test above has power: a law of 1 % larger scale is rejected.
    #[test]
    fn a_wrong_scale_is_noticed() {
        let mut noise = NoiseSource::insecure_seed(11);
        let draws: Vec<i64> = (0..DRAWS).map(|_| discrete_gaussian(101, &mut noise)).collect();
        let edges = edges(100);
        let law = |x: i64| (-(x as f64 / 100.0).powi(2) / 2.0).exp();
        assert!(chi_square(&draws, &edges, law, 1200) > critical(edges.len() as f64));
    }

    /// opendp's exact sampler (0.16) and ours draw from one law: two-sample chi-square, false alarms 1e-6.
    #[test]
    fn opendp_agrees() {
        use opendp::traits::samplers::sample_discrete_gaussian;
        let (sigma, draws) = (7u64, 100_000);
        let mut noise = NoiseSource::insecure_seed(5);
        let edges = edges(sigma);
        let bucket = |x: i64| edges.partition_point(|&edge| edge <= x);
        let mut counts = vec![[0.0f64; 2]; edges.len() + 1];
        for _ in 0..draws {
            counts[bucket(discrete_gaussian(sigma, &mut noise))][0] += 1.0;
            let other = sample_discrete_gaussian(dashu::rational::RBig::from(sigma)).expect("opendp draws");
            counts[bucket(i64::try_from(other).expect("a small integer"))][1] += 1.0;
        }
        let statistic: f64 = counts.iter().map(|[a, b]| if a + b > 0.0 { (a - b).powi(2) / (a + b) } else { 0.0 }).sum();
        assert!(statistic < critical(edges.len() as f64), "{statistic}");
    }
}
