//! From a noisy histogram of residual sizes to the scale of the residuals and the clip that suits it.
//!
//! A clip too wide wastes budget, one too narrow biases. The noise that a bound `B` brings to an effect is
//! about `10 B / (mu n)` where it is adjusted, and a third of that where it is not; its bias is at most a small multiple of the mean excess `E (|r| - B)_+`. The clip
//! minimises the sum of the two squares (adjustment by centred moments, improved form; constants chosen by
//! simulation).
//!
//! The histogram's outer cells tell the excess, but hold few records and as much noise as any. What the
//! inner cells tell of the tail is better known: a Weibull tail through the 80 % and the 95 % quantile,
//! `P(|r| > x) = exp(-(x / l)^k)`, `k = ln(ln 20 / ln 5) / ln(q95 / q80)`, `l = q95 / (ln 20)^(1/k)`, has the
//! excess `(l / k) Gamma(1/k, (B/l)^k)` beyond `B`. Its shape tells a normal tail (`k` about 1.5) from a skewed
//! one (below 1). It is believed within what the outer cells
//! allow, from one standard deviation of their noise below what they count to one above: where they hold
//! little but noise, a skewed tail is noticed before they show it; where they are well known, they decide.

use statrs::function::gamma::{gamma, gamma_ur};

/// The number of edges.
const EDGES: i32 = 13;

/// The quantile that the scale is taken from: it is little moved by tails and by a mass at 0.
const QUANTILE: f64 = 0.8;

/// The quantile that fixes the tail's shape: beyond it there are enough records to tell it from noise.
const TAIL_QUANTILE: f64 = 0.95;

/// Bounds of the ratio of the two quantiles; 1.53 is the normal law's, 2.5 that of a heavy tail.
const QUANTILE_RATIOS: [f64; 2] = [1.2, 4.0];

/// The standard normal law's 80 % quantile of `|z|`, so that the scale is a standard deviation there.
const NORMAL_QUANTILE: f64 = 1.2816;

/// Noise of an adjusted effect, in units of `B / (mu n)`.
pub const ADJUSTED_NOISE: f64 = 10.0;

/// Noise of a difference in means, in the same units: arms of equal size, three quarters of the budget.
pub const UNADJUSTED_NOISE: f64 = 3.5;

/// Weight of the mean excess.
const EXCESS_WEIGHT: f64 = 2.0;

/// The standard normal law's 95 % quantile of `|z|`.
const NORMAL_TAIL_QUANTILE: f64 = 1.96;

/// The candidates for the clip, in scales.
const MULTIPLES: [f64; 7] = [2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0];

/// The upper ends of the cells, for outcomes in `[-1, 1]`: from 2 down by factors of the root of 2, ascending.
pub fn edges() -> Vec<f64> {
    (0..EDGES)
        .rev()
        .map(|j| 2.0 * 2.0_f64.powf(-f64::from(j) / 2.0))
        .collect()
}

/// What a noisy histogram says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResidualScale {
    /// The scale of the residuals: the standard deviation of a normal law with their 80 % quantile.
    pub scale: f64,
    /// The larger of that and the standard deviation of a normal law with their 95 % quantile: what a tail
    /// adds to the spread.
    pub spread: f64,
    /// The clip.
    pub bound: f64,
    /// The mean excess beyond the clip.
    pub excess: f64,
}

