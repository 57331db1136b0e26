//! `analyze`: effects with intervals, from a release, imputed tables or one table.

use super::args::{AnalyzeArguments, EstimandArgument, EstimatorArgument, Posterior, RuleArgument};
use super::input::{Input, read_input};
use super::output::Destination;
use super::posterior::{DrawRequest, draw_models};
use super::reconstruct::calibrate;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, note};
use crate::estimate::{self, Effect, Estimand, EstimateError, Estimator, Request, RuleKind};
use crate::release::CheckedRelease;
use crate::report::{Outcome, document, effects_text, forest};
use crate::schema::Schema;
use serde::Serialize;

/// Runs the command.
pub fn run(arguments: &AnalyzeArguments, global: GlobalArguments) -> Result<(), Failure> {
    if !(arguments.level > 0.0 && arguments.level < 1.0) {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--level must lie between 0 and 1, such as .95",
        ));
    }
    let input = read_input(
        &arguments.input,
        arguments.schema.as_deref(),
        arguments.release.as_deref(),
        arguments.posterior,
    )?;
    let request = request(arguments, &input)?;
    let (effects, schema) = match input {
        Input::Release(release) => (
            analyze_release(&release, arguments, &request, global)?,
            release.schema,
        ),
        Input::Imputations {
            table,
            schema,
            imputed,
            caution,
        } => {
            let mut effects =
                estimate::from_imputations(&table, &schema, imputed, &request).map_err(failure)?;
            if let Some(caution) = caution {
                note(global, &caution);
                estimate::note_adjusted(&mut effects, &caution);
            }
            (effects, schema)
        }
        Input::Table {
            table,
            schema,
            synthetic,
        } => (
            estimate::from_table(&table, &schema, synthetic, &request).map_err(failure)?,
            schema,
        ),
    };
    write(&effects, &schema, arguments)
}

/// The moment route, with a note where the noise was seeded.
fn analyze_release(
    release: &CheckedRelease,
    arguments: &AnalyzeArguments,
    request: &Request,
    global: GlobalArguments,
) -> Result<Vec<Effect>, Failure> {
    if release.document.provenance.insecure_seed {
        note(
            global,
            "the release was drawn with --insecure-seed: it is not private",
        );
    }
    let fit = calibrate(release, arguments.accept_unconverged, global)?;
    let seed = arguments.seed.unwrap_or_else(|| release.default_seed());
    let asked = DrawRequest {
        posterior: arguments.posterior.unwrap_or(Posterior::Noise),
        m: arguments.m as usize,
        seed,
        accept_unconverged: arguments.accept_unconverged,
    };
    let draws = draw_models(release, &fit, asked, global)?;
    let schema = &release.schema;
    let mut effects =
        estimate::from_release(&fit, &draws.models, draws.kappa, schema, request, seed)
            .map_err(failure)?;
    if let Some(caution) = &draws.caution {
        estimate::note_adjusted(&mut effects, caution);
    }
    Ok(effects)
}

fn write(effects: &[Effect], schema: &Schema, arguments: &AnalyzeArguments) -> Result<(), Failure> {
    let outcome = outcome_of(schema)?;
    if let Some(path) = &arguments.svg {
        let picture = Destination::from(path.clone().into_os_string());
        picture
            .write_text(&forest(&outcome, effects))
            .or_status(ExitStatus::Internal)?;
    }
    let destination = Destination::from(arguments.output.clone().into_os_string());
    let page = if arguments.json {
        document(
            "effects",
            &EffectsPage {
                outcome: &outcome.name,
                effects,
            },
        )
        .or_status(ExitStatus::Internal)?
    } else {
        effects_text(&outcome, effects, destination.style())
    };
    destination
        .write_text(&page)
        .or_status(ExitStatus::Internal)
}

/// The JSON page of an analysis.
#[derive(Serialize)]
pub struct EffectsPage<'a> {
    /// The outcome's column.
    pub outcome: &'a str,
    /// The rows.
    pub effects: &'a [Effect],
}

/// The outcome that a schema's effects are about.
pub fn outcome_of(schema: &Schema) -> Result<Outcome, Failure> {
    let column = schema
        .outcome()
        .ok_or(EstimateError::NoOutcome)
        .map_err(failure)?;
    Ok(Outcome::of(&schema.columns[column]))
}

/// The status of a failed estimate: the table is to blame.
fn failure(error: EstimateError) -> Failure {
    Failure::new(ExitStatus::Data, error)
}

fn request(arguments: &AnalyzeArguments, input: &Input) -> Result<Request, Failure> {
    let named: Vec<Estimator> = arguments.estimator.iter().map(|&e| e.into()).collect();
    let possible: &[Estimator] = match input {
        Input::Release(_) => &[
            Estimator::Regression,
            Estimator::Model,
            Estimator::DifferenceInMeans,
        ],
        _ => &[
            Estimator::Regression,
            Estimator::Aipw,
            Estimator::Ipw,
            Estimator::DifferenceInMeans,
        ],
    };
    if let Some(estimator) = named.iter().find(|e| !possible.contains(e)) {
        return Err(Failure::because(
            ExitStatus::Usage,
            match input {
                Input::Release(_) => format!(
                    "{} needs rows: run `dpcausal impute` and analyze its tables",
                    name(*estimator)
                ),
                _ => "the model estimator needs a release: analyze the release itself".to_string(),
            },
        ));
    }
    Ok(Request {
        estimands: arguments.estimand.iter().map(|&e| e.into()).collect(),
        estimators: if named.is_empty() {
            possible.to_vec()
        } else {
            named
        },
        rule: arguments.combine.into(),
        level: arguments.level,
    })
}

fn name(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::DifferenceInMeans => "difference-in-means",
        Estimator::Ipw => "ipw",
        Estimator::Aipw => "aipw",
        Estimator::Regression => "regression",
        Estimator::Model => "model",
    }
}

impl From<EstimandArgument> for Estimand {
    fn from(argument: EstimandArgument) -> Estimand {
        match argument {
            EstimandArgument::Ate => Estimand::Ate,
            EstimandArgument::Att => Estimand::Att,
        }
    }
}

impl From<EstimatorArgument> for Estimator {
    fn from(argument: EstimatorArgument) -> Estimator {
        match argument {
            EstimatorArgument::DifferenceInMeans => Estimator::DifferenceInMeans,
            EstimatorArgument::Ipw => Estimator::Ipw,
            EstimatorArgument::Aipw => Estimator::Aipw,
            EstimatorArgument::Regression => Estimator::Regression,
            EstimatorArgument::Model => Estimator::Model,
        }
    }
}

impl From<RuleArgument> for RuleKind {
    fn from(argument: RuleArgument) -> RuleKind {
        match argument {
            RuleArgument::Unified => RuleKind::Unified,
            RuleArgument::Rubin => RuleKind::Rubin,
            RuleArgument::Raghunathan => RuleKind::Raghunathan,
        }
    }
}
