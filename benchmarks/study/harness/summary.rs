//! The Markdown summary: every cell with its Monte Carlo errors, and the non-private floor beside it.

use super::calibration;
use super::compare;
use super::effects_table;
use super::fidelity_table;
use super::main_table;
use super::placebo_table;
use super::statistics::{Cell, Measured, Statistics};
use super::study::{CellFile, Study};
use super::subject::{self, Kind};
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
    page.extend(calibration::section(cells));
    page.extend(main_table::section(cells));
    page.extend(fidelity_table::section(cells));
    page.extend(placebo_table::section(cells));
    page.extend(effects_table::section(cells, bars));
    for cell in &study.cells {
        // What it is does not depend on what else was asked of it.
        let plain = CellFile {
            further: vec![],
            ..cell.clone()
        };
        page += &subject::load(study, &plain, data)?.about();
        if Kind::of(&cell.dataset) != Kind::Table {
            continue;
        }
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
    let has = |kind: Kind| (study.cells.iter()).any(|cell| Kind::of(&cell.dataset) == kind);
    let delta = study
        .delta
        .map_or("1/n^2".into(), |delta| format!("{delta:e}"));
    let adjacency = if has(Kind::Table) || has(Kind::Cate) {
        ", add-remove adjacency"
    } else {
        ""
    };
    let mut text = format!(
        "Written by `cargo bench --bench study`; seed {}, {} repetitions per cell unless a cell has its own. \
         delta = {delta}{adjacency}. In parentheses: Monte Carlo standard errors.\n",
        study.seed, study.repetitions
    );
    if has(Kind::Table) {
        text += OF_TABLES;
    }
    if has(Kind::Panel) {
        text += OF_PANELS;
    }
    if has(Kind::Cate) {
        text += OF_EFFECTS;
    }
    text
}

const OF_TABLES: &str = "\nEvery repetition draws n units *with replacement* from the dataset's population, and coverage is of the \
    population's value: of intervals of nominal 95 %, the share that hold the target. All mechanisms and budgets \
    see the same tables. The floor is the non-private interacted regression with the same public scores; it \
    stands in the rows without epsilon, and RMSE and width are given as multiples of it.\n";

const OF_PANELS: &str = "\nOn panels, every unit that was not treated, or some of them, takes the treated one's part and is predicted \
    from the others, whose rows are protected (one donor's row replaced); the effect of no intervention is zero. \
    A repetition draws the noise anew for every unit, and the units stay: the errors in parentheses are over the noise. \
    Delta is spent by `auto` and `balance` alone; the other methods' releases are pure.\n";

const OF_EFFECTS: &str = "\nOf effects as functions of covariates, a repetition is two independent tables of n records, each released at the \
    whole budget. With their errors e1 and e2 at the test rows, the mean squared error is mean(e1^2 + e2^2) / 2, the squared bias \
    mean(e1 e2), which is unbiased and can be negative, and the variance their difference.\n";

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
        "| {} | {} | {estimator} | {} | {} | {} | {} | {} | {} | {} | {:.2} |",
        cell.epsilon()
            .map_or("-".into(), |epsilon| epsilon.to_string()),
        cell.mechanism,
        with_error(found.rmse),
        with_error(found.bias),
        percent(found.coverage),
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

/// A number with its error, if there are any.
pub fn with_error(measured: Measured) -> String {
    let value = significant(measured.value, 3);
    if measured.value.is_nan() {
        "-".into()
    } else if measured.error.is_nan() {
        value
    } else {
        format!("{value} ({})", significant(measured.error, 1))
    }
}

/// A share with its error in percent, if there is any.
pub fn percent(share: Measured) -> String {
    let [value, error] = [share.value, share.error].map(|x| 100.0 * x);
    if value.is_nan() {
        "-".into()
    } else if error.is_nan() {
        format!("{value:.1}")
    } else {
        format!("{value:.1} ({error:.1})")
    }
}
