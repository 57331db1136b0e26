//! `reconstruct` and `impute` of a panel's release: synthetic control series.

use super::documents::failure;
use crate::cli::args::{ImputeArguments, ReconstructArguments, SamplingArguments};
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::panel::{SeriesRow, imputed_series, synthetic_series};
use crate::release::CheckedPanelRelease;
use crate::table::{Destination, PlainColumn, WriteOptions, write_plain};

/// Writes the synthetic control series.
pub fn reconstruct(
    release: &CheckedPanelRelease,
    arguments: &ReconstructArguments,
) -> Result<(), Failure> {
    if arguments.json {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--json prints a model's fit, and a panel's release has no model; leave it out",
        ));
    }
    let rows = synthetic_series(release).map_err(failure)?;
    write(&rows, false, release, &arguments.sampling)
}

/// Writes imputations of the synthetic control series.
pub fn impute(release: &CheckedPanelRelease, arguments: &ImputeArguments) -> Result<(), Failure> {
    let seed = arguments
        .sampling
        .seed
        .unwrap_or_else(|| release.default_seed());
    let rows = imputed_series(release, arguments.m, seed).map_err(failure)?;
    write(&rows, true, release, &arguments.sampling)
}

fn write(
    rows: &[SeriesRow],
    imputations: bool,
    release: &CheckedPanelRelease,
    arguments: &SamplingArguments,
) -> Result<(), Failure> {
    if arguments.rows.is_some() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--rows is for tables of records; a panel's series has its own periods: leave it out",
        ));
    }
    let destination = Destination::from_argument(&arguments.output.to_string_lossy());
    let options = WriteOptions {
        format: arguments.format.map(Into::into),
        ..WriteOptions::default()
    };
    match write_plain(columns(rows, imputations, release), &destination, &options) {
        // Who reads has seen enough.
        Err(error) if error.is_broken_pipe() => Ok(()),
        written => written.or_status(ExitStatus::Internal),
    }
}

/// The schema's own columns, with the synthetic series beside the observed one.
fn columns(
    rows: &[SeriesRow],
    imputations: bool,
    release: &CheckedPanelRelease,
) -> Vec<(String, PlainColumn)> {
    let schema = &release.schema;
    let text = |of: fn(&SeriesRow) -> &String| {
        PlainColumn::Text(rows.iter().map(|row| of(row).clone()).collect())
    };
    let number =
        |of: fn(&SeriesRow) -> Option<f64>| PlainColumn::Real(rows.iter().map(of).collect());
    let mut columns = vec![
        (schema.unit.clone(), text(|row| &row.unit)),
        (schema.time.clone(), text(|row| &row.period)),
        (schema.outcome.clone(), number(|row| Some(row.observed))),
        (
            format!("{}_synthetic", schema.outcome),
            number(|row| row.synthetic),
        ),
    ];
    if imputations {
        let numbers = rows.iter().map(|row| i64::from(row.imputation)).collect();
        columns.insert(0, ("imputation".into(), PlainColumn::Integer(numbers)));
    }
    columns
}
