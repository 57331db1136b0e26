//! The confounding of scores that a selection left out.
//!
//! A selection keeps the scores of highest utility `u = min(A |a_j|, C |c_j|)`, up to its noise: `a_j` is a
//! score's imbalance, `c_j` its covariance with the outcome, `A` and `C` public. One left out therefore
//! confounds little, but not nothing. Two answers to how much:
//!
//! * [`LeftOut::expected`], for the Bayesian fit: the kept scores tell the law of imbalance and slope,
//!   `(alpha_j, gamma_j) ~ N(0, Omega)`, and the utility `u_min` of the least of them. The exponential mechanism
//!   passed over a score of utility `u` in each of `K` picks with probability about
//!   `(1 + exp(epsilon u / 2) / S)^-K`, where `S`, the sum of `exp(epsilon u / 2)` over those left out, is at least
//!   their number and about `exp(epsilon u_min / 2)` where utilities differ. Given that, the expected square of
//!   `alpha_j gamma_j` follows. Kept scores are the stronger ones, so that `Omega` errs on the wide side; the heavy
//!   tail of the fit's prior is left to them.
//! * [`LeftOut::bound`], for the second estimate, which has no prior: a heuristic on the threshold alone.
//!
//! Both are post-processing: they see released moments and the selection's public parameters only. Neither sees confounding of a shape that the kept scores do not show, such as by very many scores each
//! just below the threshold.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// What is known of the scores that a selection left out.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// How many they are.
    pub count: usize,
    /// How many picks passed over them.
    pub picks: usize,
    /// The privacy parameter of one pick: the exponential mechanism chose with weight
    /// `exp(epsilon u / 2)`.
    pub epsilon: f64,
    /// `A` and `C`: the utility, in records, of a unit of imbalance and of a unit of covariance with the
    /// outcome.
    pub utilities: [f64; 2],
}

/// How many standard deviations the bound without a prior counts.
const BOUND_WEIGHT: f64 = 3.0;

/// A posterior draw of the kept scores.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    /// `(a_j, c_j)` of each.
    pub moments: Vec<[f64; 2]>,
    /// `Omega`: variance of `alpha_j`, covariance, variance of `gamma_j`.
    pub omega: [f64; 3],
}

/// A weight `e^700` times the threshold's is as good as infinite, and still a number.
const LARGEST_EXCESS: f64 = 700.0;

/// Draws of a score for each draw of `Omega`: their Monte Carlo error is then below that of `Omega`'s own.
const DRAWS: usize = 16;

impl LeftOut {
    /// Whether every number has a meaning.
    pub(super) fn is_valid(&self) -> bool {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        positive(self.epsilon) && self.utilities.into_iter().all(positive)
    }

