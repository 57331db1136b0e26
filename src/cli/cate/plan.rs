//! `plan` with an effect workload: what each stage would cost. Touches no data.

use super::documents::read_plan;
use crate::cate::{CateLine, CatePlan};
use crate::cli::args::PlanArguments;
use crate::cli::output::Destination;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::report::numbers::{integer, significant};
use crate::report::{Column, Table, document};
use serde::Serialize;

/// The plan as it is printed.
#[derive(Serialize)]
struct Page {
    adjacency: String,
    accountant: String,
    features: Vec<String>,
    basis_terms: usize,
    stages: Vec<CateLine>,
    mu: f64,
    epsilon: Option<f64>,
    delta: Option<f64>,
}

/// Runs the command.
pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    if arguments.simulation.is_wanted() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "the effect workload prints no intervals, so there is no error budget to simulate; leave the simulation's \
             flags out",
        ));
    }
    let (plan, _) = read_plan(&arguments.documents, &arguments.budget)?;
    let page = page(&plan)?;
    let text = match arguments.json {
        true => document("cate-plan", &page).or_status(ExitStatus::Internal)?,
        false => table(&page).render(Destination::Stdout.style()),
    };
    Destination::Stdout
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

fn page(plan: &CatePlan) -> Result<Page, Failure> {
    Ok(Page {
        adjacency: plan.workload.adjacency.to_string(),
        accountant: plan.workload.accountant.to_string(),
        features: plan.features.list.iter().map(|f| f.name.clone()).collect(),
        basis_terms: plan.features.terms.len(),
        stages: plan.lines(),
        mu: plan.mu_squared.sqrt(),
        epsilon: plan
            .guarantee
            .epsilon(plan.cost)
            .or_status(ExitStatus::Usage)?,
        delta: plan.guarantee.delta,
    })
}

fn table(page: &Page) -> Table {
    let columns = [
        Column::text("Stage"),
        Column::number("Cells"),
        Column::number("Sensitivity"),
        Column::number("Sigma"),
        Column::number("mu^2"),
    ];
    let mut table =
        Table::new(columns).title("Planned stages of the effect workload, learner adaptive");
    for line in &page.stages {
        table.row([
            line.stage.to_string(),
            integer(line.cells as u64),
            significant(line.sensitivity, 4),
            significant(line.sigma, 4),
            significant(line.mu_squared, 4),
        ]);
    }
    let guarantee = match (page.epsilon, page.delta) {
        (Some(epsilon), Some(delta)) => format!("({epsilon:.4}, {delta:e})-differential privacy"),
        _ => "no delta is given, so no epsilon is stated".into(),
    };
    table.note(format!(
        "Guarantee: {:.4}-GDP; {guarantee}; {} adjacency, accountant {}.",
        page.mu, page.adjacency, page.accountant
    ));
    table.note(format!(
        "{} features and {} basis terms. Stages with the outcome are shown for a clip of half its range (2 is the \
         range), and the basis at its largest weight of curves; the release adapts both to earlier noisy sums. No \
         confidential data were read.",
        page.features.len(),
        page.basis_terms
    ));
    table
}
