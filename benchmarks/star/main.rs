//! The star's table: RMSE, coverage and width of four ways to an interval, beside the figures to reach.
//!
//! Run by `cargo bench --bench star [-- REPETITIONS]` (default 150). Populations are those of
//! [`population`]; every release goes through the library's public interface under replace-one adjacency and
//! zCDP, a fifth of the budget to the hub. Standard errors of the figures over repetitions stand beside them.

mod population;

use dpcausal::estimate::{
    self, Combined, Effect, Estimand, Estimator, Options, Request, Rows, RuleKind,
};
use dpcausal::impute::laplace::LaplacePosterior;
use dpcausal::impute::{BaseFit, Kappa, sample_rows};
use dpcausal::measure::{self, Counted, Documents, Guarantee, Plan};
use dpcausal::model::{Model, Released};
use dpcausal::privacy::{Authorisation, Budget, NoiseSource, ReleaseId};
use dpcausal::release::CheckedRelease;
use dpcausal::schema::Schema;
use dpcausal::table::{CodedTable, Counter};
use dpcausal::workload::Workload;
use population::Population;
use rayon::prelude::*;

const DELTA: f64 = 1e-6;
/// Draws of a posterior.
const DRAWS: usize = 100;
const METHODS: [&str; 4] = [
    "non-private AIPW",
    "one synthetic table read as real",
    "noise posterior, r = inf, unified",
    "Laplace + EB, r = inf",
];
const CELLS: [(usize, f64); 5] = [
    (1000, 0.5),
    (1000, 1.0),
    (5000, 0.5),
    (5000, 1.0),
    (5000, 5.0),
];
/// The figures to reach: RMSE, coverage in per cent and mean width, by method and cell.
const REFERENCE: [[[f64; 3]; 5]; 4] = [
    [
        [0.033, 91.0, 0.118],
        [0.028, 97.0, 0.118],
        [0.014, 94.0, 0.054],
        [0.015, 89.0, 0.054],
        [0.013, 94.0, 0.054],
    ],
    [
        [0.097, 44.0, 0.101],
        [0.078, 57.0, 0.115],
        [0.031, 59.0, 0.054],
        [0.024, 75.0, 0.054],
        [0.020, 85.0, 0.054],
    ],
    [
        [0.073, 99.0, 0.370],
        [0.063, 96.0, 0.267],
        [0.029, 95.0, 0.109],
        [0.019, 93.0, 0.070],
        [0.013, 95.0, 0.055],
    ],
    [
        [0.057, 95.0, 0.214],
        [0.036, 96.0, 0.158],
        [0.021, 97.0, 0.083],
        [0.017, 93.0, 0.064],
        [0.013, 95.0, 0.054],
    ],
];

/// An interval with its centre.
#[derive(Clone, Copy)]
struct Answer {
    estimate: f64,
    interval: [f64; 2],
}

impl From<&Effect> for Answer {
    fn from(effect: &Effect) -> Answer {
        Answer {
            estimate: effect.estimate,
            interval: effect.interval,
        }
    }
}

fn main() {
    // Cargo passes `--bench`.
    let repetitions = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(150);
    let truth = population::true_effect();
    println!("true effect {truth:.4}, {repetitions} repetitions; reference figures in brackets");
    for (cell, &(n, epsilon)) in CELLS.iter().enumerate() {
        let answers: Vec<[Answer; 4]> = (0..repetitions)
            .into_par_iter()
            .map(|repetition| repeat(n, epsilon, repetition))
            .collect();
        println!(
            "\nn = {n}, epsilon = {epsilon}\n| method | RMSE | coverage % | width |\n|---|---|---|---|"
        );
        for (method, name) in METHODS.iter().enumerate() {
            let of_method: Vec<Answer> = answers.iter().map(|a| a[method]).collect();
            println!(
                "| {name} {}",
                summary(&of_method, truth, REFERENCE[method][cell])
            );
        }
    }
}

