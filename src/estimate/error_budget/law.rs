//! A population drawn from the schema, for plans without a public table: nothing is known of the data, so
//! covariates are uniform and independent, and a few of them confound moderately.
//!
//! With `u = sum_j s_j sqrt(3 / c)` over the first `c <= 3` scores (variance 1 where scores are uniform):
//!
//! ```text
//! P(T=t | u) proportional to 1 for the reference arm, exp(u / 2) for any other
//! numeric outcome, on [0, 1]:  clip(N(m, 1/36)),  m = 1/2 -+ 1/24 by arm + u / 12
//! two-level outcome:           risk .35 in the reference arm, .45 in the others, + .08 u
//! ```
//!
//! In a randomised design arms have their known probabilities, or equal ones.

use libm::erfc;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use super::floor::{is_randomised, value_of};
use crate::estimate::EstimateError;
use crate::impute::{Purpose, stream};
use crate::schema::{Column, Design, Kind, SCALE, Schema, Score};
use crate::table::{Bins, CodedTable};

/// How many scores confound: a few, since which do is not known.
const CONFOUNDERS: usize = 3;

/// Standard deviation of the log-odds of treatment: odds differ twofold and a half between the quarters.
const PROPENSITY_SLOPE: f64 = 0.5;

/// Standard deviation of a numeric outcome about its regression, as a part of its range: six of them span
/// a range that someone chose to be safe.
const RESIDUAL: f64 = 1.0 / 6.0;

/// Effect and standard deviation of the regression, as parts of the range: half a residual's each.
const NUMERIC_EFFECT: f64 = 1.0 / 12.0;
const NUMERIC_SLOPE: f64 = 1.0 / 12.0;

/// Risks of a two-level outcome: the reference arm's, what treatment adds, and their standard deviation.
const RISK: f64 = 0.35;
const RISK_EFFECT: f64 = 0.1;
const RISK_SLOPE: f64 = 0.08;

/// Rows over which the true effect is averaged: its error is a thousandth of the effects' spread.
const TRUTH_ROWS: usize = 20_000;

/// How often a row is drawn again for structural zeros before the law is given up.
const MOST_TRIES: usize = 1000;

/// The law.
pub(super) struct Law {
    schema: Schema,
    confounders: Vec<Score>,
    treatment: usize,
    outcome: usize,
    bins: Vec<Option<Bins>>,
    seed: u64,
}

impl Law {
    /// The law of a schema whose adjustment is for these scores.
    pub fn new(schema: &Schema, scores: &[Score], seed: u64) -> Result<Law, EstimateError> {
        let bins = |column: &Column| match &column.kind {
            Kind::Integer { lower, upper, bins } => Some(Bins::integer(bins, *lower, *upper)),
            Kind::Real { bins, .. } => Some(Bins::real(bins)),
            _ => None,
        };
        Ok(Law {
            treatment: schema.treatment().ok_or(EstimateError::NoTreatment)?,
            outcome: schema.outcome().ok_or(EstimateError::NoOutcome)?,
            confounders: scores.iter().take(CONFOUNDERS).cloned().collect(),
            bins: schema.columns.iter().map(bins).collect(),
            schema: schema.clone(),
            seed,
        })
    }

    /// What is assumed, for people.
    pub fn assumptions(&self) -> Vec<String> {
        let names: Vec<&str> = self.confounders.iter().map(|s| s.name.as_str()).collect();
        let randomised = is_randomised(&self.schema);
        let names = names.join(", ");
        let assigned = match (randomised, self.confounders.is_empty()) {
            (true, _) => "chance alone decides on treatment".to_string(),
            (_, true) => "nothing confounds".to_string(),
            _ => format!(
                "the log-odds of treatment have standard deviation {PROPENSITY_SLOPE} by {names}"
            ),
        };
        let outcome = if self.is_two_level() {
            format!(
                "risks are {RISK} in the reference arm and {:.2} in the others, with standard deviation {RISK_SLOPE} by the \
                 same covariates",
                RISK + RISK_EFFECT
            )
        } else {
            "the outcome is normal with a residual standard deviation of a sixth of its range, an effect of a twelfth, and \
             a standard deviation of a twelfth by the same covariates"
                .into()
        };
        vec![
            "covariates are uniform on their public ranges and independent, none missing".into(),
            assigned,
            outcome,
        ]
    }

