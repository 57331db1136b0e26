//! The Markdown summary: every cell with its Monte Carlo errors, and the non-private floor beside it.

use super::compare;
use super::datasets;
use super::fidelity_table;
use super::main_table;
use super::population::Population;
use super::statistics::{Cell, Measured, Statistics};
use super::study::Study;
use anyhow::Result;
use dpcausal::report::numbers::significant;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The page.
///
/// # Errors
/// Where a dataset can't be loaded to say what it is.
pub fn page(
    study: &Study,
    data: &Path,
    cells: &BTreeMap<Cell, Statistics>,
    bars: Option<&[compare::Bar]>,
) -> Result<String> {
    let mut page = format!("# {}\n\n{}\n", study.title, introduction(study));
    if let Some(bars) = bars {
        page += &compare::section(cells, bars);
    }
    page.extend(main_table::section(cells));
    page.extend(fidelity_table::section(cells));
    for cell in &study.cells {
        let population = datasets::load(&cell.dataset, data)?;
        page += &about(&population);
        let of_dataset: Vec<(&Cell, &Statistics)> = cells
            .iter()
            .filter(|(found, _)| found.dataset == cell.dataset)
            .collect();
        let mut heading = None;
        for (cell, found) in of_dataset {
            let group = (cell.n, cell.target.clone());
            if heading.as_ref() != Some(&group) {
                page += &format!("\nn = {}, target `{}`\n\n{HEAD}", cell.n, cell.target);
                heading = Some(group);
            }
            page += &row(cell, found, cells.get(&cell.floor()));
        }
    }
    Ok(page)
}

const HEAD: &str = "| eps | mechanism | estimator | RMSE | bias | coverage % | median width | RMSE / floor | width / floor | failures | s |\n\
    |---|---|---|---|---|---|---|---|---|---|---|\n";

fn introduction(study: &Study) -> String {
    format!(
        "Written by `cargo bench --bench study`; seed {}, {} repetitions per cell unless a cell has its own. \
         delta = 1/n^2, add-remove adjacency. In parentheses: Monte Carlo standard errors.\n\n\
         Every repetition draws n units *with replacement* from the dataset's population, and coverage is of the \
         population's value: of intervals of nominal 95 %, the share that hold the target. All mechanisms and budgets \
         see the same tables. The floor is the non-private interacted regression with the same public scores; it \
         stands in the rows without epsilon, and RMSE and width are given as multiples of it.\n",
        study.seed, study.repetitions
    )
}

fn about(population: &Population) -> String {
    let tuning = if population.tuning {
        " (tuning: in no bar)"
    } else {
        ""
    };
    let targets: Vec<String> = match &population.laws[..] {
        [law] => law
            .targets
            .iter()
            .map(|target| format!("{} = {}", target.name, significant(target.value, 4)))
            .collect(),
        laws => vec![format!("{} laws in turn", laws.len())],
    };
    format!(
        "\n## {}{tuning}\n\n{}. ({})\n",
        population.name,
        population.about,
        targets.join(", ")
    )
}

fn row(cell: &Cell, found: &Statistics, floor: Option<&Statistics>) -> String {
    let ratio = |of: fn(&Statistics) -> Measured| match floor {
        Some(floor) => format!("{:.2}", of(found).value / of(floor).value),
        None => "-".into(),
    };
    let estimator = if cell.estimator.is_empty() {
        "-"
    } else {
        &cell.estimator
    };
    let mut line = String::new();
    // Writing to a text can't fail.
    let _ = writeln!(
        line,
        "| {} | {} | {estimator} | {} | {} | {:.1} ({:.1}) | {} | {} | {} | {} | {:.2} |",
        cell.epsilon()
            .map_or("-".into(), |epsilon| epsilon.to_string()),
        cell.mechanism,
        with_error(found.rmse),
        with_error(found.bias),
        100.0 * found.coverage.value,
        100.0 * found.coverage.error,
        with_error(found.width),
        ratio(|s| s.rmse),
        ratio(|s| s.width),
        failures(found),
        found.seconds,
    );
    line
}

fn failures(found: &Statistics) -> String {
    match found.failures {
        0 => "0".into(),
        count => format!("{count} of {}", count + found.repetitions),
    }
}

/// A number with its error.
pub fn with_error(measured: Measured) -> String {
    format!(
        "{} ({})",
        significant(measured.value, 3),
        significant(measured.error, 1)
    )
}
