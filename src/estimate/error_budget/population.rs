//! Where the simulated tables come from: a public table, or a law drawn from the schema.

use rand::RngExt;

use super::floor::{floor, is_randomised};
use super::law::Law;
use crate::estimate::EstimateError;
use crate::impute::{Purpose, stream};
use crate::measure::Plan;
use crate::table::CodedTable;

/// A population, public or made up, never the confidential table.
pub struct Population {
    source: Source,
    seed: u64,
    /// The effect that coverage is judged by, in the outcome's units.
    pub truth: f64,
    /// What is assumed, for people.
    pub assumptions: Vec<String>,
}

enum Source {
    Law(Box<Law>),
    Rows(CodedTable),
}

impl Population {
    /// Uniform covariates, moderate confounding: see the law's documentation.
    ///
    /// # Errors
    /// A schema without treatment or outcome, or structural zeros that rule out nearly everything.
    pub fn from_schema(plan: &Plan, seed: u64) -> Result<Population, EstimateError> {
        let schema = &plan.schema;
        let scores = match &plan.effects {
            Some(effects) if !effects.block.scores.is_empty() => effects.block.scores.clone(),
            _ => schema.scores(&schema.covariates(), &[]),
        };
        let law = Law::new(schema, &scores, seed)?;
        Ok(Population {
            truth: law.truth()?,
            assumptions: law.assumptions(),
            source: Source::Law(Box::new(law)),
            seed,
        })
    }

    /// A public table of the schema, read by [`crate::table::read_population`]: samples are drawn from it with
    /// replacement, and what the floor's analysis finds in the whole of it is the truth.
    ///
    /// # Errors
    /// Where that analysis fails, such as for an empty arm.
    pub fn from_table(
        plan: &Plan,
        table: CodedTable,
        seed: u64,
    ) -> Result<Population, EstimateError> {
        let whole = floor(plan, &table)?;
        let analysis = if is_randomised(&plan.schema) {
            "difference in means"
        } else {
            "regression"
        };
        let drawn = format!(
            "rows are drawn with replacement from the {} of the population's file",
            table.rows
        );
        let truth = format!(
            "the true effect is what the {analysis} finds in the whole file: whether it confounds by more is not seen here"
        );
        Ok(Population {
            truth: whole.value,
            assumptions: vec![drawn, truth],
            source: Source::Rows(table),
            seed,
        })
    }

    /// A table of so many rows; `number`, from 1, tells tables apart.
    ///
    /// # Errors
    /// As [`Population::from_schema`].
    pub(super) fn sample(&self, rows: usize, number: u64) -> Result<CodedTable, EstimateError> {
        let whole = match &self.source {
            Source::Law(law) => return law.sample(rows, number),
            Source::Rows(whole) => whole,
        };
        let mut random = stream(self.seed, Purpose::Simulation, number);
        let drawn: Vec<usize> = (0..rows)
            .map(|_| random.random_range(0..whole.rows))
            .collect();
        Ok(whole.picked(&drawn))
    }
}
