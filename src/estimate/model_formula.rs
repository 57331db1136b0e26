//! The g-formula on a model, over rows sampled from it.

use super::model_effect::ModelContext;
use super::{Estimand, Estimate, EstimateError, Options};
use crate::impute::{Purpose, derived_seed};
use crate::model::{FullConditional, Model};

/// How many rows of covariates a model's effect is averaged over. The average's Monte Carlo error is
/// `sd(tau(X)) / sqrt(rows)` at most (rows are sampled with stratified ranks, so it is less), small beside
/// the sampling error of any table that this is meant for.
pub const EVALUATION_ROWS: usize = 2000;

/// The effects of arm `arm` against arm 0 in a model of `n` records, one per estimand.
///
/// # Errors
/// Where an arm has no mass in the model.
pub fn model_effects(
    context: &ModelContext,
    model: &Model,
    n: f64,
    arm: usize,
    estimands: &[Estimand],
    seed: u64,
    index: u64,
) -> Result<Vec<Estimate>, EstimateError> {
    let rows = model.sample(
        EVALUATION_ROWS,
        derived_seed(seed, Purpose::Evaluation, index),
    )?;
    let units = conditional_moments(context, model, &rows, arm)?;
    estimands
        .iter()
        .map(|&estimand| effect(&units, estimand, n, context.arm_name(arm)))
        .collect()
}

/// What a model says of one row's covariates.
struct Unit {
    /// Propensities of the arm and of the reference, clipped.
    propensity: [f64; 2],
    clipped: bool,
    /// Weight of the row when the treated are averaged over: `P(T = arm | x)`, not clipped.
    treated: f64,
    /// Outcome regressions of the arm and of the reference.
    regression: [f64; 2],
    /// Residual variances.
    variance: [f64; 2],
}

fn conditional_moments(
    context: &ModelContext,
    model: &Model,
    rows: &[Vec<u16>],
    arm: usize,
) -> Result<Vec<Unit>, EstimateError> {
    let conditional = FullConditional::new(model, &[context.treatment(), context.outcome()])?;
    let mut table = vec![0.0; conditional.cells()];
    let count = rows.first().map_or(0, Vec::len);
    (0..count)
        .map(|row| {
            conditional.probabilities(|variable| rows[variable][row], &mut table)?;
            unit(context, &table, arm)
        })
        .collect()
}

/// The moments of one row, from its joint probabilities of arm and outcome cell.
fn unit(context: &ModelContext, table: &[f64], arm: usize) -> Result<Unit, EstimateError> {
    let outcomes = context.values().len();
    let moments = |t: usize| {
        let cells = &table[t * outcomes..(t + 1) * outcomes];
        let mass: f64 = cells.iter().sum();
        let of = |values: &[f64]| cells.iter().zip(values).map(|(p, y)| p * y).sum::<f64>() / mass;
        (mass, of(context.values()), of(context.squares()))
    };
    let arms = [moments(arm), moments(0)];
    // Sampled rows have mass in the model, but an arm may have none among rows like them.
    for (t, (mass, ..)) in [arm, 0].into_iter().zip(arms) {
        if mass <= 0.0 {
            return Err(EstimateError::EmptyArm {
                arm: context.arm_name(t),
            });
        }
    }
    let raw = arms.map(|(mass, ..)| mass);
    let propensity = raw.map(|e| e.clamp(Options::CLIP, 1.0 - Options::CLIP));
    Ok(Unit {
        propensity,
        clipped: propensity != raw,
        treated: raw[0],
        regression: arms.map(|(_, mean, _)| mean),
        variance: arms.map(|(_, mean, square)| (square - mean * mean).max(0.0)),
    })
}

fn effect(
    units: &[Unit],
    estimand: Estimand,
    n: f64,
    arm: String,
) -> Result<Estimate, EstimateError> {
    let weight = |unit: &Unit| match estimand {
        Estimand::Ate => 1.0,
        Estimand::Att => unit.treated,
    };
    let total: f64 = units.iter().map(weight).sum();
    if total <= 0.0 {
        return Err(EstimateError::EmptyArm { arm });
    }
    let tau = |unit: &Unit| unit.regression[0] - unit.regression[1];
    let value = units.iter().map(|u| weight(u) * tau(u)).sum::<f64>() / total;
    let rows = units.len() as f64;
    let share = total / rows;
    // Hahn (1998), Theorems 1 and 2: the efficiency bounds of the ATE and of the ATT (propensity unknown).
    let bound = units.iter().map(|u| {
        let [treated, reference] = u.propensity;
        let spread = (tau(u) - value).powi(2);
        match estimand {
            Estimand::Ate => u.variance[0] / treated + u.variance[1] / reference + spread,
            Estimand::Att => {
                treated * u.variance[0]
                    + treated * treated * u.variance[1] / reference
                    + treated * spread
            }
        }
    });
    let variance = bound.sum::<f64>() / rows / (share * share) / n;
    let clipped = units.iter().filter(|u| u.clipped).count() as f64 / rows * n;
    Ok(Estimate {
        value,
        variance,
        rows: n,
        clipped,
    })
}
