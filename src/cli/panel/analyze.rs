//! `analyze` of a panel's release: effects per period, cumulative and mean.

use super::documents::failure;
use crate::cli::args::AnalyzeArguments;
use crate::cli::output::Destination;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::cli::{GlobalArguments, note};
use crate::panel::{TargetEffects, effects};
use crate::release::CheckedPanelRelease;
use crate::report::{PanelNames, ReleaseTerms, document, panel_page, panel_picture, panel_text};
use crate::schema::PanelSchema;
use serde::Serialize;

/// The JSON page.
#[derive(Serialize)]
pub struct PanelPage<'a> {
    /// The outcome's column.
    pub outcome: &'a str,
    /// The first period with the intervention.
    pub intervention: &'a str,
    /// The guarantee in words.
    pub guarantee: &'a str,
    /// By target.
    pub targets: &'a [TargetEffects],
}

/// Runs the command on a release.
pub fn analyze(
    release: &CheckedPanelRelease,
    arguments: &AnalyzeArguments,
    global: GlobalArguments,
) -> Result<(), Failure> {
    if !arguments.by.is_empty() || !arguments.estimator.is_empty() || arguments.posterior.is_some()
    {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--by, --estimator and --posterior are for tables of records; a panel's method is chosen in the workload, \
             before anything is spent: leave them out",
        ));
    }
    if release.document.provenance.insecure_seed {
        note(
            global,
            "the release was drawn with --insecure-seed: it is not private",
        );
    }
    let seed = arguments.seed.unwrap_or_else(|| release.default_seed());
    let targets = effects(release, arguments.level, seed).map_err(failure)?;
    if let Some(path) = &arguments.svg {
        Destination::from(path.clone().into_os_string())
            .write_text(&picture(release, &targets))
            .or_status(ExitStatus::Internal)?;
    }
    if let Some(path) = &arguments.html {
        Destination::from(path.clone().into_os_string())
            .write_text(&page(release, &targets))
            .or_status(ExitStatus::Internal)?;
    }
    let destination = Destination::from(arguments.output.clone().into_os_string());
    let text = match arguments.json {
        true => json(release, &targets)?,
        false => panel_text(
            &names(&release.schema),
            &targets,
            &release.document.deployment_card.guarantee,
            destination.style(),
        ),
    };
    destination
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

/// What the texts and pictures call things.
pub fn names(schema: &PanelSchema) -> PanelNames<'_> {
    PanelNames {
        title: schema.title.as_deref(),
        outcome: schema.label.as_deref().unwrap_or(&schema.outcome),
        time: &schema.time,
        intervention: &schema.intervention,
    }
}

/// The HTML page of a release's effects.
pub fn page(release: &CheckedPanelRelease, targets: &[TargetEffects]) -> String {
    let document = &release.document;
    let terms = ReleaseTerms {
        card: &document.deployment_card,
        accounting: &document.accounting,
        provenance: &document.provenance,
    };
    panel_page(&names(&release.schema), &document.frame, targets, terms)
}

/// The picture of a release's effects.
pub fn picture(release: &CheckedPanelRelease, targets: &[TargetEffects]) -> String {
    panel_picture(&names(&release.schema), &release.document.frame, targets)
}

/// The JSON page of a release's effects.
pub fn json(release: &CheckedPanelRelease, targets: &[TargetEffects]) -> Result<String, Failure> {
    let page = PanelPage {
        outcome: &release.schema.outcome,
        intervention: &release.schema.intervention,
        guarantee: &release.document.deployment_card.guarantee,
        targets,
    };
    document("panel-effects", &page).or_status(ExitStatus::Internal)
}
