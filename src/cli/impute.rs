//! `impute`: posterior draws, refits, imputed tables in one stream or file.

use super::GlobalArguments;
use super::args::{ImputeArguments, Posterior};
use super::input::read_release;
use super::progress::Progress;
use super::reconstruct::{calibrate, require_converged, rows_of, write_table};
use super::status::{ExitStatus, Failure, OrStatus};
use crate::impute::{BaseFit, TableOrigin, impute_tables};
use crate::model::Model;
use crate::table::{Format, WriteOptions};
use std::io::IsTerminal;

/// Runs the command.
pub fn run(arguments: &ImputeArguments, global: GlobalArguments) -> Result<(), Failure> {
    let Posterior::Noise = arguments.posterior;
    let sampling = &arguments.sampling;
    let standard = sampling.output.as_os_str() == "-";
    // A pipe carries Parquet, because what `analyze` needs travels in it; a file's name decides for itself.
    let format = sampling
        .format
        .map(Into::into)
        .or(standard.then_some(Format::Parquet));
    if standard && format == Some(Format::Parquet) && std::io::stdout().is_terminal() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "Parquet is not for the screen: give -o FILE, a pipe, or --format csv",
        ));
    }
    let release = read_release(&sampling.release)?;
    let fit = calibrate(&release, sampling.accept_unconverged, global)?;
    let seed = sampling.seed.unwrap_or_else(|| release.default_seed());
    let m = arguments.m as usize;
    let models = draw_models(&fit, m, seed, sampling.accept_unconverged, global)?;
    let rows = rows_of(sampling, &release);
    let tables = impute_tables(
        &models,
        &fit.released.variables,
        &release.schema,
        rows,
        seed,
    )
    .or_status(ExitStatus::Usage)?;
    let origin = TableOrigin::imputations(&release, rows);
    write_table(
        &tables,
        &release.schema,
        &sampling.output,
        WriteOptions {
            format,
            seed,
            metadata: origin.entries(),
            imputations: true,
        },
    )
}

/// Draws and refits, with a bar.
pub fn draw_models(
    fit: &BaseFit,
    m: usize,
    seed: u64,
    accept: bool,
    global: GlobalArguments,
) -> Result<Vec<Model>, Failure> {
    let progress = Progress::bar("posterior draws", m as u64, global.quiet);
    let draws = fit
        .noise_posterior(m, seed, &|| progress.advance(1))
        .or_status(ExitStatus::Internal)?;
    drop(progress);
    for draw in &draws {
        require_converged(&draw.diagnostics, accept)?;
    }
    Ok(draws.into_iter().map(|draw| draw.model).collect())
}
