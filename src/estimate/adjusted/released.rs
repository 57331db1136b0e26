//! From the noisy sums of an effects release to centred moments, pair by pair of arms.
//!
//! Post-processing: every number here is a function of released ones.

use ndarray::Array2;

use super::left_out::LeftOut;
use super::moments::{CentredArm, CentredMoments};
use crate::release::{EffectMeasurement, EffectsRelease};
use crate::schema::{SCALE, SCORE_SCALE};
use crate::workload::Stage;

/// How far the outcome's variance may lie from the squared residual spread before the measured spread is
/// believed over it, as a share of that square (its prior standard deviation).
const SCALE_TRUST: f64 = 0.5;

/// The least variance of an outcome within an arm, in squared residual scales.
const LEAST_VARIANCE: f64 = 0.1;

/// The moments of arm `arm` and the reference arm.
///
/// A release read by [`CheckedRelease::parse`](crate::release::CheckedRelease::parse) has every stage that is
/// asked for here, of the right size; `arm` is at least 1 and below the number of arms.
pub fn moments_of(effects: &EffectsRelease, arm: usize) -> CentredMoments {
    let arms = Arms::new(effects);
    let reference = arms.arm(0);
    let treated = arms.arm(arm);
    let (imbalance, imbalance_noise) = arms.imbalance(arm);
    let left_out = arms.left_out(reference.count, treated.count);
    CentredMoments {
        reference,
        treated,
        imbalance,
        imbalance_noise,
        clipping: effects.parameters.residual_excess.powi(2),
        left_out,
    }
}

/// The measurements by stage; those of scores where there are any.
struct Arms<'a> {
    effects: &'a EffectsRelease,
    scores: usize,
    outcome_means: &'a EffectMeasurement,
}

impl<'a> Arms<'a> {
    fn new(effects: &'a EffectsRelease) -> Arms<'a> {
        let stage = |stage| effects.stage(stage).expect("the release was checked");
        Arms {
            effects,
            scores: effects.parameters.kept.len(),
            outcome_means: stage(Stage::OutcomeMeans),
        }
    }

    fn score_stage(&self, stage: Stage) -> &'a EffectMeasurement {
        self.effects.stage(stage).expect("the release was checked")
    }

    fn arm(&self, t: usize) -> CentredArm {
        let parameters = &self.effects.parameters;
        let count = parameters.counts[t];
        let residual_mean = self.outcome_means.sums()[t] / count;
        let mean = parameters.centres[t] as f64 / SCALE as f64 + residual_mean;
        let ((score_means, _), covariance, covariance_noise) = self.gram(t);
        let (cross, cross_noise) = self.cross(t, residual_mean, &score_means);
        CentredArm {
            count,
            mean,
            mean_noise: (self.outcome_means.noise() / count).powi(2),
            variance: self.variance(t, mean, residual_mean),
            cross,
            cross_noise,
            covariance,
            covariance_noise,
        }
    }

    /// The outcome's variance. Of two levels, -1 and 1, it follows from the mean, with a record's worth on
    /// either side; else from the measured squares and the squared spread of the histogram, by precision.
    fn variance(&self, t: usize, mean: f64, residual_mean: f64) -> f64 {
        let parameters = &self.effects.parameters;
        let count = parameters.counts[t];
        let Some(spread) = self.effects.stage(Stage::Spread) else {
            return (1.0 - mean * mean).max(4.0 / count);
        };
        let bound = parameters.residual_bound as f64 / SCALE as f64;
        let measured = bound * bound * spread.sums()[t] / count - residual_mean * residual_mean;
        let noise = bound * bound * spread.noise() / count;
        let prior = parameters.residual_spread.powi(2);
        let trust = (SCALE_TRUST * prior).powi(2);
        let weight = trust / (trust + noise * noise).max(f64::MIN_POSITIVE);
        let blended = weight * measured + (1.0 - weight) * prior;
        let least = (LEAST_VARIANCE * prior).min(bound * bound);
        blended.clamp(least, bound * bound)
    }

