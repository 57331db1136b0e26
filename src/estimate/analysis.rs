//! The three routes of `analyze`: from what is given to rows of effects.

use super::combine::{Combined, Rule, combine};
use super::effect::{Effect, Route};
use super::model_effect::ModelContext;
use super::model_formula::model_effects;
use super::moments::{difference_from_moments, regression_from_moments};
use super::{
    DesignMatrix, Estimand, Estimate, EstimateError, Estimator, Options, Rows, estimate,
    estimate_each, imputations,
};
use crate::impute::{BaseFit, Kappa};
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
    pub rule: RuleKind,
    /// The level of the intervals.
    pub level: f64,
}

/// A combining rule by name; the route knows its kappa and r.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The unified rule.
    Unified,
    /// Rubin's.
    Rubin,
    /// Raghunathan's.
    Raghunathan,
}

impl RuleKind {
    fn with(self, kappa: Kappa, ratio: f64) -> Rule {
        match self {
            RuleKind::Unified => Rule::Unified { kappa, ratio },
            RuleKind::Rubin => Rule::Rubin,
            RuleKind::Raghunathan => Rule::Raghunathan { ratio },
        }
    }
}

/// What is known of imputed tables.
#[derive(Debug, Clone, Copy)]
pub struct Imputed {
    /// The number of records behind the release.
    pub n: f64,
    /// What the draws vary by.
    pub kappa: Kappa,
}

/// How a combined estimate was made.
struct How {
    route: Route,
    kappa: Option<Kappa>,
    ratio: Option<f64>,
    n: f64,
    clipped: f64,
}

