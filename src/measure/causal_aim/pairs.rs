//! Pairs of covariates: where their correlation, which leaves alone leave out, bears on the effect.
//!
//! A model of leaves takes covariates to be independent given treatment and outcome, and so adjusts twice for what two of
//! them share. Regression adjustment is `tau = (ybar_1 - ybar_0) - a' W^-1 c` with `a` the imbalance of scores, `c` their
//! covariance with the outcome and `W` their own; its derivative in `W_jk` is, of a diagonal `W`,
//! `alpha_j beta_k + alpha_k beta_j` with `alpha = a / W` and `beta = c / W`. The score of a pair is
//!
//! ```text
//! u_jk = w_jk |sum over i of s_ij s_ik  -  n E_P[s_j s_k]| - pen,     w_jk = min(1, max over t of |alpha_jt beta_kt + alpha_kt beta_jt|)
//! ```
//!
//! A covariate's score `s_j` is its level's propensity of the reference arm under the model, centred, and so
//! divided that its largest size is 1: the direction in which the covariate confounds, whatever its type.
//!
//! **Sensitivity.** Scores, weights, expectation and penalty are functions of released answers. `|s_ij s_ik| <= 1`, so the
//! sum moves by at most 1 for a record added or removed and by 2 for one replaced; `w_jk <= 1` and rounding down to
//! whole units lengthen no move that is a whole number of units.

use super::hub::{Hub, roles};
use super::residuals::UNIT;
use crate::measure::MeasureError;
use crate::measure::marginals::fit::Fit;
use crate::model::ModelError;
use std::f64::consts::FRAC_2_PI;

/// How a covariate that has a leaf bears on treatment and outcome, under a model.
#[derive(Debug, Clone)]
pub struct Bearing {
    /// Its index in [`crate::schema::Schema::columns`].
    pub column: usize,
    /// Its variable in the model.
    variable: usize,
    /// `s_j` by level, in units.
    scores: Vec<i64>,
    /// `alpha` and `beta` of every contrast; the outcome in units of `B`.
    slopes: Vec<[f64; 2]>,
}

/// A pair that may be measured.
#[derive(Debug, Clone)]
pub struct PairCandidate {
    /// The columns, the smaller index first.
    pub columns: [usize; 2],
    /// `s_j` and `s_k` by level, in units.
    pub scores: [Vec<i64>; 2],
    /// `n E_P[s_j s_k]`, in squared units.
    pub expected: i64,
    /// `w_jk`, in units, at most 1.
    pub weight: i64,
    /// What is taken off, in units.
    pub penalty: i64,
}

impl Bearing {
    /// That of a column with a leaf; `None` where the treatment does not depend on it at all.
    ///
    /// # Errors
    /// Those of the model.
    pub fn of(
        fit: &Fit,
        hub: &Hub,
        column: usize,
        bound: f64,
    ) -> Result<Option<Bearing>, MeasureError> {
        let (treatment, outcome) = roles(fit)?;
        let Some(variable) = fit.variables().of_column(column) else {
            return Ok(None);
        };
        let cells = &fit.variables().grid.cells;
        let levels = fit.variables().domain.sizes()[variable];
        let order = [treatment, outcome, variable];
        let joint = fit.model().marginal(&order)?.values_in_order(&order);
        let arms: Vec<Arm> = joint
            .chunks_exact(cells.len() * levels)
            .map(|joint| Arm::new(joint, levels, &|o| cells[o].mean))
            .collect();
        let Some(scores) = direction(&arms, hub.shares[0]) else {
            return Ok(None);
        };
        let moments: Vec<[f64; 4]> = arms.iter().map(|arm| arm.moments(&scores)).collect();
        let slopes = (1..arms.len()).map(|t| slopes(&moments[0], &moments[t], bound));
        Ok(Some(Bearing {
            column,
            variable,
            scores: scores.iter().map(|s| (s * UNIT as f64) as i64).collect(),
            slopes: slopes.collect(),
        }))
    }

    /// `w_jk`.
    fn weight(&self, other: &Bearing) -> f64 {
        let contrasts = self.slopes.iter().zip(&other.slopes);
        contrasts
            .map(|([a, b], [c, d])| (a * d + c * b).abs())
            .fold(0.0, f64::max)
            .min(1.0)
    }
}

