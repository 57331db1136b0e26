//! `ledger`: open, print and verify the record of what was spent on one dataset.

use super::args::LedgerCommand;
use super::documents::read_budget;
use super::measure::privacy_failure;
use super::output::Destination;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::privacy::{AccountantKind, Budget, Cost, Entry, Ledger};
use crate::report::{Column, Table, document, numbers};
use serde::Serialize;
use std::path::Path;

/// Runs the command.
pub fn run(command: &LedgerCommand) -> Result<(), Failure> {
    match command {
        LedgerCommand::Init {
            ledger,
            budget,
            label,
        } => {
            let budget = read_budget(budget, None)?;
            Ledger::create(ledger, budget, label).map_err(privacy_failure)?;
            Ok(())
        }
        LedgerCommand::Show { ledger, json } => show(ledger, *json),
        LedgerCommand::Check { ledger } => {
            // Reading verifies every line and the sum.
            let entries = Ledger::open(ledger)
                .map_err(privacy_failure)?
                .entries()
                .len();
            let text = format!(
                "{}: {entries} entries, within the budget\n",
                ledger.display()
            );
            Destination::Stdout
                .write_text(&text)
                .or_status(ExitStatus::Internal)
        }
    }
}

/// What there is to say about a ledger.
#[derive(Serialize)]
struct Page<'a> {
    label: &'a str,
    budget: &'a Budget,
    entries: &'a [Entry],
    spent: Cost,
    remaining: Cost,
    /// The epsilon spent at the budget's delta.
    spent_epsilon: Option<f64>,
    /// Whether a crash cut a line short; nothing was drawn for it.
    torn_line: bool,
}

fn show(path: &Path, as_json: bool) -> Result<(), Failure> {
    let ledger = Ledger::open(path).map_err(privacy_failure)?;
    let spent = ledger.spent();
    let page = Page {
        label: ledger.label(),
        budget: ledger.budget(),
        entries: ledger.entries(),
        spent,
        remaining: ledger
            .remaining(ledger.accountant().unwrap_or(AccountantKind::Gdp))
            .map_err(privacy_failure)?,
        spent_epsilon: ledger
            .budget()
            .delta()
            .map(|delta| spent.epsilon(delta))
            .transpose()
            .map_err(privacy_failure)?,
        torn_line: ledger.has_torn_line(),
    };
    let text = if as_json {
        document("ledger", &page).or_status(ExitStatus::Internal)?
    } else {
        table(&page).render(Destination::Stdout.style())
    };
    Destination::Stdout
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

fn table(page: &Page) -> Table {
    let title = if page.label.is_empty() {
        "Ledger".to_string()
    } else {
        format!("Ledger: {}", page.label)
    };
    let columns = [
        Column::text("Release"),
        Column::text("Mechanism"),
        Column::text("Adjacency"),
        Column::text("Unit"),
        Column::number("mu^2"),
        Column::number("rho, other"),
        Column::number("epsilon, pure"),
    ];
    let mut table = Table::new(columns).title(title);
    let parts = |cost: &Cost| {
        [
            cost.gaussian_mu_squared(),
            cost.other_rho(),
            cost.pure_epsilon(),
        ]
        .map(|part| numbers::significant(part, 4))
    };
    for entry in page.entries {
        let sums = parts(&entry.cost);
        let words = [
            entry.release.to_string(),
            entry.mechanism.clone(),
            entry.adjacency.to_string(),
            entry.unit.clone(),
        ];
        table.row(words.into_iter().chain(sums));
    }
    for (name, cost) in [("spent", &page.spent), ("remaining", &page.remaining)] {
        let [gaussian, other, pure] = parts(cost);
        table.total([
            name.to_string(),
            String::new(),
            String::new(),
            String::new(),
            gaussian,
            other,
            pure,
        ]);
    }
    let spent = page.spent_epsilon.map_or(String::new(), |epsilon| {
        format!("; spent: epsilon = {epsilon:.4} at that delta")
    });
    table.note(format!("Budget: {}{spent}.", page.budget));
    if page.torn_line {
        table.note("The last line was cut short by a crash; nothing was drawn for it.");
    }
    table
}
