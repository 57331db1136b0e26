//! What the room's statistical tests share.

use libm::{erfc, lgamma};

/// The standard normal distribution function.
pub(in crate::privacy) fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// The chi-square quantile that a correct sampler exceeds once in 10^6 runs, by Wilson and Hilferty's
/// cube-root approximation (4.753 is the normal quantile of 1 - 1e-6).
pub(in crate::privacy) fn chi_square_bound(degrees: usize) -> f64 {
    let k = degrees as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 4.753 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

/// Whether counts fit their expectations (which sum to the number of draws), at a false-alarm rate of
/// one in 10^6. Cells must expect enough draws for the approximation: asserted as 10.
pub(in crate::privacy) fn chi_square_fits(observed: &[u64], expected: &[f64]) -> bool {
    assert_eq!(observed.len(), expected.len());
    assert!(expected.iter().all(|&e| e >= 10.0));
    let statistic: f64 = observed
        .iter()
        .zip(expected)
        .map(|(&o, &e)| (o as f64 - e) * (o as f64 - e) / e)
        .sum();
    statistic <= chi_square_bound(observed.len() - 1)
}

/// `P(Binomial(n, p) <= k)`, summed in logarithms.
fn binomial_cdf(n: u64, p: f64, k: u64) -> f64 {
    let n = n as f64;
    (0..=k)
        .map(|i| {
            let i = i as f64;
            let choose = lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0);
            (choose + i * p.ln() + (n - i) * (-p).ln_1p()).exp()
        })
        .sum()
}

/// The Clopper-Pearson interval for a proportion of `k` in `n`, each side missing with probability
/// `miss`.
pub(in crate::privacy) fn clopper_pearson(n: u64, k: u64, miss: f64) -> (f64, f64) {
    let root = |above: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if above(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        0.5 * (low + high)
    };
    let lower = match k {
        0 => 0.0,
        k => root(&|p| 1.0 - binomial_cdf(n, p, k - 1) >= miss),
    };
    let upper = root(&|p| binomial_cdf(n, p, k) <= miss);
    (lower, upper)
}
