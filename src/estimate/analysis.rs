//! The three routes of `analyze`: from what is given to rows of effects.

use super::combine::{Combined, Rule, combine};
use super::effect::{Effect, Route};
use super::model_effect::ModelContext;
use super::model_formula::model_effects;
use super::moments::regression_from_moments;
use super::{Estimand, Estimate, EstimateError, Estimator, Options, design, estimate_table, imputations};
use crate::impute::BaseFit;
use crate::model::Model;
use crate::schema::Schema;
use crate::table::CodedTable;
use rayon::prelude::*;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The effects.
    pub estimands: Vec<Estimand>,
    /// The estimators; those that a route can't use are left out.
    pub estimators: Vec<Estimator>,
    /// The combining rule.
    pub rule: Rule,
    /// The level of the intervals.
    pub level: f64,
}

/// What is known of imputed tables.
#[derive(Debug, Clone, Copy)]
pub struct Imputed {
    /// The number of records behind the release.
    pub n: f64,
    /// 1 where the draws carry the privacy noise only.
    pub kappa: u8,
}

/// The moment route: every functional on the base fit and on its posterior draws, combined at `r`
/// infinite. `seed` fixes the rows on which the g-formula is evaluated.
///
/// # Errors
/// Where the release measured no treatment or outcome, or a fitted model has an empty arm.
pub fn from_release(
    fit: &BaseFit,
    draws: &[Model],
    schema: &Schema,
    request: &Request,
    seed: u64,
) -> Result<Vec<Effect>, EstimateError> {
    let design = design(schema);
    let variables = &fit.released.variables;
    let context = ModelContext::new(schema, variables, &design)?;
    let n = fit.released.problem.total;
    let on_model = |model: &Model, index: u64| ModelEstimates::new(&context, model, n, request, seed, index);
    let base = on_model(&fit.model, 0)?;
    // Evaluated in parallel, collected in order: the result does not depend on the number of threads.
    let drawn: Vec<ModelEstimates> =
        draws.par_iter().enumerate().map(|(k, model)| on_model(model, k as u64 + 1)).collect::<Result<_, _>>()?;
    let mut effects = Vec::new();
    for (position, key) in base.keys.iter().enumerate() {
        let values: Vec<Estimate> = drawn.iter().map(|d| d.estimates[position]).collect();
        // The sampling variance is the base fit's: the draws' own variances carry the extra noise.
        let combined = combine(request.rule, &values, Some(base.estimates[position].variance), 1, None)?;
        let clipped = values.iter().map(|e| e.clipped).sum::<f64>() / values.len() as f64;
        effects.push(row(schema, Route::Moment, key, &combined, request, n, clipped));
    }
    flag_disagreement(&mut effects, &base, &drawn);
    Ok(effects)
}

/// What one number of a model estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Key {
    estimator: Estimator,
    estimand: Estimand,
    arm: usize,
}

/// All estimates of one model, in a fixed order.
struct ModelEstimates {
    keys: Vec<Key>,
    estimates: Vec<Estimate>,
}

impl ModelEstimates {
    fn new(
        context: &ModelContext,
        model: &Model,
        n: f64,
        request: &Request,
        seed: u64,
        index: u64,
    ) -> Result<ModelEstimates, EstimateError> {
        let mut found = ModelEstimates { keys: Vec::new(), estimates: Vec::new() };
        for arm in 1..context.arms() {
            for &estimator in &request.estimators {
                let estimates = match estimator {
                    Estimator::Regression => {
                        let moments = context.moments(model, n)?;
                        let one = |&e| regression_from_moments(&moments, arm, e);
                        request.estimands.iter().map(one).collect::<Result<Vec<_>, _>>()?
                    }
                    Estimator::Model => model_effects(context, model, n, arm, &request.estimands, seed, index)?,
                    // The arm-wise means are moments too, but need no model; the others need rows.
                    _ => continue,
                };
                for (&estimand, estimate) in request.estimands.iter().zip(estimates) {
                    found.keys.push(Key { estimator, estimand, arm });
                    found.estimates.push(estimate);
                }
            }
        }
        Ok(found)
    }
}

/// Notes where regression and model differ by more than the privacy noise and the sampling explain.
///
/// The variance of the difference is its variance over the draws, and for the sampling part
/// `|V_regression - V_model|` (Hausman 1978: if one of two estimators is efficient, their difference has
/// the difference of their variances).
fn flag_disagreement(effects: &mut [Effect], base: &ModelEstimates, drawn: &[ModelEstimates]) {
    let find = |estimator: Estimator, like: &Key| base.keys.iter().position(|k| *k == Key { estimator, ..*like });
    for position in 0..effects.len() {
        let key = base.keys[position];
        if key.estimator != Estimator::Regression {
            continue;
        }
        let Some(other) = find(Estimator::Model, &key) else { continue };
        let differences: Vec<f64> = drawn.iter().map(|d| d.estimates[position].value - d.estimates[other].value).collect();
        let m = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / m;
        let between = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (m - 1.0);
        let sampling = (base.estimates[position].variance - base.estimates[other].variance).abs();
        let error = ((1.0 + 1.0 / m) * between + sampling).sqrt();
        if mean.abs() > DISAGREEMENT * error {
            let text = format!(
                "regression and model differ by {mean:.4}, more than {DISAGREEMENT} joint standard errors ({error:.4}): \
                 covariates are associated in ways that the workload did not measure; consider adding pairs"
            );
            effects[position].notes.push(text.clone());
            effects[other].notes.push(text);
        }
    }
}

