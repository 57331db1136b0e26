//! The second half of `plan`: the error budget, simulated and printed.

use super::GlobalArguments;
use super::args::SimulationArguments;
use super::input::source;
use super::progress::Progress;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::estimate::error_budget::{
    ErrorBudget, Options, Population, SmallestBudget, WidthLaw, error_budget,
};
use crate::measure::{Documents, Plan};
use crate::report::numbers::{decimals_for, fixed, integer, percentage, significant};
use crate::report::{Column, Table};
use crate::table::{CodedTable, read_population};

/// Tables that are simulated unless the command line says otherwise: coverage is then known to two points.
const REPETITIONS: u32 = 100;

/// Reads the population, if there is one, and simulates.
pub fn simulate(
    plan: &Plan,
    documents: &Documents,
    arguments: &SimulationArguments,
    global: GlobalArguments,
) -> Result<ErrorBudget, Failure> {
    if let Some(width) = arguments.target_width
        && !(width.is_finite() && width > 0.0)
    {
        return Err(Failure::because(
            ExitStatus::Usage,
            "--target-width is a width above 0, in the outcome's units",
        ));
    }
    let table = population(plan, arguments)?;
    let known = arguments.rows.or(plan.schema.rows);
    let known = known.or(table.as_ref().map(|table| table.rows as u64));
    let rows = known.ok_or_else(|| {
        Failure::because(
            ExitStatus::Usage,
            "the schema has no public number of rows to simulate; add --rows N, the size that is planned for",
        )
    })?;
    let rows = usize::try_from(rows).or_status(ExitStatus::Usage)?;
    let options = Options {
        rows,
        repetitions: arguments.repetitions.unwrap_or(REPETITIONS) as usize,
        target_width: arguments.target_width,
        seed: arguments.seed.unwrap_or(1),
    };
    let population = match table {
        Some(table) => {
            Population::from_table(plan, table, options.seed).or_status(ExitStatus::Data)?
        }
        None => Population::from_schema(plan, options.seed).or_status(ExitStatus::Usage)?,
    };
    let progress = Progress::bar("simulated releases", options.work(plan), global.quiet);
    error_budget(plan, documents, &population, &options, &|| {
        progress.advance(1);
    })
    .or_status(ExitStatus::Usage)
}

fn population(plan: &Plan, arguments: &SimulationArguments) -> Result<Option<CodedTable>, Failure> {
    let Some(path) = &arguments.population else {
        return Ok(None);
    };
    let table = read_population(&source(path), None, &plan.schema, &|_| ());
    let table = table.or_status(ExitStatus::Data)?;
    if table.rows == 0 {
        let message = format!("{} has no rows to draw from", path.display());
        return Err(Failure::because(ExitStatus::Data, message));
    }
    Ok(Some(table))
}

/// The budget as a table with notes.
pub fn table(budget: &ErrorBudget) -> Table {
    let columns = [
        Column::text("Source"),
        Column::number("Standard error"),
        Column::number("Share"),
        Column::text("From"),
    ];
    let title = format!(
        "Error budget of the average effect, {}: {} simulated tables of {} rows",
        budget.contrast,
        integer(budget.repetitions as u64),
        integer(budget.rows as u64)
    );
    let mut table = Table::new(columns).title(title);
    let decimals = decimals(budget);
    for term in &budget.terms {
        let size = term.size.map(|size| fixed(size, decimals));
        let share = term.share.map(percentage);
        table.row([
            term.source.to_string(),
            size.unwrap_or_else(|| "-".into()),
            share.unwrap_or_else(|| "-".into()),
            term.how.clone(),
        ]);
    }
    for note in notes(budget, decimals) {
        table.note(note);
    }
    for sentence in &budget.verdict.text {
        table.note(format!("Verdict: {sentence}."));
    }
    table
}

fn decimals(budget: &ErrorBudget) -> usize {
    let main = budget.terms.iter().take(2).filter_map(|term| term.size);
    decimals_for(main)
}

fn notes(budget: &ErrorBudget, decimals: usize) -> Vec<String> {
    let number = |value| fixed(value, decimals);
    let mut notes = vec![
        format!(
            "Median width of the 95 % interval: {}; without noise {}; ratio {}.",
            number(budget.width),
            number(budget.floor_width),
            significant(budget.width / budget.floor_width, 3)
        ),
        format!(
            "Coverage in the simulation: {} (standard error {}); without noise {}. Median error of the estimate: {} \
             (standard error {}) of {}.",
            percentage(budget.coverage.value),
            percentage(budget.coverage.standard_error),
            percentage(budget.floor_coverage.value),
            number(budget.bias.value),
            number(budget.bias.standard_error),
            number(budget.truth)
        ),
    ];
    notes.push(match &budget.width_law {
        Some(law) => width_law(law),
        None => "Width law: it is about adjusted effects, and there are none in this plan.".into(),
    });
    notes.push(smallest(&budget.smallest_budget));
    notes.extend(budget.target.as_ref().map(smallest));
    if budget.failed > 0 {
        let failed = integer(budget.failed as u64);
        notes.push(format!(
            "{failed} repetitions gave no estimate; they are left out."
        ));
    }
    notes.push(format!("Assumed: {}.", budget.assumptions.join("; ")));
    notes
}

fn width_law(law: &WidthLaw) -> String {
    format!(
        "Width law: mu {} and K = {} scores make the interval about {} times that without noise; this n and budget carry up to \
         K = {} at twice that.",
        significant(law.mu, 3),
        law.scores,
        significant(law.width_ratio, 3),
        integer(law.largest_scores as u64)
    )
}

fn smallest(found: &SmallestBudget) -> String {
    match (found.value, &found.reason) {
        (Some(value), _) => format!(
            "Smallest {} with {}: {} (within 5 %, {} releases each).",
            found.parameter,
            found.goal,
            significant(value, 3),
            found.repetitions
        ),
        (None, reason) => format!(
            "Smallest {} with {}: {}.",
            found.parameter,
            found.goal,
            reason.as_deref().unwrap_or("none")
        ),
    }
}
