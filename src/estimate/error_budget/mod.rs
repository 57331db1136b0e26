//! The error budget of a plan: what its intervals will be, before anything is spent.
//!
//! The planned mechanism runs many times on tables drawn from a [`Population`], which is public or made up,
//! never the confidential table. The estimate of each release is held against the truth and against the
//! analysis of the same table without noise (the *floor*). Out come
//!
//! * the five terms of [`terms`]: sampling, privacy, approximation, Monte Carlo, calibration;
//! * the median width of the 95 % interval, its coverage, and the floor's;
//! * the [width law](WidthLaw), from public numbers alone;
//! * by [search](SmallestBudget), the smallest budget whose noise stays at or below sampling, and the one that
//!   gives an interval of a wanted width;
//! * a [verdict](Verdict).
//!
//! It is about the average effect of the first arm against the reference arm. Nothing confidential is
//! read, and no ledger is charged: the noise has seeds, and protects tables that are nobody's.

mod floor;
mod law;
mod mechanism;
mod population;
mod search;
mod simulation;
pub mod terms;
#[cfg(test)]
mod tests;
mod verdict;
mod width_law;

pub use population::Population;
pub use search::SmallestBudget;
pub use terms::{Calibration, Term};
pub use verdict::{HOPELESS_RATIO, UNINFORMATIVE_WIDTH, Verdict, WIDE_RATIO};
pub use width_law::WidthLaw;

use serde::Serialize;

use super::quantile::median;
use super::{EstimateError, Estimator};
use crate::measure::{Documents, Plan};
use mechanism::{Mechanism, simulation as failed};
use search::{CANDIDATES, MICRODATA_REPETITIONS, REPETITIONS, Search};
pub use simulation::Location;
use simulation::{Repetition, Simulation, Tables};

/// Repetitions that look at the Monte Carlo error: it is small, and a fifth of its size suffices.
const REFITS: usize = 16;

/// The half-width of a normal 95 % interval, in standard errors.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// How to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Rows of each table.
    pub rows: usize,
    /// How many tables, at least 2.
    pub repetitions: usize,
    /// A width of the interval, in the outcome's units, to find the budget for.
    pub target_width: Option<f64>,
    /// Fixes tables and noise.
    pub seed: u64,
}

impl Options {
    /// About how often `done` will be called by [`error_budget`].
    pub fn work(&self, plan: &Plan) -> u64 {
        let searches = 1 + usize::from(self.target_width.is_some());
        (self.repetitions + searches * CANDIDATES * self.candidate_repetitions(plan)) as u64
    }

    fn candidate_repetitions(&self, plan: &Plan) -> usize {
        match plan.effects {
            Some(_) => REPETITIONS,
            None => MICRODATA_REPETITIONS,
        }
    }
}

/// A share that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub value: f64,
    /// Its standard error, from two more successes and failures, so that it is not 0 at the ends.
    pub standard_error: f64,
}

/// The error budget. Sizes and widths are in the outcome's units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorBudget {
    /// `ate`.
    pub estimand: &'static str,
    /// The arm and the reference arm.
    pub contrast: String,
    /// By which estimator.
    pub estimator: Estimator,
    /// The estimator that it is compared with.
    pub second_estimator: Option<Estimator>,
    /// Rows of each table.
    pub rows: usize,
    /// Repetitions that gave an estimate.
    pub repetitions: usize,
    /// Repetitions that gave none.
    pub failed: usize,
    /// What is assumed of the population.
    pub assumptions: Vec<String>,
    /// The effect in it.
    pub truth: f64,
    /// The five terms.
    pub terms: Vec<Term>,
    /// The microdata's fit.
    pub calibration: Option<Calibration>,
    /// Median width of the 95 % interval.
    pub width: f64,
    /// The same without noise.
    pub floor_width: f64,
    /// How often the interval holds the truth.
    pub coverage: Share,
    /// The same without noise.
    pub floor_coverage: Share,
    /// Median error of the estimate.
    pub bias: Location,
    /// What the width law says.
    pub width_law: Option<WidthLaw>,
    /// The budget at which privacy noise is down to sampling noise.
    pub smallest_budget: SmallestBudget,
    /// The budget for the wanted width.
    pub target: Option<SmallestBudget>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// Simulates a plan. Where its schema has a public number of rows, the one of the options takes its place: a
