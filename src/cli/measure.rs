//! `measure`: count, charge, draw, write.

use super::args::MeasureArguments;
use super::documents::read_plan;
use super::output::Destination;
use super::progress::Progress;
use super::status::{ExitStatus, Failure, OrStatus};
use super::input::source;
use super::{GlobalArguments, note};
use crate::measure::{self, Documents, Plan};
use crate::privacy::{Authorisation, LedgerEntry, NoiseSource, ledger, release_id};
use crate::release::Release;
use crate::report::numbers::size;
use crate::table;
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &MeasureArguments, global: GlobalArguments) -> Result<(), Failure> {
    let (plan, documents) = read_plan(&arguments.documents, &arguments.budget)?;
    if arguments.ledger.is_none() {
        note(global, "no --ledger: nothing keeps count of what is spent on these data over time");
    }
    // The output is opened before anything is charged: a folder that can't be written to costs nothing.
    let output = Destination::from(arguments.output.clone().into_os_string());
    output.check().or_status(ExitStatus::Usage)?;
    let noise = noise_source(arguments.insecure_seed, global)?;
    let release = measure_table(&plan, documents, arguments, noise, global)?;
    output.write_text(&release.to_json()).or_status(ExitStatus::Internal)
}

fn measure_table(
    plan: &Plan,
    documents: Documents,
    arguments: &MeasureArguments,
    mut noise: NoiseSource,
    global: GlobalArguments,
) -> Result<Release, Failure> {
    let progress = Progress::spinner("reading", global.quiet);
    let source = source(&arguments.data);
    let answers = table::answer(&source, arguments.format.map(Into::into), &plan.schema, &plan.queries(), &|read| {
        let of = read.total_bytes.map_or(String::new(), |total| format!(" of {}", size(total)));
        progress.message(format!("{}{of}", size(read.bytes_read)));
    })
    .or_status(ExitStatus::Data)?;
    drop(progress);
    let id = release_id(&mut noise);
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
