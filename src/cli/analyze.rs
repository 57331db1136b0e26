//! `analyze`: effects with intervals, from a release, imputed tables or one table.

use super::args::{AnalyzeArguments, EstimandArgument, EstimatorArgument, Posterior, RuleArgument};
use super::input::{AnyInput, Input, read_input};
use super::output::Destination;
use super::posterior::{DrawRequest, draw_models};
use super::reconstruct::calibrate;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, cate, note, panel};
use crate::estimate::adjusted::Constants;
use crate::estimate::{
    self, Analysis, Effect, Estimand, EstimateError, Estimator, NotEstimated, Request, RuleKind,
    subgroups,
};
use crate::release::CheckedRelease;
use crate::report::{Outcome, document, effects_text, forest, not_estimated_text};
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
    if arguments.rows.is_some() && !matches!(input, AnyInput::Cate(_)) {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--rows asks for conditional effects, which need a release of the workload `mechanism: cate`; leave it out",
        ));
    }
    check_places(arguments)?;
    let input = match input {
        AnyInput::Panel(release) => return panel::analyze(&release, arguments, global),
        AnyInput::Cate(release) => return cate::analyze(&release, arguments, global),
        AnyInput::Records(input) => *input,
    };
    if arguments.html.is_some() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--html writes the page of a panel's release or of one of conditional effects; for these effects take \
             --svg FILE, their picture",
        ));
    }
    let request = request(arguments, &input)?;
    let (analysis, schema) = match input {
        Input::Release(release) => (
            analyze_release(&release, arguments, &request, global)?,
            release.schema,
        ),
        Input::Imputations {
            table,
            schema,
            imputed,
            caution,
            ..
        } => {
            let mut analysis =
                estimate::from_imputations(&table, &schema, imputed, &request).map_err(failure)?;
            if let Some(caution) = caution {
                note(global, &caution);
                estimate::note_adjusted(&mut analysis.effects, &caution);
            }
            (analysis, schema)
        }
        Input::Table {
            table,
            schema,
            synthetic,
            ..
        } => (
            estimate::from_table(&table, &schema, synthetic, &request).map_err(failure)?,
            schema,
        ),
    };
    write(&analysis, &schema, arguments)
}

/// Whether what is written has places of its own.
fn check_places(arguments: &AnalyzeArguments) -> Result<(), Failure> {
    let places = [
        Some(&arguments.output),
        arguments.svg.as_ref(),
        arguments.html.as_ref(),
    ];
    let places: Vec<_> = places.into_iter().flatten().collect();
    let twice = (1..places.len()).any(|i| places[..i].contains(&places[i]));
    match twice {
        true => Err(Failure::because(
            ExitStatus::Usage,
            "two of --html, --svg and -o name the same place: give each a file of its own",
        )),
        false => Ok(()),
    }
}

/// The effects route where there is an effects part, and the moment route where the model is asked for, with
/// a note where the noise was seeded.
fn analyze_release(
    release: &CheckedRelease,
    arguments: &AnalyzeArguments,
    request: &Request,
    global: GlobalArguments,
) -> Result<Analysis, Failure> {
    if release.document.provenance.insecure_seed {
        note(
            global,
            "the release was drawn with --insecure-seed: it is not private",
        );
    }
    let seed = arguments.seed.unwrap_or_else(|| release.default_seed());
    let mut analysis = Analysis::default();
    if release.document.effects.is_some() {
        analysis = estimate::from_effects(release, request, &Constants::default(), seed)
            .map_err(failure)?;
        if !asks_for_model(arguments) {
            return Ok(analysis);
        }
    }
    let fit = calibrate(release, arguments.accept_unconverged, global)?;
    let asked = DrawRequest {
        posterior: arguments.posterior.unwrap_or(Posterior::Noise),
        m: arguments.m as usize,
        seed,
        accept_unconverged: arguments.accept_unconverged,
    };
    let draws = draw_models(release, &fit, asked, global)?;
    let schema = &release.schema;
    let mut more = estimate::from_release(&fit, &draws.models, draws.kappa, schema, request, seed)
        .map_err(failure)?;
    if let Some(caution) = &draws.caution {
        estimate::note_adjusted(&mut more.effects, caution);
    }
    analysis.effects.extend(more.effects);
    analysis.not_estimated.extend(more.not_estimated);
    Ok(analysis)
}