/// Reads a histogram.
///
/// `counts` are the noisy cells, in records, `noise` the standard deviation of each; `largest` the largest
/// residual there can be, `mu` the effects' whole budget, `records` the number of records and `noise_weight`
/// the noise of the effect in units of `B / (mu n)`.
pub fn residual_scale(
    counts: &[f64],
    noise: f64,
    largest: f64,
    mu: f64,
    records: f64,
    noise_weight: f64,
) -> ResidualScale {
    let edges = edges();
    let start = quantile(counts, &edges, QUANTILE);
    let scale = start / NORMAL_QUANTILE;
    let [least, most] = QUANTILE_RATIOS;
    let tail = quantile(counts, &edges, TAIL_QUANTILE).clamp(least * start, most * start);
    let beyond = weibull_excess(start, tail);
    // Nothing lies beyond the largest residual.
    let extrapolated = |bound: f64| (beyond(bound) - beyond(largest)).max(0.0);
    let counted = |bound: f64| {
        let beyond = |edge: &f64| {
            // The geometric middle of the cell.
            let middle = (edge * 2.0_f64.powf(-0.25)).min(largest);
            (middle - bound).max(0.0)
        };
        let weights: Vec<f64> = edges.iter().map(beyond).collect();
        let sum: f64 = weights.iter().zip(counts).map(|(w, c)| w * c).sum();
        let noise = noise * weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        [sum - noise, sum + noise].map(|excess| (excess / records).max(0.0))
    };
    let excess = |bound: f64| {
        let [least, most] = counted(bound);
        extrapolated(bound).clamp(least, most)
    };
    let cost = |bound: f64| {
        let noise = noise_weight * bound / (mu * records);
        noise * noise + (EXCESS_WEIGHT * excess(bound)).powi(2)
    };
    let candidates = MULTIPLES
        .iter()
        .map(|multiple| multiple * scale)
        .filter(|&bound| bound <= largest)
        .chain([largest]);
    let bound = candidates
        .min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
        .unwrap_or(largest);
    ResidualScale {
        scale,
        spread: scale.max(tail / NORMAL_TAIL_QUANTILE),
        bound,
        excess: excess(bound),
    }
}

/// The mean excess beyond a bound of the Weibull law with the two quantiles, `start < tail`.
fn weibull_excess(start: f64, tail: f64) -> impl Fn(f64) -> f64 {
    let [first, second] = [QUANTILE, TAIL_QUANTILE].map(|p| -(1.0 - p).ln());
    let shape = (second / first).ln() / (tail / start).ln();
    let length = tail / second.powf(1.0 / shape);
    let whole = length / shape * gamma(1.0 / shape);
    move |bound| whole * gamma_ur(1.0 / shape, (bound / length).powf(shape))
}

