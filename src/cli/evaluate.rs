//! `evaluate`: a synthetic table against the confidential one, for the agency's own staff.

use super::GlobalArguments;
use super::args::EvaluateArguments;
use super::documents::{read_schema, read_workload};
use super::input::source;
use super::output::Destination;
use super::progress::{self, Progress};
use super::status::{ExitStatus, Failure, OrStatus};
use crate::evaluate::{EvaluateError, Evaluation, Options, Question, evaluate};
use crate::privacy::{Internal, STAMP};
use crate::report::numbers::size;
use crate::report::{document, evaluation_page, evaluation_text};
use crate::schema::Schema;
use crate::table::{self, CodedTable};
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &EvaluateArguments, global: GlobalArguments) -> Result<(), Failure> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if is_stdin(&arguments.synthetic) && is_stdin(&arguments.against) {
        return refuse("both tables can't be standard input: give one of them as a file");
    }
    let pages = [Some(&arguments.output), arguments.html.as_ref()];
    let pages = pages.map(|path| path.map(|path| Destination::from(path.clone().into_os_string())));
    let [Some(output), page] = pages else {
        return refuse("-o names no place");
    };
    if page.as_ref() == Some(&output) {
        return refuse("--html and -o name the same place: give the page a file of its own");
    }
    for destination in std::iter::once(&output).chain(&page) {
        destination.check().or_status(ExitStatus::Usage)?;
    }
    // Not a note: quiet does not take it away.
    progress::suspend(|| {
        anstream::eprintln!(
            "\x1b[1;31m{STAMP}\x1b[0m: what follows is computed on confidential data without noise"
        );
    });
    let evaluation = compare(arguments, global)?;
    if let Some(page) = page {
        page.write_text(&evaluation_page(&evaluation))
            .or_status(ExitStatus::Internal)?;
    }
    let text = if arguments.json {
        document("evaluation", &evaluation).or_status(ExitStatus::Internal)?
    } else {
        evaluation_text(&evaluation, output.style())
    };
    output.write_text(&text).or_status(ExitStatus::Internal)
}

fn refuse(message: &str) -> Result<(), Failure> {
    Err(Failure::because(ExitStatus::Usage, message))
}

fn compare(
    arguments: &EvaluateArguments,
    global: GlobalArguments,
) -> Result<Internal<Evaluation>, Failure> {
    let schema = read_schema(&arguments.schema)?.0;
    let workload = match &arguments.workload {
        Some(path) => Some(read_workload(path, &schema)?.0),
        None => None,
    };
    let options = Options {
        degree: arguments.degree as usize,
        limit: arguments.limit as usize,
    };
    let progress = Progress::spinner("evaluating", global.quiet);
    let synthetic = read_synthetic(&arguments.synthetic, &schema, &progress)?;
    let (_, confidential) = table::answer_and_keep(
        &source(&arguments.against),
        None,
        &schema,
        &[],
        &report(&progress),
    )
    .or_status(ExitStatus::Data)?;
    progress.message("comparing");
    let question = Question::new(schema, synthetic, workload.as_ref(), options).map_err(failure)?;
    evaluate(&confidential, &question).map_err(failure)
}

fn read_synthetic(
    path: &Path,
    schema: &Schema,
    progress: &Progress,
) -> Result<CodedTable, Failure> {
    let read = table::read_unprotected(&source(path), None, schema, &report(progress));
    Ok(read.or_status(ExitStatus::Data)?.table)
}

/// Shows how far reading is.
fn report(progress: &Progress) -> impl Fn(table::Progress) + Sync {
    |read| progress.message(size(read.bytes_read))
}

/// The status of a failed comparison: the workload, or else a table is to blame.
fn failure(error: EvaluateError) -> Failure {
    let status = match error {
        EvaluateError::NoRows { .. } | EvaluateError::Stack(_) => ExitStatus::Data,
        _ => ExitStatus::Usage,
    };
    Failure::new(status, error)
}
