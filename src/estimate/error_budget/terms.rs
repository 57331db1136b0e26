//! The five terms of the error budget, in the outcome's units.
//!
//! | term | what |
//! |---|---|
//! | sampling | root of the floor's mean variance `V` |
//! | privacy | root of the median variance that intervals count for noise, `B`: medians, because a posterior's is heavy-tailed where noise rules |
//! | approximation | the median gap of the two estimates, beyond what chance makes of it: noise explains how the gap varies, and not where it centres |
//! | Monte Carlo | what the number of posterior draws leaves: half the squared difference of two fits of one release (a multiple of chi-square with one degree of freedom, whence its median); of microdata `B / m` |
//! | calibration | how far the model's fit to noisy cells shifts the microdata's estimate, beyond chance, from its fit to nearly exact cells. A model can follow exact cells, and follows noisy ones as far as counts below 0 allow: chi-square is above its degrees of freedom where many are near 0 |

use rayon::prelude::*;
use serde::Serialize;

use super::mechanism::{Fit, Mechanism, amount};
use super::search::limits;
use super::simulation::{Location, Simulation, Tables, mean};
use crate::estimate::EstimateError;
use crate::estimate::quantile::median;

/// Tables on which the microdata's fit is looked at: a shift as large as the estimate's own noise shows.
const FITS: u64 = 8;

/// The median of chi-square with one degree of freedom.
const CHI_SQUARE_MEDIAN: f64 = 0.4549;

/// One term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// Its name.
    pub source: &'static str,
    /// Its size, a standard error in the outcome's units; `None` where the plan has no such term.
    pub size: Option<f64>,
    /// Its part of the sum of the squares of the terms that bear on the estimate.
    pub share: Option<f64>,
    /// How it was found.
    pub how: String,
}

/// The fit of the microdata part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibration {
    /// Of one simulated release: sum of squared residuals, each in standard deviations of its noise.
    pub chi_square: f64,
    /// The least that it is expected to be.
    pub degrees_of_freedom: usize,
    /// How far the fit shifts the microdata's estimate, in the outcome's units.
    pub shift: Location,
}

impl Calibration {
    /// Of releases on the first few tables; nothing where the plan has no microdata.
    pub(super) fn new(
        mechanism: &Mechanism,
        tables: &Tables,
    ) -> Result<Option<Calibration>, EstimateError> {
        if mechanism.plan.measurements.is_empty() {
            return Ok(None);
        }
        let (parameter, _) = amount(&mechanism.plan.guarantee.budget);
        let exact = mechanism.with_budget(limits(parameter)[1])?;
        // Without effects the estimate is the posterior draws'.
        let drawn = mechanism.plan.effects.is_none();
        let one = |number| -> Result<(Fit, f64), EstimateError> {
            let table = tables.population.sample(tables.rows, number)?;
            let fit = mechanism.fit(&table, tables.noise(number), drawn)?;
            let shift = fit.estimate - exact.fit(&table, tables.noise(number), false)?.estimate;
            Ok((fit, shift))
        };
        let found = (1..=FITS).into_par_iter().map(one);
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let shifts: Vec<f64> = found.iter().map(|(_, shift)| *shift).collect();
        Ok(found.first().map(|(fit, _)| Calibration {
            chi_square: fit.chi_square,
            degrees_of_freedom: fit.degrees_of_freedom,
            shift: Location::of(&shifts),
        }))
    }
}

/// `V`, by the floor.
pub(super) fn sampling_variance(simulation: &Simulation) -> f64 {
    mean(simulation.repetitions.iter().map(|r| r.floor.variance))
}

/// `B`.
pub(super) fn privacy_variance(simulation: &Simulation) -> f64 {
    median(simulation.repetitions.iter().map(|r| r.answer.privacy))
}

/// The terms, in order. `has_effects`: whether the estimate is that of an effects part, which the microdata's
/// fit has no part in.
pub(super) fn terms(
    simulation: &Simulation,
    calibration: Option<&Calibration>,
    has_effects: bool,
) -> Vec<Term> {
    let (gap, gap_how) = gap(simulation);
    let (shift, shift_how) = shift(calibration);
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
            monte_carlo(simulation),
            "other posterior draws from the same release",
        ),
        term("calibration", shift, shift_how),
    ];
    let counted = if has_effects { 4 } else { 5 };
    let sizes = terms[..counted].iter().filter_map(|t| t.size);
    let total: f64 = sizes.map(|s| s * s).sum();
    for term in &mut terms[..counted] {
        let share = |size: f64| size * size / total.max(f64::MIN_POSITIVE);
        term.share = term.size.map(share);
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

fn monte_carlo(simulation: &Simulation) -> Option<f64> {
    let answers = simulation.repetitions.iter().map(|r| &r.answer);
    let looked: Vec<f64> = answers.clone().filter_map(|a| a.monte_carlo).collect();
    let halves = answers.clone().all(|a| a.is_effects);
    let scale = if halves { CHI_SQUARE_MEDIAN } else { 1.0 };
    (!looked.is_empty()).then(|| (median(looked.iter().copied()) / scale).sqrt())
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
    let size = Location::of(&gaps).beyond_chance();
    let how = if size > 0.0 {
        "gap of the two estimates beyond what noise explains"
    } else {
        "the two estimates differ by no more than noise explains"
    };
    (Some(size), how.into())
}

fn shift(calibration: Option<&Calibration>) -> (Option<f64>, String) {
    let Some(fit) = calibration else {
        return (None, "no microdata are measured".into());
    };
    let how = format!(
        "shift of the microdata's estimate by the fit; chi-square {:.0} on {} degrees of freedom",
        fit.chi_square, fit.degrees_of_freedom
    );
    (Some(fit.shift.beyond_chance()), how)
}
