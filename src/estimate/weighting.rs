//! Hajek inverse-propensity weighting, with the variance of its influence function, the estimated
//! propensity included.
//!
//! ```text
//! mu_t = sum_{T_i = t} w_i y_i / sum_{T_i = t} w_i          tau = mu_a - mu_0
//! ATE:  w = 1 / e_t(x) in arm t          ATT:  w = 1 in arm a,  e / (1 - e) in arm 0
//! ```
//!
//! With `b` the coefficients of the propensity that the weights of arm `t` use, `H` its information and
//! `u_i = (1{T_i = its arm} - e_i) z_i` its score, row `i` moves `mu_t` by
//!
//! ```text
//! phi_i = 1{T_i = t} w_i (y_i - mu_t) / W_t  +  D' H^-1 u_i,     D = sum_{T_j = t} (dw_j / db) (y_j - mu_t) / W_t
//! ```
//!
//! (a stacked M-estimator; Lunceford and Davidian 2004, section 3). `V = n / (n - 1) sum_i phi_i^2` of the
//! difference. Leaving the second term out over-states the variance of the ATE. A clipped weight does
//! not move with `b`, so its derivative is 0.

use super::linear::{dot, solve};
use super::propensity::{Overlap, Propensity, PropensityPair, count_clipped};
use super::sample::Sample;
use super::{Estimand, Estimate, EstimateError, Options};

/// The estimate; for the ATT the sample holds the two arms only.
pub(super) fn inverse_propensity(
    sample: &Sample,
    arm: u16,
    estimand: Estimand,
    options: &Options,
) -> Result<Estimate, EstimateError> {
    let (treated, controls) = (sample.rows_of(arm, 2)?, sample.rows_of(0, 2)?);
    let rows: Vec<usize> = (0..sample.len()).collect();
    let pair = PropensityPair::fit(sample, &rows, arm, None)?;
    let overlaps: Vec<Overlap> = rows.iter().map(|&i| pair.at(sample, i, options)).collect();
    let clipped = count_clipped(sample, &overlaps, arm, options)?;

    let fit = Fit {
        sample,
        rows: &rows,
        overlaps: &overlaps,
    };
    let (treated_mean, control_mean) = match estimand {
        Estimand::Ate => (
            fit.mean(&treated, &pair.arm, 0, |o| inverse(o.arm, o.arm_clipped()))?,
            fit.mean(&controls, &pair.reference, 1, |o| {
                inverse(o.reference, o.reference_clipped())
            })?,
        ),
        Estimand::Att => (
            fit.mean(&treated, &pair.arm, 0, |_| (1.0, 0.0))?,
            fit.mean(&controls, &pair.arm, 0, |o| odds(o.arm, o.arm_clipped()))?,
        ),
    };
    let n = sample.len() as f64;
    let squares: f64 = (treated_mean.influence.iter())
        .zip(&control_mean.influence)
        .map(|(a, b)| (a - b) * (a - b))
        .sum();
    Estimate {
        value: treated_mean.value - control_mean.value,
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
    sample: &'a Sample,
    rows: &'a [usize],
    overlaps: &'a [Overlap],
}

/// A weighted arm mean and each row's influence on it.
struct WeightedMean {
    value: f64,
    influence: Vec<f64>,
}

impl Fit<'_> {
    /// The mean of one arm's `members`; `weight` gives a row's weight and the factor of `z` in its
    /// derivative by the coefficients of `model`, whose raw propensities stand at `position`.
    fn mean(
        &self,
        members: &[usize],
        model: &Propensity,
        position: usize,
        weight: impl Fn(&Overlap) -> (f64, f64),
    ) -> Result<WeightedMean, EstimateError> {
        let sample = self.sample;
        let weight = |row: usize| weight(&self.overlaps[row]);
        let total: f64 = members.iter().map(|&i| weight(i).0).sum();
        let weighted: f64 = members.iter().map(|&i| weight(i).0 * sample.y(i)).sum();
        let value = weighted / total;
        let mut direction = vec![0.0; sample.z_len()];
        for &row in members {
            let factor = weight(row).1 * (sample.y(row) - value) / total;
            for (d, z) in direction.iter_mut().zip(sample.z(row)) {
                *d += factor * z;
            }
        }
        let direction = solve(&model.information(sample, self.rows)?, &direction);
        let mut influence: Vec<f64> = (self.rows.iter())
            .map(|&row| {
                let e = self.overlaps[row].raw[position];
                dot(&direction, sample.z(row)) * model.residual(sample, row, e)
            })
            .collect();
        for &row in members {
            influence[row] += weight(row).0 * (sample.y(row) - value) / total;
        }
        Ok(WeightedMean { value, influence })
    }
}
