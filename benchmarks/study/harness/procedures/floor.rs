//! The non-private floor: what the best ordinary analysis of the same table and the same scores gives.
//!
//! Interacted least squares: with `z = (1, scores)` and arm `t`'s coefficients
//! `b_t = (Z_t' Z_t + r I)^-1 Z_t' y_t`, the effect on a target population of mean `z*` is
//! `(b_1 - b_0)' z*`. Its variance is robust to heteroskedasticity within arms, and counts that the target
//! population's covariates are a sample too:
//!
//! ```text
//! V = sum_t sum_{i in t} (e_i z_i' h_t)^2 / (1 - p / N_t)  +  Var((b_1 - b_0)' z) / N*,     h_t = (Z_t' Z_t + r I)^-1 z*
//! ```
//!
//! (`1 - p / N_t`: the residuals' degrees of freedom, as in HC1.) For the effect on the treated the target
//! population is arm 1. The difference in means stands beside it, with Welch's variance.
//!
//! Scores: a numeric covariate is linear (its exact value, not its bin) and, if the dataset says so, its
//! square; an ordered one is linear in its rank; any other has an indicator per level but the first.

use super::super::coding::CodedRows;
use super::super::population::Question;
use super::{Findings, Input, Procedure, Settings, normal};
use anyhow::{Context, Result, bail, ensure};
use dpcausal::estimate::{Estimand, Estimator, Options, Rows, estimate};
use dpcausal::schema::{Kind, Schema};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};
use ndarray::{Array1, Array2, Axis};

/// Breaks ties between collinear scores, in records: too little to move what one record determines.
const RIDGE: f64 = 1e-6;

/// The procedure.
pub struct Floor;

impl Procedure for Floor {
    fn is_private(&self) -> bool {
        false
    }

    fn run(&self, input: &Input, settings: &Settings) -> Result<Findings> {
        let mut found = Vec::new();
        if settings.wants("regression") {
            for &question in input.questions {
                let fit = answer(input, question)?;
                found.push(normal("regression", question, fit.value, fit.variance));
            }
        }
        if settings.wants("difference-in-means") {
            let difference = estimate(
                &input.rows.table,
                &Rows::All,
                input.schema,
                Estimator::DifferenceInMeans,
                input.estimand,
                1,
                &Options::default(),
            )?;
            found.push(normal(
                "difference-in-means",
                input.main_question(),
                difference.value,
                difference.variance,
            ));
        }
        Ok(found.into())
    }
}

/// The regression on everyone, or on the rows of a subgroup.
fn answer(input: &Input, question: Question) -> Result<Fit> {
    let on = |rows| regression(rows, input.schema, input.squares, question.estimand);
    let Some(group) = question.group else {
        return on(input.rows);
    };
    let codes = input.rows.table.codes[group.column].as_ref();
    let codes = codes.context("a covariate that is not coded")?;
    let members: Vec<usize> = (0..codes.len())
        .filter(|&row| codes[row] == group.code)
        .collect();
    on(&input.rows.select(&members))
}

/// An estimate and its variance.
#[derive(Debug, Clone, Copy)]
pub struct Fit {
    pub value: f64,
    pub variance: f64,
}

/// The regression of this file's head.
///
/// # Errors
/// An arm with fewer rows than coefficients.
pub fn regression(
    rows: &CodedRows,
    schema: &Schema,
    squares: &[String],
    estimand: Estimand,
) -> Result<Fit> {
    let design = design(rows, schema, squares)?;
    let outcomes = outcomes(rows, schema);
    let treatment = schema.treatment().context("no treatment")?;
    let arms = rows.table.codes[treatment].as_ref().context("no arms")?;
    let members = [0, 1].map(|arm| {
        (0..arms.len())
            .filter(|&i| arms[i] == arm)
            .collect::<Vec<_>>()
    });
    let population = match estimand {
        Estimand::Ate => design.clone(),
        Estimand::Att => design.select(Axis(0), &members[1]),
        other => bail!("the floor has no regression for {other:?}"),
    };
    let size = population.nrows() as f64;
    let target = population.mean_axis(Axis(0)).context("no rows")?;
    let mut variance = 0.0;
    let mut coefficients = Vec::new();
    for members in &members {
        let z = design.select(Axis(0), members);
        let y = outcomes.select(Axis(0), members);
        let (n, p) = (z.nrows() as f64, z.ncols() as f64);
        ensure!(n > p, "an arm has {n} rows for {p} coefficients");
        let gram = z.t().dot(&z);
        let cholesky = Llt::new(
            Mat::from_fn(z.ncols(), z.ncols(), |i, j| {
                gram[(i, j)] + if i == j { RIDGE } else { 0.0 }
            })
            .as_ref(),
            Side::Lower,
        )
        .map_err(|_| anyhow::anyhow!("the scores are not finite"))?;
        let solve = |b: Array1<f64>| {
            let solution = cholesky.solve(Mat::from_fn(b.len(), 1, |i, _| b[i]));
            Array1::from_shape_fn(b.len(), |i| solution[(i, 0)])
        };
        let slopes = solve(z.t().dot(&y));
        let influence = (y - z.dot(&slopes)) * z.dot(&solve(target.clone()));
        variance += influence.dot(&influence) / (1.0 - p / n);
        coefficients.push(slopes);
    }
    let effects = population.dot(&(&coefficients[1] - &coefficients[0]));
    variance += effects.var(0.0) / size;
    Ok(Fit {
        value: effects.sum() / size,
        variance,
    })
}

