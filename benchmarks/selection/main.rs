//! CAUSAL-AIM on the twelve-covariate design, beside an oracle that knows the confounders, under both adjacencies.
//!
//! `cargo bench --bench selection [-- REPETITIONS]` (default 100). Every method sees the same tables and, release by
//! release, a noise source with the same seed. The oracle measures the hub and the leaves of the three confounders, with the
//! whole budget (`oracle`) or without the share that choosing costs (`oracle, choosing paid`). Errors are of the average effect of the
//! table's records, estimated straight from the release's model. A root mean square error's own standard error stands
//! beside it, and its ratio to the oracle's of the same adjacency with the standard error of the ratio (by the delta method, pairs of
//! releases taken together).

#[path = "../../tests/common/twelve.rs"]
mod twelve;

use dpcausal::estimate::{self, Estimand, Estimator, Request, RuleKind};
use dpcausal::impute::{BaseFit, Kappa};
use dpcausal::measure::{self, Counted, Documents, Guarantee, Plan};
use dpcausal::model::Released;
use dpcausal::privacy::{
    AccountantKind, Authorisation, Budget, Confidential, NoiseSource, ReleaseId,
};
use dpcausal::release::CheckedRelease;
use dpcausal::schema::Schema;
use dpcausal::table::{CodedTable, Counter};
use dpcausal::workload::Workload;
use rayon::prelude::*;

const CELLS: [(usize, f64); 3] = [(1000, 1.0), (5000, 1.0), (5000, 5.0)];
const ADJACENCIES: [&str; 2] = ["add-remove", "replace-one"];
const DELTA: f64 = 1e-6;

/// A mechanism, and the blocks and keys of its workload.
const METHODS: [(&str, &str, &str); 5] = [
    (
        "oracle",
        "causal",
        "accountant: zcdp\nblocks: {hub: {share: 0.15}, leaves: {share: 0.85, columns: [x1, x2, x3]}}",
    ),
    (
        "oracle, choosing paid",
        "causal",
        "accountant: zcdp\nblocks: {hub: {share: 0.176470588235294}, leaves: {share: 0.823529411764706, columns: [x1, x2, x3]}}",
    ),
    (
        "causal-aim",
        "causal-aim",
        "blocks: {hub: {share: 0.15}, selection: {share: 0.15}, leaves: {share: 0.7}}",
    ),
    (
        "causal-aim, three rounds",
        "causal-aim",
        "blocks: {hub: {share: 0.15}, selection: {share: 0.15, rounds: 3}, leaves: {share: 0.7}}",
    ),
    (
        "all twelve leaves",
        "causal",
        "accountant: zcdp\nblocks: {hub: {share: 0.15}, leaves: {share: 0.85, columns: all}}",
    ),
];

/// What a release came to.
#[derive(Clone, Copy)]
struct Outcome {
    error: f64,
    /// Confounders with a leaf, of three.
    found: usize,
    /// Leaves of other columns.
    others: usize,
}

fn main() {
    // Cargo passes `--bench`.
    let repetitions: u64 = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(100);
    println!("{repetitions} repetitions");
    for (rows, epsilon) in CELLS {
        for adjacency in ADJACENCIES {
            println!("\nn = {rows}, epsilon = {epsilon}, {adjacency}");
            println!("| method | RMSE | over the oracle | confounders of 3 | other leaves |");
            println!("|---|---|---|---|---|");
            let outcomes: Vec<Vec<Outcome>> = METHODS
                .iter()
                .map(|(name, mechanism, keys)| {
                    let share = if *name == "oracle, choosing paid" { 0.85 } else { 1.0 };
                    let text = format!(
                        "format: dpcausal.workload/1\nmechanism: {mechanism}\nadjacency: {adjacency}\n{keys}\n"
                    );
                    (0..repetitions)
                        .into_par_iter()
                        .map(|seed| repeat(rows, epsilon, share, &text, 7000 + seed))
                        .collect()
                })
                .collect();
            for ((name, ..), of_method) in METHODS.iter().zip(&outcomes) {
                println!("| {name} | {} |", line(of_method, &outcomes[0]));
            }
        }
    }
}

fn repeat(rows: usize, epsilon: f64, share: f64, workload: &str, seed: u64) -> Outcome {
    let (table, effect) = twelve::table(rows, seed);
    let release = release(table, rows, epsilon, share, workload, seed);
    let leaves = release.leaves();
    let found = leaves
        .iter()
        .filter(|name| twelve::CONFOUNDERS.contains(&name.as_str()))
        .count();
    let released = Released::new(&release).expect("a model");
    let fit = BaseFit::new(released, &mut |_, _| ()).expect("a fit");
    let request = Request {
        estimands: vec![Estimand::Ate],
        estimators: vec![Estimator::Regression],
        rule: RuleKind::Unified,
        level: 0.95,
        groups: vec![],
    };
    // The functional of the fitted model itself.
    let models = [fit.model().clone(), fit.model().clone()];
    let found_effects =
        estimate::from_release(&fit, &models, Kappa::Noise, &release.schema, &request, seed);
    let estimate = found_effects.expect("effects").effects[0].estimate;
    Outcome {
        error: estimate - effect,
        found,
        others: leaves.len() - found,
    }
}

/// A seeded release with a share of the zCDP of `epsilon`.
fn release(
    table: CodedTable,
    rows: usize,
    epsilon: f64,
    share: f64,
    workload: &str,
    seed: u64,
) -> CheckedRelease {
    let (schema, schema_file) = Schema::parse(&twelve::schema(rows), "schema").expect("a schema");
    let (workload, workload_file) =
        Workload::parse(workload, "workload", &schema).expect("a workload");
    let whole = Budget::approximate(epsilon, DELTA).expect("a budget");
    let rho = whole.total(AccountantKind::Zcdp).expect("a cost").rho();
    let budget = Budget::zcdp(rho * share).expect("a budget");
    let guarantee = Guarantee::new(budget, &schema);
    let plan = Plan::new(schema, workload, guarantee).expect("a plan");
    let mut counter = Counter::new(&plan.schema, &plan.queries()).expect("a counter");
    counter.add(&table);
    let counted = Counted {
        answers: counter.answers(),
        rows: Some(Confidential::new(table)),
    };
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let id = ReleaseId::random().expect("an identifier");
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).expect("a budget");
    let mut noise = NoiseSource::insecure_seed(seed);
    let document = measure::run(&plan, documents, counted, authorisation, &mut noise);
    CheckedRelease::parse(&document.expect("a release").to_json(), "release").expect("a release")
}

fn line(outcomes: &[Outcome], oracle: &[Outcome]) -> String {
    let count = outcomes.len() as f64;
    let mean = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / count;
    let square = |outcome: &Outcome| outcome.error.powi(2);
    let squares = mean(&square);
    let error = (mean(&|o| (square(o) - squares).powi(2)) / count).sqrt();
    let of_oracle = oracle.iter().map(square).sum::<f64>() / count;
    let ratio = (squares / of_oracle).sqrt();
    // The relative deviation of one repetition's square from its mean, less the oracle's.
    let spread = outcomes.iter().zip(oracle);
    let spread: f64 = spread
        .map(|(own, other)| (square(own) / squares - square(other) / of_oracle).powi(2))
        .sum();
    format!(
        "{:.4} +- {:.4} | {ratio:.2} +- {:.2} | {:.2} | {:.2}",
        squares.sqrt(),
        error / (2.0 * squares.sqrt()),
        ratio * (spread.sqrt() / count) / 2.0,
        mean(&|o| o.found as f64),
        mean(&|o| o.others as f64),
    )
}
