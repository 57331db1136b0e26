//! The five terms of the error budget, in the outcome's units.
//!
//! | term | what |
//! |---|---|
//! | sampling | root of the floor's mean variance `V` |
//! | privacy | root of the median variance that intervals count for noise, `B`: medians, because a posterior's is heavy-tailed where noise rules |
//! | approximation | the mean gap `d` of the two estimates, less what chance makes of it: `sqrt(max(0, d^2 - Var(d_r) / R))` over `R` repetitions; noise explains how `d_r` varies, and not where it centres |
//! | Monte Carlo | root mean square error that the number of posterior draws leaves: half the squared difference of two fits of one release; of microdata `B / m` |
//! | calibration | where chi-square exceeds its degrees of freedom, the released cells err by `sqrt(chi^2 / df - 1)` times their noise beyond it; the estimate by so many times its own noise |

use serde::Serialize;

use super::mechanism::Fit;
use super::simulation::{Simulation, mean, mean_and_variance, median};

/// One term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// Its name.
    pub source: &'static str,
    /// Its size, a standard error in the outcome's units; `None` where the plan has no such term.
    pub size: Option<f64>,
    /// Its part of the sum of all terms' squares.
    pub share: Option<f64>,
    /// How it was found.
    pub how: String,
}

/// The fit of one simulated release of the microdata part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibration {
    /// Sum of squared residuals, each in standard deviations of its noise.
    pub chi_square: f64,
    /// The least that it is expected to be.
    pub degrees_of_freedom: usize,
}

/// `V`, by the floor.
pub(super) fn sampling_variance(simulation: &Simulation) -> f64 {
    mean(simulation.repetitions.iter().map(|r| r.floor.variance))
}

/// `B`.
pub(super) fn privacy_variance(simulation: &Simulation) -> f64 {
    median(simulation.repetitions.iter().map(|r| r.answer.privacy))
}

/// The terms, in order.
pub(super) fn terms(simulation: &Simulation, fit: Option<&Fit>) -> Vec<Term> {
    let repetitions = &simulation.repetitions;
    let looked: Vec<f64> = repetitions
        .iter()
        .filter_map(|r| r.answer.monte_carlo)
        .collect();
    let (gap, gap_how) = gap(simulation);
    let (misfit, misfit_how) = misfit(fit);
    let mut terms = vec![
        term(
            "sampling",
            Some(sampling_variance(simulation).sqrt()),
            "the analysis of the same tables without noise",
        ),
        term(
            "privacy",
            Some(privacy_variance(simulation).sqrt()),
            "what the intervals count for the noise",
        ),
        term("approximation", gap, gap_how),
        term(
            "monte-carlo",
            (!looked.is_empty()).then(|| mean(looked.iter().copied()).sqrt()),
            "other posterior draws from the same release",
        ),
        term("calibration", misfit, misfit_how),
    ];
    let total: f64 = terms.iter().filter_map(|t| t.size).map(|s| s * s).sum();
    for term in &mut terms {
        term.share = term
            .size
            .map(|size| size * size / total.max(f64::MIN_POSITIVE));
    }
    terms
}

fn term(source: &'static str, size: Option<f64>, how: impl Into<String>) -> Term {
    Term {
        source,
        size,
        share: None,
        how: how.into(),
    }
}

fn gap(simulation: &Simulation) -> (Option<f64>, String) {
    let gaps: Vec<f64> = simulation
        .repetitions
        .iter()
        .filter_map(|r| Some(r.answer.estimate - r.answer.second?))
        .collect();
    if gaps.is_empty() {
        return (None, "there is nothing to adjust for".into());
    }
    let (centre, variance) = mean_and_variance(&gaps);
    let size = (centre * centre - variance).max(0.0).sqrt();
    let how = if centre.abs() < 2.0 * variance.sqrt() {
        "the two estimates differ by no more than noise explains"
    } else {
        "gap of the two estimates beyond what noise explains"
    };
    (Some(size), how.into())
}

fn misfit(fit: Option<&Fit>) -> (Option<f64>, String) {
    match fit {
        None => (None, "no microdata are measured".into()),
        Some(fit) if fit.degrees_of_freedom == 0 => {
            (None, "the model fits any microdata release".into())
        }
        Some(fit) => {
            let ratio = fit.chi_square / fit.degrees_of_freedom as f64;
            let how = format!(
                "microdata: chi-square {:.0} on {} degrees of freedom",
                fit.chi_square, fit.degrees_of_freedom
            );
            (Some(fit.privacy * (ratio - 1.0).max(0.0).sqrt()), how)
        }
    }
}
