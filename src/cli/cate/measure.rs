//! `measure` with an effect workload.

use super::documents::{failure, read_plan};
use crate::cate;
use crate::cli::args::MeasureArguments;
use crate::cli::input::source;
use crate::cli::measure::{noise_source, reserve, unit};
use crate::cli::output::Destination;
use crate::cli::progress::Progress;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::cli::{GlobalArguments, note};
use crate::privacy::Entry;
use crate::release::NOT_PRIVATE;
use crate::report::numbers::size;
use crate::table;
use crate::workload::CateWorkload;

/// Runs the command.
pub fn measure(arguments: &MeasureArguments, global: GlobalArguments) -> Result<(), Failure> {
    let (plan, documents) = read_plan(&arguments.documents, &arguments.budget)?;
    if plan
        .workload
        .split
        .as_ref()
        .is_some_and(|settings| settings.published)
    {
        if arguments.ledger.is_some() {
            return Err(Failure::because(
                ExitStatus::Usage,
                "a ledger can't account for what is not private: leave --ledger out for simulated or public data, or \
                 `compat: published` out of the workload",
            ));
        }
        note(global, NOT_PRIVATE);
    }
    let output = Destination::from(arguments.output.clone().into_os_string());
    output.check().or_status(ExitStatus::Usage)?;
    let mut noise = noise_source(arguments.insecure_seed, global)?;
    let progress = Progress::spinner("reading", global.quiet);
    let report = |read: table::Progress| progress.message(size(read.bytes_read));
    let source = source(&arguments.data);
    let format = arguments.format.map(Into::into);
    let (_, rows) = table::answer_and_keep(&source, format, &plan.schema, &[], &report)
        .or_status(ExitStatus::Data)?;
    drop(progress);
    let authorisation = reserve(
        arguments.ledger.as_deref(),
        &plan.guarantee.budget,
        |release| Entry {
            release,
            mechanism: CateWorkload::MECHANISM.into(),
            accountant: plan.workload.accountant,
            adjacency: plan.workload.adjacency,
            unit: unit(&plan.schema),
            cost: plan.cost,
        },
    )?;
    let release = cate::run(&plan, documents, &rows, authorisation, &mut noise).map_err(failure)?;
    output
        .write_text(&release.to_json())
        .or_status(ExitStatus::Internal)
}