/// One population, one release, four answers.
fn repeat(n: usize, epsilon: f64, repetition: u64) -> [Answer; 4] {
    let seed = repetition * 1_000_003 + n as u64 * 17 + (epsilon * 10.0) as u64;
    let table = Population::new(seed).sample(n);
    let release = release(&table, n, epsilon, seed);
    let schema = &release.schema;
    let released = Released::new(&release).expect("a model");
    let fit = BaseFit::new(released, &mut |_, _| ()).expect("a fit");
    let synthetic =
        sample_rows(fit.model(), &fit.released.variables, schema, n, seed).expect("rows");
    let noise: Vec<Model> = fit
        .noise_posterior(DRAWS, seed, &|| ())
        .expect("draws")
        .into_iter()
        .map(|draw| draw.model)
        .collect();
    let posterior = LaplacePosterior::new(&release, &fit).expect("a mode");
    let laplace: Vec<Model> = posterior
        .draws(DRAWS, seed, &|| ())
        .expect("draws")
        .into_iter()
        .map(|draw| draw.model)
        .collect();
    let combined = |models: &[Model], kappa| {
        let request = Request {
            estimands: vec![Estimand::Ate],
            estimators: vec![Estimator::Regression],
            rule: RuleKind::Unified,
            level: 0.95,
            groups: vec![],
        };
        let effects = estimate::from_release(&fit, models, kappa, schema, &request, seed);
        Answer::from(&effects.expect("effects").effects[0])
    };
    [
        aipw(&table, schema),
        aipw(&synthetic, schema),
        combined(&noise, Kappa::Noise),
        combined(&laplace, Kappa::Posterior),
    ]
}

fn aipw(table: &CodedTable, schema: &Schema) -> Answer {
    let options = Options::default();
    let one = estimate::estimate(
        table,
        &Rows::All,
        schema,
        Estimator::Aipw,
        Estimand::Ate,
        1,
        &options,
    )
    .expect("an estimate");
    let (lower, upper) = Combined::single(&one).interval(0.95).expect("an interval");
    Answer {
        estimate: one.value,
        interval: [lower, upper],
    }
}

/// The release of a table under `rho` zCDP, with `(sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2 = rho`.
fn release(table: &CodedTable, n: usize, epsilon: f64, seed: u64) -> CheckedRelease {
    let root = (1.0 / DELTA).ln().sqrt();
    let rho = ((root * root + epsilon).sqrt() - root).powi(2);
    let (schema, schema_file) = Schema::parse(&population::schema(n), "schema").expect("a schema");
    let (workload, workload_file) =
        Workload::parse(population::WORKLOAD, "workload", &schema).expect("a workload");
    let guarantee = Guarantee::new(Budget::zcdp(rho).expect("a budget"), &schema);
    let plan = Plan::new(schema, workload, guarantee).expect("a plan");
    let mut counter = Counter::new(&plan.schema, &plan.queries()).expect("a counter");
    counter.add(table);
    let id = ReleaseId::random().expect("an identifier");
    let authorisation =
        Authorisation::without_ledger(id, plan.cost, &guarantee.budget).expect("within the budget");
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let mut noise = NoiseSource::insecure_seed(seed);
    let document = measure::run(
        &plan,
        documents,
        Counted {
            answers: counter.answers(),
            rows: None,
        },
        authorisation,
        &mut noise,
    )
    .expect("a release");
    CheckedRelease::parse(&document.to_json(), "release").expect("a release")
}

/// One row of the table: each figure with its Monte Carlo error, and the one to reach.
fn summary(answers: &[Answer], truth: f64, reference: [f64; 3]) -> String {
    let count = answers.len() as f64;
    let mean = |value: &dyn Fn(&Answer) -> f64| answers.iter().map(value).sum::<f64>() / count;
    let error = |value: &dyn Fn(&Answer) -> f64| {
        let centre = mean(value);
        (answers
            .iter()
            .map(|a| (value(a) - centre).powi(2))
            .sum::<f64>()
            / (count - 1.0)
            / count)
            .sqrt()
    };
    let square = |a: &Answer| (a.estimate - truth).powi(2);
    let covers = |a: &Answer| f64::from(u8::from(a.interval[0] <= truth && truth <= a.interval[1]));
    let width = |a: &Answer| a.interval[1] - a.interval[0];
    let rmse = mean(&square).sqrt();
    let [r, c, w] = reference;
    format!(
        "| {rmse:.4} +- {:.4} [{r:.3}] | {:.1} +- {:.1} [{c:.0}] | {:.4} +- {:.4} [{w:.3}] |",
        // The root's error by the delta method.
        error(&square) / (2.0 * rmse),
        100.0 * mean(&covers),
        100.0 * error(&covers),
        mean(&width),
        error(&width),
    )
}
