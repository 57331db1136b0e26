//! Tests of the rounds on tables small enough to know everything about.

mod evidence;
mod releases;
mod sensitivity;

use crate::measure::marginals::fit::Fit;
use crate::measure::{Counted, Documents, Guarantee, Plan, run};
use crate::model::Variables;
use crate::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use crate::release::CheckedRelease;
use crate::schema::{SCALE, Schema};
use crate::table::{CodedTable, tabulate};
use crate::workload::Workload;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Three arms and a numeric outcome; `c` confounds, `i` goes with the treatment alone, `p` with the outcome alone,
/// `z` with nothing.
const SCHEMA: &str = "\
format: dpcausal.schema/1
rows: 4000
columns:
  - {name: t, role: treatment, type: categorical, levels: [none, low, high]}
  - {name: c, type: categorical, levels: [x, y, z]}
  - {name: i, type: boolean}
  - {name: p, type: boolean}
  - {name: z, type: categorical, levels: [p, q, r, s]}
  - {name: y, role: outcome, type: real, bounds: [0, 1], bins: 4}
";

/// A record of the schema: its codes, and its outcome in units of `1 / SCALE`.
fn push(table: &mut CodedTable, codes: [u16; 5], outcome: i64) {
    let bin = (outcome * 4 / SCALE).min(3) as u16;
    let codes = codes.into_iter().chain([bin]);
    for (column, code) in table.codes.iter_mut().zip(codes) {
        column.get_or_insert_default().push(code);
    }
    table.outcome.push(outcome as u32);
    table.rows += 1;
}

fn empty() -> CodedTable {
    CodedTable {
        codes: vec![Some(Vec::new()); 6],
        ..CodedTable::default()
    }
}

/// A sample of the law that the schema's documentation tells of.
fn sample(rows: usize, seed: u64) -> CodedTable {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut table = empty();
    for _ in 0..rows {
        let c = random.random_range(0..3u16);
        let [i, p] = [0, 1].map(|_| random.random_range(0..2u16));
        let z = random.random_range(0..4u16);
        let pull = f64::from(c) - 1.0 + f64::from(i) - 0.5;
        let u: f64 = random.random();
        let t = u16::from(u < 0.5 + 0.25 * pull) + u16::from(u < 0.2 + 0.1 * pull);
        let mean = 0.4 + 0.1 * f64::from(c) + 0.2 * f64::from(p) + 0.05 * f64::from(t);
        let y = (mean + 0.2 * (random.random::<f64>() - 0.5)).clamp(0.0, 1.0);
        push(&mut table, [t, c, i, p, z], (y * SCALE as f64) as i64);
    }
    table
}

fn workload(more: &str) -> String {
    format!(
        "format: dpcausal.workload/1\nmechanism: causal-aim\nblocks: {{hub: {{share: 0.15}}, selection: {{share: 0.15{more}}}, leaves: {{share: 0.7}}}}"
    )
}

fn plan(workload: &str, budget: Budget) -> (Plan, Documents) {
    let (schema, schema_file) = Schema::parse(SCHEMA, "s.yaml").unwrap();
    let (workload, workload_file) = Workload::parse(workload, "w.yaml", &schema).unwrap();
    let guarantee = Guarantee::new(budget, &schema);
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    (Plan::new(schema, workload, guarantee).unwrap(), documents)
}

/// A release as its reader sees it.
fn release(workload: &str, budget: Budget, table: CodedTable, seed: u64) -> CheckedRelease {
    let (plan, documents) = plan(workload, budget);
    let answers = tabulate(&table, &plan.schema, &plan.queries()).unwrap();
    let counted = Counted {
        answers: Confidential::new(answers),
        rows: Some(Confidential::new(table)),
    };
    let id = ReleaseId::random().unwrap();
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).unwrap();
    let mut noise = NoiseSource::insecure_seed(seed);
    let release = run(&plan, documents, counted, authorisation, &mut noise).unwrap();
    CheckedRelease::parse(&release.to_json(), "release.json").unwrap()
}

/// What each round chose.
fn chosen(release: &CheckedRelease) -> Vec<String> {
    let rounds = &release.document.selection.as_ref().unwrap().rounds;
    rounds.iter().map(|round| round.chosen.join("*")).collect()
}

/// A model with the leaves of `c` and `i`, and the pair.
fn fit() -> Fit {
    let text = "format: dpcausal.workload/1\nmechanism: causal\nblocks: {hub: {share: 0.2}, leaves: {share: 0.5, columns: [c, i]}, pairs: {share: 0.3, columns: [[c, i]]}}";
    let budget = Budget::zcdp(100.0).unwrap();
    let release = release(text, budget, sample(4000, 1), 1);
    let (plan, _) = plan(text, budget);
    let variables = Variables::new(&plan.schema, &release.queries, &[]).unwrap();
    let measurements = &release.document.measurements;
    Fit::new(&plan, variables, &release.queries, measurements, &[], None).unwrap()
}
