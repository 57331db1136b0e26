//! The setups and learners of the effect workload: a table, a release of it, and the effect that it says.
//!
//! This folder knows nothing of the harness around it: `benchmarks/cate` and the effect workload's tests use it too.

pub mod learners;
pub mod setups;

use dpcausal::cate::{CateDocuments, CatePlan, Effect, run};
use dpcausal::measure::Guarantee;
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::{AnyRelease, CheckedCateRelease};
use dpcausal::schema::Schema;
use dpcausal::table::CodedTable;
use dpcausal::workload::CateWorkload;

use anyhow::{Result, bail};

/// What a release says.
#[derive(Debug, Clone)]
pub struct Found {
    /// The effects at the test rows.
    pub effects: Vec<f64>,
    /// The average effect.
    pub average: f64,
}

/// The errors of two independent tables' releases, over test rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairErrors {
    /// The mean squared error of both.
    pub mse: f64,
    /// The mean product of the two errors. They are independent, so its expectation is the integrated squared bias; it
    /// can be negative.
    pub squared_bias: f64,
}

impl PairErrors {
    /// Against the true effects.
    pub fn of(pair: &[Found; 2], truth: &[f64]) -> PairErrors {
        let rows = truth.len() as f64;
        let [first, second] = pair;
        let errors = (first.effects.iter().zip(&second.effects).zip(truth))
            .map(|((a, b), tau)| (a - tau, b - tau));
        let (squares, products) = errors.fold((0.0, 0.0), |(squares, products), (a, b)| {
            (squares + a * a + b * b, products + a * b)
        });
        PairErrors {
            mse: squares / 2.0 / rows,
            squared_bias: products / rows,
        }
    }

    /// The integrated variance, `mean((e1 - e2)^2) / 2`.
    pub fn variance(&self) -> f64 {
        self.mse - self.squared_bias
    }
}

/// A table to be released and how.
pub struct Task<'a> {
    /// The schema's text.
    pub schema: &'a str,
    /// The workload's text.
    pub workload: &'a str,
    /// The budget.
    pub budget: Budget,
    /// Fixes the noise.
    pub seed: u64,
}

impl Task<'_> {
    /// What a release of a table says of test rows.
    ///
    /// # Errors
    /// As [`Task::release`].
    pub fn effects(&self, table: CodedTable, test: &CodedTable) -> Result<Found> {
        let release = self.release(table)?;
        let effect = Effect::new(&release)?;
        Ok(Found {
            effects: effect.at_rows(test),
            average: effect.average(),
        })
    }

    /// A release of a table, read back as its users read it.
    ///
    /// # Errors
    /// Where schema, workload and budget don't go together.
    pub fn release(&self, table: CodedTable) -> Result<CheckedCateRelease> {
        let (schema, schema_file) = Schema::parse(self.schema, "the study's schema")?;
        let (workload, workload_file) =
            CateWorkload::parse(self.workload, "the study's workload", &schema)?;
        let guarantee = Guarantee::new(self.budget, &schema);
        let plan = CatePlan::new(schema, workload, guarantee)?;
        let documents = CateDocuments {
            schema: schema_file,
            workload: workload_file,
        };
        let authorised =
            Authorisation::without_ledger(ReleaseId::random()?, plan.cost, &self.budget)?;
        let table = Confidential::new(table);
        let mut noise = NoiseSource::insecure_seed(self.seed);
        let release = run(&plan, documents, &table, authorised, &mut noise)?;
        match AnyRelease::parse(&release.to_json(), "the release")? {
            AnyRelease::Cate(release) => Ok(*release),
            _ => bail!("another kind of release"),
        }
    }
}
