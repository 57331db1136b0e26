//! The route of `analyze` on a release: functionals of the fitted model and of its posterior draws.
//!
//! A subgroup's effects are the same functionals of the model given the level
//! ([`Model::given`]), exact like those of everyone, for the records that the model puts there.

use super::analysis::{Request, mean_clipped};
use super::analysis_row::{Answer, How, Key};
use super::combine::combine;
use super::effect::{Analysis, Route};
use super::model_effect::ModelContext;
use super::model_formula::ModelFormula;
use super::moments::{difference_from_moments, regression_from_moments};
use super::{DesignMatrix, Estimate, EstimateError, Estimator, Group, Scale};
use crate::impute::{BaseFit, Kappa};
use crate::model::Model;
use crate::schema::Schema;
use rayon::prelude::*;
use std::borrow::Cow;

/// The moment route: every functional on the base fit and on its posterior draws, combined at `r`
/// infinite. `kappa` says what the draws vary by; `seed` fixes the rows on which the g-formula is evaluated.
///
/// # Errors
/// Where the release measured no treatment or outcome, or nothing of a subgroup's column, or a fitted model
/// has an empty arm. What fails in a subgroup only is among the rows that were not estimated.
pub fn from_release(
    fit: &BaseFit,
    draws: &[Model],
    kappa: Kappa,
    schema: &Schema,
    request: &Request,
    seed: u64,
) -> Result<Analysis, EstimateError> {
    request.check(schema)?;
    let design = DesignMatrix::from_schema(schema);
    let context = ModelContext::new(schema, &fit.released.variables, &design)?;
    let asked = Asked {
        context: &context,
        request,
        n: fit.released.problem.total,
        seed,
    };
    let mut answer = Answer::new(schema, request, Route::Moment)?;
    for group in request.populations() {
        let keys = request.keys(group, context.arms(), on_models);
        let base = asked.of_model(fit.model(), group, &keys, 0);
        // Evaluated in parallel, collected in order: the result does not depend on the number of threads.
        let drawn: Vec<ModelEstimates> = draws
            .par_iter()
            .enumerate()
            .map(|(k, model)| asked.of_model(model, group, &keys, k as u64 + 1))
            .collect();
        for (position, key) in keys.iter().enumerate() {
            let found = series(&base, &drawn, position).and_then(|estimates| {
                let how = How {
                    kappa: Some(kappa),
                    ratio: Some(f64::INFINITY),
                    n: base.n,
                    clipped: mean_clipped(&estimates),
                };
                let combined = combine(&estimates, request.rule.with(kappa, f64::INFINITY))?;
                Ok((
                    combined,
                    how,
                    disagreement(&keys, position, kappa, &base, &drawn),
                ))
            });
            answer.push(key, found)?;
        }
    }
    Ok(answer.analysis)
}

/// Whether an estimator reads models: the others need rows.
fn on_models(estimator: Estimator) -> bool {
    matches!(
        estimator,
        Estimator::DifferenceInMeans | Estimator::Regression | Estimator::Model
    )
}

/// What is asked of every model.
struct Asked<'a> {
    context: &'a ModelContext<'a>,
    request: &'a Request,
    /// The number of records behind the release.
    n: f64,
    seed: u64,
}

/// All estimates of one model in one population, in the order of the keys.
struct ModelEstimates {
    /// The population's number of records.
    n: f64,
    estimates: Vec<Result<Estimate, EstimateError>>,
}

