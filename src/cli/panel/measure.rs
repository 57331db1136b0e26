//! `measure` of a panel.

use super::documents::{Read, budget, failure, read, table_source};
use crate::cli::args::MeasureArguments;
use crate::cli::measure::{noise_source, reserve};
use crate::cli::output::Destination;
use crate::cli::progress::Progress;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::cli::{GlobalArguments, note};
use crate::panel::{self, PanelPlan};
use crate::privacy::{Adjacency, Authorisation, Entry};
use crate::table::read_panel;
use crate::workload::DpscWorkload;
use std::path::Path;

/// Runs the command.
pub fn measure(arguments: &MeasureArguments, global: GlobalArguments) -> Result<(), Failure> {
    let Read {
        schema,
        workload,
        documents,
    } = read(&arguments.documents)?;
    let budget = budget(&arguments.budget)?;
    let output = Destination::from(arguments.output.clone().into_os_string());
    output.check().or_status(ExitStatus::Usage)?;
    let mut noise = noise_source(arguments.insecure_seed, global)?;
    let progress = Progress::spinner("reading", global.quiet);
    let (source, format) = table_source(&arguments.data, arguments.format);
    let (frame, donors) = read_panel(&source, format, &schema).or_status(ExitStatus::Data)?;
    drop(progress);
    let plan = PanelPlan::new(schema, workload, frame, budget).map_err(failure)?;
    note(
        global,
        &format!(
            "method {}, {} donors, {} periods before and {} from the intervention on",
            plan.method.name(),
            plan.frame.donors.len(),
            plan.frame.pre_periods,
            plan.frame.post_periods()
        ),
    );
    let authorisation = authorise(&plan, arguments.ledger.as_deref())?;
    let release =
        panel::run(&plan, documents, &donors, authorisation, &mut noise).map_err(failure)?;
    output
        .write_text(&release.to_json())
        .or_status(ExitStatus::Internal)
}

/// Has the ledger record the plan's whole cost; only then may noise be drawn.
pub fn authorise(plan: &PanelPlan, ledger: Option<&Path>) -> Result<Authorisation, Failure> {
    reserve(ledger, &plan.budget, |release| Entry {
        release,
        mechanism: DpscWorkload::MECHANISM.into(),
        accountant: plan.accountant(),
        adjacency: Adjacency::ReplaceOne,
        unit: format!("{}, all rows of one", plan.schema.unit),
        cost: plan.cost,
    })
}
