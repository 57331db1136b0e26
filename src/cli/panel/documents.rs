//! Reading a panel's documents and its table.

use crate::cli::args::{BudgetArguments, DocumentArguments, TableFormat};
use crate::cli::documents::{read_budget, read_text};
use crate::cli::input::source;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::panel::{PanelDocuments, PanelError};
use crate::privacy::{Budget, PrivacyError};
use crate::schema::PanelSchema;
use crate::table::{self, Source};
use crate::workload::DpscWorkload;
use std::path::Path;

/// The built-in panel workload, used where none is named.
pub const DPSC_WORKLOAD: &str = include_str!("../../../workloads/dpsc.yaml");

/// A panel's documents, checked and as written.
pub struct Read {
    pub schema: PanelSchema,
    pub workload: DpscWorkload,
    pub documents: PanelDocuments,
}

/// Whether a schema file describes a panel.
pub fn is_panel(path: &Path) -> Result<bool, Failure> {
    Ok(PanelSchema::is_panel(&read_text(path, "schema")?))
}

/// Reads schema and workload.
pub fn read(arguments: &DocumentArguments) -> Result<Read, Failure> {
    let text = read_text(&arguments.schema, "schema")?;
    let (workload, name) = match &arguments.workload {
        Some(path) => (read_text(path, "workload")?, path.display().to_string()),
        None => (DPSC_WORKLOAD.into(), "built-in workload".into()),
    };
    parse(
        &text,
        &arguments.schema.display().to_string(),
        &workload,
        &name,
    )
}

/// Checks schema and workload.
pub fn parse(schema: &str, file: &str, workload: &str, name: &str) -> Result<Read, Failure> {
    let (schema, schema_file) = PanelSchema::parse(schema, file).or_status(ExitStatus::Usage)?;
    let (workload, workload_file) =
        DpscWorkload::parse(workload, name).or_status(ExitStatus::Usage)?;
    Ok(Read {
        schema,
        workload,
        documents: PanelDocuments {
            schema: schema_file,
            workload: workload_file,
        },
    })
}

/// The budget of the flags; an epsilon without a delta is a pure one.
pub fn budget(arguments: &BudgetArguments) -> Result<Budget, Failure> {
    match (arguments.epsilon, arguments.delta) {
        (Some(epsilon), None) => Budget::pure(epsilon).or_status(ExitStatus::Usage),
        _ => read_budget(arguments, None),
    }
}

/// The table's source and format.
pub fn table_source(path: &Path, format: Option<TableFormat>) -> (Source, Option<table::Format>) {
    (source(path), format.map(Into::into))
}

/// The failure that an error of the panel room deserves.
pub fn failure(error: PanelError) -> Failure {
    match error {
        PanelError::Privacy(
            error @ (PrivacyError::NotGaussian
            | PrivacyError::NotPure
            | PrivacyError::Parameter { .. }),
        ) => Failure::new(ExitStatus::Usage, error),
        PanelError::Privacy(error) => crate::cli::measure::privacy_failure(error),
        PanelError::Release(_) => Failure::new(ExitStatus::Data, error),
        PanelError::Configuration(_) => Failure::new(ExitStatus::Usage, error),
    }
}