    fn is_two_level(&self) -> bool {
        self.schema.columns[self.outcome].bounds().is_none()
    }

    /// The true effect of any arm against the reference arm, in the outcome's units.
    pub fn truth(&self) -> Result<f64, EstimateError> {
        let mut random = stream(self.seed, Purpose::Simulation, 0);
        let table = self.covariates(TRUTH_ROWS, &mut random)?;
        let effect = |row| {
            let index = self.index(&table, row);
            self.mean(true, index) - self.mean(false, index)
        };
        let sum: f64 = (0..table.rows).map(effect).sum();
        Ok(sum / table.rows as f64 * self.schema.outcome_range().1)
    }

    /// A table of so many rows; `number`, from 1, tells tables apart.
    pub fn sample(&self, rows: usize, number: u64) -> Result<CodedTable, EstimateError> {
        let mut random = stream(self.seed, Purpose::Simulation, number);
        let mut table = self.covariates(rows, &mut random)?;
        let mut arms = Vec::with_capacity(rows);
        let mut codes = Vec::with_capacity(rows);
        for row in 0..rows {
            let index = self.index(&table, row);
            let arm = self.arm(index, &mut random);
            let (code, outcome) = self.outcome(arm > 0, index, &mut random);
            arms.push(arm);
            codes.push(code);
            table.outcome.push(outcome);
        }
        table.codes[self.treatment] = Some(arms);
        table.codes[self.outcome] = Some(codes);
        Ok(table)
    }

    /// `u`.
    fn index(&self, table: &CodedTable, row: usize) -> f64 {
        let scores = self.confounders.iter();
        let sum: f64 = scores
            .map(|score| value_of(&self.schema, score, table, row))
            .sum();
        sum * (3.0 / self.confounders.len().max(1) as f64).sqrt()
    }

    fn arm(&self, index: f64, random: &mut impl Rng) -> u16 {
        let arms = self.schema.columns[self.treatment].levels();
        let odds = |arm: usize| match &self.schema.design {
            Design::Randomised {
                propensity: Some(known),
            } => known[arm],
            Design::Observational if arm > 0 => (PROPENSITY_SLOPE * index).exp(),
            _ => 1.0,
        };
        let total: f64 = (0..arms).map(odds).sum();
        let mut left = random.random::<f64>() * total;
        for arm in 0..arms {
            left -= odds(arm);
            if left < 0.0 {
                return arm as u16;
            }
        }
        // Rounding left less than nothing for the last arm.
        arms as u16 - 1
    }

    /// The mean outcome on `[0, 1]`.
    fn mean(&self, treated: bool, index: f64) -> f64 {
        if self.is_two_level() {
            self.centre(treated, index)
        } else {
            clipped_mean(self.centre(treated, index), RESIDUAL)
        }
    }

    /// The risk; the mean before the range clips.
    fn centre(&self, treated: bool, index: f64) -> f64 {
        let treated = f64::from(u8::from(treated));
        if self.is_two_level() {
            (RISK + RISK_EFFECT * treated + RISK_SLOPE * index).clamp(0.02, 0.98)
        } else {
            0.5 + NUMERIC_EFFECT * (treated - 0.5) + NUMERIC_SLOPE * index
        }
    }

    /// Code, and value in units of `1 / SCALE` of the range.
    fn outcome(&self, treated: bool, index: f64, random: &mut impl Rng) -> (u16, u32) {
        let centre = self.centre(treated, index);
        let column = &self.schema.columns[self.outcome];
        let Some((lower, upper)) = column.bounds() else {
            let code = u16::from(random.random::<f64>() < centre);
            return (code, u32::from(code) * SCALE as u32);
        };
        let normal: f64 = StandardNormal.sample(random);
        let unit = (centre + RESIDUAL * normal).clamp(0.0, 1.0);
        let value = lower + unit * (upper - lower);
        let (value, code) = self.binned(self.outcome, value);
        (code, Schema::scaled_outcome(&column.kind, value) as u32)
    }

