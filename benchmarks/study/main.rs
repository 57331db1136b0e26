//! Runs a study: `cargo bench --bench study -- STUDY.yaml --data DIR --out DIR`.
//!
//! A cell of a study is a population of units with an average effect (`default.yaml` and others), a panel of placebo
//! units (`placebo.yaml`), or a population with its effect as a function of covariates (`effects.yaml`).
//!
//! In the folder `--out`: `results.csv`, one row per repetition and estimate, which a later run goes on
//! from; `summary.md`; and a picture per dataset and target.

#![cfg_attr(
    test,
    allow(
        dead_code,
        unused_imports,
        reason = "a bench target compiles its modules' tests and does not run them: tests/study.rs does"
    )
)]

mod harness;

use anyhow::{Context, Result};
use clap::Parser;
use harness::{compare, fidelity_figure, figures, log, run, statistics, study, summary};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Runs a study of mechanisms on datasets, in parallel; what `results.csv` holds is not run again.
#[derive(Parser)]
#[command(name = "study")]
struct Arguments {
    /// The study file, such as benchmarks/study/quick.yaml.
    study: PathBuf,
    /// The folder of the datasets; benchmarks/study/fetch.py says what belongs there.
    #[arg(long)]
    data: PathBuf,
    /// The folder of results, summary and figures; made if it is not there.
    #[arg(long)]
    out: PathBuf,
    /// The number of threads; as many as there are processors if not given. Results don't depend on it.
    #[arg(long)]
    threads: Option<usize>,
    /// A table of published numbers, such as benchmarks/study/bars.csv, to hold the results against.
    #[arg(long)]
    compare: Option<PathBuf>,
    /// Write summary and figures from the results as they stand, and run nothing.
    #[arg(long)]
    report_only: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let text = std::fs::read_to_string(&arguments.study)
        .with_context(|| format!("can't read {}", arguments.study.display()))?;
    let study =
        study::Study::parse(&text).with_context(|| format!("{}", arguments.study.display()))?;
    let bars = arguments
        .compare
        .as_deref()
        .map(compare::read)
        .transpose()?;
    std::fs::create_dir_all(&arguments.out)?;
    let path = arguments.out.join("results.csv");
    if !arguments.report_only {
        let log = log::Log::open(&path)?;
        rayon::ThreadPoolBuilder::new()
            .num_threads(arguments.threads.unwrap_or(0))
            .build()?
            .install(|| run::run(&study, &arguments.data, &log))?;
    }
    let cells = statistics::cells(&log::read(&path)?);
    let page = summary::page(&study, &arguments.data, &cells, bars.as_deref())?;
    std::fs::write(arguments.out.join("summary.md"), page)?;
    write_figures(&cells, &arguments.out)?;
    println!("{}", arguments.out.join("summary.md").display());
    Ok(())
}

fn write_figures(
    cells: &std::collections::BTreeMap<statistics::Cell, statistics::Statistics>,
    folder: &Path,
) -> Result<()> {
    let pictures: BTreeSet<(&str, &str)> = cells
        .keys()
        .map(|cell| (cell.dataset.as_str(), cell.target.as_str()))
        .collect();
    for (dataset, target) in pictures {
        if let Some(picture) = figures::figure(cells, dataset, target) {
            std::fs::write(folder.join(format!("{dataset}-{target}.svg")), picture)?;
        }
    }
    for (name, picture) in fidelity_figure::figures(cells) {
        std::fs::write(folder.join(name), picture)?;
    }
    Ok(())
}
