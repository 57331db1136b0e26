//! `analyze` of a release of conditional effects: average, shapes, effects at rows.

use super::documents::failure;
use crate::cate::{covariates_only, projection, summarise};
use crate::cli::args::AnalyzeArguments;
use crate::cli::input::source;
use crate::cli::output::Destination;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::cli::{GlobalArguments, note};
use crate::release::CheckedCateRelease;
use crate::report::{Outcome, ReleaseTerms, cate_page, cate_picture, cate_text, document};
use crate::schema::Role;
use crate::table::{CodedTable, read_population};

/// Runs the command on a release.
pub fn analyze(
    release: &CheckedCateRelease,
    arguments: &AnalyzeArguments,
    global: GlobalArguments,
) -> Result<(), Failure> {
    if !arguments.estimator.is_empty() || arguments.posterior.is_some() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--estimator and --posterior are for tables of records; conditional effects have one learner, chosen in \
             the workload: leave them out",
        ));
    }
    if let Some(statement) = release
        .document
        .split
        .as_ref()
        .and_then(|s| s.not_private.as_ref())
    {
        note(global, statement);
    }
    if release.document.provenance.insecure_seed {
        note(
            global,
            "the release was drawn with --insecure-seed: it is not private",
        );
    }
    let by = groups(release, arguments)?;
    let table = rows(release, arguments, global)?;
    let mut summary = summarise(release, table.as_ref(), &by).map_err(failure)?;
    summary.projection = projection(release, arguments.level).map_err(failure)?;
    let outcome = Outcome::of(&release.schema.columns[release.workload.outcome]);
    if let Some(path) = &arguments.svg {
        Destination::from(path.clone().into_os_string())
            .write_text(&cate_picture(&outcome, &summary))
            .or_status(ExitStatus::Internal)?;
    }
    if let Some(path) = &arguments.html {
        let terms = ReleaseTerms {
            card: &release.document.deployment_card,
            accounting: &release.document.accounting,
            provenance: &release.document.provenance,
        };
        Destination::from(path.clone().into_os_string())
            .write_text(&cate_page(&outcome, &summary, terms))
            .or_status(ExitStatus::Internal)?;
    }
    let destination = Destination::from(arguments.output.clone().into_os_string());
    let text = match arguments.json {
        true => document("cate", &summary).or_status(ExitStatus::Internal)?,
        false => {
            let guarantee = &release.document.deployment_card.guarantee;
            cate_text(&outcome, &summary, guarantee, destination.style())
        }
    };
    destination
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

/// The covariates that `--by` names.
fn groups(
    release: &CheckedCateRelease,
    arguments: &AnalyzeArguments,
) -> Result<Vec<usize>, Failure> {
    if !arguments.by.is_empty() && arguments.rows.is_none() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--by averages effects over the rows of each level, and the release has no rows; give a table of covariates \
             with --rows FILE",
        ));
    }
    let find = |name: &String| {
        let column = release.schema.column(name);
        let covariate = column.filter(|&c| release.schema.columns[c].role == Role::Covariate);
        covariate.ok_or_else(|| {
            Failure::because(
                ExitStatus::Usage,
                format!("--by {name}: the schema has no covariate of this name"),
            )
        })
    };
    arguments.by.iter().map(find).collect()
}

/// The rows of `--rows`, of which the covariates count.
fn rows(
    release: &CheckedCateRelease,
    arguments: &AnalyzeArguments,
    global: GlobalArguments,
) -> Result<Option<CodedTable>, Failure> {
    let Some(path) = &arguments.rows else {
        return Ok(None);
    };
    note(
        global,
        "the rows are read without protection: what is printed of them is as confidential as they are",
    );
    let schema = covariates_only(&release.schema);
    let table =
        read_population(&source(path), None, &schema, &|_| ()).or_status(ExitStatus::Data)?;
    if table.rows == 0 {
        return Err(Failure::because(
            ExitStatus::Data,
            format!(
                "{} has no rows; give a table with at least one",
                path.display()
            ),
        ));
    }
    Ok(Some(table))
}
