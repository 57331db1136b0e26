//! `reconstruct`: calibrate a model to a release and sample microdata.

use super::args::{ReconstructArguments, SamplingArguments};
use super::input::read_any_release;
use super::progress::Progress;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, cate, note, output, panel};
use crate::impute::{BaseFit, TableOrigin, sample_rows};
use crate::model::{Diagnostics, Released};
use crate::release::{AnyRelease, CheckedRelease};
use crate::report::document;
use crate::schema::Schema;
use crate::table::{self, CodedTable, Destination, WriteOptions};
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &ReconstructArguments, global: GlobalArguments) -> Result<(), Failure> {
    let sampling = &arguments.sampling;
    if arguments.json && sampling.output.as_os_str() == "-" {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--json prints on standard output; give the table a file with -o",
        ));
    }
    let release = match read_any_release(&sampling.release)? {
        AnyRelease::Table(release) => release,
        AnyRelease::Panel(release) => return panel::reconstruct(&release, arguments),
        AnyRelease::Cate(_) => return Err(cate::no_tables("reconstruct")),
    };
    let fit = calibrate(&release, sampling.accept_unconverged, global)?;
    let rows = rows_of(sampling, &release);
    let seed = sampling.seed.unwrap_or_else(|| release.default_seed());
    let table = sample_rows(
        fit.model(),
        &fit.released.variables,
        &release.schema,
        rows,
        seed,
    )
    .or_status(ExitStatus::Usage)?;
    let origin = TableOrigin::synthetic(&release, rows);
    let format = sampling.format.map(Into::into);
    write_table(
        &table,
        &release.schema,
        &sampling.output,
        WriteOptions {
            format,
            seed,
            metadata: origin.entries(),
            imputations: false,
        },
    )?;
    if arguments.json {
        let page = document("reconstruct", fit.diagnostics()).or_status(ExitStatus::Internal)?;
        output::Destination::Stdout
            .write_text(&page)
            .or_status(ExitStatus::Internal)?;
    }
    Ok(())
}

/// Calibrates the base model, shows how it went, and refuses an unconverged fit unless asked to go on.
pub fn calibrate(
    release: &CheckedRelease,
    accept_unconverged: bool,
    global: GlobalArguments,
) -> Result<BaseFit, Failure> {
    if release.document.measurements.is_empty() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "this release measured effects and no microdata, so there is no model to sample from; read its \
             effects with `dpcausal analyze`, or measure with `blocks` in the workload",
        ));
    }
    let released = Released::new(release).or_status(ExitStatus::Usage)?;
    let progress = Progress::spinner("calibrating", global.quiet);
    let fit = BaseFit::new(released, &mut |iteration, gap| {
        progress.message(format!(
            "iteration {iteration}, relative duality gap {gap:.1e}"
        ));
    })
    .or_status(ExitStatus::Usage)?;
    drop(progress);
    note(global, &describe(fit.diagnostics()));
    require_converged(fit.diagnostics(), accept_unconverged)?;
    Ok(fit)
}

/// Refuses an unconverged fit unless asked to go on.
pub fn require_converged(diagnostics: &Diagnostics, accept: bool) -> Result<(), Failure> {
    if diagnostics.converged || accept {
        return Ok(());
    }
    Err(Failure::because(
        ExitStatus::NotConverged,
        format!(
            "the calibration stopped after {} evaluations at a relative duality gap of {:.1e}; \
             use coarser bins or fewer pairs, or go on all the same with --accept-unconverged",
            diagnostics.evaluations, diagnostics.relative_gap
        ),
    ))
}

/// One line on how well a model fits the released sums.
pub fn describe(d: &Diagnostics) -> String {
    format!(
        "model of {} cells fitted in {} iterations: chi-square {:.1} for {} sums, largest residual {:.2} sd, relative duality gap {:.1e}",
        d.cells, d.iterations, d.chi_square, d.degrees_of_freedom, d.max_residual, d.relative_gap
    )
}

/// The rows per table: asked for, or the number of records.
pub fn rows_of(sampling: &SamplingArguments, release: &CheckedRelease) -> usize {
    // The flag is bounded by its parser; an estimate beyond it would be refused there.
    sampling
        .rows
        .map_or(release.estimated_rows().round().max(1.0) as usize, |rows| {
            rows as usize
        })
}

/// Writes a table to a file, whole or not at all, or to standard output.
pub fn write_table(
    table: &CodedTable,
    schema: &Schema,
    output: &Path,
    options: WriteOptions,
) -> Result<(), Failure> {
    let destination = Destination::from_argument(&output.to_string_lossy());
    match table::write(table, schema, &destination, options) {
        // Who reads has seen enough.
        Err(error) if error.is_broken_pipe() => Ok(()),
        written => written.or_status(ExitStatus::Internal),
    }
}
