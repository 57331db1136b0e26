//! `quickstart --panel`: the whole pipeline on an embedded panel.
//!
//! The data are yearly cigarette sales in packs per head of 39 US states, 1970 to 2000, which Abadie, Diamond and
//! Hainmueller (2010) used for California's Proposition 99; taken from the Python package CausalPy 0.9.0 (Apache-2.0
//! licence), data set `california_prop99.csv`, and put in long format. Small and public for decades.

use super::analyze::{json, names, page, picture};
use super::documents::{DPSC_WORKLOAD, Read, failure, parse};
use super::measure::authorise;
use crate::cli::args::QuickstartArguments;
use crate::cli::measure::noise_source;
use crate::cli::output::Destination;
use crate::cli::quickstart::{fresh_ledger, write_file};
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::cli::{GlobalArguments, note};
use crate::panel::{self, PanelPlan, effects};
use crate::privacy::Budget;
use crate::release::{AnyRelease, CheckedPanelRelease};
use crate::report::panel_text;
use crate::table::{Source, read_panel};

const DATA: &str = include_str!("../quickstart/prop99.csv");
const SCHEMA: &str = include_str!("../../../schemas/prop99.yaml");

/// Runs the command.
pub fn quickstart(arguments: &QuickstartArguments, global: GlobalArguments) -> Result<(), Failure> {
    let folder = &arguments.output;
    for (name, content) in [
        ("prop99.csv", DATA),
        ("panel.yaml", SCHEMA),
        ("dpsc.yaml", DPSC_WORKLOAD),
    ] {
        write_file(folder, name, content)?;
    }
    let release = measure(arguments, global)?;
    let targets = effects(&release, 0.95, release.default_seed()).map_err(failure)?;
    write_file(folder, "panel.svg", &picture(&release, &targets))?;
    write_file(folder, "panel.html", &page(&release, &targets))?;
    let effects = json(&release, &targets)?;
    write_file(folder, "panel-effects.json", &effects)?;
    let guarantee = &release.document.deployment_card.guarantee;
    let style = Destination::Stdout.style();
    let screen = match arguments.json {
        true => effects,
        false => {
            let text = panel_text(&names(&release.schema), &targets, guarantee, style);
            text + &next_steps(&folder.display().to_string())
        }
    };
    Destination::Stdout
        .write_text(&screen)
        .or_status(ExitStatus::Internal)
}

/// Spends the budget in a ledger of its own and writes the release.
fn measure(
    arguments: &QuickstartArguments,
    global: GlobalArguments,
) -> Result<CheckedPanelRelease, Failure> {
    let folder = &arguments.output;
    let Read {
        schema,
        workload,
        documents,
    } = parse(SCHEMA, "panel.yaml", DPSC_WORKLOAD, "dpsc.yaml")?;
    let budget = Budget::pure(arguments.epsilon).or_status(ExitStatus::Usage)?;
    let source = Source::Path(folder.join("prop99.csv"));
    let (frame, donors) = read_panel(&source, None, &schema).or_status(ExitStatus::Internal)?;
    let plan = PanelPlan::new(schema, workload, frame, budget).map_err(failure)?;
    let ledger = folder.join("quickstart-ledger.jsonl");
    fresh_ledger(&ledger, budget)?;
    let mut noise = noise_source(arguments.insecure_seed, global)?;
    let authorisation = authorise(&plan, Some(&ledger))?;
    let release =
        panel::run(&plan, documents, &donors, authorisation, &mut noise).map_err(failure)?;
    let text = release.to_json();
    write_file(folder, "panel-release.json", &text)?;
    note(
        global,
        &format!("measured under {}", release.deployment_card.guarantee),
    );
    match AnyRelease::parse(&text, "panel-release.json").or_status(ExitStatus::Internal)? {
        AnyRelease::Panel(release) => Ok(*release),
        AnyRelease::Table(_) | AnyRelease::Cate(_) => Err(Failure::because(
            ExitStatus::Internal,
            "a panel's release was read as a table's",
        )),
    }
}

fn next_steps(folder: &str) -> String {
    format!(
        "\nFiles in {folder}: prop99.csv, panel.yaml, dpsc.yaml, panel-release.json, panel-effects.json, panel.svg (a \
         picture), panel.html (table, picture and accounting on one page), quickstart-ledger.jsonl\n\n\
         Try next, in that folder:\n  \
         dpcausal plan --schema panel.yaml --workload dpsc.yaml --panel prop99.csv --epsilon 1\n  \
         dpcausal analyze panel-release.json --level .9\n  \
         dpcausal reconstruct panel-release.json\n  \
         dpcausal impute panel-release.json -m 20 --format csv\n"
    )
}
