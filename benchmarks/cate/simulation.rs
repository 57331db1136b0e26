//! One repetition: a table, a release through the library's public interface, and its effects.

use crate::setups::{Sample, Setup};
use dpcausal::cate::{CateDocuments, CatePlan, Effect, run};
use dpcausal::measure::Guarantee;
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::{AnyRelease, CheckedCateRelease};
use dpcausal::schema::Schema;
use dpcausal::table::CodedTable;
use dpcausal::workload::CateWorkload;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The delta of every release.
pub const DELTA: f64 = 1e-5;

/// What a repetition found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The effects at the test rows.
    pub effects: Vec<f64>,
    /// The average effect as the release says it.
    pub average: f64,
}

/// The error of repetitions.
#[derive(Debug, Clone, Copy)]
pub struct Error {
    /// The mean squared error of the effect over the test rows, and over repetitions.
    pub mse: f64,
    /// Its standard error over repetitions.
    pub standard_error: f64,
    /// The mean over test rows of the squared mean error: the integrated squared bias.
    pub squared_bias: f64,
    /// The mean over test rows of the variance over repetitions: the integrated variance. Both sum to the mean squared error.
    pub variance: f64,
    /// The mean average effect as the releases say it, less the mean effect of the test rows.
    pub average_bias: f64,
}

/// The rows that effects are compared at.
pub fn test_rows(setup: Setup, rows: usize) -> Sample {
    setup.sample(rows, &mut ChaCha8Rng::seed_from_u64(7))
}

/// Draws a table and a release of it. `design` stands in the schema, `workload` is a text.
pub fn repetition(
    setup: Setup,
    design: &str,
    workload: &str,
    rows: usize,
    epsilon: f64,
    seed: u64,
    test: &CodedTable,
) -> Found {
    let sample = setup.sample(rows, &mut ChaCha8Rng::seed_from_u64(seed));
    found(
        &setup.schema_text(design),
        workload,
        sample.table,
        epsilon,
        seed,
        test,
    )
}

/// What a release of a table says of test rows.
pub fn found(
    schema: &str,
    workload: &str,
    table: CodedTable,
    epsilon: f64,
    seed: u64,
    test: &CodedTable,
) -> Found {
    let release = release(schema, workload, table, epsilon, seed);
    let effect = Effect::new(&release).expect("a fit");
    Found {
        effects: effect.at_rows(test),
        average: effect.average(),
    }
}

/// The errors of repetitions against the truth.
pub fn errors(found: &[Found], truth: &[f64]) -> Error {
    let (count, rows) = (found.len() as f64, truth.len() as f64);
    let mse_of = |found: &Found| {
        let errors = found
            .effects
            .iter()
            .zip(truth)
            .map(|(a, b)| (a - b).powi(2));
        errors.sum::<f64>() / rows
    };
    let each: Vec<f64> = found.iter().map(mse_of).collect();
    let mse = each.iter().sum::<f64>() / count;
    let squares: f64 = each.iter().map(|x| (x - mse).powi(2)).sum();
    let bias_at = |row: usize| {
        let mean = found.iter().map(|found| found.effects[row]).sum::<f64>() / count;
        (mean - truth[row]).powi(2)
    };
    let squared_bias = (0..truth.len()).map(bias_at).sum::<f64>() / rows;
    let average = found.iter().map(|found| found.average).sum::<f64>() / count;
    Error {
        mse,
        standard_error: (squares / (count - 1.0).max(1.0) / count).sqrt(),
        squared_bias,
        variance: mse - squared_bias,
        average_bias: average - truth.iter().sum::<f64>() / rows,
    }
}

/// A release of a table.
pub fn release(
    schema: &str,
    workload: &str,
    table: CodedTable,
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
    let table = Confidential::new(table);
    let mut noise = NoiseSource::insecure_seed(seed + 1_000_000);
    let release = run(&plan, documents, &table, authorised, &mut noise).expect("a release");
    match AnyRelease::parse(&release.to_json(), "release.json").expect("a sound release") {
        AnyRelease::Cate(release) => *release,
        _ => panic!("another kind of release"),
    }
}