/// Whether a release with an effects part is to have its model fitted too: for subgroups, which only the
/// microdata part knows, for an estimator of the model, or for a posterior of it.
fn asks_for_model(arguments: &AnalyzeArguments) -> bool {
    let of_model = |e: &EstimatorArgument| {
        matches!(e, EstimatorArgument::Model | EstimatorArgument::Regression)
    };
    !arguments.by.is_empty()
        || arguments.posterior.is_some()
        || arguments.estimator.iter().any(of_model)
}

fn write(
    analysis: &Analysis,
    schema: &Schema,
    arguments: &AnalyzeArguments,
) -> Result<(), Failure> {
    let outcome = outcome_of(schema)?;
    let effects = &analysis.effects;
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
                not_estimated: &analysis.not_estimated,
            },
        )
        .or_status(ExitStatus::Internal)?
    } else {
        let style = destination.style();
        effects_text(&outcome, effects, style) + &not_estimated_text(&analysis.not_estimated, style)
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
    /// The rows that were asked for and could not be estimated.
    pub not_estimated: &'a [NotEstimated],
}

/// The outcome that a schema's effects are about.
pub fn outcome_of(schema: &Schema) -> Result<Outcome, Failure> {
    let column = schema
        .outcome()
        .ok_or(EstimateError::NoOutcome)
        .map_err(failure)?;
    Ok(Outcome::of(&schema.columns[column]))
}

/// The status of a failed estimate: the question, or else the table is to blame.
fn failure(error: EstimateError) -> Failure {
    let status = match error {
        EstimateError::NotASubgroup { .. } | EstimateError::NumericRisk { .. } => ExitStatus::Usage,
        _ => ExitStatus::Data,
    };
    Failure::new(status, error)
}

fn request(arguments: &AnalyzeArguments, input: &Input) -> Result<Request, Failure> {
    let named: Vec<Estimator> = arguments.estimator.iter().map(|&e| e.into()).collect();
    let possible: &[Estimator] = match input {
        Input::Release(release) => of_release(release),
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
                Input::Release(_) => missing_part(*estimator),
                _ => format!(
                    "{} needs a release: analyze the release itself",
                    name(*estimator)
                ),
            },
        ));
    }
    let (schema, leaves) = match input {
        Input::Release(release) => (&release.schema, Some(release.leaves())),
        Input::Imputations { schema, leaves, .. } | Input::Table { schema, leaves, .. } => {
            (schema, leaves.clone())
        }
    };
    let groups = subgroups(schema, &arguments.by, leaves.as_deref()).map_err(failure)?;
    Ok(Request {
        groups,
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

/// The estimators that the parts of a release have an answer to.
fn of_release(release: &CheckedRelease) -> &'static [Estimator] {
    let all = &[
        Estimator::Adjusted,
        Estimator::Gram,
        Estimator::DifferenceInMeans,
        Estimator::Regression,
        Estimator::Model,
    ];
    let has_microdata = !release.document.measurements.is_empty();
    match (&release.document.effects, has_microdata) {
        (Some(_), true) => all,
        (Some(_), false) => &all[..3],
        (None, _) => &all[2..],
    }
}

/// What to do where a release has no answer to an estimator.
fn missing_part(estimator: Estimator) -> String {
    let name = name(estimator);
    match estimator {
        Estimator::Adjusted | Estimator::Gram => format!(
            "{name} needs an effects part, which this release lacks; add `effects: {{share: 0.5}}` to the workload and measure again"
        ),
        Estimator::Regression | Estimator::Model => format!(
            "{name} needs a microdata part, which this release lacks; add `blocks` to the workload and measure again"
        ),
        _ => format!("{name} needs rows: run `dpcausal impute` and analyze its tables"),
    }
}

fn name(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::DifferenceInMeans => "difference-in-means",
        Estimator::Ipw => "ipw",
        Estimator::Aipw => "aipw",
        Estimator::Regression => "regression",
        Estimator::Adjusted => "adjusted",
        Estimator::Gram => "gram",
        Estimator::Model => "model",
    }
}

impl From<EstimandArgument> for Estimand {
    fn from(argument: EstimandArgument) -> Estimand {
        match argument {
            EstimandArgument::Ate => Estimand::Ate,
            EstimandArgument::Att => Estimand::Att,
            EstimandArgument::Atc => Estimand::Atc,
            EstimandArgument::ArmMean => Estimand::ArmMean,
            EstimandArgument::RiskRatio => Estimand::RiskRatio,
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
            EstimatorArgument::Adjusted => Estimator::Adjusted,
            EstimatorArgument::Gram => Estimator::Gram,
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
