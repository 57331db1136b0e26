//! `quickstart`: the whole pipeline on embedded data, every file left for the user to look at.
//!
//! The data are the experimental sample of LaLonde (1986) that Dehejia and Wahba (1999) used, 445 men,
//! taken from the Python package causaldata 0.1.5 (MIT licence), data set `nsw_mixtape`; small and
//! public for decades.

use super::analyze::{EffectsPage, outcome_of};
use super::args::Posterior;
use super::args::{BudgetArguments, QuickstartArguments};
use super::documents::read_budget;
use super::measure::{authorise, count, noise_source};
use super::output::Destination;
use super::posterior::{DrawRequest, draw_models};
use super::progress::Progress;
use super::reconstruct::{calibrate, write_table};
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, note, panel};
use crate::estimate::adjusted::Constants;
use crate::estimate::{self, Effect, Estimand, Estimator, Imputed, Request, RuleKind};
use crate::impute::{BaseFit, Kappa, TableOrigin, impute_tables, sample_rows};
use crate::measure::{self, Documents, Guarantee, Plan, default_delta};
use crate::model::Model;
use crate::privacy::{Budget, Ledger, PrivacyError};
use crate::release::CheckedRelease;
use crate::report::{document, effects_text, forest};
use crate::schema::Schema;
use crate::table::{self, Source, WriteOptions};
use crate::workload::Workload;
use std::path::Path;

const DATA: &str = include_str!("quickstart/lalonde.csv");
const SCHEMA: &str = include_str!("../../schemas/lalonde.yaml");
const WORKLOAD: &str = include_str!("../../workloads/lalonde.yaml");

/// The number of imputed tables.
const IMPUTATIONS: usize = 50;
/// The number of posterior draws of the moment route.
const DRAWS: usize = 100;

/// Runs the command.
pub fn run(arguments: &QuickstartArguments, global: GlobalArguments) -> Result<(), Failure> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).map_err(|e| {
        Failure::because(
            ExitStatus::Usage,
            format!("can't create the folder {}: {e}", folder.display()),
        )
    })?;
    if arguments.panel {
        return panel::quickstart(arguments, global);
    }
    for (name, content) in [
        ("lalonde.csv", DATA),
        ("schema.yaml", SCHEMA),
        ("workload.yaml", WORKLOAD),
    ] {
        write_file(folder, name, content)?;
    }
    let release = measure(arguments, global)?;
    let seed = release.default_seed();
    let fit = calibrate(&release, false, global)?;
    write_microdata(&release, &fit, folder, seed)?;
    let request = DrawRequest {
        posterior: Posterior::Noise,
        m: DRAWS,
        seed,
        accept_unconverged: false,
    };
    let draws = draw_models(&release, &fit, request, global)?.models;
    let effects = effects(&release, &fit, &draws, folder, seed)?;
    write_effects(&effects, &release.schema, arguments)
}

/// Spends the budget in a ledger of its own and writes the release.
fn measure(
    arguments: &QuickstartArguments,
    global: GlobalArguments,
) -> Result<CheckedRelease, Failure> {
    let folder = &arguments.output;
    let (schema, schema_file) =
        Schema::parse(SCHEMA, "schema.yaml").or_status(ExitStatus::Internal)?;
    let (workload, workload_file) =
        Workload::parse(WORKLOAD, "workload.yaml", &schema).or_status(ExitStatus::Internal)?;
    let budget = BudgetArguments {
        epsilon: Some(arguments.epsilon),
        delta: None,
        rho: None,
        mu: None,
    };
    let guarantee = Guarantee::new(read_budget(&budget, default_delta(&schema))?, &schema);
    let plan = Plan::new(schema, workload, guarantee).or_status(ExitStatus::Usage)?;
    let ledger = folder.join("quickstart-ledger.jsonl");
    fresh_ledger(&ledger, guarantee.budget)?;
    let progress = Progress::spinner("measuring", global.quiet);
    let source = Source::Path(folder.join("lalonde.csv"));
    let counted = count(&plan, &source, None, &|_| ()).or_status(ExitStatus::Internal)?;
    let mut noise = noise_source(arguments.insecure_seed, global)?;
    let authorisation = authorise(&plan, Some(&ledger))?;
    let documents = Documents {
        schema: schema_file,
        workload: workload_file,
    };
    let release = measure::run(&plan, documents, counted, authorisation, &mut noise)
        .or_status(ExitStatus::Internal)?;
    drop(progress);
    let text = release.to_json();
    write_file(folder, "release.json", &text)?;
    note(
        global,
        &format!(
            "measured {} sums under {}",
            release.measurements.len(),
            release.deployment_card.guarantee
        ),
    );
    CheckedRelease::parse(&text, "release.json").or_status(ExitStatus::Internal)
}

