//! What a fit answers: estimates with their intervals and the parts of their variance.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::erfc;
use rand_distr::{Distribution, StandardNormal};

use super::sampling::Sampling;
use crate::estimate::EstimateError;
use crate::estimate::quantile::critical_value;
use crate::impute::{Purpose, stream};

/// The population that a mean or an effect is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Everyone in both arms: the effect is the ATE.
    Everyone,
    /// The treated: the ATT.
    Treated,
    /// The reference arm's units: the ATC.
    Reference,
}

/// An arm, whose potential outcome is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arm {
    /// `Y(0)`.
    Reference,
    /// `Y(1)`.
    Treated,
}

impl Arm {
    /// `t`.
    pub(super) fn index(self) -> usize {
        match self {
            Arm::Reference => 0,
            Arm::Treated => 1,
        }
    }
}

/// The parts of an estimate's variance, by source. They sum to the square of its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VarianceTerms {
    /// The records' sampling: outcomes about their regressions.
    pub sampling: f64,
    /// The sampling of the target's scores: of an effect, how much it varies over the covariates; of a
    /// mean, how much the outcome does.
    pub heterogeneity: f64,
    /// Privacy noise of the arms' mean outcomes.
    pub mean_noise: f64,
    /// What clipped outcomes may bias: the square of the mean excess of residuals beyond the clip, as the release estimates it. That
    /// excess bounds a mean's bias and is taken for its standard deviation; with a correlation of one half between
    /// the arms' also for an effect's.
    pub clipping: f64,
    /// The posterior variance of imbalance times slope, of the widened draws
    /// ([`Constants::posterior_spread`](super::Constants::posterior_spread)): what privacy noise leaves open.
    pub adjustment: f64,
    /// Confounders that the selection of scores left out.
    pub omitted: f64,
}

impl VarianceTerms {
    /// The square of the standard error.
    pub fn total(&self) -> f64 {
        self.sampling + self.heterogeneity + self.privacy()
    }

    /// The part that would vanish without privacy noise.
    pub fn privacy(&self) -> f64 {
        self.mean_noise + self.clipping + self.adjustment + self.omitted
    }
}

/// An estimate on the outcome's `[-1, 1]` scale: a mixture of normals, one at each posterior draw.
#[derive(Debug, Clone, PartialEq)]
pub struct AdjustedEstimate {
    /// The point estimate, from the posterior medians of both arms' adjustments. Imbalance times slope has a skewed posterior
    /// with long tails where the budget is tight, and there its mean is farther from the truth (on 36 cells of tuning populations by
    /// 2 % of RMSE on the whole, 6 at most).
    pub value: f64,
    /// The parts of its variance.
    pub variance: VarianceTerms,
    draws: Vec<Component>,
}

/// One draw's normal.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Component {
    centre: f64,
    /// Variance by omitted confounders; what else varies is common to all draws.
    omitted: f64,
}

impl AdjustedEstimate {
    /// About a value, from draws and the terms that are common to them.
    fn new(value: f64, draws: Vec<Component>, mut variance: VarianceTerms) -> AdjustedEstimate {
        let count = draws.len() as f64;
        let mean = draws.iter().map(|c| c.centre).sum::<f64>() / count;
        let square: f64 = draws.iter().map(|c| (c.centre - mean).powi(2)).sum();
        variance.adjustment = square / (count - 1.0).max(1.0);
        variance.omitted = draws.iter().map(|c| c.omitted).sum::<f64>() / count;
        AdjustedEstimate {
            value,
            variance,
            draws,
        }
    }

    /// The number of posterior draws.
    pub fn draws(&self) -> usize {
        self.draws.len()
    }

    /// The square root of the variance terms' sum.
    pub fn standard_error(&self) -> f64 {
        self.variance.total().sqrt()
    }

    /// The equal-tailed interval of the level given, such as 0.95.
    ///
    /// # Errors
    /// A level outside `(0, 1)`.
    pub fn interval(&self, level: f64) -> Result<[f64; 2], EstimateError> {
        let outermost = critical_value(level, f64::INFINITY)?;
        let tail = (1.0 - level) / 2.0;
        Ok([
            self.quantile(tail, -outermost),
            self.quantile(1.0 - tail, outermost),
        ])
    }

    /// The mixture's quantile, by bisection of its distribution function: exact where counting draws would
    /// add Monte Carlo error of its own. It lies between the least and the most of the components' own
    /// quantiles, which are `deviations` standard deviations from their centres.
    fn quantile(&self, probability: f64, deviations: f64) -> f64 {
        let VarianceTerms {
            adjustment,
            omitted,
            ..
        } = self.variance;
        let common = self.variance.total() - adjustment - omitted;
        let components: Vec<[f64; 2]> = (self.draws.iter())
            .map(|c| [c.centre, (common + c.omitted).max(0.0).sqrt()])
            .collect();
        let below = |x: f64| {
            let each = components.iter().map(|&[centre, sd]| match x - centre {
                d if sd > 0.0 => 0.5 * erfc(-d / sd * FRAC_1_SQRT_2),
                d if d >= 0.0 => 1.0,
                _ => 0.0,
            });
            each.sum::<f64>() / components.len() as f64
        };
        let [mut low, mut high] = [
            (f64::INFINITY, f64::min as fn(f64, f64) -> f64),
            (f64::NEG_INFINITY, f64::max),
        ]
        .map(|(start, pick)| {
            let quantiles = components
                .iter()
                .map(|[centre, sd]| centre + deviations * sd);
            quantiles.fold(start, pick)
        });
        // A millionth of the draws' range is far below their Monte Carlo error.
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if below(middle) < probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }
}