impl PairCandidate {
    /// The pair of two covariates; `sigma` is the noise of a cell of its marginal, in records. `None` where its
    /// correlation bears on nothing, or where the model is too large to say what it expects.
    ///
    /// # Errors
    /// Those of the model.
    pub fn of(
        fit: &Fit,
        one: &Bearing,
        other: &Bearing,
        sigma: f64,
    ) -> Result<Option<PairCandidate>, MeasureError> {
        let weight = one.weight(other);
        if (weight * UNIT as f64) < 1.0 {
            return Ok(None);
        }
        let order = [one.variable, other.variable];
        let joint = match fit.model().marginal(&order) {
            Ok(joint) => joint.values_in_order(&order),
            Err(ModelError::TooLarge { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let unit = UNIT as f64;
        let (mut mean, mut square, mut all) = (0.0, 0.0, 0.0);
        let products = one.scores.iter().flat_map(|a| {
            let row = other.scores.iter();
            row.map(move |b| *a as f64 / unit * (*b as f64 / unit))
        });
        for (p, product) in joint.iter().zip(products) {
            mean += p * product;
            square += p * product * product;
            all += product * product;
        }
        let records = fit.model().total();
        let noise = FRAC_2_PI.sqrt() * (sigma * all.sqrt() + (records * square).sqrt());
        Ok(Some(PairCandidate {
            columns: [one.column, other.column],
            scores: [one.scores.clone(), other.scores.clone()],
            expected: (records * mean * unit * unit).round() as i64,
            weight: (weight * unit) as i64,
            penalty: (weight * noise * unit).round() as i64,
        }))
    }

    /// `s_ij s_ik` of a record with these codes, in squared units.
    pub fn product(&self, codes: [u16; 2]) -> i64 {
        self.scores[0][usize::from(codes[0])] * self.scores[1][usize::from(codes[1])]
    }

    /// The score from the sum of the products, in units.
    pub fn score(&self, sum: i64) -> i64 {
        let gap = u128::from(sum.abs_diff(self.expected)) * self.weight as u128;
        // The gap is below 2^64 times 2^10, divided by 2^20.
        (gap / (UNIT * UNIT) as u128) as i64 - self.penalty
    }
}

/// One arm's probabilities by level, and its outcome totals by level.
struct Arm {
    mass: Vec<f64>,
    total: Vec<f64>,
}

impl Arm {
    fn new(joint: &[f64], levels: usize, outcome: &dyn Fn(usize) -> f64) -> Arm {
        let mut arm = Arm {
            mass: vec![0.0; levels],
            total: vec![0.0; levels],
        };
        for (cell, by_level) in joint.chunks_exact(levels).enumerate() {
            for (level, p) in by_level.iter().enumerate() {
                arm.mass[level] += p;
                arm.total[level] += p * outcome(cell);
            }
        }
        arm
    }

    /// Mass, mean score, variance of the score, and its covariance with the outcome, within the arm.
    fn moments(&self, scores: &[f64]) -> [f64; 4] {
        let mass: f64 = self.mass.iter().sum();
        let mean = |of: &[f64], by: &dyn Fn(f64) -> f64| {
            let sum: f64 = of.iter().zip(scores).map(|(p, &s)| p * by(s)).sum();
            sum / mass.max(f64::MIN_POSITIVE)
        };
        let score = mean(&self.mass, &|s| s);
        let outcome = mean(&self.total, &|_| 1.0);
        [
            mass,
            score,
            mean(&self.mass, &|s| s * s) - score * score,
            mean(&self.total, &|s| s) - score * outcome,
        ]
    }
}

/// The levels' propensities of the reference arm, less its share, over the largest of them.
fn direction(arms: &[Arm], share: f64) -> Option<Vec<f64>> {
    let levels = arms[0].mass.len();
    let deviation = |level: usize| {
        let mass: f64 = arms.iter().map(|arm| arm.mass[level]).sum();
        match mass > 0.0 {
            true => arms[0].mass[level] / mass - share,
            false => 0.0,
        }
    };
    let deviations: Vec<f64> = (0..levels).map(deviation).collect();
    let largest = deviations
        .iter()
        .fold(0.0, |most: f64, d| most.max(d.abs()));
    (largest > 1e-9).then(|| deviations.iter().map(|d| d / largest).collect())
}

/// `alpha` and `beta` of a contrast from the moments of its two arms.
fn slopes(reference: &[f64; 4], treated: &[f64; 4], bound: f64) -> [f64; 2] {
    let both = reference[0] + treated[0];
    let pooled = |at: usize| (reference[0] * reference[at] + treated[0] * treated[at]) / both;
    let variance = pooled(2);
    if variance.is_nan() || variance <= 0.0 {
        return [0.0; 2];
    }
    [
        (treated[1] - reference[1]) / variance,
        pooled(3) / bound / variance,
    ]
}