/// release relies on it. `done` is called after each release, by several threads.
///
/// # Errors
/// Where no more than half of the repetitions give an estimate, or there are fewer than two.
pub fn error_budget(
    plan: &Plan,
    documents: &Documents,
    population: &Population,
    options: &Options,
    done: &(dyn Fn() + Sync),
) -> Result<ErrorBudget, EstimateError> {
    if options.repetitions < 2 {
        return Err(EstimateError::Option(
            "a simulation needs at least two repetitions",
        ));
    }
    let (plan, documents) = &resized(plan, documents, options.rows)?;
    let mechanism = Mechanism::new(plan.clone(), documents);
    let tables = Tables {
        population,
        rows: options.rows,
        seed: options.seed,
    };
    let simulation = tables.simulate(&mechanism, options.repetitions, REFITS, done)?;
    let calibration = Calibration::new(&mechanism, &tables)?;
    let errors: Vec<f64> = simulation
        .repetitions
        .iter()
        .map(|r| r.answer.estimate - population.truth)
        .collect();
    let search = Search {
        mechanism: &mechanism,
        tables: &tables,
        repetitions: options.candidate_repetitions(plan),
        done,
    };
    let floor_width = floor_width(&simulation);
    let (estimator, second_estimator) = mechanism.estimators();
    let mut budget = ErrorBudget {
        estimand: "ate",
        contrast: contrast(plan)?,
        estimator,
        second_estimator,
        rows: options.rows,
        repetitions: simulation.repetitions.len(),
        failed: simulation.failed,
        assumptions: assumptions(plan, population),
        truth: population.truth,
        terms: terms::terms(&simulation, calibration.as_ref(), plan.effects.is_some()),
        calibration,
        width: median(simulation.repetitions.iter().map(|r| r.answer.width())),
        floor_width,
        coverage: covered(&simulation, population.truth, |r| r.answer.interval),
        floor_coverage: covered(&simulation, population.truth, floor_interval),
        bias: Location::of(&errors),
        width_law: WidthLaw::new(plan, options.rows),
        smallest_budget: search.below_sampling(terms::sampling_variance(&simulation)),
        target: options
            .target_width
            .map(|width| search.width(width, floor_width)),
        verdict: Verdict {
            useful: true,
            dominates: "sampling",
            text: Vec::new(),
        },
    };
    budget.verdict = Verdict::new(&budget, plan.schema.outcome_range().1);
    Ok(budget)
}

fn resized(
    plan: &Plan,
    documents: &Documents,
    rows: usize,
) -> Result<(Plan, Documents), EstimateError> {
    let (mut plan, mut documents) = (plan.clone(), documents.clone());
    let wanted = plan.schema.rows.map(|_| rows as u64);
    if plan.schema.rows != wanted {
        documents.schema.rows = wanted;
        plan.schema.rows = wanted;
        plan = Plan::new(plan.schema, plan.workload, plan.guarantee).map_err(failed)?;
    }
    Ok((plan, documents))
}

fn assumptions(plan: &Plan, population: &Population) -> Vec<String> {
    let mut assumptions = population.assumptions.clone();
    let treatment = plan.schema.treatment().map(|t| &plan.schema.columns[t]);
    if treatment.is_some_and(|column| column.levels() > 2) {
        assumptions.push("of several contrasts this is the first".into());
    }
    assumptions
}

fn contrast(plan: &Plan) -> Result<String, EstimateError> {
    let treatment = plan.schema.treatment().ok_or(EstimateError::NoTreatment)?;
    let column = &plan.schema.columns[treatment];
    let [arm, reference] = [1, 0].map(|t| column.level_name(t));
    Ok(format!("{} {arm} - {reference}", column.name))
}

fn floor_interval(repetition: &Repetition) -> [f64; 2] {
    let half = NORMAL_95 * repetition.floor.variance.sqrt();
    [-half, half].map(|side| repetition.floor.value + side)
}

fn floor_width(simulation: &Simulation) -> f64 {
    let intervals = simulation.repetitions.iter().map(floor_interval);
    median(intervals.map(|[lower, upper]| upper - lower))
}

fn covered(
    simulation: &Simulation,
    truth: f64,
    interval: impl Fn(&Repetition) -> [f64; 2],
) -> Share {
    let holds = |r: &&Repetition| {
        let [lower, upper] = interval(r);
        (lower..=upper).contains(&truth)
    };
    let count = simulation.repetitions.len() as f64;
    let hits = simulation.repetitions.iter().filter(holds).count() as f64;
    let shrunk = (hits + 2.0) / (count + 4.0);
    Share {
        value: hits / count,
        standard_error: (shrunk * (1.0 - shrunk) / (count + 4.0)).sqrt(),
    }
}
