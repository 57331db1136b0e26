//! The error of a workload: the weighted mean L1 distance over its arrays.

use super::marginals::{Degree, MOST_CELLS, can_be_counted, distance};
use super::{EvaluateError, Question};
use crate::schema::{Query, Schema};
use crate::table::CodedTable;
use crate::workload::{Method, Workload, level_axes};
use rayon::prelude::*;
use serde::Serialize;

/// The error of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadError {
    /// Which workload.
    pub workload: String,
    /// The number of its arrays.
    pub arrays: usize,
    /// `sum w |p - q|_1 / sum w`, with `p` and `q` an array's sums per row of either table: from 0 to 2 for
    /// marginals.
    pub error: f64,
}

/// An array and how much it matters.
pub(super) struct WeightedQuery {
    query: Query,
    weight: f64,
}

/// The arrays of a workload: the marginals that a selecting mechanism is to keep, with their weights; else
/// what is measured whatever the data say, all alike.
pub(super) fn weighted_queries(
    workload: &Workload,
    schema: &Schema,
) -> Result<Vec<WeightedQuery>, EvaluateError> {
    let method = workload.marginals().map(|block| &block.method);
    let marginals = match method {
        Some(Method::Aim(rule)) => &rule.marginals[..],
        Some(Method::Mwem(rule)) => &rule.marginals[..],
        _ => &[],
    };
    let mut queries: Vec<WeightedQuery> = (marginals.iter())
        .map(|marginal| {
            let names = (marginal.columns.iter()).map(|&c| schema.columns[c].name.as_str());
            WeightedQuery {
                query: Query {
                    name: names.collect::<Vec<_>>().join("*"),
                    axes: level_axes(&marginal.columns),
                },
                weight: marginal.weight,
            }
        })
        .collect();
    if marginals.is_empty() {
        let measured = workload.queries(schema).into_iter();
        queries.extend(measured.map(|block| WeightedQuery {
            query: block.query,
            weight: 1.0,
        }));
    }
    let too_large = (queries.iter()).find(|weighted| !can_be_counted(&weighted.query, schema));
    match too_large {
        Some(weighted) => Err(EvaluateError::TooManyCells {
            query: weighted.query.name.clone(),
            limit: MOST_CELLS,
        }),
        None if queries.is_empty() => Err(EvaluateError::NoMarginals),
        None => Ok(queries),
    }
}

/// The error of the question's workload; without one, of the marginals of most columns.
pub(super) fn compare(
    confidential: &CodedTable,
    question: &Question,
    largest: Option<&Degree>,
) -> WorkloadError {
    if let Some(queries) = &question.workload {
        let errors: Vec<f64> = (queries.par_iter())
            .map(|weighted| weighted.weight * distance(confidential, question, &weighted.query))
            .collect();
        let weights: f64 = queries.iter().map(|weighted| weighted.weight).sum();
        return WorkloadError {
            workload: "as given".into(),
            arrays: queries.len(),
            error: errors.iter().sum::<f64>() / weights,
        };
    }
    let (degree, arrays, mean) = largest.map_or((0, 0, f64::NAN), |largest| {
        (largest.degree, largest.compared, largest.mean)
    });
    WorkloadError {
        workload: format!("marginals of {degree} columns"),
        arrays,
        error: 2.0 * mean,
    }
}