    /// The variance, in the effect, of confounding by all of them, given a draw of the kept scores and of their
    /// law, and no more than [`LeftOut::bound`]; `variance` is that of a score.
    pub(super) fn expected(&self, kept: &Kept, variance: f64, random: &mut impl Rng) -> f64 {
        let [of_imbalance, of_covariance] = self.utilities;
        let log_weight = |a: f64, c: f64| {
            self.epsilon / 2.0 * (of_imbalance * a.abs()).min(of_covariance * c.abs())
        };
        let least = (kept.moments.iter())
            .map(|&[a, c]| log_weight(a, c))
            .fold(f64::INFINITY, f64::min);
        let log_sum = least.max((self.count as f64).ln());
        let [of_alpha, covariance, of_gamma] = kept.omega;
        let rest = (of_gamma - covariance * covariance / of_alpha).max(0.0);
        let sd = variance.sqrt();
        let (mut total, mut square) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let [x, y]: [f64; 2] = [0, 1].map(|_| StandardNormal.sample(random));
            let alpha = of_alpha.sqrt() * x;
            let gamma = covariance / of_alpha * alpha + rest.sqrt() * y;
            let excess = (log_weight(sd * alpha, sd * gamma) - log_sum).min(LARGEST_EXCESS);
            let passed = (-(self.picks as f64) * excess.exp().ln_1p()).exp();
            total += passed;
            square += passed * (alpha * gamma).powi(2);
        }
        let expected = self.count as f64 * square / total;
        // Where no draw was passed over, 0 / 0.
        if expected < self.bound() {
            expected
        } else {
            self.bound()
        }
    }

    /// The same without a prior: a score left out has a utility of up to about
    /// `u = (2 / epsilon) (1 + ln(1 + count / picks))` by either of its factors. The product of both, times the
    /// root of the count and [`BOUND_WEIGHT`], is taken as the standard deviation.
    pub(super) fn bound(&self) -> f64 {
        let ratio = self.count as f64 / self.picks as f64;
        let utility = 2.0 / self.epsilon * (1.0 + ratio.ln_1p());
        let [imbalance, covariance] = self.utilities.map(|u| utility / u);
        self.count as f64 * (BOUND_WEIGHT * imbalance * covariance).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn left_out(epsilon: f64) -> LeftOut {
        LeftOut {
            count: 30,
            picks: 8,
            epsilon,
            utilities: [1000.0, 500.0],
        }
    }

    /// Eight kept scores, each of imbalance `a` and covariance `c`, and a law of unit correlation .5.
    fn kept(a: f64, c: f64) -> Kept {
        Kept {
            moments: vec![[a, c]; 8],
            omega: [0.01, 0.005, 0.01],
        }
    }

    fn expected(left_out: &LeftOut, kept: &Kept) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let draws = 20_000;
        let sum: f64 = (0..draws)
            .map(|_| left_out.expected(kept, 1.0 / 3.0, &mut random))
            .sum();
        sum / f64::from(draws)
    }

    /// A selection that hardly looks at the scores says nothing of those left out, so that the law of the
    /// kept ones holds for them: `E (alpha gamma)^2 = Omega_11 Omega_22 + 2 Omega_12^2`.
    #[test]
    fn a_selection_of_noise_leaves_the_law_of_the_kept_scores() {
        let law = 30.0 * (0.01 * 0.01 + 2.0 * 0.005 * 0.005);
        let found = expected(&left_out(1e-9), &kept(0.1, 0.1));
        // The ratio of sums of 16 draws is unbiased at equal weights; its relative standard error over
        // 320 000 products of normals' squares is under 1 %.
        assert!((found / law - 1.0).abs() < 0.04, "{found} {law}");
    }

    /// The better the selection sees, and the weaker the least score that it kept, the less is left out.
    #[test]
    fn a_sharp_selection_leaves_little() {
        let sharp = expected(&left_out(1.0), &kept(0.01, 0.02));
        let dull = expected(&left_out(0.05), &kept(0.01, 0.02));
        assert!(sharp < 0.1 * dull, "{sharp} {dull}");
        // Thresholds of log(30) / .1 = 34 records and of 100; the bound holds the second down.
        let weak = expected(&left_out(0.2), &kept(0.01, 0.02));
        let strong = expected(&left_out(0.2), &kept(0.1, 0.2));
        assert!(weak < 0.7 * strong, "{weak} {strong}");
    }

    /// By hand: 2 / epsilon = 4, 1 + ln(1 + 3) = 2.386, so a utility of 9.545; 12 (3 x .009545 x .01909)^2.
    #[test]
    fn the_bound_without_a_prior() {
        let left_out = LeftOut {
            count: 12,
            picks: 4,
            ..left_out(0.5)
        };
        assert!(
            (left_out.bound() / 3.586e-6 - 1.0).abs() < 1e-3,
            "{}",
            left_out.bound()
        );
    }

    #[test]
    fn utilities_beyond_every_threshold_give_the_bound_and_no_nan() {
        let impossible = Kept {
            moments: vec![[0.0, 0.0]; 8],
            omega: [1e12, 0.0, 1e12],
        };
        let left_out = left_out(5.0);
        let ratio = expected(&left_out, &impossible) / left_out.bound();
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
}