impl Asked<'_> {
    /// The estimates of one model; `index` tells models apart.
    fn of_model(
        &self,
        model: &Model,
        group: Option<Group>,
        keys: &[Key],
        index: u64,
    ) -> ModelEstimates {
        let failed = |error: EstimateError| ModelEstimates {
            n: 0.0,
            estimates: keys.iter().map(|_| Err(error.clone())).collect(),
        };
        match self.within(model, group) {
            Ok((model, n)) => match self.estimates(&model, n, keys, index) {
                Ok(estimates) => ModelEstimates { n, estimates },
                Err(error) => failed(error),
            },
            Err(error) => failed(error),
        }
    }

    /// The model of a population, and its number of records.
    fn within<'m>(
        &self,
        model: &'m Model,
        group: Option<Group>,
    ) -> Result<(Cow<'m, Model>, f64), EstimateError> {
        let Some(group) = group else {
            return Ok((Cow::Borrowed(model), self.n));
        };
        let schema = self.context.schema;
        let variable = self.context.variables.of_column(group.column);
        let variable = variable.ok_or_else(|| EstimateError::NotMeasured {
            column: schema.columns[group.column].name.clone(),
        })?;
        let given = model.given(variable, group.code)?;
        let given = given.ok_or_else(|| group.empty(schema))?;
        let n = self.n * given.total() / model.total();
        Ok((Cow::Owned(given), n))
    }

    fn estimates(
        &self,
        model: &Model,
        n: f64,
        keys: &[Key],
        index: u64,
    ) -> Result<Vec<Result<Estimate, EstimateError>>, EstimateError> {
        let moments = self.context.moments(model, n)?;
        let formula = if self.request.estimators.contains(&Estimator::Model) {
            Some(ModelFormula::new(self.context, model, self.seed, index)?)
        } else {
            None
        };
        let estimate = |key: &Key| match (key.estimator, &formula) {
            (Estimator::Model, Some(formula)) => {
                formula.estimate(self.context, key.estimand, key.arm, n)
            }
            (Estimator::Regression, _) => {
                regression_from_moments(&moments, key.arm as u16, key.estimand)
                    .map_err(|error| self.named(error))
            }
            _ => difference_from_moments(&moments, key.arm as u16, key.estimand)
                .map_err(|error| self.named(error)),
        };
        Ok(keys.iter().map(estimate).collect())
    }

    /// An error with the arm's name for its code, which is all that moments know of it.
    fn named(&self, error: EstimateError) -> EstimateError {
        let name = |arm: String| match arm.parse() {
            Ok(code) if code < self.context.arms() => self.context.arm_name(code),
            _ => arm,
        };
        match error {
            EstimateError::EmptyArm { arm } => EstimateError::EmptyArm { arm: name(arm) },
            EstimateError::TooFewRows { arm, rows, needed } => EstimateError::TooFewRows {
                arm: name(arm),
                // An expected number: a tenth of a row is all that a reader needs.
                rows: (10.0 * rows).round() / 10.0,
                needed,
            },
            other => other,
        }
    }
}

/// One number in all draws, with the base fit's sampling variance: the draws' own carry the extra noise.
///
/// # Errors
/// The first of the models that can't answer says why.
fn series(
    base: &ModelEstimates,
    drawn: &[ModelEstimates],
    position: usize,
) -> Result<Vec<Estimate>, EstimateError> {
    let variance = base.estimates[position].clone()?.variance;
    let in_draw = |(k, draw): (usize, &ModelEstimates)| match &draw.estimates[position] {
        Ok(estimate) => Ok(Estimate {
            variance,
            ..*estimate
        }),
        Err(error) => Err(EstimateError::InDraw {
            draw: k + 1,
            source: Box::new(error.clone()),
        }),
    };
    drawn.iter().enumerate().map(in_draw).collect()
}

/// A note where the regression at a position, or the model at it, differs from the other one by more than
/// the privacy noise and the sampling explain.
///
/// The variance of the difference is its variance over the draws, and for the sampling part
/// `|V_regression - V_model|` (Hausman 1978: if one of two estimators is efficient, their difference has
/// the difference of their variances); draws of `kappa = 0` carry the sampling themselves.
fn disagreement(
    keys: &[Key],
    position: usize,
    kappa: Kappa,
    base: &ModelEstimates,
    drawn: &[ModelEstimates],
) -> Option<String> {
    let key = keys[position];
    let pair = [Estimator::Regression, Estimator::Model];
    if !pair.contains(&key.estimator) {
        return None;
    }
    let [regression, model] =
        pair.map(|estimator| keys.iter().position(|k| *k == Key { estimator, ..key }));
    let [regression, model] = [regression?, model?].map(|at| (at, base.estimates[at].clone()));
    let sampling = (regression.1.ok()?.variance - model.1.ok()?.variance).abs();
    let differences: Vec<f64> = drawn
        .iter()
        .map(|d| {
            let of = |at: usize| d.estimates[at].as_ref().ok().map(|e| e.value);
            Some(of(regression.0)? - of(model.0)?)
        })
        .collect::<Option<_>>()?;
    let m = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / m;
    let between = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (m - 1.0);
    let error = ((1.0 + 1.0 / m) * between + kappa.value() * sampling).sqrt();
    let of_what = match key.estimand.scale() {
        Scale::Identity => "",
        Scale::Log => " on the log scale",
    };
    (mean.abs() > DISAGREEMENT * error).then(|| {
        format!(
            "regression and model differ by {mean:.4}{of_what}, more than {DISAGREEMENT} joint standard errors ({error:.4}): \
             covariates are associated in ways that the workload did not measure; consider adding pairs"
        )
    })
}

/// Joint standard errors beyond which two estimates of one effect are said to disagree (two-sided 5 %).
const DISAGREEMENT: f64 = 1.96;
