//! Estimates from tables: one table, some of its rows, or every table of a stack of imputations.

use rayon::prelude::*;

use super::estimand::Population;
use super::sample::{Rows, Sample};
use super::{Estimand, Estimate, EstimateError, Estimator, augmented, outcome, weighting};
use crate::schema::Schema;
use crate::table::CodedTable;

/// How estimators that have a choice make it.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Propensities are clipped to `[clip, 1 - clip]`.
    pub clip: f64,
    /// The number of folds of cross-fitting.
    pub folds: usize,
    /// The seed of the shuffle that deals rows to folds.
    pub seed: u64,
}

impl Options {
    /// The usual bound (Crump et al. 2009 discuss .1; .01 keeps a weight below 100 records).
    pub const CLIP: f64 = 0.01;
    /// Five folds: four fifths of the rows in each fit, at five times the cost of one.
    pub const FOLDS: usize = 5;

    fn check(&self) -> Result<(), EstimateError> {
        if !(self.clip > 0.0 && self.clip < 0.5) {
            return Err(EstimateError::Option(
                "the clipping bound must lie between 0 and 0.5",
            ));
        }
        if self.folds < 2 {
            return Err(EstimateError::Option("cross-fitting needs two folds"));
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            clip: Options::CLIP,
            folds: Options::FOLDS,
            seed: 0,
        }
    }
}

/// Estimates an estimand of treatment arm `arm` (against arm 0, where it is a contrast) on some rows of a
/// table.
///
/// The population of ATE, arm mean and risk ratio is everyone in those rows, whatever their arm; ATT and
/// ATC need the two arms only. The difference in means is the same for ATE, ATT and ATC.
///
/// # Errors
/// An empty arm, too few rows, no overlap, a table that does not fit its schema: see [`EstimateError`].
pub fn estimate(
    table: &CodedTable,
    rows: &Rows,
    schema: &Schema,
    estimator: Estimator,
    estimand: Estimand,
    arm: u16,
    options: &Options,
) -> Result<Estimate, EstimateError> {
    options.check()?;
    let treatment = schema.treatment().ok_or(EstimateError::NoTreatment)?;
    let levels = schema.columns[treatment].levels();
    estimand.check_arm(arm, levels)?;
    let only_its_arms = estimand.population(arm) != Population::Everyone
        || estimator == Estimator::DifferenceInMeans;
    let only = only_its_arms.then(|| estimand.arms(arm));
    let sample = Sample::new(table, rows, schema, only.as_deref())?;
    match estimator {
        Estimator::DifferenceInMeans => outcome::difference_in_means(&sample, arm, estimand),
        Estimator::Ipw => weighting::inverse_propensity(&sample, arm, estimand, options),
        Estimator::Aipw => {
            let folds = augmented::deal_folds(&sample, options);
            augmented::augmented(&sample, arm, estimand, options, &folds)
        }
        Estimator::Regression => outcome::regression(&sample, arm, estimand),
        Estimator::Model | Estimator::Adjusted | Estimator::Gram => Err(EstimateError::NeedsModel),
    }
}

/// Estimates the effect in every imputation of a stack, in the order of [`imputations`]; a table that
/// is not a stack counts as one. Tables are worked on in parallel, each by itself, so results do not
/// depend on the number of threads.
///
/// # Errors
/// Those of [`estimate`], with the number of the first imputation that fails.
pub fn estimate_each(
    table: &CodedTable,
    schema: &Schema,
    estimator: Estimator,
    estimand: Estimand,
    arm: u16,
    options: &Options,
) -> Result<Vec<Estimate>, EstimateError> {
    let tables = imputations(table)?;
    estimate_tables(table, &tables, schema, estimator, estimand, arm, options)
}

/// As [`estimate_each`], on some rows of each imputation.
pub(super) fn estimate_tables(
    table: &CodedTable,
    tables: &[(u32, Rows)],
    schema: &Schema,
    estimator: Estimator,
    estimand: Estimand,
    arm: u16,
    options: &Options,
) -> Result<Vec<Estimate>, EstimateError> {
    let results: Vec<_> = tables
        .par_iter()
        .map(|(number, rows)| {
            estimate(table, rows, schema, estimator, estimand, arm, options).map_err(|source| {
                match table.imputation {
                    None => source,
                    Some(_) => EstimateError::InImputation {
                        imputation: *number,
                        source: Box::new(source),
                    },
                }
            })
        })
        .collect();
    results.into_iter().collect()
}

/// The imputations of a stack, by ascending number, with their rows. A table that is not a stack is
/// imputation 1.
///
/// # Errors
/// If the stack's numbers are not one per row.
pub fn imputations(table: &CodedTable) -> Result<Vec<(u32, Rows)>, EstimateError> {
    let Some(numbers) = &table.imputation else {
        return Ok(vec![(1, Rows::All)]);
    };
    if numbers.len() != table.rows {
        return Err(EstimateError::Malformed(
            "the imputation column is not as long as the table".into(),
        ));
    }
    // Stacks are usually written one imputation after the other: runs stay ranges.
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|&row| numbers[row]);
    let groups = order.chunk_by(|&a, &b| numbers[a] == numbers[b]);
    Ok(groups
        .map(|group| {
            let (first, last) = (group[0], group[group.len() - 1]);
            let rows = if last - first + 1 == group.len() {
                Rows::Range(first..last + 1)
            } else {
                Rows::Indices(group.to_vec())
            };
            (numbers[first], rows)
        })
        .collect())
}