    /// A value of a numeric column, whole where it has to be, and its bin.
    fn binned(&self, column: usize, value: f64) -> (f64, u16) {
        let bins = self.bins[column].as_ref().expect("a numeric column");
        match self.schema.columns[column].kind {
            Kind::Integer { .. } => (value.round(), bins.of_integer(value.round() as i64)),
            _ => (value, bins.of_real(value)),
        }
    }

    fn covariates(&self, rows: usize, random: &mut impl Rng) -> Result<CodedTable, EstimateError> {
        let columns = self.schema.covariates();
        let mut table = CodedTable {
            rows,
            codes: vec![None; self.schema.columns.len()],
            values: vec![None; self.schema.columns.len()],
            ..CodedTable::default()
        };
        for &column in &columns {
            table.codes[column] = Some(Vec::with_capacity(rows));
            if self.bins[column].is_some() {
                table.values[column] = Some(Vec::with_capacity(rows));
            }
        }
        for _ in 0..rows {
            let row = self.row(&columns, random)?;
            for (&column, (code, position)) in columns.iter().zip(row) {
                table.codes[column].get_or_insert_default().push(code);
                if let Some(values) = &mut table.values[column] {
                    values.push(position);
                }
            }
        }
        Ok(table)
    }

    /// Codes and positions of a row's covariates that no structural zero among them rules out.
    fn row(
        &self,
        columns: &[usize],
        random: &mut impl Rng,
    ) -> Result<Vec<(u16, u16)>, EstimateError> {
        for _ in 0..MOST_TRIES {
            let row: Vec<(u16, u16)> = columns.iter().map(|&c| self.cell(c, random)).collect();
            let holds = |(column, codes): &(usize, Vec<u16>)| {
                let found = columns.iter().position(|c| c == column);
                found.is_some_and(|at| codes.contains(&row[at].0))
            };
            let zeros = &self.schema.structural_zeros;
            if !zeros.iter().any(|zero| zero.conditions.iter().all(holds)) {
                return Ok(row);
            }
        }
        Err(EstimateError::Simulation(
            "structural zeros rule out nearly all combinations of uniform covariates; give a public table with --population"
                .into(),
        ))
    }

    fn cell(&self, column: usize, random: &mut impl Rng) -> (u16, u16) {
        let declared = &self.schema.columns[column];
        let Some((lower, upper)) = declared.bounds() else {
            return (random.random_range(0..declared.declared_levels() as u16), 0);
        };
        let value = match declared.kind {
            Kind::Integer { lower, upper, .. } => random.random_range(lower..=upper) as f64,
            _ => lower + random.random::<f64>() * (upper - lower),
        };
        let (value, code) = self.binned(column, value);
        let position = (value - lower) / (upper - lower) * f64::from(u16::MAX);
        (code, position.round() as u16)
    }
}

/// The mean of a normal variable clipped to `[0, 1]`.
fn clipped_mean(mean: f64, sd: f64) -> f64 {
    let below = |z: f64| 0.5 * erfc(-z * FRAC_1_SQRT_2);
    let density = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
    let (low, high) = (-mean / sd, (1.0 - mean) / sd);
    1.0 - below(high) + mean * (below(high) - below(low)) + sd * (density(low) - density(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the integral `1 - int_0^1 F(y) dy` by the midpoint rule, whose error is below `h^2 / 24` times
    /// the largest slope of the density (about 9): 4e-9 at h = 1e-4.
    #[test]
    fn a_clipped_mean_is_the_integral() {
        for mean in [-0.2, 0.1, 0.5, 0.97] {
            let below = |y: f64| 0.5 * erfc(-(y - mean) / RESIDUAL * FRAC_1_SQRT_2);
            let sum: f64 = (0..10_000)
                .map(|i| below((f64::from(i) + 0.5) * 1e-4))
                .sum();
            assert!((clipped_mean(mean, RESIDUAL) - (1.0 - sum * 1e-4)).abs() < 1e-8);
        }
    }
}