/// Joint standard errors beyond which two estimates of one effect are said to disagree (two-sided 5 %).
const DISAGREEMENT: f64 = 1.96;

/// The imputation route: an ordinary estimator on each imputed table, combined.
///
/// # Errors
/// Where an estimator can't be computed on one of the tables (an empty arm, no overlap), or there are
/// fewer than two tables.
pub fn from_imputations(
    stack: &CodedTable,
    schema: &Schema,
    imputed: Imputed,
    request: &Request,
) -> Result<Vec<Effect>, EstimateError> {
    let tables = imputations(stack)?;
    let rows = stack.rows as f64 / tables.len() as f64;
    let r = rows / imputed.n;
    let mut effects = Vec::new();
    for key in table_keys(schema, request)? {
        let estimates: Vec<Estimate> = tables
            .par_iter()
            .map(|t| estimate_table(stack, t.clone(), schema, key.estimator, key.estimand, key.arm, &Options::default()))
            .collect::<Result<_, _>>()?;
        let combined = combine(request.rule, &estimates, None, imputed.kappa, Some(r))?;
        let clipped = estimates.iter().map(|e| e.clipped).sum::<f64>() / estimates.len() as f64;
        effects.push(row(schema, Route::Imputation, &key, &combined, request, imputed.n, clipped));
    }
    Ok(effects)
}

/// The naive route: one table read as if it were the real one, which it may be.
///
/// # Errors
/// Where an estimator can't be computed on the table.
pub fn from_table(table: &CodedTable, schema: &Schema, synthetic: bool, request: &Request) -> Result<Vec<Effect>, EstimateError> {
    let mut effects = Vec::new();
    for key in table_keys(schema, request)? {
        let estimate = estimate_table(table, 0..table.rows, schema, key.estimator, key.estimand, key.arm, &Options::default())?;
        let combined = Combined::single(&estimate);
        let mut effect = row(schema, Route::Naive, &key, &combined, request, estimate.rows, estimate.clipped);
        effect.not_private = !synthetic;
        effect.notes.push(if synthetic {
            "one synthetic table read as if it were real: the interval leaves out the privacy noise and covers far less \
             than its level; analyze the release or imputed tables instead"
                .into()
        } else {
            "computed on the table as it stands: if the table is confidential, so is this row".into()
        });
        effects.push(effect);
    }
    Ok(effects)
}

/// The rows that a table route gives, in order.
fn table_keys(schema: &Schema, request: &Request) -> Result<Vec<Key>, EstimateError> {
    let treatment = schema.treatment().ok_or(EstimateError::NoTreatment)?;
    let mut keys = Vec::new();
    for arm in 1..schema.columns[treatment].levels() {
        for &estimator in request.estimators.iter().filter(|&&e| e != Estimator::Model) {
            keys.extend(request.estimands.iter().map(|&estimand| Key { estimator, estimand, arm }));
        }
    }
    Ok(keys)
}

fn row(schema: &Schema, route: Route, key: &Key, combined: &Combined, request: &Request, n: f64, clipped: f64) -> Effect {
    // Both callers checked that there is a treatment.
    let treatment = &schema.columns[schema.treatment().unwrap_or_default()];
    let (arm, reference) = (treatment.level_name(key.arm as u16), treatment.level_name(0));
    let whom = if route == Route::Naive { "the table" } else { "the confidential table" };
    Effect {
        estimand: key.estimand,
        contrast: format!("{} {arm} - {reference}", treatment.name),
        population: match key.estimand {
            Estimand::Ate => format!("all rows of {whom}"),
            Estimand::Att => format!("rows of {whom} with {} = {arm}", treatment.name),
        },
        route,
        estimator: key.estimator,
        rule: combined.rule.to_string(),
        formula: combined.formula.to_string(),
        m: combined.m,
        r: combined.r,
        kappa: combined.kappa,
        n,
        estimate: combined.estimate,
        standard_error: combined.standard_error(),
        degrees_of_freedom: combined.degrees_of_freedom,
        level: request.level,
        interval: combined.interval(request.level),
        sampling_variance: combined.sampling_variance,
        privacy_variance: combined.privacy_variance,
        clipped_propensities: clipped,
        not_private: false,
        notes: combined.notes.clone(),
    }
}
