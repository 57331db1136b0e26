//! Repetitions of the planned mechanism on tables of the planned size.

use rayon::prelude::*;
use serde::Serialize;

use super::floor::floor;
use super::mechanism::{Answer, Mechanism};
use super::population::Population;
use crate::estimate::quantile::median;
use crate::estimate::{Estimate, EstimateError};
use crate::impute::{Purpose, derived_seed};

/// Seeds of noise stand this far from those of tables.
const NOISE: u64 = 1 << 32;

/// Tables of a population, each with its noise: the same ones whatever the budget, so that budgets are
/// compared on common random numbers.
pub(super) struct Tables<'a> {
    pub population: &'a Population,
    pub rows: usize,
    pub seed: u64,
}

/// One table, analysed without noise and from a release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repetition {
    pub floor: Estimate,
    pub answer: Answer,
}

/// All of them.
pub(super) struct Simulation {
    pub repetitions: Vec<Repetition>,
    /// How many gave no estimate.
    pub failed: usize,
}

impl Tables<'_> {
    /// The seed of the noise of a table.
    pub fn noise(&self, number: u64) -> u64 {
        derived_seed(self.seed, Purpose::Simulation, NOISE + number)
    }

    /// Repeats the whole; the first `refits` look at the Monte Carlo error too.
    ///
    /// # Errors
    /// The first one, where no more than half of the repetitions give an estimate.
    pub fn simulate(
        &self,
        mechanism: &Mechanism,
        count: usize,
        refits: usize,
        done: &(dyn Fn() + Sync),
    ) -> Result<Simulation, EstimateError> {
        let one = |k: usize| -> Result<Repetition, EstimateError> {
            let number = k as u64;
            let table = self.population.sample(self.rows, number)?;
            Ok(Repetition {
                floor: floor(&mechanism.plan, &table)?,
                answer: mechanism.answer(&table, self.noise(number), k <= refits)?,
            })
        };
        let results = each(count, one, done);
        let (repetitions, failed) = successes(results)?;
        Ok(Simulation {
            repetitions,
            failed,
        })
    }

    /// The releases alone.
    ///
    /// # Errors
    /// As [`Tables::simulate`].
    pub fn answers(
        &self,
        mechanism: &Mechanism,
        count: usize,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Answer>, EstimateError> {
        let one = |k: usize| {
            let table = self.population.sample(self.rows, k as u64)?;
            mechanism.answer(&table, self.noise(k as u64), false)
        };
        Ok(successes(each(count, one, done))?.0)
    }
}

/// In parallel, collected in order: the result does not depend on the number of threads.
fn each<T: Send>(
    count: usize,
    one: impl Fn(usize) -> Result<T, EstimateError> + Sync,
    done: &(dyn Fn() + Sync),
) -> Vec<Result<T, EstimateError>> {
    let one = |k| {
        let result = one(k);
        done();
        result
    };
    (1..=count).into_par_iter().map(one).collect()
}

fn successes<T>(results: Vec<Result<T, EstimateError>>) -> Result<(Vec<T>, usize), EstimateError> {
    let count = results.len();
    let (mut found, mut error) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(one) => found.push(one),
            Err(e) => error = error.or(Some(e)),
        }
    }
    match error {
        Some(error) if 2 * found.len() <= count => Err(error),
        _ => {
            let failed = count - found.len();
            Ok((found, failed))
        }
    }
}

/// The mean.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// A median over repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Location {
    /// The median.
    pub value: f64,
    /// Its standard error, for values that are about normal in the middle.
    pub standard_error: f64,
}

/// The standard deviation of a normal law over its median absolute deviation.
const DEVIATIONS: f64 = 1.4826;

/// The standard error of a median over that of a mean, of normal values: `sqrt(pi / 2)`.
const MEDIAN: f64 = 1.2533;

impl Location {
    /// Of some values. Medians, because estimates are heavy-tailed where noise rules.
    pub(super) fn of(values: &[f64]) -> Location {
        let value = median(values.iter().copied());
        let deviation = median(values.iter().map(|v| (v - value).abs()));
        let count = (values.len() as f64).max(1.0);
        Location {
            value,
            standard_error: MEDIAN * DEVIATIONS * deviation / count.sqrt(),
        }
    }

    /// How far the median is from 0 beyond what chance explains: 0 within two standard errors.
    pub(super) fn beyond_chance(&self) -> f64 {
        if self.value.abs() < 2.0 * self.standard_error {
            return 0.0;
        }
        (self.value.powi(2) - self.standard_error.powi(2))
            .max(0.0)
            .sqrt()
    }
}
