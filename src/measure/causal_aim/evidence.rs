//! Whether a noisy leaf shows anything: read off what was released, so it costs nothing.

use super::hub::Hub;
use crate::release::Measurement;
use std::f64::consts::FRAC_2_PI;

/// How many standard deviations above its mean the L1 norm of pure noise is taken to reach. Both associations must
/// exceed it, so that a covariate without any bearing passes for one in 40 times.
const BEYOND: f64 = 1.0;

/// Whether a measured leaf goes with treatment and outcome by more than its noise, and the sampling of as many records, would
/// make it: the sums of the product score, from the noisy leaf, with the hub's propensity and mean outcomes.
pub fn shows_both(leaf: &Measurement, hub: &Hub) -> bool {
    let values = leaf.records();
    let levels = leaf.shape.last().copied().unwrap_or(1);
    let arms: Vec<&[f64]> = values.chunks_exact(2 * levels).collect();
    (1..arms.len()).any(|t| {
        let sums = Contrast {
            hub,
            t,
            levels,
            noise: leaf.sigma_records().powi(2),
            arms: [arms[0], arms[t]],
        };
        sums.shows_treatment() && sums.shows_outcome()
    })
}

/// A leaf's cells in arm `t` and in the reference arm: split side by level.
struct Contrast<'a> {
    hub: &'a Hub,
    t: usize,
    levels: usize,
    /// The variance of a cell's noise.
    noise: f64,
    arms: [&'a [f64]; 2],
}

impl Contrast<'_> {
    fn shows_treatment(&self) -> bool {
        let (records, share) = self.hub.contrast(self.t);
        let count = |arm: usize, l: usize| self.arms[arm][l] + self.arms[arm][self.levels + l];
        let level = |l: usize| (1.0 - share) * count(1, l) - share * count(0, l);
        let noise = 2.0 * self.noise * ((1.0 - share).powi(2) + share.powi(2));
        self.exceeds(&level, noise, records * share * (1.0 - share))
    }

    /// In the outcome's own unit.
    fn shows_outcome(&self) -> bool {
        let (records, _) = self.hub.contrast(self.t);
        let means = [self.hub.means[0], self.hub.means[self.t]];
        let residual = |arm: usize, l: usize| {
            let [without, with] = [self.arms[arm][l], self.arms[arm][self.levels + l]];
            with * (1.0 - means[arm]) - without * means[arm]
        };
        let level = |l: usize| residual(0, l) + residual(1, l);
        let noise: f64 = means.iter().map(|m| (1.0 - m).powi(2) + m * m).sum();
        self.exceeds(
            &level,
            noise * self.noise,
            records * self.hub.variance(self.t),
        )
    }

    /// Whether the L1 norm of the levels exceeds that of noise of this variance per level and of sampling of this
    /// variance in all.
    fn exceeds(&self, level: &dyn Fn(usize) -> f64, noise: f64, sampling: f64) -> bool {
        let levels = self.levels as f64;
        let norm: f64 = (0..self.levels).map(|l| level(l).abs()).sum();
        let deviation = (noise + sampling / levels).sqrt();
        let mean = FRAC_2_PI.sqrt() * levels;
        // The variance of a half-normal is 1 - 2 / pi.
        let spread = (levels * (1.0 - FRAC_2_PI)).sqrt();
        norm > deviation * (mean + BEYOND * spread)
    }
}
