//! Outcome regressions and a first effect from the products of basis and outcome.
//!
//! ```text
//! c_1 = G_1 (beta + (1 - p) theta) + noise,   c_0 = G_0 (beta - p theta) + noise
//! ```
//!
//! with normal priors, one variance per kind of term for main coefficients `beta` and effects `theta` each, estimated by
//! expectation and maximisation with a weak pull to a hundredth of a tenth of the outcome's variance.

use super::CateError;
use super::basis::Basis;
use super::features::Term;
use super::hub::Hub;
use super::moments::Moments;
use super::prior::{Observation, factor, information, inverse};
use crate::panel::linear::{dot, times};
use faer::Mat;

/// The first variance of coefficients, in the outcome's variance.
const FIRST_VARIANCE: f64 = 0.1;

/// What the pull to small variances counts, in coefficients.
const PULL: f64 = 1.0;

const MOST_ITERATIONS: usize = 200;

/// The outcome regressions.
#[derive(Debug, Clone, PartialEq)]
pub struct Regressions {
    /// By arm, the coefficients on the basis of the outcome less its mean.
    pub slopes: [Vec<f64>; 2],
    /// Their difference: the first estimate of the effect.
    pub effect: Vec<f64>,
    /// The residual variance.
    pub residual_variance: f64,
}

/// Fits the regressions to the arms' noisy products `cross`, whose noise has this standard deviation.
pub fn fit(
    basis: &Basis,
    hub: &Hub,
    moments: &Moments,
    cross: &[f64],
    noise: f64,
) -> Result<Regressions, CateError> {
    let p = basis.size();
    let share = moments.share;
    let design = Mat::from_fn(2 * p, 2 * p, |i, j| {
        let gram = moments.arms[i / p][(i % p, j % p)];
        match (i / p, j / p) {
            (_, 0) => gram,
            (0, _) => -share * gram,
            _ => (1.0 - share) * gram,
        }
    });
    let variance = hub.outcome_variance;
    let scale = hub.outcome_scale * hub.outcome_scale;
    let mut fit = Regressions {
        slopes: [vec![0.0; p], vec![0.0; p]],
        effect: vec![0.0; p],
        residual_variance: (0.5 * variance).max(4e-4),
    };
    let mut squared_slopes = 0.0;
    // The noise of the Gram matrices is multiplied by the slopes, the sampling error by the residual variance.
    for _ in 0..3 {
        let of_grams = moments.noise * moments.noise / 2.0 * squared_slopes;
        let sigma = Mat::from_fn(2 * p, 2 * p, |i, j| {
            let sampling = match i / p == j / p {
                true => fit.residual_variance * moments.arms[i / p][(i % p, j % p)],
                false => 0.0,
            };
            sampling
                + if i == j {
                    noise * noise + of_grams
                } else {
                    0.0
                }
        });
        let observed = Observation {
            values: cross,
            design: &design,
            noise: &sigma,
        };
        let x = coefficients(&observed, &basis.terms, FIRST_VARIANCE * scale)?;
        let (main, effect) = x.split_at(p);
        let of_arm = |factor: f64| {
            main.iter()
                .zip(effect)
                .map(|(b, t)| b + factor * t)
                .collect()
        };
        fit.slopes = [of_arm(-share), of_arm(1.0 - share)];
        fit.effect = effect.to_vec();
        squared_slopes = fit.slopes.iter().map(|b| dot(b, b)).sum::<f64>() / 2.0;
        let explained: f64 = (0..2)
            .map(|t| {
                let b = &fit.slopes[t];
                2.0 * dot(b, &cross[t * p..(t + 1) * p]) - dot(b, &times(&moments.arms[t], b))
            })
            .sum();
        let left = variance - (explained / moments.records).max(0.0);
        fit.residual_variance =
            left.clamp(0.1 * variance + 1e-4, variance.max(0.1 * variance + 1e-4));
    }
    Ok(fit)
}

/// The group of a coefficient: kinds of terms apart, main coefficients and effects apart; none for constants.
fn groups(terms: &[Term]) -> Vec<Option<usize>> {
    let kind = |term: &Term| match term {
        Term::Constant => None,
        Term::Linear(_) => Some(0),
        Term::Square(_) => Some(1),
        Term::Product(..) => Some(2),
        Term::Cube(_) => Some(3),
    };
    let main = terms.iter().map(kind);
    let effects = terms.iter().map(|term| kind(term).map(|group| group + 4));
    main.chain(effects).collect()
}

/// The posterior mean with the variances of [`groups`] by expectation and maximisation.
fn coefficients(observed: &Observation, terms: &[Term], first: f64) -> Result<Vec<f64>, CateError> {
    let (precision, vector) = information(observed)?;
    let groups = groups(terms);
    let mut variances = [first; 8];
    let mut x = vec![0.0; vector.len()];
    for _ in 0..MOST_ITERATIONS {
        let mut matrix = precision.clone();
        for (i, group) in groups.iter().enumerate() {
            matrix[(i, i)] += group.map_or(1e-8, |group| 1.0 / variances[group].max(1e-10));
        }
        let covariance = inverse(&factor(&matrix)?);
        x = times(&covariance, &vector);
        let mut moved: f64 = 0.0;
        for (group, variance) in variances.iter_mut().enumerate() {
            let of_group = (0..x.len()).filter(|&i| groups[i] == Some(group));
            let (count, squares) = of_group.fold((0.0, 0.0), |(n, s), i| {
                (n + 1.0, s + x[i] * x[i] + covariance[(i, i)])
            });
            if count > 0.0 {
                let next = (squares + PULL * first * 0.01) / (count + PULL);
                moved = moved.max((next / *variance).ln().abs());
                *variance = next;
            }
        }
        if moved < 1e-3 {
            break;
        }
    }
    Ok(x)
}