/// A fitted release: posterior draws of the adjustment, and what surrounds them.
#[derive(Debug, Clone, PartialEq)]
pub struct AdjustedFit {
    pub(super) means: [f64; 2],
    pub(super) mean_noise: [f64; 2],
    /// As of [`CentredMoments`](super::CentredMoments).
    pub(super) clipping: f64,
    /// The variance, in the effect, of omitted confounders, by draw.
    pub(super) omitted: Vec<f64>,
    /// `a' beta_0` and `a' beta_1`, by draw, widened about their medians.
    pub(super) adjustments: Vec<[f64; 2]>,
    /// The medians of either. Effects and means are linear in them, so that effects stay differences of means.
    pub(super) medians: [f64; 2],
    pub(super) sampling: Sampling,
    pub(super) seed: u64,
}

impl AdjustedFit {
    /// The effect `E[Y(1) - Y(0)]` over the target.
    pub fn effect(&self, target: Target) -> AdjustedEstimate {
        let distances = self.sampling.distances(target);
        let mean = |t: usize, draw: &[f64; 2]| self.means[t] + distances[t] * draw[t];
        let effect = |draw: &[f64; 2]| mean(1, draw) - mean(0, draw);
        let draws = self.components(distances[1] - distances[0], effect);
        let covariance = self.sampling.of_target(target);
        let arms = [Arm::Reference, Arm::Treated];
        let terms = VarianceTerms {
            sampling: arms
                .map(|arm| self.sampling.of_arm(arm, target))
                .iter()
                .sum(),
            heterogeneity: (covariance[0][0] + covariance[1][1] - 2.0 * covariance[0][1]).max(0.0),
            mean_noise: self.mean_noise.iter().sum(),
            clipping: self.clipping,
            adjustment: 0.0,
            omitted: 0.0,
        };
        AdjustedEstimate::new(effect(&self.medians), draws, terms)
    }

    /// The draws of what `centre` says, `distance` times as sensitive to omitted confounders as the ATE.
    fn components(&self, distance: f64, centre: impl Fn(&[f64; 2]) -> f64) -> Vec<Component> {
        let draws = self.adjustments.iter().zip(&self.omitted);
        draws
            .map(|(draw, omitted)| Component {
                centre: centre(draw),
                omitted: omitted * distance * distance,
            })
            .collect()
    }

    /// The mean of the arm's potential outcome over the target.
    pub fn mean(&self, arm: Arm, target: Target) -> AdjustedEstimate {
        let t = arm.index();
        let distance = self.sampling.distances(target)[t];
        let mean = |draw: &[f64; 2]| self.means[t] + distance * draw[t];
        let draws = self.components(distance, mean);
        AdjustedEstimate::new(mean(&self.medians), draws, self.terms_of_mean(arm, target))
    }

    /// Joint draws `[E Y(0), E Y(1)]` over the target, all sources of variance included: `each` of them at
    /// every posterior draw. A function of both means, such as their ratio on the outcome's own scale, has
    /// its interval from its quantiles over these.
    pub fn arm_means(&self, target: Target, each: usize) -> Vec<[f64; 2]> {
        let mut random = stream(self.seed, Purpose::Adjustment, 1);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let distances = self.sampling.distances(target);
        let common =
            [Arm::Reference, Arm::Treated].map(|arm| self.terms_of_mean(arm, target).total());
        let shared = self.sampling.of_target(target)[0][1] + self.clipping / 2.0;
        let mut draws = Vec::with_capacity(self.adjustments.len() * each);
        for (draw, omitted) in self.adjustments.iter().zip(&self.omitted) {
            let [v0, v1] = [0, 1].map(|t| common[t] + omitted * distances[t].powi(2));
            let covariance = shared + omitted * distances[0] * distances[1];
            let slope = if v0 > 0.0 { covariance / v0 } else { 0.0 };
            let rest = (v1 - slope * covariance).max(0.0).sqrt();
            for _ in 0..each {
                let first = v0.sqrt() * normal();
                let errors = [first, slope * first + rest * normal()];
                draws.push([0, 1].map(|t| self.means[t] + distances[t] * draw[t] + errors[t]));
            }
        }
        draws
    }

    /// All but what differs between draws.
    fn terms_of_mean(&self, arm: Arm, target: Target) -> VarianceTerms {
        let t = arm.index();
        VarianceTerms {
            sampling: self.sampling.of_arm(arm, target),
            heterogeneity: self.sampling.of_target(target)[t][t].max(0.0),
            mean_noise: self.mean_noise[t],
            clipping: self.clipping,
            adjustment: 0.0,
            omitted: 0.0,
        }
    }
}
