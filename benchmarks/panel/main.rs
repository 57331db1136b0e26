//! The placebo tables of the panel workload: how far the private synthetic control of an untreated unit is from what
//! happened to it, and how often its interval holds that.
//!
//! Every donor of a panel, or some of them, takes the treated unit's part and is predicted from the others. The first table
//! has the root mean square error of the path over targets, periods and repetitions, in the outcome's units, by method and
//! epsilon, with its Monte Carlo standard error (over repetitions of the noise; the targets are fixed). The forecast of
//! the target's own past, which costs nothing, and synthetic control without privacy stand beside. The second has the share
//! of periods and of means that intervals of nominal 95 % hold, and the mean length of the mean's. Real panels are read from
//! the folder that `DPCAUSAL_DATA` names; factor models are always there.
//!
//! ```text
//! DPCAUSAL_DATA=../shared/data cargo bench --bench panel [-- PANEL... METHOD...]
//! ```
//!
//! `cargo test --bench panel -- PANEL... METHOD...` runs the same in the tests' profile.

mod case;
mod data;
mod factors;
mod simplex;

use case::{Case, Coverage, Variant};
use data::Units;
use rayon::prelude::*;

const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 5.0];
/// Draws of the noise per target and cell, and of those how many intervals are computed of.
const REPETITIONS: u64 = 20;
const WITH_INTERVALS: u64 = 2;

const fn variant(name: &'static str, workload: &'static str, has_delta: bool) -> Variant {
    Variant {
        name,
        workload,
        has_delta,
    }
}

const VARIANTS: [Variant; 7] = [
    variant("auto", "method: auto", true),
    variant("index", "method: index", false),
    variant("balance", "method: balance", true),
    variant("direct", "method: direct", false),
    variant("output", "method: output", false),
    variant("objective", "method: objective", false),
    variant(
        "difference-in-differences",
        "method: difference-in-differences",
        false,
    ),
];

/// Whose intervals are tabulated.
const OF_INTERVALS: [Variant; 3] = [
    variant("auto", "method: auto", true),
    variant("index", "method: index", false),
    variant(
        "index, fit_share .2",
        "method: index\nfit_share: 0.2",
        false,
    ),
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let mut panels = data::panels();
    let (methods, names): (Vec<String>, Vec<String>) = wanted
        .into_iter()
        .partition(|name| VARIANTS.iter().any(|variant| variant.name == name));
    panels.retain(|panel| names.is_empty() || names.contains(&panel.name));
    let is_wanted = |name: &str| methods.is_empty() || methods.iter().any(|m| m == name);
    println!("| panel | donors | forecast | simplex, not private | method | .5 | 1 | 2 | 5 |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for panel in &panels {
        errors(panel, &is_wanted);
    }
    println!();
    println!("| panel | method | .5 | 1 | 2 | 5 |");
    println!("|---|---|---|---|---|---|");
    for panel in &panels {
        intervals(panel, &is_wanted);
    }
}

/// Prints the errors of one panel.
fn errors(panel: &Units, is_wanted: &dyn Fn(&str) -> bool) {
    let of = |error: fn(&Case) -> f64| {
        let squares = panel
            .targets
            .par_iter()
            .map(|&target| error(&Case::new(panel, target, VARIANTS[1])));
        root_mean(&squares.collect::<Vec<f64>>())
    };
    let (forecast, simplex) = (of(Case::of_forecast), of(Case::of_simplex));
    for variant in VARIANTS.iter().copied().filter(|v| is_wanted(v.name)) {
        let cells = EPSILONS.map(|epsilon| {
            // By target, the squares of its repetitions.
            let squares: Vec<Vec<f64>> = panel
                .targets
                .par_iter()
                .map(|&target| {
                    let case = Case::new(panel, target, variant);
                    let repetitions = 0..REPETITIONS;
                    repetitions
                        .map(|k| case.error(&case.release(epsilon, k)))
                        .collect()
                })
                .collect();
            let error = root_mean(&squares.concat());
            format!("{error:.1} ({:.1})", standard_error(&squares, error))
        });
        println!(
            "| {} | {} | {forecast:.1} | {simplex:.1} | {} | {} |",
            panel.name,
            panel.rows.len() - 1,
            variant.name,
            cells.join(" | ")
        );
    }
}

/// Prints what the intervals of one panel hold.
fn intervals(panel: &Units, is_wanted: &dyn Fn(&str) -> bool) {
    for variant in OF_INTERVALS.iter().copied().filter(|v| is_wanted(v.name)) {
        let cells = EPSILONS.map(|epsilon| {
            let all: Vec<Coverage> = panel
                .targets
                .par_iter()
                .flat_map_iter(|&target| {
                    let case = Case::new(panel, target, variant);
                    let of = move |k| case.coverage(&case.release(epsilon, k));
                    (0..WITH_INTERVALS).map(of).collect::<Vec<_>>()
                })
                .collect();
            let sum = |of: fn(&Coverage) -> f64| all.iter().map(of).sum::<f64>();
            let periods = sum(|c| c.periods as f64) / sum(|c| c.of_periods as f64);
            let count = all.len() as f64;
            let means = sum(|c| f64::from(u8::from(c.mean))) / count;
            format!("{periods:.2}, {means:.2}; {:.1}", sum(|c| c.length) / count)
        });
        println!(
            "| {} | {} | {} |",
            panel.name,
            variant.name,
            cells.join(" | ")
        );
    }
}

fn root_mean(squares: &[f64]) -> f64 {
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// The Monte Carlo standard error of a root mean square over targets: that of the mean of their means, by the delta method.
fn standard_error(squares: &[Vec<f64>], root: f64) -> f64 {
    let of_mean = |repetitions: &Vec<f64>| {
        let count = repetitions.len() as f64;
        let mean = repetitions.iter().sum::<f64>() / count;
        let squares = repetitions.iter().map(|x| (x - mean).powi(2));
        squares.sum::<f64>() / (count - 1.0) / count
    };
    let variance = squares.iter().map(of_mean).sum::<f64>() / (squares.len() as f64).powi(2);
    variance.sqrt() / (2.0 * root)
}
