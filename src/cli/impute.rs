//! `impute`: posterior draws, refits, imputed tables in one stream or file.

use super::args::ImputeArguments;
use super::input::read_any_release;
use super::posterior::{DrawRequest, draw_models};
use super::reconstruct::{calibrate, rows_of, write_table};
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, cate, panel};
use crate::impute::{TableOrigin, impute_tables};
use crate::release::AnyRelease;
use crate::table::{Format, WriteOptions};
use std::io::IsTerminal;

/// Runs the command.
pub fn run(arguments: &ImputeArguments, global: GlobalArguments) -> Result<(), Failure> {
    let sampling = &arguments.sampling;
    let release = match read_any_release(&sampling.release)? {
        AnyRelease::Table(release) => release,
        AnyRelease::Panel(release) => return panel::impute(&release, arguments),
        AnyRelease::Cate(_) => return Err(cate::no_tables("impute")),
    };
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
    let fit = calibrate(&release, sampling.accept_unconverged, global)?;
    let seed = sampling.seed.unwrap_or_else(|| release.default_seed());
    let request = DrawRequest {
        posterior: arguments.posterior,
        m: arguments.m as usize,
        seed,
        accept_unconverged: sampling.accept_unconverged,
    };
    let draws = draw_models(&release, &fit, request, global)?;
    let rows = rows_of(sampling, &release);
    let tables = impute_tables(
        &draws.models,
        &fit.released.variables,
        &release.schema,
        rows,
        seed,
    )
    .or_status(ExitStatus::Usage)?;
    let origin = TableOrigin {
        caution: draws.caution,
        ..TableOrigin::imputations(&release, draws.kappa, rows)
    };
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
