//! How near a synthetic table is to the confidential one: the comparison that an agency's own staff make
//! before they rely on a release.
//!
//! It looks at confidential data in the clear, so its result is an [`Internal`]: whatever it is written to
//! says that it must not be released. No other room can make one, and no room that takes part in a release
//! can import this one.
//!
//! # What is compared
//! All columns count by their codes in the schema: bins, levels, missing codes. Of a stack of imputations
//! every quantity is computed table by table and averaged.
//!
//! * **Marginals.** The total variation of a set of columns is half the L1 distance of its tables of shares,
//!   `1/2 sum |p - q|`: 0 where they are the same, 1 where they share no cell. Mean and maximum over all sets
//!   of 1, 2, 3 columns ([`Degree`]); where there are more sets than a limit, over as many of them, evenly
//!   spaced in lexicographic order.
//! * **Workload error.** `sum w |p - q|_1 / sum w` over a workload's arrays ([`WorkloadError`]).
//! * **Propensity score.** How well a logistic regression tells the tables apart ([`PropensityUtility`]).
//! * **Effects.** The ordinary estimates of the average effect on both tables ([`EffectComparison`]).
//! * **Balance.** Standardised differences of the covariates between arms on both ([`BalanceComparison`]).

mod balance;
mod effects;
mod error;
mod marginals;
mod one_hot;
mod propensity;
mod subsets;
#[cfg(test)]
mod tests;
mod workload;

pub use balance::BalanceComparison;
pub use effects::{EffectComparison, Found};
pub use error::EvaluateError;
pub use marginals::{ColumnComparison, Degree, Variation};
pub use propensity::{PropensityUtility, Utility};
pub use workload::WorkloadError;

use crate::estimate;
use crate::privacy::{Confidential, Internal};
use crate::schema::{Query, Schema};
use crate::table::{CodedTable, tabulate};
use crate::workload::{Workload, level_axes};
use marginals::Sets;
use serde::Serialize;
use workload::WeightedQuery;

/// How much is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Sets of up to so many columns.
    pub degree: usize,
    /// At most so many sets of each size.
    pub limit: usize,
}

impl Options {
    /// Sets of up to three columns: what MST, AIM and their successors are judged by.
    pub const DEGREE: usize = 3;
    /// All triples of 32 columns, and all pairs of 100.
    pub const LIMIT: usize = 5000;
}

impl Default for Options {
    fn default() -> Options {
        Options {
            degree: Options::DEGREE,
            limit: Options::LIMIT,
        }
    }
}

/// What a confidential table is to be compared with, and how. Everything in it may be looked at.
pub struct Question {
    schema: Schema,
    /// The synthetic tables: one, or one per imputation.
    synthetic: Vec<CodedTable>,
    sets: Vec<Sets>,
    workload: Option<Vec<WeightedQuery>>,
}

/// The comparison. It tells of confidential data without protection: see [`Internal`].
#[derive(Serialize)]
pub struct Evaluation {
    /// The rows of the confidential table.
    pub records: usize,
    /// The rows of the synthetic table, of all imputations together.
    pub rows: usize,
    /// The number of imputations; 1 where the table is none.
    pub imputations: usize,
    /// Marginals by the number of their columns.
    pub marginals: Vec<Degree>,
    /// Every pair of columns that was compared.
    pub pairs: Vec<Variation>,
    /// The error of a workload.
    pub workload_error: WorkloadError,
    /// How well the tables can be told apart.
    pub propensity: PropensityUtility,
    /// Estimates of average effects.
    pub effects: Vec<EffectComparison>,
    /// Differences between arms.
    pub balance: Vec<BalanceComparison>,
    /// The columns, one by one.
    pub columns: Vec<ColumnComparison>,
    /// What a reader must know: what was left out, and by which rule.
    pub notes: Vec<String>,
}

impl Question {
    /// The comparison with a synthetic table, or a stack of imputations, of the same schema.
    ///
    /// # Errors
    /// A table without rows, a schema without coded columns, or a workload without arrays to compare.
    pub fn new(
        schema: Schema,
        synthetic: CodedTable,
        workload: Option<&Workload>,
        options: Options,
    ) -> Result<Question, EvaluateError> {
        if synthetic.rows == 0 {
            return Err(EvaluateError::NoRows { which: "synthetic" });
        }
        let columns = schema.coded();
        if columns.is_empty() {
            return Err(EvaluateError::NoColumns);
        }
        let sets = (1..=options.degree.min(columns.len()))
            .map(|degree| Sets::new(&schema, &columns, degree, options.limit))
            .collect();
        let workload = workload.map(|workload| workload::weighted_queries(workload, &schema));
        Ok(Question {
            synthetic: tables(synthetic)?,
            sets,
            workload: workload.transpose()?,
            schema,
        })
    }

    /// The mean over the synthetic tables.
    fn mean(&self, of: impl FnMut(&CodedTable) -> f64) -> f64 {
        self.synthetic.iter().map(of).sum::<f64>() / self.synthetic.len() as f64
    }
}

/// Compares a confidential table with what the question holds, for the agency's own staff.
///
/// # Errors
/// Where the confidential table has no rows.
pub fn evaluate(
    confidential: &Confidential<CodedTable>,
    question: &Question,
) -> Result<Internal<Evaluation>, EvaluateError> {
    let evaluation = confidential.ask(question, compare);
    evaluation.disclose_to_the_agencys_own_staff().checked()
}

fn compare(confidential: &CodedTable, question: &Question) -> Result<Evaluation, EvaluateError> {
    if confidential.rows == 0 {
        return Err(EvaluateError::NoRows {
            which: "confidential",
        });
    }
    let (marginals, pairs) = marginals::compare(confidential, question);
    let workload_error = workload::compare(confidential, question, marginals.last());
    let mut notes: Vec<String> = marginals.iter().flat_map(Degree::notes).collect();
    let is_causal = question.schema.treatment().is_some() && question.schema.outcome().is_some();
    if !is_causal {
        notes.push("the schema names no treatment or no outcome: no effects, no balance".into());
    }
    Ok(Evaluation {
        records: confidential.rows,
        rows: question.synthetic.iter().map(|table| table.rows).sum(),
        imputations: question.synthetic.len(),
        marginals,
        pairs,
        workload_error,
        propensity: propensity::compare(confidential, question),
        effects: effects::compare(confidential, question),
        balance: balance::compare(confidential, question),
        columns: marginals::columns(confidential, question),
        notes,
    })
}

/// The tables of a stack.
fn tables(stack: CodedTable) -> Result<Vec<CodedTable>, EvaluateError> {
    if stack.imputation.is_none() {
        return Ok(vec![stack]);
    }
    (estimate::imputations(&stack)?.into_iter())
        .map(|(_, rows)| Ok(stack.picked(&rows.indices(stack.rows)?)))
        .collect()
}

/// The query for the marginal of some columns.
fn marginal(columns: &[usize]) -> Query {
    Query {
        name: "marginal".into(),
        axes: level_axes(columns),
    }
}

/// A query's answer on a table of the question's schema.
fn count(table: &CodedTable, schema: &Schema, query: &Query) -> Vec<i64> {
    let mut answers = tabulate(table, schema, std::slice::from_ref(query))
        .expect("a question holds queries only that can be counted");
    answers.remove(0)
}
