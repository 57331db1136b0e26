//! Hajek inverse-propensity weighting, with the variance of its influence function, the estimated
//! propensity included.
//!
//! ```text
//! mu_t = sum_{T_i = t} w_i y_i / sum_{T_i = t} w_i
//!
//! over everyone:       w = 1 / e_t(x)
//! over arm p:          w = 1 in arm p,  e_p / (1 - e_p) in the other one
//! ```
//!
//! With `b` the coefficients of the propensity that the weights of arm `t` use, `H` its information and
//! `u_i = (1{T_i = its arm} - e_i) z_i` its score, row `i` moves `mu_t` by
//!
//! ```text
//! phi_i = 1{T_i = t} w_i (y_i - mu_t) / W_t  +  D' H^-1 u_i,     D = sum_{T_j = t} (dw_j / db) (y_j - mu_t) / W_t
//! ```
//!
//! (a stacked M-estimator; Lunceford and Davidian 2004, section 3). `V = n / (n - 1) sum_i phi_i^2`, with
//! `phi` the arms' own by the estimand's gradient. Leaving the second term out over-states the variance of the ATE. A clipped weight does
//! not move with `b`, so its derivative is 0.

use super::estimand::Population;
use super::linear::{dot, solve};
use super::propensity::{Overlap, Propensities, count_clipped};
use super::sample::Sample;
use super::{Estimand, Estimate, EstimateError, Options};

/// The estimate; where the population is an arm, the sample holds the two arms only.
pub(super) fn inverse_propensity(
    sample: &Sample<'_>,
    arm: u16,
    estimand: Estimand,
    options: &Options,
) -> Result<Estimate, EstimateError> {
    let arms = estimand.arms(arm);
    let members = (arms.iter())
        .map(|&t| sample.rows_of(t, 2))
        .collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<usize> = (0..sample.len()).collect();
    let models = Propensities::fit(sample, &rows, &arms, None)?;
    let mut z = sample.room();
    let overlaps: Vec<Overlap> = (rows.iter())
        .map(|&row| {
            sample.fill_z(row, &mut z);
            models.at(&z, options)
        })
        .collect();
    let clipped = count_clipped(sample, &overlaps, &arms, options)?;

    let fit = Fit {
        sample,
        rows: &rows,
        overlaps: &overlaps,
        models: &models,
    };
    let means = (arms.iter().zip(&members).enumerate())
        .map(|(position, (&t, members))| match estimand.population(arm) {
            Population::Everyone => fit.mean(members, position, inverse),
            Population::Arm(p) if p == t => fit.mean(members, position, |_, _| (1.0, 0.0)),
            // The population is the other one of the two arms.
            Population::Arm(_) => fit.mean(members, 1 - position, odds),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let values: Vec<f64> = means.iter().map(|mean| mean.value).collect();
    let functional = estimand.of_means(&values)?;
    let n = sample.len() as f64;
    let squares: f64 = (rows.iter())
        .map(|&row| {
            let moved = (means.iter().zip(&functional.gradient))
                .map(|(mean, slope)| slope * mean.influence[row]);
            moved.sum::<f64>().powi(2)
        })
        .sum();
    Estimate {
        value: functional.value,
        variance: squares * n / (n - 1.0),
        rows: n,
        clipped,
    }
    .checked()
}

/// `1 / e` and the factor of `z` in its derivative: `d(1/e)/db = -(1 - e) / e z`.
fn inverse(e: f64, clipped: bool) -> (f64, f64) {
    (1.0 / e, if clipped { 0.0 } else { -(1.0 - e) / e })
}

/// `e / (1 - e) = exp(z'b)` and the factor of `z` in its derivative.
fn odds(e: f64, clipped: bool) -> (f64, f64) {
    let odds = e / (1.0 - e);
    (odds, if clipped { 0.0 } else { odds })
}

struct Fit<'a> {
    sample: &'a Sample<'a>,
    rows: &'a [usize],
    overlaps: &'a [Overlap],
    models: &'a Propensities,
}

/// A weighted arm mean and each row's influence on it.
struct WeightedMean {
    value: f64,
    influence: Vec<f64>,
}

impl Fit<'_> {
    /// The mean of one arm's `members`; from the propensity at `position` and whether it was clipped,
    /// `weight` makes a row's weight and the factor of `z` in its derivative by the coefficients.
    fn mean(
        &self,
        members: &[usize],
        position: usize,
        weight: impl Fn(f64, bool) -> (f64, f64),
    ) -> Result<WeightedMean, EstimateError> {
        let sample = self.sample;
        let model = self.models.of(position);
        let weight = |row: usize| {
            let overlap = &self.overlaps[row];
            weight(overlap.clipped[position], overlap.is_clipped(position))
        };
        let total: f64 = members.iter().map(|&i| weight(i).0).sum();
        let weighted: f64 = members.iter().map(|&i| weight(i).0 * sample.y(i)).sum();
        let value = weighted / total;
        let mut z = sample.room();
        let mut direction = vec![0.0; sample.z_len()];
        for &row in members {
            let factor = weight(row).1 * (sample.y(row) - value) / total;
            sample.fill_z(row, &mut z);
            for (d, z) in direction.iter_mut().zip(&z) {
                *d += factor * z;
            }
        }
        let direction = solve(&model.information(sample, self.rows)?, &direction);
        let mut influence: Vec<f64> = (self.rows.iter())
            .map(|&row| {
                let e = self.overlaps[row].raw[position];
                sample.fill_z(row, &mut z);
                dot(&direction, &z) * model.residual(sample, row, e)
            })
            .collect();
        for &row in members {
            influence[row] += weight(row).0 * (sample.y(row) - value) / total;
        }
        Ok(WeightedMean { value, influence })
    }
}