/// The moment route: every functional on the base fit and on its posterior draws, combined at `r`
/// infinite. `kappa` says what the draws vary by; `seed` fixes the rows on which the g-formula is evaluated.
///
/// # Errors
/// Where the release measured no treatment or outcome, or a fitted model has an empty arm.
pub fn from_release(
    fit: &BaseFit,
    draws: &[Model],
    kappa: Kappa,
    schema: &Schema,
    request: &Request,
    seed: u64,
) -> Result<Vec<Effect>, EstimateError> {
    let design = DesignMatrix::from_schema(schema);
    let variables = &fit.released.variables;
    let context = ModelContext::new(schema, variables, &design)?;
    let n = fit.released.problem.total;
    let on_model =
        |model: &Model, index: u64| ModelEstimates::new(&context, model, n, request, seed, index);
    let base = on_model(fit.model(), 0)?;
    // Evaluated in parallel, collected in order: the result does not depend on the number of threads.
    let drawn: Vec<ModelEstimates> = draws
        .par_iter()
        .enumerate()
        .map(|(k, model)| on_model(model, k as u64 + 1))
        .collect::<Result<_, _>>()?;
    let mut effects = Vec::new();
    for (position, key) in base.keys.iter().enumerate() {
        // The sampling variance is the base fit's: the draws' own variances carry the extra noise.
        let variance = base.estimates[position].variance;
        let values: Vec<Estimate> = drawn
            .iter()
            .map(|d| Estimate {
                variance,
                ..d.estimates[position]
            })
            .collect();
        let combined = combine(&values, request.rule.with(kappa, f64::INFINITY))?;
        let clipped = mean_clipped(&values);
        let how = How {
            route: Route::Moment,
            kappa: Some(kappa),
            ratio: Some(f64::INFINITY),
            n,
            clipped,
        };
        effects.push(row(schema, key, &combined, request, &how)?);
    }
    flag_disagreement(&mut effects, kappa, &base, &drawn);
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
        let mut found = ModelEstimates {
            keys: Vec::new(),
            estimates: Vec::new(),
        };
        for arm in 1..context.arms() {
            let moments = context.moments(model, n)?;
            for &estimator in &request.estimators {
                let of_moments = |one: &dyn Fn(Estimand) -> Result<Estimate, EstimateError>| {
                    request
                        .estimands
                        .iter()
                        .map(|&e| one(e))
                        .collect::<Result<Vec<_>, _>>()
                };
                let estimates = match estimator {
                    Estimator::Regression => {
                        of_moments(&|e| regression_from_moments(&moments, arm as u16, e))?
                    }
                    Estimator::DifferenceInMeans => {
                        of_moments(&|_| difference_from_moments(&moments, arm as u16))?
                    }
                    Estimator::Model => {
                        model_effects(context, model, n, arm, &request.estimands, seed, index)?
                    }
                    // These need rows.
                    Estimator::Ipw | Estimator::Aipw => continue,
                };
                for (&estimand, estimate) in request.estimands.iter().zip(estimates) {
                    found.keys.push(Key {
                        estimator,
                        estimand,
                        arm,
                    });
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
/// the difference of their variances); draws of `kappa = 0` carry the sampling themselves.
fn flag_disagreement(
    effects: &mut [Effect],
    kappa: Kappa,
    base: &ModelEstimates,
    drawn: &[ModelEstimates],
) {
    let find = |estimator: Estimator, like: &Key| {
        base.keys
            .iter()
            .position(|k| *k == Key { estimator, ..*like })
    };
    for position in 0..effects.len() {
        let key = base.keys[position];
        if key.estimator != Estimator::Regression {
            continue;
        }
        let Some(other) = find(Estimator::Model, &key) else {
            continue;
        };
        let differences: Vec<f64> = drawn
            .iter()
            .map(|d| d.estimates[position].value - d.estimates[other].value)
            .collect();
        let m = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / m;
        let between = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (m - 1.0);
        let sampling = (base.estimates[position].variance - base.estimates[other].variance).abs();
        let error = ((1.0 + 1.0 / m) * between + kappa.value() * sampling).sqrt();
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
    let m = imputations(stack)?.len();
    let ratio = stack.rows as f64 / m as f64 / imputed.n;
    let mut effects = Vec::new();
    for key in table_keys(schema, request)? {
        let estimates = estimate_each(
            stack,
            schema,
            key.estimator,
            key.estimand,
            key.arm as u16,
            &Options::default(),
        )?;
        let combined = combine(&estimates, request.rule.with(imputed.kappa, ratio))?;
        let clipped = mean_clipped(&estimates);
        let how = How {
            route: Route::Imputation,
            kappa: Some(imputed.kappa),
            ratio: Some(ratio),
            n: imputed.n,
            clipped,
        };
        effects.push(row(schema, &key, &combined, request, &how)?);
    }
    Ok(effects)
}

fn mean_clipped(estimates: &[Estimate]) -> f64 {
    estimates.iter().map(|e| e.clipped).sum::<f64>() / estimates.len() as f64
}

/// The naive route: one table read as if it were the real one, which it may be.
///
/// # Errors
/// Where an estimator can't be computed on the table.
pub fn from_table(
    table: &CodedTable,
    schema: &Schema,
    synthetic: bool,
    request: &Request,
) -> Result<Vec<Effect>, EstimateError> {
    let mut effects = Vec::new();
    for key in table_keys(schema, request)? {
        let options = Options::default();
        let one = estimate(
            table,
            &Rows::All,
            schema,
            key.estimator,
            key.estimand,
            key.arm as u16,
            &options,
        )?;
        let how = How {
            route: Route::Naive,
            kappa: None,
            ratio: None,
            n: one.rows,
            clipped: one.clipped,
        };
        let mut effect = row(schema, &key, &Combined::single(&one), request, &how)?;
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
        for &estimator in request
            .estimators
            .iter()
            .filter(|&&e| e != Estimator::Model)
        {
            keys.extend(request.estimands.iter().map(|&estimand| Key {
                estimator,
                estimand,
                arm,
            }));
        }
    }
    Ok(keys)
}

fn row(
    schema: &Schema,
    key: &Key,
    combined: &Combined,
    request: &Request,
    how: &How,
) -> Result<Effect, EstimateError> {
    let treatment = &schema.columns[schema.treatment().ok_or(EstimateError::NoTreatment)?];
    let (arm, reference) = (
        treatment.level_name(key.arm as u16),
        treatment.level_name(0),
    );
    let total = combined.standard_error.powi(2);
    // U estimates V / r, or V itself where r does not apply.
    let finite = how.ratio.filter(|r| r.is_finite()).unwrap_or(1.0);
    let sampling = (combined.within_variance * finite).min(total);
    let (lower, upper) = combined.interval(request.level)?;
    Ok(Effect {
        estimand: key.estimand,
        contrast: format!("{} {arm} - {reference}", treatment.name),
        population: match key.estimand {
            Estimand::Ate => "all rows".into(),
            Estimand::Att => format!("rows with {} = {arm}", treatment.name),
        },
        route: how.route,
        estimator: key.estimator,
        rule: combined.rule.into(),
        formula: combined.formula.into(),
        m: (how.route != Route::Naive).then_some(combined.draws),
        r: how.ratio.filter(|r| r.is_finite()),
        kappa: how.kappa.map(|kappa| kappa.value() as u8),
        n: how.n,
        estimate: combined.estimate,
        standard_error: combined.standard_error,
        degrees_of_freedom: combined.degrees_of_freedom,
        level: request.level,
        interval: [lower, upper],
        sampling_variance: sampling,
        privacy_variance: total - sampling,
        clipped_propensities: how.clipped,
        not_private: false,
        notes: combined.note.iter().map(ToString::to_string).collect(),
    })
}
