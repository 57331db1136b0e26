//! The error of conditional effects on the setups of Niu et al. (2022), beside that of public learners.
//!
//! ```text
//! cargo bench --bench cate -- [--setups A,B] [--rows 2000,16000] [--epsilons 1,4] [--repetitions 10]
//!     [--learners adaptive,dr-hat,dr-ebm] [--reference reference-mse.csv] [--design '{propensity: [.5, .5]}']
//!     [--workload FILE]
//! DPCAUSAL_DATA=folder cargo bench --bench cate -- --gotv [--learners ..] [--epsilons ..]
//! cargo bench --bench cate -- --coverage [--repetitions 500]
//! cargo bench --bench cate -- --timing
//! ```
//!
//! Prints the mean squared error over test rows by cell, its standard error over repetitions, squared bias and variance
//! (both integrated over test rows, they sum to it), the bias of the implied average effect, and, where a reference is
//! given (columns `n,eps,setup,learner,mean`), the best learner's error and the ratio; then how many cells are at or
//! below it, and the geometric mean of the ratios. `--gotv` is a trial whose outcomes were changed so that the effect is
//! known; `--coverage` the share of intervals that hold what they are for; `--timing` processor seconds.

mod coverage;
mod gotv;
mod learners;
mod setups;
mod simulation;
mod timing;

use anyhow::{Context, Result};
use clap::Parser;
use rayon::prelude::*;
use setups::Setup;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The errors of conditional effects by setup, number of records and epsilon.
#[derive(Parser)]
#[command(name = "cate")]
struct Arguments {
    /// The setups.
    #[arg(long, value_delimiter = ',', default_value = "A,B,C,D,E")]
    setups: Vec<char>,
    /// The numbers of records.
    #[arg(long, value_delimiter = ',', default_value = "2000,8000,16000")]
    rows: Vec<usize>,
    /// The epsilons, at delta = 1e-5.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
    epsilons: Vec<f64>,
    /// Repetitions per cell.
    #[arg(long, default_value_t = 10)]
    repetitions: u64,
    /// Rows that effects are compared at.
    #[arg(long, default_value_t = 50_000)]
    test_rows: usize,
    /// What the schema says of the design.
    #[arg(long, default_value = "observational")]
    design: String,
    /// The learners: `adaptive`, `published`, or `dr`, `r`, `s` with `-linear`, `-hat`, `-one-hot`, `-ebm`.
    #[arg(long, value_delimiter = ',', default_value = "adaptive")]
    learners: Vec<String>,
    /// A workload file, in the learners' place.
    #[arg(long)]
    workload: Option<PathBuf>,
    /// The trial with a known effect, from the folder that DPCAUSAL_DATA names.
    #[arg(long)]
    gotv: bool,
    /// The coverage of intervals.
    #[arg(long)]
    coverage: bool,
    /// Processor time at 160 000 records.
    #[arg(long)]
    timing: bool,
    /// Errors of public learners.
    #[arg(long)]
    reference: Option<PathBuf>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The best reference by setup, records and epsilon, as they are written.
type Reference = HashMap<(String, String, String), (f64, String)>;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let learners = learners_of(&arguments)?;
    if arguments.timing {
        return timing::run(&learners);
    }
    if arguments.gotv {
        return gotv::run(&learners, &arguments.epsilons, arguments.repetitions);
    }
    if arguments.coverage {
        return coverage::run(&arguments.rows, &arguments.epsilons, arguments.repetitions);
    }
    let reference = arguments.reference.as_deref().map(read).transpose()?;
    let reference = reference.unwrap_or_default();
    println!(
        "learner,setup,n,epsilon,mse,standard_error,squared_bias,variance,average_bias,best,ratio,best_learner"
    );
    let mut ratios = Vec::new();
    for &letter in &arguments.setups {
        let setup = Setup(letter);
        let test = simulation::test_rows(setup, arguments.test_rows);
        for &rows in &arguments.rows {
            for &epsilon in &arguments.epsilons {
                for (name, workload) in &learners {
                    let found: Vec<simulation::Found> = (0..arguments.repetitions)
                        .into_par_iter()
                        .map(|k| {
                            let design = &arguments.design;
                            let seed = 1000 + k;
                            let test = &test.table;
                            simulation::repetition(
                                setup, design, workload, rows, epsilon, seed, test,
                            )
                        })
                        .collect();
                    let error = simulation::errors(&found, &test.effects);
                    let key = (letter.to_string(), rows.to_string(), epsilon.to_string());
                    let words = reference
                        .get(&key)
                        .map_or(String::from(",,"), |(best, name)| {
                            ratios.push(error.mse / best);
                            format!("{best:.4},{:.3},{name}", error.mse / best)
                        });
                    println!(
                        "{name},{letter},{rows},{epsilon},{:.4},{:.4},{:.4},{:.4},{:.3},{words}",
                        error.mse,
                        error.standard_error,
                        error.squared_bias,
                        error.variance,
                        error.average_bias
                    );
                }
            }
        }
    }
    if !ratios.is_empty() {
        let below = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
        let geometric = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
        println!(
            "# at or below the best reference in {below} of {} cells, geometric mean of ratios {:.3}",
            ratios.len(),
            geometric.exp()
        );
    }
    Ok(())
}

/// The learners by name, and their workloads.
fn learners_of(arguments: &Arguments) -> Result<Vec<(String, String)>> {
    if let Some(path) = &arguments.workload {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        return Ok(vec![(path.display().to_string(), text)]);
    }
    let named = |name: &String| Ok((name.clone(), learners::workload(name)?));
    arguments.learners.iter().map(named).collect()
}

fn read(path: &Path) -> Result<Reference> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut best = Reference::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [n, epsilon, setup, learner, mse, ..] = cells.as_slice() else {
            continue;
        };
        let mse: f64 = mse
            .parse()
            .with_context(|| format!("a number in {line:?}"))?;
        let key = (setup.to_string(), n.to_string(), epsilon.to_string());
        let entry = best.entry(key).or_insert((mse, learner.to_string()));
        if mse < entry.0 {
            *entry = (mse, learner.to_string());
        }
    }
    Ok(best)
}
