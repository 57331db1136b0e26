//! `plan`: what a budget would buy. Touches no data.

use super::args::PlanArguments;
use super::documents::read_plan;
use super::output::print;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::measure::Plan;
use crate::model::{JunctionTree, Variables};
use crate::report::numbers::{count, significant};
use crate::report::{Table, json};
use crate::schema::SCALE;
use serde::Serialize;

/// One line of the plan.
#[derive(Debug, Serialize)]
struct Line {
    block: String,
    measurement: String,
    cells: usize,
    /// L2 sensitivity, in records.
    sensitivity: f64,
    /// Standard deviation of the noise of one cell, in records.
    sigma: f64,
    /// Squared GDP parameter.
    mu_squared: f64,
    /// Share of the budget's squared parameter.
    share: f64,
}

/// The plan as it is printed.
#[derive(Debug, Serialize)]
struct Page {
    adjacency: String,
    accountant: String,
    measurements: Vec<Line>,
    mu: f64,
    rho: f64,
    epsilon: Option<f64>,
    delta: Option<f64>,
    model_cells: f64,
    model_largest_clique: Vec<String>,
    model_bytes: f64,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let (plan, _) = read_plan(&arguments.documents, &arguments.budget)?;
    let page = page(&plan)?;
    if arguments.json {
        return print(json::envelope("plan", &page).as_bytes());
    }
    print(text(&page).as_bytes())
}

fn page(plan: &Plan) -> Result<Page, Failure> {
    let queries = plan.queries();
    let variables = Variables::new(&plan.schema, &queries);
    let tree = JunctionTree::plan(&variables.domain, &variables.cliques(&plan.schema, &queries), plan.workload.max_cells)
        .or_status(ExitStatus::Usage)?;
    let total = plan.cost.gaussian_mu_squared;
    let measurements = plan
        .measurements
        .iter()
        .map(|m| Line {
            block: m.block.to_string(),
            measurement: m.query.name.clone(),
            cells: m.cells,
            sensitivity: m.mechanism.sensitivity().value() / SCALE as f64,
            sigma: m.mechanism.sigma() as f64 / SCALE as f64,
            mu_squared: m.mechanism.cost().gaussian_mu_squared,
            share: m.mechanism.cost().gaussian_mu_squared / total,
        })
        .collect();
    Ok(Page {
        adjacency: plan.workload.adjacency.to_string(),
        accountant: plan.workload.accountant.to_string(),
        measurements,
        mu: total.sqrt(),
        rho: total / 2.0,
        epsilon: plan.guarantee.epsilon(plan.cost),
        delta: plan.guarantee.delta,
        model_cells: tree.cells(),
        model_largest_clique: tree.largest_clique().iter().map(|&v| variables.domain.names[v].clone()).collect(),
        // Marginals, potentials and messages: three doubles per cell.
        model_bytes: tree.cells() * 24.0,
    })
}

fn text(page: &Page) -> String {
    let mut table = Table::new(
        "Planned measurements (sensitivity and sigma in records; no data were read)",
        &["block", "measurement", "cells", "sensitivity", "sigma", "mu^2", "share"],
    );
    for line in &page.measurements {
        table.row([
            line.block.clone(),
            line.measurement.clone(),
            count(line.cells as f64),
            significant(line.sensitivity, 4),
            significant(line.sigma, 4),
            significant(line.mu_squared, 4),
            format!("{:.1} %", 100.0 * line.share),
        ]);
    }
    let guarantee = match (page.epsilon, page.delta) {
        (Some(epsilon), Some(delta)) => format!("({epsilon:.4}, {delta:e})-differential privacy"),
        _ => "no delta given: no epsilon stated".into(),
    };
    table.footer(format!("sum: {:.4}-GDP, rho {:.5}; {guarantee}; {}, {}", page.mu, page.rho, page.adjacency, page.accountant));
    table.footer(format!(
        "model: {} cells, about {:.1} MB; largest clique: {}",
        count(page.model_cells),
        page.model_bytes / 1e6,
        page.model_largest_clique.join(" x ")
    ));
    table.render()
}
