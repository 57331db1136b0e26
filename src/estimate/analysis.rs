//! The routes of `analyze` on tables: from rows to effects. The route on a release is
//! [`super::from_release`].

use super::analysis_row::{Answer, How, Key};
use super::combine::{Combined, Rule, combine};
use super::effect::{Analysis, Route};
use super::stack::estimate_tables;
use super::{Estimand, Estimate, EstimateError, Estimator, Group, Options, Rows, imputations};
use crate::impute::Kappa;
use crate::schema::Schema;
use crate::table::CodedTable;

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
    /// The subgroups, in whose rows everything is estimated too: see [`super::subgroups`].
    pub groups: Vec<Group>,
}

impl Request {
    /// Refuses estimands that have no meaning for the outcome.
    pub(super) fn check(&self, schema: &Schema) -> Result<(), EstimateError> {
        let outcome = schema.outcome().ok_or(EstimateError::NoOutcome)?;
        (self.estimands.iter()).try_for_each(|e| e.check_outcome(&schema.columns[outcome]))
    }

    /// Everyone, then the subgroups.
    pub(super) fn populations(&self) -> impl Iterator<Item = Option<Group>> {
        std::iter::once(None).chain(self.groups.iter().copied().map(Some))
    }

    /// The rows of one population, of a treatment of so many levels, by estimators that `can` be used.
    pub(super) fn keys(
        &self,
        group: Option<Group>,
        levels: usize,
        can: impl Fn(Estimator) -> bool,
    ) -> Vec<Key> {
        let mut keys = Vec::new();
        for arm in 0..levels {
            for &estimator in self.estimators.iter().filter(|&&e| can(e)) {
                let estimands = self.estimands.iter().copied();
                let with_row = estimands.filter(|e| e.rows(levels).contains(&arm));
                keys.extend(with_row.map(|estimand| Key {
                    group,
                    estimator,
                    estimand,
                    arm,
                }));
            }
        }
        keys
    }
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
    pub(super) fn with(self, kappa: Kappa, ratio: f64) -> Rule {
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

/// The imputation route: an ordinary estimator on each imputed table, combined.
///
/// # Errors
/// Where an estimator can't be computed on one of the tables (an empty arm, no overlap), or there are
/// fewer than two tables. What fails in a subgroup only is among the rows that were not estimated.
pub fn from_imputations(
    stack: &CodedTable,
    schema: &Schema,
    imputed: Imputed,
    request: &Request,
) -> Result<Analysis, EstimateError> {
    request.check(schema)?;
    let everyone = imputations(stack)?;
    let ratio = stack.rows as f64 / everyone.len() as f64 / imputed.n;
    let rule = request.rule.with(imputed.kappa, ratio);
    let mut answer = Answer::new(schema, request, Route::Imputation)?;
    for group in request.populations() {
        let tables = within(stack, &everyone, group, schema)?;
        let rows: usize = tables.iter().map(|(_, rows)| rows.len(stack.rows)).sum();
        for key in request.keys(group, answer.arms(), on_tables) {
            let found = on_each(stack, &tables, schema, &key).and_then(|estimates| {
                let how = How {
                    kappa: Some(imputed.kappa),
                    ratio: Some(ratio),
                    n: imputed.n * rows as f64 / stack.rows as f64,
                    clipped: mean_clipped(&estimates),
                };
                Ok((combine(&estimates, rule)?, how, None))
            });
            answer.push(&key, found)?;
        }
    }
    Ok(answer.analysis)
}

/// The naive route: one table read as if it were the real one, which it may be.
///
/// # Errors
/// Where an estimator can't be computed on the table. What fails in a subgroup only is among the rows that
/// were not estimated.
pub fn from_table(
    table: &CodedTable,
    schema: &Schema,
    synthetic: bool,
    request: &Request,
) -> Result<Analysis, EstimateError> {
    request.check(schema)?;
    let mut answer = Answer::new(schema, request, Route::Naive)?;
    for group in request.populations() {
        let tables = within(table, &[(1, Rows::All)], group, schema)?;
        for key in request.keys(group, answer.arms(), on_tables) {
            let found = on_each(table, &tables, schema, &key).map(|estimates| {
                let one = estimates[0];
                let how = How {
                    kappa: None,
                    ratio: None,
                    n: one.rows,
                    clipped: one.clipped,
                };
                (Combined::single(&one), how, None)
            });
            answer.push(&key, found)?;
        }
    }
    for effect in &mut answer.analysis.effects {
        effect.not_private = !synthetic;
        effect.notes.push(if synthetic {
            "one synthetic table read as if it were real: the interval leaves out the privacy noise and covers far less \
             than its level; analyze the release or imputed tables instead"
                .into()
        } else {
            "computed on the table as it stands: if the table is confidential, so is this row".into()
        });
    }
    Ok(answer.analysis)
}

/// Whether an estimator reads tables.
fn on_tables(estimator: Estimator) -> bool {
    estimator != Estimator::Model
}

/// The rows of a subgroup in each table.
fn within(
    table: &CodedTable,
    tables: &[(u32, Rows)],
    group: Option<Group>,
    schema: &Schema,
) -> Result<Vec<(u32, Rows)>, EstimateError> {
    let Some(group) = group else {
        return Ok(tables.to_vec());
    };
    (tables.iter())
        .map(|(number, rows)| Ok((*number, Rows::Indices(group.rows(table, rows, schema)?))))
        .collect()
}

/// The estimate in each table, or why there is none in one of them.
fn on_each(
    table: &CodedTable,
    tables: &[(u32, Rows)],
    schema: &Schema,
    key: &Key,
) -> Result<Vec<Estimate>, EstimateError> {
    let nobody = |(_, rows): &(u32, Rows)| rows.len(table.rows) == 0;
    if let (Some(group), true) = (key.group, tables.iter().any(nobody)) {
        return Err(group.empty(schema));
    }
    estimate_tables(
        table,
        tables,
        schema,
        key.estimator,
        key.estimand,
        key.arm as u16,
        &Options::default(),
    )
}

pub(super) fn mean_clipped(estimates: &[Estimate]) -> f64 {
    estimates.iter().map(|e| e.clipped).sum::<f64>() / estimates.len() as f64
}
