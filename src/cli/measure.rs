//! `measure`: count, charge, draw, write.

use super::args::MeasureArguments;
use super::documents::read_plan;
use super::input::source;
use super::output::Destination;
use super::progress::Progress;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, cate, note, panel};
use crate::measure::{self, Counted, Documents, Plan};
use crate::privacy::{Authorisation, Budget, Entry, Ledger, NoiseSource, PrivacyError, ReleaseId};
use crate::release::Release;
use crate::report::numbers::size;
use crate::schema::{PrivacyUnit, Schema};
use crate::table;
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &MeasureArguments, global: GlobalArguments) -> Result<(), Failure> {
    if arguments.ledger.is_none() {
        note(
            global,
            "no --ledger: nothing keeps count of what is spent on these data over time",
        );
    }
    if panel::is_panel(&arguments.documents.schema)? {
        return panel::measure(arguments, global);
    }
    if cate::is_cate(&arguments.documents)? {
        return cate::measure(arguments, global);
    }
    let (plan, documents) = read_plan(&arguments.documents, &arguments.budget)?;
    // The output is opened before anything is charged: a folder that can't be written to costs nothing.
    let output = Destination::from(arguments.output.clone().into_os_string());
    output.check().or_status(ExitStatus::Usage)?;
    let noise = noise_source(arguments.insecure_seed, global)?;
    let release = measure_table(&plan, documents, arguments, noise, global)?;
    output
        .write_text(&release.to_json())
        .or_status(ExitStatus::Internal)
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
    let format = arguments.format.map(Into::into);
    let report = |read: table::Progress| {
        let of = read
            .total_bytes
            .map_or(String::new(), |total| format!(" of {}", size(total)));
        progress.message(format!("{}{of}", size(read.bytes_read)));
    };
    let counted = count(plan, &source, format, &report).or_status(ExitStatus::Data)?;
    drop(progress);
    let authorisation = authorise(plan, arguments.ledger.as_deref())?;
    measure::run(plan, documents, counted, authorisation, &mut noise)
        .or_status(ExitStatus::Internal)
}

/// Reads the table once: counts it and, where the plan asks for more, keeps its coded rows.
pub fn count(
    plan: &Plan,
    source: &table::Source,
    format: Option<table::Format>,
    progress: &(dyn Fn(table::Progress) + Sync),
) -> Result<Counted, table::TableError> {
    let queries = plan.queries();
    if plan.keeps_rows() {
        let (answers, rows) =
            table::answer_and_keep(source, format, &plan.schema, &queries, progress)?;
        return Ok(Counted {
            answers,
            rows: Some(rows),
        });
    }
    let answers = table::answer(source, format, &plan.schema, &queries, progress)?;
    Ok(Counted {
        answers,
        rows: None,
    })
}

/// Has the ledger record the plan's whole cost; only then may noise be drawn.
pub fn authorise(plan: &Plan, ledger: Option<&Path>) -> Result<Authorisation, Failure> {
    reserve(ledger, &plan.guarantee.budget, |release| Entry {
        release,
        mechanism: plan.workload.mechanism_name().into(),
        accountant: plan.accountant(),
        adjacency: plan.workload.adjacency,
        unit: unit(&plan.schema),
        cost: plan.cost,
    })
}

/// Has the ledger record a new release's entry, or without a ledger checks it against the budget.
pub fn reserve(
    ledger: Option<&Path>,
    budget: &Budget,
    entry: impl FnOnce(ReleaseId) -> Entry,
) -> Result<Authorisation, Failure> {
    let entry = entry(ReleaseId::random().or_status(ExitStatus::Internal)?);
    match ledger {
        None => Authorisation::without_ledger(entry.release, entry.cost, budget),
        Some(path) => Ledger::reserve(path, &entry),
    }
    .map_err(privacy_failure)
}

/// The privacy unit in words that determine it.
pub fn unit(schema: &Schema) -> String {
    match &schema.unit {
        PrivacyUnit::Row => "row".into(),
        PrivacyUnit::Column { column, max_rows } => {
            format!("{}, at most {max_rows} rows", schema.columns[*column].name)
        }
    }
}

/// The exit status that a refusal of the privacy room deserves.
pub fn privacy_failure(error: PrivacyError) -> Failure {
    let status = match &error {
        PrivacyError::OverBudget { .. } | PrivacyError::NotGaussian | PrivacyError::NotPure => {
            ExitStatus::Budget
        }
        PrivacyError::Entropy(_) | PrivacyError::NotAuthorised { .. } => ExitStatus::Internal,
        _ => ExitStatus::Usage,
    };
    if let PrivacyError::LedgerFile { source, .. } = &error
        && source.kind() == std::io::ErrorKind::NotFound
    {
        let advice = "; open a ledger with `dpcausal ledger init FILE --epsilon E --delta D`";
        return Failure::because(status, format!("{error}{advice}"));
    }
    Failure::new(status, error)
}

/// The system's generator, or a seed that makes the release repeatable and not private.
pub fn noise_source(
    insecure_seed: Option<u64>,
    global: GlobalArguments,
) -> Result<NoiseSource, Failure> {
    match insecure_seed {
        Some(seed) => {
            note(
                global,
                "--insecure-seed: whoever knows the seed can take the noise off; NOT PRIVATE, and the release says so",
            );
            Ok(NoiseSource::insecure_seed(seed))
        }
        None => NoiseSource::system().or_status(ExitStatus::Internal),
    }
}
