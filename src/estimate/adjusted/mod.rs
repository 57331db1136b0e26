//! Adjusted effects from centred moments: imbalance of the scores times the outcome's slopes.
//!
//! `tau = (ybar_1 - ybar_0) - a' beta`: the difference in means, less what the imbalance `a` of the scores
//! explains of it. A private release has noise in both factors, and in the covariances `W_t` that turn the
//! released `c_t = W_t beta_t` into slopes, so a plug-in would be biased and its variance unknown.
//! [`fit`] draws imbalance, slopes and covariances from their joint posterior instead
//! (its law and steps stand in `sampler`), and [`AdjustedFit`] answers for effects and arm means over
//! everyone, the treated and the reference arm:
//!
//! ```text
//! beta_1 = beta + p delta,  beta_0 = beta - (1-p) delta
//! ATE  dY - a' ((1-p) beta_1 + p beta_0)      ATT  dY - a' beta_0      ATC  dY - a' beta_1
//! E Y(1)  ybar_1 - (1-p) a' beta_1            E Y(0)  ybar_0 + p a' beta_0
//! ```
//!
//! As noise goes to 0 these are the interacted regression of
//! [`regression_from_moments`](super::regression_from_moments). [`second_estimate`] has no prior, and
//! [`disagreement`] says whether the two differ by more than noise explains: the prior's own check.
//!
//! What the ATE averages out, ATT and ATC do not: a regression that is linear where the truth is not errs in
//! opposite directions for the two, and so may shrinkage of the arms' covariances towards each other. On 5000 records at epsilon 1 (wages of the American
//! Community Survey, 10 scores) the 95 % intervals covered 96 % for the ATE, 89 % and 93 % for ATT and ATC.
//!
//! Everything is on the outcome's `[-1, 1]` scale, and post-processing: it costs no budget.

mod constants;
mod covariance;
mod dense;
mod estimate;
mod left_out;
mod moments;
mod released;
mod sampler;
mod sampling;
mod second;
#[cfg(test)]
mod tests;

pub use constants::Constants;
pub use estimate::{AdjustedEstimate, AdjustedFit, Arm, Target, VarianceTerms};
pub use left_out::LeftOut;
pub use moments::{CentredArm, CentredMoments};
pub use released::moments_of;
pub use second::{Disagreement, SecondEstimate, disagreement, second_estimate};

use covariance::{Reliability, Shrunk, released};
use dense::dot;
use left_out::Kept;
use sampler::Chain;
use sampling::{Point, Sampling};

use super::EstimateError;
use super::quantile::median;
use crate::impute::{Purpose, stream};

/// Fits released moments. Equal arguments give equal fits.
///
/// Without scores (a randomised design) the fit is the difference in means, and nothing is drawn.
///
/// # Errors
/// Moments that no release can contain, constants without a meaning, or arithmetic that overflows.
pub fn fit(
    moments: &CentredMoments,
    constants: &Constants,
    seed: u64,
) -> Result<AdjustedFit, EstimateError> {
    moments.check()?;
    constants.check()?;
    let (adjustments, sampling, omitted) = if moments.scores() == 0 {
        (vec![[0.0; 2]], Sampling::unadjusted(moments), vec![0.0])
    } else {
        let reliability = Reliability::new(moments, constants);
        let arms = released(moments);
        let shrunk = reliability.shrink(&arms, constants.arm_limits, constants)?;
        let mut random = stream(seed, Purpose::Adjustment, 0);
        let chain = sampler::run(moments, &shrunk, &reliability, constants, &mut random)?;
        let point = posterior_mean(&chain, &shrunk, moments.treated_share());
        let sampling = Sampling::new(moments, &shrunk, &point, constants);
        let variance = shrunk.values.iter().sum::<f64>() / moments.scores() as f64;
        let mut confounding = |kept: &Kept| {
            let left_out = moments.left_out.as_ref();
            left_out.map_or(0.0, |l| l.expected(kept, variance, &mut random))
        };
        let omitted: Vec<f64> = chain.kept.iter().map(&mut confounding).collect();
        (chain.adjustments, sampling, omitted)
    };
    if !adjustments.iter().flatten().all(|v| v.is_finite()) {
        return Err(EstimateError::NotFinite);
    }
    let medians = [0, 1].map(|t| median(adjustments.iter().map(|draw| draw[t])));
    let spread = |draw: [f64; 2]| {
        [0, 1].map(|t| medians[t] + constants.posterior_spread * (draw[t] - medians[t]))
    };
    let adjustments = adjustments.into_iter().map(spread).collect();
    Ok(AdjustedFit {
        means: moments.arms().map(|arm| arm.mean),
        mean_noise: moments.arms().map(|arm| arm.mean_noise),
        clipping: moments.clipping,
        omitted,
        medians,
        adjustments,
        sampling,
        seed,
    })
}

/// Imbalance and slopes at the posterior mean, in the scores' own coordinates. Shrinkage has taken the
/// noise out of their squares.
fn posterior_mean(chain: &Chain, shrunk: &Shrunk, treated_share: f64) -> Point {
    let (scores, basis) = (shrunk.values.len(), shrunk.basis());
    let unwhiten = |coordinates: &[f64], power: f64| -> Vec<f64> {
        let scaled = |i: usize, j: usize| basis[(i, j)] * shrunk.values[j].powf(power);
        (0..scores)
            .map(|i| (0..scores).map(|j| scaled(i, j) * coordinates[j]).sum())
            .collect()
    };
    let slopes = [-(1.0 - treated_share), treated_share].map(|loading| {
        let whitened = (chain.gamma.iter().zip(&chain.delta)).map(|(g, d)| g + loading * d);
        unwhiten(&whitened.collect::<Vec<f64>>(), 0.0)
    });
    Point {
        imbalance: unwhiten(&chain.alpha, 1.0),
        slopes,
        slope_excess: [0.0; 2],
        leverage_excess: [0.0; 2],
        whitened: dot(&chain.alpha, &chain.alpha),
    }
}
