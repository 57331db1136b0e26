//! `plan` with an effect workload: what each stage would cost. Touches no data.

use super::documents::{failure, read_plan};
use crate::cate::{CateLine, CatePlan};
use crate::cli::args::PlanArguments;
use crate::cli::output::Destination;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::release::NOT_PRIVATE;
use crate::report::numbers::{integer, significant};
use crate::report::{Column, Table, document};
use serde::Serialize;

/// The plan as it is printed.
#[derive(Serialize)]
struct Page {
    adjacency: String,
    accountant: String,
    learner: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_private: Option<&'static str>,
    features: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis_terms: Option<usize>,
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
    let split = plan.workload.split.as_ref();
    let published = split.is_some_and(|settings| settings.published);
    let columns = plan.workload.columns.iter();
    let covariates = columns.map(|&column| plan.schema.columns[column].name.clone());
    Ok(Page {
        learner: plan.workload.learner.name(),
        not_private: published.then_some(NOT_PRIVATE),
        adjacency: plan.workload.adjacency.to_string(),
        accountant: plan.workload.accountant.to_string(),
        features: match split {
            None => plan.features.list.iter().map(|f| f.name.clone()).collect(),
            Some(_) => covariates.collect(),
        },
        basis_terms: split.is_none().then_some(plan.features.terms.len()),
        stages: plan.lines().map_err(failure)?,
        mu: plan.mu_squared.sqrt(),
        epsilon: plan
            .guarantee
            .epsilon(plan.cost)
            .or_status(ExitStatus::Usage)?
            .filter(|_| !published),
        delta: plan.guarantee.delta,
    })
}

fn table(page: &Page) -> Table {
    let columns = [
        Column::text("Stage"),
        Column::number("Records"),
        Column::number("Cells"),
        Column::number("Sensitivity"),
        Column::number("Sigma"),
        Column::number("mu^2"),
    ];
    let title = format!(
        "Planned stages of the effect workload, learner {}",
        page.learner
    );
    let mut table = Table::new(columns).title(title);
    for line in &page.stages {
        let part = line.part.unwrap_or(1.0);
        table.row([
            line.stage.to_string(),
            format!("{:.0} %", 100.0 * part),
            integer(line.cells as u64),
            significant(line.sensitivity, 4),
            significant(line.sigma, 4),
            significant(line.mu_squared, 4),
        ]);
    }
    if let Some(statement) = page.not_private {
        table.note(statement);
        return table;
    }
    let guarantee = match (page.epsilon, page.delta) {
        (Some(epsilon), Some(delta)) => format!("({epsilon:.4}, {delta:e})-differential privacy"),
        _ => "no delta is given, so no epsilon is stated".into(),
    };
    table.note(format!(
        "Guarantee: {:.4}-GDP; {guarantee}; {} adjacency, accountant {}.",
        page.mu, page.adjacency, page.accountant
    ));
    let Some(terms) = page.basis_terms else {
        table.note(format!(
            "{} covariates. Units are half-ranges: of the outcome, of boosted targets, of the basis. Parts of the \
             records are drawn at random, and the whole costs what one part does (parallel composition). No confidential \
             data were read.",
            page.features.len()
        ));
        return table;
    };
    table.note(format!(
        "{} features and {} basis terms. Stages with the outcome are shown for a clip of half its range (2 is the \
         range), and the basis at its largest weight of curves; the release adapts both to earlier noisy sums. No \
         confidential data were read.",
        page.features.len(),
        terms
    ));
    table
}
