//! Effects of a fitted model itself: the moment route.
//!
//! Two functionals of a model `P` over treatment `T`, outcome `Y` and covariates `X`:
//!
//! * **regression**: the arm-wise linear regression of `Y` on the public scores, computed from the
//!   model's exact second moments ([`ArmMoments`]); the same estimator as on tables;
//! * **model**: the g-formula `E_P[m_a(X) - m_0(X)]` (for the ATT over `P(X | T = a)`), with the model's
//!   own outcome regressions `m_t(x) = E_P[Y | T=t, X=x]` and propensities `e_t(x) = P(T=t | X=x)`. On the
//!   model itself it equals the AIPW functional, whatever the clipping, because the augmentation has
//!   mean zero given `X`. Its sampling variance is that of the efficient influence function (Hahn 1998),
//!   `E[v_a/e_a + v_0/e_0 + (tau(X) - tau)^2] / n`, with propensities clipped.

use super::EstimateError;
use super::covariates::DesignMatrix;
use super::moments::ArmMoments;
use crate::model::{Model, ModelError, Variables};
use crate::schema::Schema;
use ndarray::{Array1, Array2};

/// What the functionals need besides the model.
pub struct ModelContext<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// The meaning of the model's variables.
    pub variables: &'a Variables,
    /// The public scores.
    pub design: &'a DesignMatrix,
    /// Variables of the treatment and the outcome.
    treatment: usize,
    outcome: usize,
    /// The outcome of each grid cell, in its own units, and its second moment.
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl<'a> ModelContext<'a> {
    /// Gathers the context.
    ///
    /// # Errors
    /// Where the release measured no treatment or no outcome.
    pub fn new(
        schema: &'a Schema,
        variables: &'a Variables,
        design: &'a DesignMatrix,
    ) -> Result<Self, EstimateError> {
        let treatment = variables.treatment.ok_or(EstimateError::NoTreatment)?;
        let outcome = variables.outcome.ok_or(EstimateError::NoOutcome)?;
        let (lower, width) = schema.outcome_range();
        let cells = &variables.grid.cells;
        let values = cells.iter().map(|c| lower + width * c.mean).collect();
        // E[y^2] = E[y] - E[y (1 - y)] on the unit scale.
        let squares = cells
            .iter()
            .map(|c| {
                lower * lower + 2.0 * lower * width * c.mean + width * width * (c.mean - c.spread)
            })
            .collect();
        Ok(ModelContext {
            schema,
            variables,
            design,
            treatment,
            outcome,
            values,
            squares,
        })
    }

    /// The number of arms.
    pub fn arms(&self) -> usize {
        self.variables.domain.sizes()[self.treatment]
    }

    /// The name of an arm.
    pub fn arm_name(&self, arm: usize) -> String {
        self.schema.columns[self.variables.columns[self.treatment]].level_name(arm as u16)
    }

    /// The variable of the treatment.
    pub fn treatment(&self) -> usize {
        self.treatment
    }

    /// The variable of the outcome.
    pub fn outcome(&self) -> usize {
        self.outcome
    }

    /// The mean outcome of each cell of the grid, in the outcome's units.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The mean squared outcome of each cell of the grid.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// The covariates that are variables of the model.
    fn covariates(&self) -> Vec<Scored<'_>> {
        let mut offset = 1;
        let mut covariates = Vec::new();
        for covariate in &self.design.covariates {
            if let Some(variable) = self.variables.of_column(covariate.column) {
                covariates.push(Scored {
                    variable,
                    scores: &covariate.scores,
                    offset,
                });
            }
            offset += covariate.scores.ncols();
        }
        covariates
    }

    /// The arm-wise second moments of a model of `n` records, one entry per arm.
    ///
    /// # Errors
    /// Where a joint marginal would exceed the model's size limit.
    pub fn moments(&self, model: &Model, n: f64) -> Result<Vec<ArmMoments>, ModelError> {
        let width = 1 + self.design.score_count();
        let mut sums = vec![Sums::zeros(width); self.arms()];
        let hub = joint(model, &[self.treatment, self.outcome])?;
        for (arm, cells) in sums.iter_mut().zip(hub.chunks(self.values.len())) {
            for (g, &p) in cells.iter().enumerate() {
                arm.gram[[0, 0]] += p;
                arm.cross[0] += p * self.values[g];
                arm.square += p * self.squares[g];
            }
        }
        let covariates = self.covariates();
        for (position, first) in covariates.iter().enumerate() {
            self.add_single(model, first, &mut sums)?;
            for second in &covariates[position + 1..] {
                self.add_pair(model, first, second, &mut sums)?;
            }
        }
        Ok(sums.into_iter().map(|s| s.into_moments(n)).collect())
    }

    /// Moments of one covariate's scores: with 1, with each other, with the outcome.
    fn add_single(
        &self,
        model: &Model,
        covariate: &Scored,
        sums: &mut [Sums],
    ) -> Result<(), ModelError> {
        let joint = joint(model, &[self.treatment, self.outcome, covariate.variable])?;
        let levels = covariate.scores.nrows();
        let offset = covariate.offset;
        for (arm, cells) in sums
            .iter_mut()
            .zip(joint.chunks(self.values.len() * levels))
        {
            // The level's mass and its outcome total within the arm.
            let mut mass = vec![0.0; levels];
            let mut total = vec![0.0; levels];
            for (by_level, value) in cells.chunks(levels).zip(&self.values) {
                for (level, &p) in by_level.iter().enumerate() {
                    mass[level] += p;
                    total[level] += p * value;
                }
            }
            for (level, scores) in covariate.scores.rows().into_iter().enumerate() {
                for (a, &s) in scores.iter().enumerate() {
                    arm.cross[offset + a] += total[level] * s;
                    arm.gram[[0, offset + a]] += mass[level] * s;
                    arm.gram[[offset + a, 0]] += mass[level] * s;
                    for (b, &u) in scores.iter().enumerate() {
                        arm.gram[[offset + a, offset + b]] += mass[level] * s * u;
                    }
                }
            }
        }
        Ok(())
    }

    /// Cross moments of two covariates' scores.
    fn add_pair(
        &self,
        model: &Model,
        first: &Scored,
        second: &Scored,
        sums: &mut [Sums],
    ) -> Result<(), ModelError> {
        let joint = joint(model, &[self.treatment, first.variable, second.variable])?;
        let shape = (first.scores.nrows(), second.scores.nrows());
        for (arm, cells) in sums.iter_mut().zip(joint.chunks(shape.0 * shape.1)) {
            let table = Array2::from_shape_fn(shape, |(l, h)| cells[l * shape.1 + h]);
            let block = first.scores.t().dot(&table).dot(second.scores);
            for ((a, b), &value) in block.indexed_iter() {
                arm.gram[[first.offset + a, second.offset + b]] += value;
                arm.gram[[second.offset + b, first.offset + a]] += value;
            }
        }
        Ok(())
    }
}

/// The joint probabilities of some variables, row-major in this order.
fn joint(model: &Model, variables: &[usize]) -> Result<Vec<f64>, ModelError> {
    Ok(model.marginal(variables)?.values_in_order(variables))
}

/// A covariate that is a variable of the model.
struct Scored<'a> {
    variable: usize,
    /// Scores by level.
    scores: &'a Array2<f64>,
    /// The position of its first score in `z = (1, scores)`.
    offset: usize,
}

/// Sums over one arm's mass, which are normalised at the end.
#[derive(Clone)]
struct Sums {
    gram: Array2<f64>,
    cross: Array1<f64>,
    square: f64,
}

impl Sums {
    fn zeros(width: usize) -> Sums {
        Sums {
            gram: Array2::zeros((width, width)),
            cross: Array1::zeros(width),
            square: 0.0,
        }
    }

    /// Means within the arm; an arm without mass keeps zeros and weight 0.
    fn into_moments(self, n: f64) -> ArmMoments {
        let mass = self.gram[[0, 0]];
        let scale = if mass > 0.0 { 1.0 / mass } else { 0.0 };
        ArmMoments {
            weight: n * mass,
            gram: self.gram * scale,
            cross: self.cross * scale,
            second_moment: self.square * scale,
        }
    }
}
