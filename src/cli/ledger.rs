//! `ledger`: open, print and verify the record of what was spent on one dataset.

use super::args::LedgerCommand;
use super::documents::read_budget;
use super::output::Destination;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::privacy::{Ledger, LedgerError};
use crate::privacy::{Budget, LedgerSummary};
use crate::report::{Column, Table, document, numbers};
use std::path::Path;

/// Runs the command.
pub fn run(command: &LedgerCommand) -> Result<(), Failure> {
    match command {
        LedgerCommand::Init { ledger, budget, label } => {
            let budget = read_budget(budget, None)?;
            Ledger::create(ledger, budget, label).map_err(failure)?;
            Ok(())
        }
        LedgerCommand::Show { ledger, json } => show(ledger, *json),
        LedgerCommand::Check { ledger } => {
            let checked = Ledger::open(ledger).map_err(failure)?;
            checked.check().map_err(failure)?;
            let text = format!("{}: {} entries, within the budget\n", ledger.display(), checked.entries().len());
            Destination::Stdout.write_text(&text).or_status(ExitStatus::Internal)
        }
    }
}

fn show(path: &Path, as_json: bool) -> Result<(), Failure> {
    let ledger = Ledger::open(path).map_err(failure)?;
    let summary = ledger.summary();
    let page = if as_json {
        document("ledger", &summary).or_status(ExitStatus::Internal)?
    } else {
        table(&summary).render(Destination::Stdout.style())
    };
    Destination::Stdout.write_text(&page).or_status(ExitStatus::Internal)
}

fn table(summary: &LedgerSummary) -> Table {
    let title = match summary.label.as_str() {
        "" => "Ledger".to_string(),
        label => format!("Ledger: {label}"),
    };
    let columns = [Column::text("Release"), Column::text("Mechanism"), Column::text("Adjacency"), Column::number("mu^2"), Column::number("rho, other")];
    let mut table = Table::new(columns).title(title);
    let cost = |value: f64| numbers::significant(value, 4);
    for entry in &summary.entries {
        table.row([
            entry.release.clone(),
            entry.mechanism.clone(),
            entry.adjacency.to_string(),
            cost(entry.cost.gaussian_mu_squared),
            cost(entry.cost.other_rho),
        ]);
    }
    table.total(["spent".to_string(), String::new(), String::new(), cost(summary.spent.gaussian_mu_squared), cost(summary.spent.other_rho)]);
    table.note(match (summary.budget, summary.spent_epsilon) {
        (Budget::Approximate { epsilon, delta }, Some(spent)) => {
            format!("budget: epsilon {epsilon} at delta {delta:e}; spent: epsilon {spent:.4} at that delta")
        }
        (Budget::Zcdp { rho }, _) => format!("budget: rho {rho}; spent: rho {:.5}", summary.spent.rho()),
        (Budget::Gdp { mu }, _) => format!("budget: mu {mu}; spent: mu {:.4}", summary.spent.gaussian_mu_squared.sqrt()),
        (Budget::Approximate { epsilon, delta }, None) => format!("budget: epsilon {epsilon} at delta {delta:e}"),
    });
    table.note(format!("remaining for Gaussian measurements: mu^2 = {}", cost(summary.remaining_mu_squared)));
    table
}

fn failure(error: LedgerError) -> Failure {
    let status = if error.is_over_budget() { ExitStatus::Budget } else { ExitStatus::Usage };
    Failure::new(status, error)
}
