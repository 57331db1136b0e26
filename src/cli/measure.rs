//! `measure`: count, charge, draw, write.

use super::args::MeasureArguments;
use super::documents::read_plan;
use super::output::Output;
use super::progress::Progress;
use super::status::{ExitStatus, Failure, OrStatus};
use super::input::source;
use super::{GlobalArguments, note};
use crate::measure::{self, Documents, Plan};
use crate::privacy::{Authorisation, LedgerEntry, NoiseSource, ledger, release_id};
use crate::release::Release;
use crate::table::{self, Source};
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &MeasureArguments, global: GlobalArguments) -> Result<(), Failure> {
    let (plan, documents) = read_plan(&arguments.documents, &arguments.budget)?;
    if arguments.ledger.is_none() {
        note(global, "no --ledger: nothing keeps count of what is spent on these data over time");
    }
    // The output is opened before anything is charged: a folder that can't be written to costs nothing.
    let output = Output::create(&arguments.output)?;
    let noise = noise_source(arguments.insecure_seed, global)?;
    let source = source(&arguments.data);
    let release = measure_table(&plan, documents, source, arguments, noise, global)?;
    output.write(release.to_json().as_bytes())
}

fn measure_table(
    plan: &Plan,
    documents: Documents,
    source: Source,
    arguments: &MeasureArguments,
    mut noise: NoiseSource,
    global: GlobalArguments,
) -> Result<Release, Failure> {
    let progress = Progress::bytes("reading", global);
    let answers = table::answer(&source, arguments.format.map(Into::into), &plan.schema, &plan.queries(), &|read| {
        progress.set(read.bytes_read, read.total_bytes);
    })
    .or_status(ExitStatus::Data)?;
    progress.finish();
    let id = release_id().or_status(ExitStatus::Internal)?;
    let authorisation = authorise(plan, &id, arguments.ledger.as_deref())?;
    measure::run(plan, documents, id, answers, authorisation, &mut noise).or_status(ExitStatus::Internal)
}

/// Has the ledger record the plan's whole cost; only then may noise be drawn.
pub fn authorise(plan: &Plan, id: &str, ledger: Option<&Path>) -> Result<Authorisation, Failure> {
    match ledger {
        None => Authorisation::without_ledger(plan.guarantee.budget, plan.cost).or_status(ExitStatus::Budget),
        Some(path) => {
            let entry = LedgerEntry {
                release: id.to_string(),
                mechanism: "causal".into(),
                adjacency: plan.workload.adjacency,
                max_rows_per_unit: plan.schema.unit.max_rows(),
                cost: plan.cost,
            };
            ledger::reserve(path, entry).map_err(|e| {
                let status = if e.is_over_budget() { ExitStatus::Budget } else { ExitStatus::Usage };
                Failure::new(status, e)
            })
        }
    }
}

/// The system's generator, or a seed that makes the release repeatable and not private.
pub fn noise_source(insecure_seed: Option<u64>, global: GlobalArguments) -> Result<NoiseSource, Failure> {
    match insecure_seed {
        Some(seed) => {
            note(global, "--insecure-seed: whoever knows the seed can take the noise off; NOT PRIVATE, and the release says so");
            Ok(NoiseSource::insecure_seed(seed))
        }
        None => NoiseSource::system().or_status(ExitStatus::Internal),
    }
}
