//! The command line: one file per subcommand, arguments and printing only. It alone knows the screen.

mod analyze;
pub mod args;
mod cate;
mod documents;
mod error_budget;
mod evaluate;
mod impute;
mod input;
mod interrupt;
mod ledger;
mod measure;
mod output;
mod pages;
mod panel;
mod plan;
mod posterior;
pub mod progress;
mod quickstart;
mod reconstruct;
mod status;

pub use status::{ExitStatus, Failure};

use args::{Arguments, Command, GlobalArguments};
use clap::Parser;
use status::OrStatus;
use std::process::ExitCode;

/// Runs the command line and says how it ended.
pub fn main() -> ExitCode {
    // clap prints usage errors itself and exits with 2, help and version with 0.
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitStatus::Done.into(),
        Err(failure) => {
            if failure.status != ExitStatus::Done {
                anstream::eprintln!("\x1b[1;31merror:\x1b[0m {}", failure.message());
            }
            failure.status.into()
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let global = arguments.global;
    interrupt::install().or_status(ExitStatus::Internal)?;
    set_threads(global)?;
    match arguments.command {
        Command::Quickstart(a) => quickstart::run(&a, global),
        Command::Plan(a) => plan::run(&a, global),
        Command::Measure(a) => measure::run(&a, global),
        Command::Reconstruct(a) => reconstruct::run(&a, global),
        Command::Impute(a) => impute::run(&a, global),
        Command::Analyze(a) => analyze::run(&a, global),
        Command::Evaluate(a) => evaluate::run(&a, global),
        Command::Ledger(a) => ledger::run(&a),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man => pages::man(),
        Command::JsonSchema { format } => pages::json_schema(format),
    }
}

/// Sizes the thread pool, once, before anything uses it.
fn set_threads(global: GlobalArguments) -> Result<(), Failure> {
    if let Some(threads) = global.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()
            .map_err(|e| Failure::new(ExitStatus::Internal, e))?;
    }
    Ok(())
}

/// A note on standard error, unless quiet.
fn note(global: GlobalArguments, text: &str) {
    if !global.quiet {
        progress::suspend(|| anstream::eprintln!("\x1b[2mnote:\x1b[0m {text}"));
    }
}