/// Opens a ledger. The data are public, so a repeated quickstart starts a fresh one; a real one never would.
pub fn fresh_ledger(ledger: &Path, budget: Budget) -> Result<(), Failure> {
    match Ledger::create(ledger, budget, "quickstart") {
        Err(PrivacyError::LedgerExists { .. }) => {
            std::fs::remove_file(ledger).or_status(ExitStatus::Internal)?;
            Ledger::create(ledger, budget, "quickstart")
                .map(drop)
                .or_status(ExitStatus::Internal)
        }
        created => created.map(drop).or_status(ExitStatus::Internal),
    }
}

fn write_microdata(
    release: &CheckedRelease,
    fit: &BaseFit,
    folder: &Path,
    seed: u64,
) -> Result<(), Failure> {
    let rows = release.estimated_rows().round() as usize;
    let synthetic = sample_rows(
        fit.model(),
        &fit.released.variables,
        &release.schema,
        rows,
        seed,
    )
    .or_status(ExitStatus::Internal)?;
    let metadata = TableOrigin::synthetic(release, rows).entries();
    let options = WriteOptions {
        format: None,
        seed,
        metadata,
        imputations: false,
    };
    write_table(
        &synthetic,
        &release.schema,
        &folder.join("synthetic.csv"),
        options,
    )
}

/// The effects by all routes, and the non-private answer beside them.
fn effects(
    release: &CheckedRelease,
    fit: &BaseFit,
    draws: &[Model],
    folder: &Path,
    seed: u64,
) -> Result<Vec<Effect>, Failure> {
    let schema = &release.schema;
    let request = Request {
        estimands: vec![Estimand::Ate],
        estimators: vec![Estimator::DifferenceInMeans, Estimator::Regression],
        rule: RuleKind::Unified,
        level: 0.95,
        groups: vec![],
    };
    // About everyone, and differences only: nothing is left out.
    let mut effects = estimate::from_effects(release, &request, &Constants::default(), seed)
        .or_status(ExitStatus::Internal)?
        .effects;
    effects.extend(
        estimate::from_release(fit, draws, Kappa::Noise, schema, &request, seed)
            .or_status(ExitStatus::Internal)?
            .effects,
    );
    let rows = release.estimated_rows().round() as usize;
    let models = &draws[..IMPUTATIONS.min(draws.len())];
    let stack = impute_tables(models, &fit.released.variables, schema, rows, seed)
        .or_status(ExitStatus::Internal)?;
    let metadata = TableOrigin::imputations(release, Kappa::Noise, rows).entries();
    let options = WriteOptions {
        format: None,
        seed,
        metadata,
        imputations: true,
    };
    write_table(&stack, schema, &folder.join("imputed.parquet"), options)?;
    let imputed = Imputed {
        n: release.estimated_rows(),
        kappa: Kappa::Noise,
    };
    effects.extend(
        estimate::from_imputations(&stack, schema, imputed, &request)
            .or_status(ExitStatus::Internal)?
            .effects,
    );
    let source = Source::Path(folder.join("lalonde.csv"));
    let real = table::read_unprotected(&source, None, schema, &|_| ())
        .or_status(ExitStatus::Internal)?
        .table;
    effects.extend(
        estimate::from_table(&real, schema, false, &request)
            .or_status(ExitStatus::Internal)?
            .effects,
    );
    Ok(effects)
}

fn write_effects(
    effects: &[Effect],
    schema: &Schema,
    arguments: &QuickstartArguments,
) -> Result<(), Failure> {
    let folder = &arguments.output;
    let outcome = outcome_of(schema)?;
    let page = document(
        "effects",
        &EffectsPage {
            outcome: &outcome.name,
            effects,
            not_estimated: &[],
        },
    )
    .or_status(ExitStatus::Internal)?;
    write_file(folder, "effects.svg", &forest(&outcome, effects))?;
    write_file(folder, "effects.json", &page)?;
    let screen = if arguments.json {
        page
    } else {
        effects_text(&outcome, effects, Destination::Stdout.style()) + &next_steps(folder)
    };
    Destination::Stdout
        .write_text(&screen)
        .or_status(ExitStatus::Internal)
}

/// Writes a file of the folder.
pub fn write_file(folder: &Path, name: &str, content: &str) -> Result<(), Failure> {
    Destination::File(folder.join(name))
        .write_text(content)
        .or_status(ExitStatus::Usage)
}

fn next_steps(folder: &Path) -> String {
    format!(
        "\nFiles in {0}: lalonde.csv, schema.yaml, workload.yaml, release.json, synthetic.csv, imputed.parquet,\n\
         effects.json, effects.svg (a picture of this table), quickstart-ledger.jsonl\n\n\
         Try next, in that folder:\n  \
         dpcausal plan --schema schema.yaml --workload workload.yaml --epsilon 2\n  \
         dpcausal analyze release.json --estimand att --level .9\n  \
         dpcausal impute release.json -m 20 | dpcausal analyze - --estimator aipw\n  \
         dpcausal reconstruct release.json --rows 10000 -o synthetic-10000.csv\n",
        folder.display()
    )
}