/// The rows `(1, scores)`.
fn design(rows: &CodedRows, schema: &Schema, squares: &[String]) -> Result<Array2<f64>> {
    let n = rows.table.rows;
    let mut columns = vec![vec![1.0; n]];
    for index in schema.covariates() {
        let column = &schema.columns[index];
        let codes = rows.table.codes[index]
            .as_ref()
            .context("a covariate that is not coded")?;
        match (&rows.table.values[index], &column.kind) {
            (Some(values), _) => {
                let linear: Vec<f64> = values
                    .iter()
                    .map(|&v| f64::from(v) / f64::from(u16::MAX) * 2.0 - 1.0)
                    .collect();
                if squares.contains(&column.name) {
                    columns.push(linear.iter().map(|z| z * z).collect());
                }
                columns.push(linear);
            }
            (None, Kind::Categorical { ordered: true, .. }) => {
                let top = (column.levels() - 1).max(1) as f64;
                columns.push(
                    codes
                        .iter()
                        .map(|&code| f64::from(code) / top * 2.0 - 1.0)
                        .collect(),
                );
            }
            (None, _) => {
                for level in 1..column.levels() as u16 {
                    columns.push(
                        codes
                            .iter()
                            .map(|&code| f64::from(u8::from(code == level)))
                            .collect(),
                    );
                }
            }
        }
    }
    let mut design = Array2::zeros((n, columns.len()));
    for (mut to, from) in design.columns_mut().into_iter().zip(columns) {
        to.assign(&Array1::from(from));
    }
    Ok(design)
}

/// The outcome in its own units.
fn outcomes(rows: &CodedRows, schema: &Schema) -> Array1<f64> {
    let (lower, width) = schema.outcome_range();
    let scale = dpcausal::schema::SCALE as f64;
    rows.table
        .outcome
        .iter()
        .map(|&y| lower + width * f64::from(y) / scale)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::datasets;
    use super::*;
    use dpcausal::estimate::Estimate;
    use std::path::Path;

    /// On a population whose regression is the truth, the interval covers as it says: of 300 repetitions
    /// between 270 and 298 cover (a binomial of .95 leaves that range once in 5000 such tests; the
    /// superpopulation and HC1 corrections are asymptotic, n = 1000).
    #[test]
    fn the_floor_covers_on_a_simulated_population() {
        let population = datasets::load("simulated-normal-30", Path::new("")).unwrap();
        let truth = population.laws[0].targets[0].value;
        let covered = (0..300)
            .filter(|&k| {
                let sample = population.sample(1000, k, k as u64);
                let fit = regression(
                    &sample.rows,
                    &population.schema,
                    &population.squares,
                    Estimand::Ate,
                )
                .unwrap();
                (fit.value - truth).abs() < super::super::NORMAL_95 * fit.variance.sqrt()
            })
            .count();
        assert!((270..=298).contains(&covered), "{covered}");
    }

    /// Without squares and without numeric covariates both regressions see the same scores; the point
    /// estimates are the same up to the ridge.
    #[test]
    fn the_estimate_is_that_of_the_estimate_room() {
        let population = datasets::load("simulated-binary-0", Path::new("")).unwrap();
        let sample = population.sample(2000, 0, 3);
        let mut schema = population.schema.clone();
        schema.columns.retain(|c| !c.name.starts_with('x'));
        let mut rows = sample.rows;
        rows.table.codes.drain(1..4);
        rows.table.values.drain(1..4);
        for estimand in [Estimand::Ate, Estimand::Att] {
            let ours = regression(&rows, &schema, &[], estimand).unwrap();
            let theirs: Estimate = estimate(
                &rows.table,
                &Rows::All,
                &schema,
                Estimator::Regression,
                estimand,
                1,
                &Options::default(),
            )
            .unwrap();
            assert!((ours.value - theirs.value).abs() < 1e-6);
            // Homoskedastic against robust variance.
            assert!((ours.variance / theirs.variance - 1.0).abs() < 0.1);
        }
    }
}
