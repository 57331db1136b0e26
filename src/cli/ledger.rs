//! `ledger`: open, print and verify the record of what was spent on one dataset.

use super::args::LedgerCommand;
use super::documents::read_budget;
use super::output::print;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::privacy::{Ledger, LedgerError};
use crate::report::{json, text};
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
            print(format!("{}: {} entries, within the budget\n", ledger.display(), checked.entries().len()).as_bytes())
        }
    }
}

fn show(path: &Path, as_json: bool) -> Result<(), Failure> {
    let ledger = Ledger::open(path).map_err(failure)?;
    if as_json {
        return print(json::envelope("ledger", &ledger.summary()).as_bytes());
    }
    print(text::ledger(&ledger.summary()).as_bytes())
}

fn failure(error: LedgerError) -> Failure {
    let status = if error.is_over_budget() { ExitStatus::Budget } else { ExitStatus::Usage };
    Failure::new(status, error)
}
