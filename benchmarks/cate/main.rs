//! What of the effect workload the study harness does not do: the coverage of intervals of projections, and processor time.
//!
//! ```text
//! cargo bench --bench cate -- --coverage [--rows 2000,16000] [--epsilons 1,4] [--repetitions 500]
//! cargo bench --bench cate -- --timing [--learners dr-ebm,dr-hat]
//! ```
//!
//! Errors of effects, on the same setups and with the same learners, are `cargo bench --bench study` with
//! `benchmarks/study/effects.yaml`.

mod coverage;
#[path = "../study/harness/cate/simulated/mod.rs"]
#[allow(
    dead_code,
    reason = "errors of effects are the study harness's business"
)]
mod simulated;
mod timing;

use anyhow::{Result, bail};
use clap::Parser;
use dpcausal::privacy::Budget;
use dpcausal::release::CheckedCateRelease;
use dpcausal::table::CodedTable;
use simulated::{Task, learners};

/// The delta of every release.
const DELTA: f64 = 1e-5;

/// Coverage of intervals, or processor time.
#[derive(Parser)]
#[command(name = "cate")]
struct Arguments {
    /// The numbers of records.
    #[arg(long, value_delimiter = ',', default_value = "2000,16000")]
    rows: Vec<usize>,
    /// The epsilons, at delta = 1e-5.
    #[arg(long, value_delimiter = ',', default_value = "1,4")]
    epsilons: Vec<f64>,
    /// Repetitions per cell.
    #[arg(long, default_value_t = 500)]
    repetitions: u64,
    /// The learners: `adaptive`, `published`, or `dr`, `r`, `s` with `-linear`, `-hat`, `-one-hot`, `-ebm`.
    #[arg(long, value_delimiter = ',', default_value = "adaptive")]
    learners: Vec<String>,
    /// The coverage of intervals.
    #[arg(long)]
    coverage: bool,
    /// Processor time at 160 000 records.
    #[arg(long)]
    timing: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.timing {
        let named = |name: &String| Ok((name.clone(), learners::workload(name)?));
        let learners: Vec<(String, String)> = arguments
            .learners
            .iter()
            .map(named)
            .collect::<Result<_>>()?;
        return timing::run(&learners);
    }
    if arguments.coverage {
        return coverage::run(&arguments.rows, &arguments.epsilons, arguments.repetitions);
    }
    bail!("say --coverage or --timing; errors of effects are run by the study harness")
}

/// A release of a table at `epsilon`.
fn release(
    schema: &str,
    workload: &str,
    table: CodedTable,
    epsilon: f64,
    seed: u64,
) -> Result<CheckedCateRelease> {
    let task = Task {
        schema,
        workload,
        budget: Budget::approximate(epsilon, DELTA)?,
        // Tables have the seeds from 0 on.
        seed: seed + 1_000_000,
    };
    task.release(table)
}
