//! `plan`: what a budget would buy. Touches no data.

use super::args::PlanArguments;
use super::documents::read_plan;
use super::output::Destination;
use super::status::{ExitStatus, Failure, OrStatus};
use super::{GlobalArguments, cate, error_budget, panel};
use crate::estimate::error_budget::ErrorBudget;
use crate::measure::Plan;
use crate::measure::marginals::RoundLine;
use crate::model::{JunctionTree, Variables};
use crate::report::numbers::{integer, percentage, significant, size};
use crate::report::{Column, Table, document};
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
    /// The GDP guarantee; none where something other than Gaussian noise is charged.
    mu: Option<f64>,
    rho: f64,
    epsilon: Option<f64>,
    delta: Option<f64>,
    model_cells: u64,
    model_largest_clique: Vec<String>,
    model_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_budget: Option<ErrorBudget>,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments, global: GlobalArguments) -> Result<(), Failure> {
    if panel::is_panel(&arguments.documents.schema)? {
        return panel::plan(arguments);
    }
    if cate::is_cate(&arguments.documents)? {
        return cate::plan(arguments);
    }
    let (plan, documents) = read_plan(&arguments.documents, &arguments.budget)?;
    let mut page = page(&plan)?;
    if arguments.simulation.is_wanted() {
        let simulated = error_budget::simulate(&plan, &documents, &arguments.simulation, global)?;
        page.error_budget = Some(simulated);
    }
    let text = if arguments.json {
        document("plan", &page).or_status(ExitStatus::Internal)?
    } else {
        let style = Destination::Stdout.style();
        let budget = page.error_budget.as_ref();
        let budget = budget.map(|budget| error_budget::table(budget).render(style));
        let texts = std::iter::once(table(&page).render(style)).chain(budget);
        texts.collect::<Vec<String>>().join("\n")
    };
    Destination::Stdout
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

fn page(plan: &Plan) -> Result<Page, Failure> {
    let (cells, largest_clique) = model_size(plan)?;
    let total = 2.0 * plan.cost.rho();
    let microdata = plan.measurements.iter().map(|m| Line {
        block: m.block.to_string(),
        measurement: m.query.name.clone(),
        cells: m.cells,
        sensitivity: m.mechanism.sensitivity().squared_records().sqrt(),
        sigma: m.mechanism.standard_deviation_records(),
        mu_squared: m.mechanism.cost().gaussian_mu_squared(),
        share: m.mechanism.cost().gaussian_mu_squared() / total,
    });
    let stages = plan
        .effects
        .iter()
        .flat_map(|effects| effects.lines(&plan.schema, plan.workload.adjacency))
        .map(|line| Line {
            block: "effects".into(),
            measurement: line.stage.to_string(),
            cells: line.cells,
            sensitivity: line.sensitivity,
            sigma: line.sigma,
            mu_squared: line.charge,
            share: line.charge / total,
        });
    let rounds = rounds(plan)?.into_iter().map(|line| Line {
        block: line.block,
        measurement: line.measurement,
        cells: line.cells,
        sensitivity: line.sensitivity,
        sigma: line.sigma,
        mu_squared: line.charge,
        share: line.charge / total,
    });
    let measurements = stages.chain(microdata).chain(rounds).collect();
    Ok(Page {
        adjacency: plan.workload.adjacency.to_string(),
        accountant: plan.accountant().to_string(),
        measurements,
        mu: plan.cost.is_gaussian().then(|| total.sqrt()),
        rho: total / 2.0,
        epsilon: plan
            .guarantee
            .epsilon(plan.cost)
            .or_status(ExitStatus::Usage)?,
        delta: plan.guarantee.delta,
        model_cells: cells,
        model_largest_clique: largest_clique,
        // Marginals, conditionals and, during calibration, potentials: three doubles per cell.
        model_bytes: cells.saturating_mul(24),
        error_budget: None,
    })
}

/// The rounds that choose marginals, where the workload has any.
fn rounds(plan: &Plan) -> Result<Vec<RoundLine>, Failure> {
    let adjacency = plan.workload.adjacency;
    let marginals = plan.marginals.as_ref();
    let marginals = marginals.map(|marginals| marginals.lines(&plan.schema, adjacency));
    let causal_aim = plan.causal_aim.as_ref();
    let causal_aim = causal_aim.map(|rounds| rounds.lines(&plan.schema, adjacency));
    Ok(marginals
        .or(causal_aim)
        .transpose()
        .or_status(ExitStatus::Usage)?
        .unwrap_or_default())
}

/// The cells of the microdata model's junction tree and the columns of its largest clique; nothing where the
/// workload has no microdata.
fn model_size(plan: &Plan) -> Result<(u64, Vec<String>), Failure> {
    let queries = plan.queries();
    if queries.is_empty() {
        return Ok((0, Vec::new()));
    }
    let max_cells = plan.workload.max_cells;
    let variables = Variables::new(&plan.schema, &queries, plan.workload.modelled_columns())
        .or_status(ExitStatus::Usage)?;
    let sets = variables
        .sets(&plan.schema, &queries, max_cells)
        .or_status(ExitStatus::Usage)?;
    let tree = JunctionTree::plan(&variables.domain, &sets).or_status(ExitStatus::Usage)?;
    tree.check_size(&variables.domain, max_cells)
        .or_status(ExitStatus::Usage)?;
    // Within the limit, which is a u64.
    let cells = u64::try_from(tree.cells()).unwrap_or(u64::MAX);
    let clique = &tree.cliques()[tree.largest_clique()];
    Ok((cells, variables.domain.names_of(clique)))
}

fn table(page: &Page) -> Table {
    let columns = [
        Column::text("Block"),
        Column::text("Measurement"),
        Column::number("Cells"),
        Column::number("Sensitivity"),
        Column::number("Sigma"),
        Column::number("mu^2"),
        Column::number("Share"),
    ];
    let mut table = Table::new(columns).title("Planned measurements");
    for line in &page.measurements {
        table.row([
            line.block.clone(),
            line.measurement.clone(),
            integer(line.cells as u64),
            significant(line.sensitivity, 4),
            significant(line.sigma, 4),
            significant(line.mu_squared, 4),
            percentage(line.share),
        ]);
    }
    let cells = page.measurements.iter().map(|l| l.cells as u64).sum();
    table.total([
        "sum",
        "",
        &integer(cells),
        "",
        "",
        &significant(2.0 * page.rho, 4),
        "100 %",
    ]);
    let guarantee = match (page.epsilon, page.delta) {
        (Some(epsilon), Some(delta)) => format!("({epsilon:.4}, {delta:e})-differential privacy"),
        _ => "no delta is given, so no epsilon is stated".into(),
    };
    let gdp = page.mu.map_or(String::new(), |mu| format!("{mu:.4}-GDP, "));
    table.note(format!(
        "Guarantee: {gdp}rho {:.5}; {guarantee}; {} adjacency, accountant {}.",
        page.rho, page.adjacency, page.accountant
    ));
    table.note("Sensitivity and sigma are in records; no confidential data were read.");
    if page.measurements.iter().any(|line| line.block == "effects") {
        table.note(
            "Effects: stages with outcome residuals are shown for a clip of half the outcome's range (2 is the \
             range); the release lowers it to a few residual scales, and their noise with it.",
        );
    }
    if page
        .measurements
        .iter()
        .any(|line| line.block == "selection")
    {
        table.note(
            "Selection: private choices in the light of the data. Cells are candidates there and sigma is the scale of \
             the log-odds; of the chosen, cells are those of the largest candidate. Noise that adapts is shown as it \
             is in the first round; the model grows up to the workload's `max_cells`.",
        );
    }
    if page.model_cells > 0 {
        table.note(format!(
            "Model: {} cells, about {}; largest clique: {}.",
            integer(page.model_cells),
            size(page.model_bytes),
            page.model_largest_clique.join(" x ")
        ));
    }
    table
}
