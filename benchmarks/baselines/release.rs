//! One run of a mechanism through the library's public interface: measured, read back, fitted and sampled.

use crate::meter::cpu_seconds;
use crate::tables::Coded;
use dpcausal::impute::{BaseFit, sample_rows};
use dpcausal::measure::{self, Counted, Documents, Guarantee, Plan};
use dpcausal::model::Released;
use dpcausal::privacy::{Authorisation, Budget, Confidential, NoiseSource, ReleaseId};
use dpcausal::release::CheckedRelease;
use dpcausal::schema::Schema;
use dpcausal::table::{CodedTable, Counter};
use dpcausal::workload::Workload;

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-9;

/// A synthetic table, and what it took.
pub struct Run {
    pub synthetic: CodedTable,
    pub rounds: usize,
    /// Processor seconds of counting, choosing and measuring.
    pub measuring: f64,
    /// Processor seconds of the fit to the release, and of sampling.
    pub sampling: f64,
    /// The cells of the model.
    pub cells: u64,
    /// The relative duality gap of its fit.
    pub gap: f64,
}

/// A document of a mechanism, its other keys in `more`.
pub fn workload(mechanism: &str, more: &str) -> String {
    format!("format: dpcausal.workload/1\nmechanism: {mechanism}\n{more}")
}

/// Runs a mechanism.
pub fn run(data: &Coded, workload: &str, seed: u64) -> Run {
    let start = cpu_seconds();
    let release = release(data, workload, seed);
    let measured = cpu_seconds();
    let selection = release.document.selection.as_ref();
    let rounds = selection.map_or(0, |selection| selection.rounds.len());
    let released = Released::new(&release).expect("a model");
    let fit = BaseFit::new(released, &mut |_, _| ()).expect("a fit");
    let rows = release.estimated_rows().round() as usize;
    let variables = &fit.released.variables;
    let synthetic = sample_rows(fit.model(), variables, &release.schema, rows, seed);
    Run {
        synthetic: synthetic.expect("rows"),
        rounds,
        measuring: measured - start,
        sampling: cpu_seconds() - measured,
        cells: fit.diagnostics().cells,
        gap: fit.diagnostics().relative_gap,
    }
}

/// Measures; the noise is seeded, so that a run can be looked at again.
pub fn release(data: &Coded, workload: &str, seed: u64) -> CheckedRelease {
    let (schema, schema_file) = Schema::parse(&data.schema(), "schema").expect("a schema");
    let (workload, workload_file) =
        Workload::parse(workload, "workload", &schema).expect("a workload");
    let budget = Budget::approximate(EPSILON, DELTA).expect("a budget");
    let guarantee = Guarantee::new(budget, &schema);
    let plan = Plan::new(schema, workload, guarantee);
    let plan = plan.unwrap_or_else(|error| panic!("refused: {error}"));
    let mut counter = Counter::new(&plan.schema, &plan.queries()).expect("a counter");
    counter.add(&data.table);
    let counted = Counted {
        answers: counter.answers(),
        rows: plan
            .keeps_rows()
            .then(|| Confidential::new(data.table.clone())),
    };
    let id = ReleaseId::random().expect("an identifier");
    let authorisation =
        Authorisation::without_ledger(id, plan.cost, &budget).expect("within the budget");
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let mut noise = NoiseSource::insecure_seed(seed);
    let document = measure::run(&plan, documents, counted, authorisation, &mut noise);
    let document = document.unwrap_or_else(|error| panic!("refused: {error}"));
    CheckedRelease::parse(&document.to_json(), "release").expect("a release")
}
