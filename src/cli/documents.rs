//! Reading the public documents: schema, workload, budget.

use super::args::{BudgetArguments, DocumentArguments};
use super::status::{ExitStatus, Failure, OrStatus};
use crate::measure::{Documents, Guarantee, Plan, default_delta};
use crate::privacy::Budget;
use crate::schema::{Schema, SchemaFile};
use crate::workload::{Workload, WorkloadFile};
use std::path::Path;

/// The generic causal workload, used where none is named.
const CAUSAL_WORKLOAD: &str = include_str!("../../workloads/causal.yaml");

/// Reads a schema file.
pub fn read_schema(path: &Path) -> Result<(Schema, SchemaFile), Failure> {
    let text = read_text(path, "schema")?;
    Schema::parse(&text, &path.display().to_string()).or_status(ExitStatus::Usage)
}

/// Reads a workload file.
pub fn read_workload(path: &Path, schema: &Schema) -> Result<(Workload, WorkloadFile), Failure> {
    let text = read_text(path, "workload")?;
    Workload::parse(&text, &path.display().to_string(), schema).or_status(ExitStatus::Usage)
}

/// Reads schema and workload and divides the budget.
pub fn read_plan(
    documents: &DocumentArguments,
    budget: &BudgetArguments,
) -> Result<(Plan, Documents), Failure> {
    let (schema, schema_file) = read_schema(&documents.schema)?;
    let (workload, workload_file) = match &documents.workload {
        Some(path) => read_workload(path, &schema)?,
        None => Workload::parse(CAUSAL_WORKLOAD, "built-in workload", &schema)
            .or_status(ExitStatus::Usage)?,
    };
    let guarantee = Guarantee::new(read_budget(budget, default_delta(&schema))?, &schema);
    let plan = Plan::new(schema, workload, guarantee).or_status(ExitStatus::Usage)?;
    Ok((
        plan,
        Documents {
            schema: schema_file,
            workload: workload_file,
        },
    ))
}

/// The budget of the flags; `default_delta` is used where delta may have a default.
pub fn read_budget(
    arguments: &BudgetArguments,
    default_delta: Option<f64>,
) -> Result<Budget, Failure> {
    let budget = match (arguments.epsilon, arguments.rho, arguments.mu) {
        (Some(epsilon), None, None) if arguments.delta == Some(0.0) => Budget::pure(epsilon),
        (Some(epsilon), None, None) => {
            let delta = arguments.delta.or(default_delta).ok_or_else(|| {
                Failure::because(
                    ExitStatus::Usage,
                    "--delta has no default unless the schema states a public number of rows; \
                     add --delta, well below one over the number of people (such as 1e-6)",
                )
            })?;
            Budget::approximate(epsilon, delta)
        }
        (None, Some(rho), None) => Budget::zcdp(rho),
        (None, None, Some(mu)) => Budget::gdp(mu),
        // clap lets exactly one of the three through.
        _ => {
            return Err(Failure::because(
                ExitStatus::Usage,
                "give one of --epsilon, --rho and --mu",
            ));
        }
    };
    budget.or_status(ExitStatus::Usage)
}

/// Reads a small text document.
pub fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| {
        Failure::because(
            ExitStatus::Usage,
            format!("can't read the {what} {}: {e}", path.display()),
        )
    })
}
