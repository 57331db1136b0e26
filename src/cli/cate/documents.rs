//! Reading an effect workload's documents.

use crate::cate::{CateDocuments, CateError, CatePlan};
use crate::cli::args::{BudgetArguments, DocumentArguments};
use crate::cli::documents::{read_budget, read_schema, read_text};
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::measure::{Guarantee, default_delta};
use crate::privacy::PrivacyError;
use crate::workload::CateWorkload;

/// Whether the workload file, if there is one, is an effect workload.
pub fn is_cate(arguments: &DocumentArguments) -> Result<bool, Failure> {
    let Some(path) = &arguments.workload else {
        return Ok(false);
    };
    Ok(CateWorkload::is_cate(&read_text(path, "workload")?))
}

/// Reads schema and workload and divides the budget.
pub fn read_plan(
    documents: &DocumentArguments,
    budget: &BudgetArguments,
) -> Result<(CatePlan, CateDocuments), Failure> {
    let (schema, schema_file) = read_schema(&documents.schema)?;
    let path = documents.workload.as_deref().unwrap_or_else(|| "".as_ref());
    let text = read_text(path, "workload")?;
    let (workload, workload_file) =
        CateWorkload::parse(&text, &path.display().to_string(), &schema)
            .or_status(ExitStatus::Usage)?;
    let guarantee = Guarantee::new(read_budget(budget, default_delta(&schema))?, &schema);
    let plan = CatePlan::new(schema, workload, guarantee).map_err(failure)?;
    Ok((
        plan,
        CateDocuments {
            schema: schema_file,
            workload: workload_file,
        },
    ))
}

/// The failure that an error of the room deserves.
pub fn failure(error: CateError) -> Failure {
    match error {
        CateError::Privacy(
            error @ (PrivacyError::NotGaussian
            | PrivacyError::NotPure
            | PrivacyError::Parameter { .. }),
        ) => Failure::new(ExitStatus::Usage, error),
        CateError::Configuration(_) => Failure::new(ExitStatus::Usage, error),
        CateError::Release(_) => Failure::new(ExitStatus::Data, error),
        _ => Failure::new(ExitStatus::Internal, error),
    }
}
