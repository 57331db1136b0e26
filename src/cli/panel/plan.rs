//! `plan` of a panel: noise and charge from public numbers, and whether spending is worth it.

use super::documents::{Read, budget, failure, read, table_source};
use crate::cli::args::PlanArguments;
use crate::cli::output::Destination;
use crate::cli::status::{ExitStatus, Failure, OrStatus};
use crate::panel::{Expectation, PanelPlan, expectation};
use crate::privacy::Cost;
use crate::report::numbers::{integer, percentage, significant};
use crate::report::{Column, Table, document};
use crate::table::read_panel_frame;
use crate::workload::DpscMethod;
use serde::Serialize;

/// The plan as it is printed.
#[derive(Serialize)]
struct Page {
    method: DpscMethod,
    donors: usize,
    pre_periods: usize,
    post_periods: usize,
    epsilon: Option<f64>,
    delta: Option<f64>,
    rho: f64,
    measurements: Vec<Line>,
    #[serde(flatten)]
    expectation: Expectation,
}

/// One measurement whose noise is fixed beforehand.
#[derive(Serialize)]
struct Line {
    target: String,
    measurement: String,
    cells: usize,
    /// The noise's scale, in the statistic's own units; a choice has none.
    scale: Option<f64>,
    epsilon: f64,
    mu_squared: f64,
    rho: f64,
}

/// Runs the command.
pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    let Read {
        schema, workload, ..
    } = read(&arguments.documents)?;
    let budget = budget(&arguments.budget)?;
    if arguments.simulation.is_wanted() {
        return Err(Failure::because(
            ExitStatus::Usage,
            "the error budget is simulated for tables of records only; a panel's noise needs no simulation: leave \
             its flags out",
        ));
    }
    let Some(path) = &arguments.panel else {
        return Err(Failure::because(
            ExitStatus::Usage,
            "the noise of a panel's release depends on public numbers that stand in its table: give the table with \
             --panel FILE; of donors nothing but names and periods is read",
        ));
    };
    let (source, format) = table_source(path, None);
    let frame = read_panel_frame(&source, format, &schema).or_status(ExitStatus::Data)?;
    let plan = PanelPlan::new(schema, workload, frame, budget).map_err(failure)?;
    let page = page(&plan)?;
    let text = match arguments.json {
        true => document("panel-plan", &page).or_status(ExitStatus::Internal)?,
        false => {
            let style = Destination::Stdout.style();
            let outcome = plan.schema.label.as_deref().unwrap_or(&plan.schema.outcome);
            let methods = methods(&page, outcome).render(style);
            format!("{}\n{methods}", measurements(&page).render(style))
        }
    };
    Destination::Stdout
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

fn page(plan: &PanelPlan) -> Result<Page, Failure> {
    let mut measurements = Vec::new();
    for (index, target) in plan.frame.targets.iter().enumerate() {
        let line = |name: &str, cells: usize, scale: Option<f64>, cost: Cost| Line {
            target: target.unit.clone(),
            measurement: name.into(),
            cells,
            scale,
            epsilon: cost.pure_epsilon(),
            mu_squared: cost.gaussian_mu_squared(),
            rho: cost.rho(),
        };
        if let Some(selection) = plan.selection(index).map_err(failure)? {
            measurements.push(line("choice of lambda", 1, None, selection.cost()));
        }
        for (name, cells, channel) in plan.channels(index).map_err(failure)? {
            measurements.push(line(name, cells, Some(channel.scale()), channel.cost()));
        }
    }
    let (epsilon, delta) = plan.epsilon(plan.cost).map_err(failure)?;
    Ok(Page {
        method: plan.method,
        donors: plan.frame.donors.len(),
        pre_periods: plan.frame.pre_periods,
        post_periods: plan.frame.post_periods(),
        epsilon,
        delta,
        rho: plan.cost.rho(),
        measurements,
        expectation: expectation(plan).map_err(failure)?,
    })
}

fn measurements(page: &Page) -> Table {
    let columns = [
        Column::text("Target"),
        Column::text("Measurement"),
        Column::number("Numbers"),
        Column::number("Noise scale"),
        Column::number("epsilon"),
        Column::number("mu^2"),
        Column::number("rho"),
    ];
    let title = format!("Planned measurements, method {}", page.method.name());
    let mut table = Table::new(columns).title(title);
    for line in &page.measurements {
        table.row([
            line.target.clone(),
            line.measurement.clone(),
            integer(line.cells as u64),
            line.scale
                .map_or(String::new(), |scale| significant(scale, 4)),
            significant(line.epsilon, 4),
            significant(line.mu_squared, 4),
            significant(line.rho, 4),
        ]);
    }
    let guarantee = match (page.epsilon, page.delta) {
        (Some(epsilon), None) => format!("{epsilon:.4}-differential privacy, pure"),
        (Some(epsilon), Some(delta)) => format!("({epsilon:.4}, {delta:e})-differential privacy"),
        _ => format!("rho {:.5}", page.rho),
    };
    table.note(format!(
        "Guarantee: {guarantee}; replace-one adjacency of a donor's whole row; {} donors, {} periods before and {} from \
         the intervention on. No donor's values were read.",
        page.donors, page.pre_periods, page.post_periods
    ));
    table
}

fn methods(page: &Page, outcome: &str) -> Table {
    let columns = [
        Column::text("Target"),
        Column::text("Method"),
        Column::number("Privacy error"),
        Column::number("lambda"),
    ];
    let title = format!("Expected privacy error per period, {outcome}");
    let mut table = Table::new(columns).title(title);
    for target in &page.expectation.targets {
        for expected in &target.methods {
            let bound = if expected.is_worst_case { "up to " } else { "" };
            table.row([
                target.unit.clone(),
                expected.method.name().to_string(),
                format!("{bound}{}", significant(expected.deviation, 3)),
                expected.lambda.map_or(String::new(), |l| significant(l, 4)),
            ]);
        }
        table.note(format!(
            "{}: the forecast from its own past costs nothing and errs by {} (root mean square); the planned method's \
             privacy error is {} of that{} It does better than the forecast where the donors explain more than {} of the \
             forecast's error variance.",
            target.unit,
            significant(target.forecast_deviation, 3),
            percentage(target.remaining),
            match target.is_worth_it {
                true => ". What the donors say of the rest is what the budget buys.",
                false =>
                    ": SPENDING IS HARDLY WORTH IT. Add donors or budget, or report the forecast alone.",
            },
            percentage(target.break_even)
        ));
    }
    table
}
