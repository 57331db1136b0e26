//! The error of conditional effects on the setups of Niu et al. (2022), beside that of public learners.
//!
//! ```text
//! cargo bench --bench cate -- [--setups A,B] [--rows 2000,16000] [--epsilons 1,4] [--repetitions 10]
//!     [--reference reference-mse.csv] [--design '{propensity: [.5, .5]}'] [--workload FILE]
//! ```
//!
//! Prints the mean squared error over test rows by cell, its standard error over repetitions, the bias of the implied
//! average effect, and, where a reference is given (columns `n,eps,setup,learner,mean`), the best learner's error
//! and the ratio; then how many cells are at or below it, and the geometric mean of the ratios.

mod setups;
mod simulation;

use anyhow::{Context, Result};
use clap::Parser;
use rayon::prelude::*;
use setups::Setup;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The workload that is measured unless another is given.
const WORKLOAD: &str = include_str!("../../workloads/cate.yaml");

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
    /// A workload file.
    #[arg(long)]
    workload: Option<PathBuf>,
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
    let workload = match &arguments.workload {
        Some(path) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
        None => WORKLOAD.into(),
    };
    let reference = arguments.reference.as_deref().map(read).transpose()?;
    let reference = reference.unwrap_or_default();
    println!("setup,n,epsilon,mse,standard_error,average_bias,best,ratio,best_learner");
    let mut ratios = Vec::new();
    for &letter in &arguments.setups {
        let setup = Setup(letter);
        let test = simulation::test_rows(setup, arguments.test_rows);
        for &rows in &arguments.rows {
            for &epsilon in &arguments.epsilons {
                let errors: Vec<simulation::Error> = (0..arguments.repetitions)
                    .into_par_iter()
                    .map(|k| {
                        let seed = 1000 + k;
                        let design = &arguments.design;
                        simulation::repetition(setup, design, &workload, rows, epsilon, seed, &test)
                    })
                    .collect();
                let (mse, error) = mean(errors.iter().map(|e| e.mse));
                let (bias, _) = mean(errors.iter().map(|e| e.average));
                let key = (letter.to_string(), rows.to_string(), epsilon.to_string());
                let best = reference.get(&key);
                let words = best.map_or(String::from(",,"), |(best, name)| {
                    ratios.push(mse / best);
                    format!("{best:.4},{:.3},{name}", mse / best)
                });
                println!("{letter},{rows},{epsilon},{mse:.4},{error:.4},{bias:.3},{words}");
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

/// Mean and its standard error.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
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