/// A quantile, interpolated on the log scale within its cell; negative counts are none.
fn quantile(counts: &[f64], edges: &[f64], probability: f64) -> f64 {
    let total: f64 = counts.iter().map(|c| c.max(0.0)).sum();
    if total <= 0.0 {
        return edges[edges.len() - 1];
    }
    let mut below = 0.0;
    for (cell, count) in counts.iter().enumerate() {
        let share = count.max(0.0) / total;
        if below + share >= probability {
            let upper = edges[cell];
            let lower = if cell > 0 {
                edges[cell - 1]
            } else {
                upper / 2.0
            };
            let within = ((probability - below) / share).clamp(0.0, 1.0);
            return lower * (upper / lower).powf(within);
        }
        below += share;
    }
    edges[edges.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Continuous, ContinuousCDF, Normal};

    fn normal_counts(sd: f64, records: f64) -> Vec<f64> {
        let normal = Normal::new(0.0, sd).unwrap();
        let below = |x: f64| 2.0 * normal.cdf(x) - 1.0;
        let mut last = 0.0;
        edges()
            .iter()
            .map(|&edge| {
                let share = below(edge) - last;
                last = below(edge);
                share * records
            })
            .collect()
    }

    #[test]
    fn the_scale_of_normal_residuals_is_their_standard_deviation() {
        for sd in [0.05, 0.1, 0.3] {
            let read = residual_scale(&normal_counts(sd, 1e5), 0.0, 1.5, 1.0, 1e5, ADJUSTED_NOISE);
            // The interpolation within a cell of width sqrt(2) is good to a few percent.
            assert!((read.scale / sd - 1.0).abs() < 0.05, "{}", read.scale);
        }
    }

    /// Of the exponential law (shape 1) the excess beyond `B` is `exp(-B)`, and through the
    /// normal law's two quantiles it is above that law's, by a factor of 1.3 at 2.5 deviations and 1.7 at 3.
    #[test]
    fn the_tail_has_the_excess_of_its_law() {
        let exponential = weibull_excess(5.0_f64.ln(), 20.0_f64.ln());
        for bound in [0.5, 3.0, 6.0] {
            assert!((exponential(bound) / (-bound).exp() - 1.0).abs() < 1e-9);
        }
        let normal = Normal::standard();
        let tail = weibull_excess(normal.inverse_cdf(0.9), normal.inverse_cdf(0.975));
        for bound in [2.5, 3.0] {
            let exact = 2.0 * (normal.pdf(bound) - bound * normal.cdf(-bound));
            let ratio = tail(bound) / exact;
            assert!((1.2..1.8).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_tight_budget_clips_closer() {
        let counts = normal_counts(0.1, 1e4);
        let tight = residual_scale(&counts, 0.0, 1.5, 0.05, 1e4, ADJUSTED_NOISE);
        let loose = residual_scale(&counts, 0.0, 1.5, 5.0, 1e4, ADJUSTED_NOISE);
        assert!(tight.bound < loose.bound);
        assert!(tight.excess >= loose.excess);
        assert!(loose.bound <= 1.5);
    }

    /// At the same scale and budget, a log-normal tail is clipped further out than a normal one.
    #[test]
    fn a_skewed_tail_is_noticed_without_its_outer_cells() {
        let normal = Normal::new(0.0, 0.7).unwrap();
        // |r| of r = 0.1 (exp z - 1), z of sd 0.7.
        let below = |x: f64| {
            let upper = normal.cdf((1.0 + 10.0 * x).ln());
            let lower = if x < 0.1 {
                normal.cdf((1.0 - 10.0 * x).ln())
            } else {
                0.0
            };
            upper - lower
        };
        let mut last = 0.0;
        let mut counts: Vec<f64> = edges()
            .iter()
            .map(|&edge| {
                let share = below(edge) - last;
                last = below(edge);
                5000.0 * share
            })
            .collect();
        // What noise can hide.
        for count in counts.iter_mut().filter(|count| **count < 30.0) {
            *count = 0.0;
        }
        let skewed = residual_scale(&counts, 27.0, 1.4, 0.2, 5000.0, ADJUSTED_NOISE);
        let thin = residual_scale(
            &normal_counts(skewed.scale, 5000.0),
            27.0,
            1.4,
            0.2,
            5000.0,
            ADJUSTED_NOISE,
        );
        assert!(skewed.bound / skewed.scale > thin.bound / thin.scale + 0.4);
        assert!(thin.bound / thin.scale <= 3.6);
    }

    /// Where the outer cells are well known, they overrule the tail that the inner ones suggest.
    #[test]
    fn well_known_outer_cells_decide() {
        let records = 1e6;
        let mut counts = normal_counts(0.1, records);
        let known = residual_scale(&counts, 1.0, 1.4, 0.01, records, ADJUSTED_NOISE);
        // Of one in a thousand records at .6 the inner cells know nothing.
        counts[9] += 1e-3 * records;
        let outliers = residual_scale(&counts, 1.0, 1.4, 0.01, records, ADJUSTED_NOISE);
        assert!(
            outliers.bound > known.bound + 0.1,
            "{} {}",
            outliers.bound,
            known.bound
        );
        let hidden = residual_scale(&counts, 1e5, 1.4, 0.01, records, ADJUSTED_NOISE);
        assert!(
            hidden.bound < outliers.bound,
            "{} {}",
            hidden.bound,
            outliers.bound
        );
    }

    #[test]
    fn nonsense_counts_give_the_whole_range() {
        let read = residual_scale(&[-1.0; 13], 1.0, 1.2, 1.0, 100.0, ADJUSTED_NOISE);
        assert_eq!(read.bound, 1.2);
        assert!(read.scale.is_finite());
    }
}
