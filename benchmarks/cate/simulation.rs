//! One repetition: a table, a release through the library's public interface, and the error of its effects.

use crate::setups::{Sample, Setup};
use dpcausal::cate::{CateDocuments, CatePlan, ConditionalEffect, run};
use dpcausal::measure::Guarantee;
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::{AnyRelease, CheckedCateRelease};
use dpcausal::schema::Schema;
use dpcausal::workload::CateWorkload;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The delta of every release.
pub const DELTA: f64 = 1e-5;

/// The error of a repetition.
#[derive(Debug, Clone, Copy)]
pub struct Error {
    /// The mean squared error of the effect over the test rows.
    pub mse: f64,
    /// The average effect as the release says it, less the mean effect of the test rows.
    pub average: f64,
}

/// The rows that effects are compared at.
pub fn test_rows(setup: Setup, rows: usize) -> Sample {
    setup.sample(rows, &mut ChaCha8Rng::seed_from_u64(7))
}

/// Draws a table and a release of it, and compares effects. `design` stands in the schema, `workload` is a text.
pub fn repetition(
    setup: Setup,
    design: &str,
    workload: &str,
    rows: usize,
    epsilon: f64,
    seed: u64,
    test: &Sample,
) -> Error {
    let sample = setup.sample(rows, &mut ChaCha8Rng::seed_from_u64(seed));
    let release = release(&setup.schema_text(design), workload, sample, epsilon, seed);
    let effect = ConditionalEffect::new(&release).expect("a fit");
    let estimates = effect.at_rows(&test.table);
    let errors = estimates
        .iter()
        .zip(&test.effects)
        .map(|(a, b)| (a - b).powi(2));
    let truth = test.effects.iter().sum::<f64>() / test.effects.len() as f64;
    Error {
        mse: errors.sum::<f64>() / test.effects.len() as f64,
        average: effect.average() - truth,
    }
}

/// A release of a sample.
pub fn release(
    schema: &str,
    workload: &str,
    sample: Sample,
    epsilon: f64,
    seed: u64,
) -> CheckedCateRelease {
    let (schema, schema_file) = Schema::parse(schema, "setup.yaml").expect("a schema");
    let (workload, workload_file) =
        CateWorkload::parse(workload, "cate.yaml", &schema).expect("a workload");
    let budget = Budget::approximate(epsilon, DELTA).expect("a budget");
    let guarantee = Guarantee::new(budget, &schema);
    let plan = CatePlan::new(schema, workload, guarantee).expect("a plan");
    let documents = CateDocuments {
        schema: schema_file,
        workload: workload_file,
    };
    let id = ReleaseId::random().expect("an identifier");
    let authorised = Authorisation::without_ledger(id, plan.cost, &budget).expect("room");
    let table = Confidential::new(sample.table);
    let mut noise = NoiseSource::insecure_seed(seed + 1_000_000);
    let release = run(&plan, documents, &table, authorised, &mut noise).expect("a release");
    match AnyRelease::parse(&release.to_json(), "release.json").expect("a sound release") {
        AnyRelease::Cate(release) => *release,
        _ => panic!("another kind of release"),
    }
}
