//! The average effect as ordinary estimators find it on either table.

use super::Question;
use super::balance::contrast;
use crate::estimate::{self, Estimand, Estimate, EstimateError, Estimator, Rows};
use crate::schema::{Role, Schema};
use crate::table::CodedTable;
use serde::Serialize;

/// The estimators: without and with adjustment.
const ESTIMATORS: [Estimator; 2] = [Estimator::DifferenceInMeans, Estimator::Regression];

/// An average effect on both tables, in the outcome's own units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectComparison {
    /// What is estimated.
    pub estimand: Estimand,
    /// The arm and the reference, such as `treat 1 - 0`.
    pub contrast: String,
    /// By which estimator.
    pub estimator: Estimator,
    /// On the confidential table.
    pub confidential: Found,
    /// On the synthetic table, read as if it were real: the mean over imputations.
    pub synthetic: Found,
    /// The synthetic estimate less the confidential one, in standard errors of the latter.
    pub standardised_difference: f64,
}

/// What an estimator found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The estimate; `NaN` where there is none.
    pub estimate: f64,
    /// The standard error that the estimator reports for the rows it saw. Of imputations the root of the mean
    /// square; the noise of the release is not in it.
    pub standard_error: f64,
    /// Why there is no estimate.
    pub reason: Option<String>,
}

/// Every arm against the reference.
pub(super) fn compare(confidential: &CodedTable, question: &Question) -> Vec<EffectComparison> {
    let schema = &question.schema;
    let (Some(treatment), Some(_)) = (schema.treatment(), schema.outcome()) else {
        return Vec::new();
    };
    let unadjusted = without_covariates(schema);
    let mut rows = Vec::new();
    for arm in 1..schema.columns[treatment].levels() {
        for estimator in ESTIMATORS {
            let schema = match estimator {
                Estimator::DifferenceInMeans => &unadjusted,
                _ => schema,
            };
            let find = |tables: &[CodedTable]| Found::new(tables, schema, estimator, arm as u16);
            let real = find(std::slice::from_ref(confidential));
            let synthetic = find(&question.synthetic);
            let difference = synthetic.estimate - real.estimate;
            rows.push(EffectComparison {
                estimand: Estimand::Ate,
                contrast: contrast(question, arm),
                estimator,
                standardised_difference: difference / real.standard_error,
                confidential: real,
                synthetic,
            });
        }
    }
    rows
}

/// The schema without covariates: an estimator that adjusts for none need not hold their scores in memory.
fn without_covariates(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    for column in &mut schema.columns {
        if column.role == Role::Covariate {
            column.role = Role::Ignored;
        }
    }
    schema
}

impl Found {
    fn new(tables: &[CodedTable], schema: &Schema, estimator: Estimator, arm: u16) -> Found {
        let on = |(number, table): (usize, &CodedTable)| -> Result<Estimate, EstimateError> {
            let options = estimate::Options::default();
            let found = estimate::estimate(
                table,
                &Rows::All,
                schema,
                estimator,
                Estimand::Ate,
                arm,
                &options,
            );
            found.map_err(|error| match tables {
                [_] => error,
                _ => EstimateError::InImputation {
                    imputation: number as u32 + 1,
                    source: Box::new(error),
                },
            })
        };
        let estimates: Result<Vec<Estimate>, _> = tables.iter().enumerate().map(on).collect();
        match estimates {
            Ok(estimates) => {
                let mean = |of: fn(&Estimate) -> f64| {
                    estimates.iter().map(of).sum::<f64>() / estimates.len() as f64
                };
                Found {
                    estimate: mean(|e| e.value),
                    standard_error: mean(|e| e.variance).sqrt(),
                    reason: None,
                }
            }
            Err(error) => Found {
                estimate: f64::NAN,
                standard_error: f64::NAN,
                reason: Some(error.to_string()),
            },
        }
    }
}
