//! Tests of the mechanisms on tables small enough to know everything about.

mod mechanisms;
mod releases;
mod rounds;
mod scoring;
mod sensitivity;

use crate::measure::{Counted, Documents, Guarantee, Plan, run};
use crate::model::{Calibrator, Model, Released, Settings};
use crate::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use crate::release::CheckedRelease;
use crate::schema::{SCALE, Schema};
use crate::table::{CodedTable, tabulate};
use crate::workload::{Workload, level_axes};

/// Four columns, of which the first three make a chain.
const SCHEMA: &str = "\
format: dpcausal.schema/1
columns:
  - {name: a, role: covariate, type: categorical, levels: [x, y, z]}
  - {name: b, role: covariate, type: categorical, levels: [x, y, z]}
  - {name: c, role: covariate, type: boolean}
  - {name: d, role: covariate, type: categorical, levels: [p, q, r, s]}
";

/// A chain `a - b - c - d`: each neighbour copies the one before for most of the records.
fn chain() -> CodedTable {
    let mut columns: Vec<Vec<u16>> = vec![Vec::new(); 4];
    for i in 0..6000u32 {
        // Three counters that run through all combinations.
        let (first, second, third, fourth) = (i % 3, i / 3 % 10, i / 30 % 10, i / 300 % 10);
        let a = first;
        let b = if second < 7 { a } else { (a + second) % 3 };
        let c = if third < 8 {
            u32::from(b == 0)
        } else {
            third % 2
        };
        let d = if fourth < 6 { c } else { fourth % 4 };
        for (column, code) in columns.iter_mut().zip([a, b, c, d]) {
            column.push(code as u16);
        }
    }
    CodedTable {
        rows: 6000,
        codes: columns.into_iter().map(Some).collect(),
        ..CodedTable::default()
    }
}

fn plan(schema: &str, workload: &str, budget: Budget) -> (Plan, Documents) {
    let (schema, schema_file) = Schema::parse(schema, "s.yaml").unwrap();
    let (workload, workload_file) = Workload::parse(workload, "w.yaml", &schema).unwrap();
    let guarantee = Guarantee::new(budget, &schema);
    let plan = Plan::new(schema, workload, guarantee).unwrap();
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    (plan, documents)
}

/// A release as its reader sees it.
fn release(
    schema: &str,
    workload: &str,
    budget: Budget,
    table: CodedTable,
    seed: u64,
) -> CheckedRelease {
    let (plan, documents) = plan(schema, workload, budget);
    let answers = tabulate(&table, &plan.schema, &plan.queries()).unwrap();
    let counted = Counted {
        answers: Confidential::new(answers),
        rows: plan.keeps_rows().then(|| Confidential::new(table)),
    };
    let id = ReleaseId::random().unwrap();
    let authorisation = Authorisation::without_ledger(id, plan.cost, &budget).unwrap();
    let mut noise = NoiseSource::insecure_seed(seed);
    let release = run(&plan, documents, counted, authorisation, &mut noise).unwrap();
    CheckedRelease::parse(&release.to_json(), "release.json").unwrap()
}

/// The document of a mechanism with further lines.
fn workload(mechanism: &str, more: &str) -> String {
    format!("format: dpcausal.workload/1\nmechanism: {mechanism}\n{more}")
}

/// The model of a release, fitted strictly.
fn model(release: &CheckedRelease) -> (Released, Model) {
    let released = Released::new(release).unwrap();
    let calibrator = Calibrator::new(released.problem.clone()).unwrap();
    let fit = calibrator
        .calibrate(&calibrator.targets(), &Settings::default(), &mut |_, _| ())
        .unwrap();
    assert!(fit.diagnostics.converged);
    (released, fit.model)
}

/// Half the L1 distance of the model's marginal of some columns from the table's.
fn total_variation(release: &CheckedRelease, table: &CodedTable, columns: &[usize]) -> f64 {
    let (released, model) = model(release);
    let query = crate::schema::Query {
        name: "q".into(),
        axes: level_axes(columns),
    };
    let exact = &tabulate(table, &release.schema, std::slice::from_ref(&query)).unwrap()[0];
    let axes = released
        .variables
        .axes(&release.schema, &query, &vec![None; columns.len()]);
    let expected = model.expected_counts(&axes).unwrap();
    let share = |count: &i64| *count as f64 / SCALE as f64 / table.rows as f64;
    let cells = exact.iter().zip(&expected);
    cells
        .map(|(count, e)| (share(count) - e / model.total()).abs() / 2.0)
        .sum()
}