    /// Mean scores with the variance of their noise, covariance, and the noise on its diagonal.
    fn gram(&self, t: usize) -> ((Vec<f64>, f64), Array2<f64>, f64) {
        let k = self.scores;
        if k == 0 {
            return ((Vec::new(), 0.0), Array2::zeros((0, 0)), 0.0);
        }
        let measured = self.score_stage(Stage::Covariance);
        let count = self.effects.parameters.counts[t];
        let constant = self.effects.parameters.gram_constant as f64 / SCORE_SCALE as f64;
        let triangle = (k + 1) * (k + 2) / 2;
        let sums = measured.sums();
        let cell = |i: usize, j: usize| {
            let (i, j) = (i.min(j), i.max(j));
            // Rows 0..i of the triangle hold k+1, k, .. cells.
            let before = i * (k + 1) - i * i.saturating_sub(1) / 2;
            sums[t * triangle + before + (j - i)] / count
        };
        let means: Vec<f64> = (1..=k).map(|j| cell(0, j) / constant).collect();
        let off_diagonal = measured.off_diagonal_sigma.unwrap_or(measured.sigma) as f64;
        let noise = (off_diagonal / measured.scale as f64 / constant / count).powi(2);
        // The square of a noisy mean has its noise's variance too much.
        let covariance = Array2::from_shape_fn((k, k), |(i, j)| {
            let noise = if i == j { noise } else { 0.0 };
            cell(i + 1, j + 1) - means[i] * means[j] + noise
        });
        ((means, noise), covariance, measured.noise() / count)
    }

    fn cross(&self, t: usize, residual_mean: f64, score_means: &[f64]) -> (Vec<f64>, f64) {
        if self.scores == 0 {
            return (Vec::new(), 0.0);
        }
        let measured = self.score_stage(Stage::Cross);
        let count = self.effects.parameters.counts[t];
        let sums = measured.sums();
        let arm = sums[t * self.scores..(t + 1) * self.scores].iter();
        let cross = arm
            .zip(score_means)
            .map(|(sum, mean)| sum / count - residual_mean * mean)
            .collect();
        (cross, (measured.noise() / count).powi(2))
    }

    /// The imbalance: as measured, and as the Grams' mean scores give it, by precision.
    fn imbalance(&self, arm: usize) -> (Vec<f64>, f64) {
        if self.scores == 0 {
            return (Vec::new(), 0.0);
        }
        let measured = self.score_stage(Stage::Imbalance);
        // The weights are `least / N_t`, so the sums are `least` times the difference of means.
        let least = self.least_count();
        let direct = &measured.sums()[(arm - 1) * self.scores..arm * self.scores];
        let direct_noise = (measured.noise() / least).powi(2);
        let [reference, treated] = [0, arm].map(|t| self.gram(t).0);
        let indirect_noise = reference.1 + treated.1;
        let weight = indirect_noise / (direct_noise + indirect_noise);
        let imbalance = direct
            .iter()
            .zip(treated.0.iter().zip(&reference.0))
            .map(|(sum, (one, zero))| weight * sum / least + (1.0 - weight) * (one - zero))
            .collect();
        (imbalance, weight * direct_noise)
    }

    /// The number of records that the imbalance's largest weight, 1, stands for: counts are floored there
    /// at a twentieth of all, and so they are here.
    fn least_count(&self) -> f64 {
        let counts = &self.effects.parameters.counts;
        let floor = crate::measure::effects::LEAST_SHARE * counts.iter().sum::<f64>();
        let floored = counts.iter().map(|n| n.max(floor));
        floored.fold(f64::INFINITY, f64::min)
    }

    /// What the selection says of the scores that it left out.
    fn left_out(&self, reference: f64, treated: f64) -> Option<LeftOut> {
        let round = self.effects.selection.first()?;
        let parameters = &self.effects.parameters;
        let records = reference + treated;
        let share = (treated / records).clamp(0.05, 0.95);
        let bound = parameters.residual_bound as f64 / SCALE as f64;
        Some(LeftOut {
            count: self.effects.scores.len() - self.scores,
            picks: self.scores,
            epsilon: round.epsilon,
            utilities: [
                records * share * (1.0 - share) / share.max(1.0 - share),
                records / bound,
            ],
        })
    }
}
