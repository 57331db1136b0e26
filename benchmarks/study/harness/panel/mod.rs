//! The placebo study of panels: every donor, or some of them, takes the treated unit's part and is predicted from the
//! others. What the effect of no intervention is, is known: zero.
//!
//! A repetition draws the noise anew, for every placebo unit; the units stay. So the Monte Carlo errors are over the
//! noise, and methods that draw none run once.

mod case;
mod factors;
mod methods;
mod simplex;
mod units;

use super::record::Record;
use super::seeds;
use super::subject::{Nature, Repetition, Run, Subject};
use anyhow::{Context, Result};
use case::Case;
use dpcausal::panel::effects;
use methods::Method;
use std::path::Path;
use units::Units;

pub use units::NAMES;

/// The targets of the records, all of them zero: an estimate of [`PATH`] is the root mean square effect of one unit's
/// path, so that the cell's RMSE is that of the path; [`MEAN`] is a unit's mean effect, [`PERIOD`] one period's.
pub const PATH: &str = "path";
pub const MEAN: &str = "mean";
pub const PERIOD: &str = "period";

/// The level of the intervals.
const LEVEL: f64 = 0.95;

/// A panel whose untreated units take the treated one's part.
pub struct Placebo {
    name: String,
    units: Units,
}

/// What a method is.
///
/// # Errors
/// Where there is none of this name.
pub fn nature(method: &str) -> Result<Nature> {
    let is_private = Method::named(method)?.is_private();
    Ok(Nature {
        is_private,
        is_fixed: !is_private,
    })
}

impl Placebo {
    /// The panel of a name.
    ///
    /// # Errors
    /// Where there is no such name, or its data are not in the folder.
    pub fn load(name: &str, data: &Path) -> Result<Placebo> {
        Ok(Placebo {
            name: name.into(),
            units: units::named(name, data)?,
        })
    }

    fn rows_of(
        &self,
        unit: usize,
        method: &Method,
        run: &Run,
        template: &Record,
    ) -> Result<Vec<Record>> {
        let case = Case::new(&self.units, unit, method.workload())?;
        let row = |target: &str, estimate: f64, interval: [f64; 2]| Record {
            estimator: "counterfactual".into(),
            target: target.into(),
            truth: 0.0,
            estimate,
            interval,
            ..template.clone()
        };
        let none = [f64::NAN; 2];
        let root_mean_square = |effects: &[f64]| {
            let squares = effects.iter().map(|effect| effect * effect).sum::<f64>();
            (squares / effects.len() as f64).sqrt()
        };
        let Method::Private { has_delta, .. } = method else {
            let effects = match method {
                Method::Forecast => case.by_forecast()?,
                _ => case.by_simplex(),
            };
            let mean = effects.iter().sum::<f64>() / effects.len() as f64;
            return Ok(vec![
                row(PATH, root_mean_square(&effects), none),
                row(MEAN, mean, none),
            ]);
        };
        let budget = run.budget.context("a private method without a budget")?;
        let budget = methods::budget(budget.epsilon, budget.delta, *has_delta)?;
        let seed = |what: &str| seeds::derive(run.seed, &[&unit.to_string(), what]);
        let release = case.release(budget, seed("noise"))?;
        let path = root_mean_square(&case::effects_of(&release)?);
        let mut rows = vec![row(PATH, path, none)];
        if run.repetition < run.settings.interval_repetitions {
            let of_target = effects(&release, LEVEL, seed("intervals"))?;
            let found = of_target.first().context("a target")?;
            let periods = found.periods.iter().map(|period| (PERIOD, &period.effect));
            let all = periods.chain([(MEAN, &found.att)]);
            rows.extend(all.map(|(target, effect)| row(target, effect.estimate, effect.interval)));
        }
        Ok(rows)
    }
}

impl Subject for Placebo {
    fn about(&self) -> String {
        let Units {
            rows,
            targets,
            pre_periods,
            ..
        } = &self.units;
        let periods = rows.first().map_or(0, Vec::len);
        format!(
            "\n## {}\n\n{} units of {}, each predicted from the {} others; {pre_periods} periods before and {} after.\n",
            self.name,
            targets.len(),
            rows.len(),
            rows.len() - 1,
            periods - pre_periods
        )
    }

    /// The number of donors.
    fn size(&self) -> usize {
        self.units.rows.len() - 1
    }

    fn estimand(&self) -> &'static str {
        "att"
    }

    fn draw(&self, _: usize, _: usize, _: u64) -> Result<Box<dyn Repetition + '_>> {
        Ok(Box::new(self))
    }
}

impl Repetition for &Placebo {
    fn run(&self, run: &Run, template: &Record) -> Result<Vec<Record>> {
        let method = Method::named(run.mechanism)?;
        let of_unit = |&unit: &usize| self.rows_of(unit, &method, run, template);
        let rows: Vec<Vec<Record>> = self
            .units
            .targets
            .iter()
            .map(of_unit)
            .collect::<Result<_>>()?;
        Ok(rows.concat())
    }
}
