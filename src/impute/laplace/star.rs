//! The star model: a hub of treatment and outcome, and one leaf per covariate.
//!
//! ```text
//! log p(t, o)    = log p0(o | t) + alpha_t + zeta_t e_o - log Z          e_o = 2 y_o - 1
//! log C_j(l|t,o) = sum over k, a, b of H_lk T_ta Y_ob theta_jabk - log Z_j(t, o)
//! ```
//!
//! `o` is a cell of the outcome's grid with mean `y_o`. `H` and the columns `a > 0` of `T` are orthonormal
//! contrasts, column 0 of `T` is constant, and `Y_o = (1, e_o) / sqrt 2`. So a leaf's logits are contrasts of
//! its levels times {1, T, Y, TY}; with `A` arms, `T` stands for `A - 1` contrasts. Of a two-level outcome
//! this is every law with covariates independent given `(T, Y)`.

use super::LaplaceError;
use crate::impute::BaseFit;
use crate::schema::{GridCell, Schema};

/// A leaf: one covariate.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// Its variable in the model.
    pub(super) variable: usize,
    /// Its number of levels.
    pub(super) levels: usize,
    /// Its first row among the statistics of one arm and side (the hub's is row 0).
    pub(super) row: usize,
    /// Its first parameter.
    pub(super) parameter: usize,
    /// Orthonormal contrasts of the levels: levels x (levels - 1), row-major.
    contrasts: Vec<f64>,
}

/// The parameter's role, which decides its prior variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The number of records, the arms' sizes and the outcome's tilt: a prior too wide to matter.
    Hub,
    /// A leaf's contrast: 0 main, 1 with treatment, 2 with outcome, 3 with both.
    Leaf(usize),
}

/// The shape of a star: what does not depend on the parameters.
#[derive(Debug, Clone)]
pub(super) struct Star {
    pub(super) arms: usize,
    /// Variables of the treatment and the outcome.
    pub(super) treatment: usize,
    pub(super) outcome: usize,
    /// The outcome's grid.
    pub(super) cells: Vec<GridCell>,
    pub(super) leaves: Vec<Leaf>,
    /// `log p0(o | t)`, arm by arm.
    log_shape: Vec<f64>,
    /// The treatment's basis: arms x arms, row-major, column 0 constant.
    arm_basis: Vec<f64>,
    /// Whether the number of records is a parameter (the first one).
    pub(super) free_total: bool,
    pub(super) total: f64,
    /// The role of each parameter.
    pub(super) effects: Vec<Effect>,
}

/// The laws at some parameters.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// The number of records.
    pub(super) total: f64,
    /// `p(t, o)`, row-major.
    pub(super) hub: Vec<f64>,
    /// Per leaf: `C_j(l | t, o)`, row-major over `(t, o, l)`.
    pub(super) leaves: Vec<Vec<f64>>,
}

impl Star {
    /// The star over a model's treatment, outcome and these covariates (variables), with the outcome's
    /// shape `p0(o | t)` of the base fit.
    pub(super) fn new(
        fit: &BaseFit,
        schema: &Schema,
        covariates: &[usize],
    ) -> Result<Star, LaplaceError> {
        let variables = &fit.released.variables;
        let treatment = variables.treatment.ok_or(LaplaceError::NoHub)?;
        let outcome = variables.outcome.ok_or(LaplaceError::NoHub)?;
        let sizes = variables.domain.sizes();
        let (arms, cells) = (sizes[treatment], variables.grid.cells.clone());
        let shape = fit.model().marginal(&[treatment, outcome])?;
        let log_shape = shape
            .values_in_order(&[treatment, outcome])
            .chunks(cells.len())
            .flat_map(|arm| {
                let mass: f64 = arm.iter().sum();
                arm.iter().map(move |p| (p / mass).ln()).collect::<Vec<_>>()
            })
            .collect();
        let free_total = schema.rows.is_none();
        let mut effects = vec![Effect::Hub; usize::from(free_total) + 2 * arms - 1];
        let mut row = 1;
        let mut leaves = Vec::with_capacity(covariates.len());
        for &variable in covariates {
            let levels = sizes[variable];
            leaves.push(Leaf {
                variable,
                levels,
                row,
                parameter: effects.len(),
                contrasts: contrasts(levels),
            });
            row += levels;
            for side in [0, 2] {
                for arm in 0..arms {
                    let effect = Effect::Leaf(side + usize::from(arm > 0));
                    effects.extend(std::iter::repeat_n(effect, levels - 1));
                }
            }
        }
        Ok(Star {
            arms,
            treatment,
            outcome,
            cells,
            leaves,
            log_shape,
            arm_basis: basis(arms),
            free_total,
            total: fit.released.problem.total,
            effects,
        })
    }

    /// The number of parameters.
    pub(super) fn parameters(&self) -> usize {
        self.effects.len()
    }

    /// The statistics of one arm and side: the hub's and every leaf's levels.
    pub(super) fn rows(&self) -> usize {
        1 + self.leaves.iter().map(|leaf| leaf.levels).sum::<usize>()
    }

    /// The first parameter of the hub's logits: `A - 1` contrasts of the arms, then `A` tilts.
    pub(super) fn hub_parameter(&self) -> usize {
        usize::from(self.free_total)
    }

    /// Contrast `k` of the arms at an arm.
    pub(super) fn arm_contrast(&self, arm: usize, k: usize) -> f64 {
        self.arm_basis[arm * self.arms + k + 1]
    }

    /// `e_o`.
    pub(super) fn tilt(&self, cell: usize) -> f64 {
        2.0 * self.cells[cell].mean - 1.0
    }

    /// `T_ta Y_ob` for all effects of a leaf, in the order of its parameters (`b` slowest).
    pub(super) fn effect_weights(&self, arm: usize, cell: usize) -> Vec<f64> {
        let arms = &self.arm_basis[arm * self.arms..(arm + 1) * self.arms];
        [1.0, self.tilt(cell)]
            .iter()
            .flat_map(|y| {
                arms.iter()
                    .map(move |t| t * y * std::f64::consts::FRAC_1_SQRT_2)
            })
            .collect()
    }

    /// Parameters with the given arms' shares, and no contrast of any leaf.
    pub(super) fn start(&self, shares: &[f64]) -> Vec<f64> {
        let mut start = vec![0.0; self.parameters()];
        for k in 0..self.arms - 1 {
            let along = |t: usize| self.arm_contrast(t, k) * shares[t].ln();
            start[self.hub_parameter() + k] = (0..self.arms).map(along).sum();
        }
        start
    }

    /// The laws at some parameters.
    pub(super) fn at(&self, parameters: &[f64]) -> Point {
        let total = if self.free_total {
            self.total * parameters[0].exp()
        } else {
            self.total
        };
        let (shares, tilts) = parameters[self.hub_parameter()..].split_at(self.arms - 1);
        let cells = self.cells.len();
        let mut hub = self.log_shape.clone();
        for (index, log) in hub.iter_mut().enumerate() {
            let (arm, cell) = (index / cells, index % cells);
            let alpha: f64 = shares
                .iter()
                .enumerate()
                .map(|(k, a)| self.arm_contrast(arm, k) * a)
                .sum();
            *log += alpha + tilts[arm] * self.tilt(cell);
        }
        softmax(&mut hub);
        let leaves = self.leaves.iter().map(|leaf| self.leaf(leaf, parameters));
        Point {
            total,
            hub,
            leaves: leaves.collect(),
        }
    }

    fn leaf(&self, leaf: &Leaf, parameters: &[f64]) -> Vec<f64> {
        let width = leaf.levels - 1;
        let mut law = Vec::with_capacity(self.arms * self.cells.len() * leaf.levels);
        for arm in 0..self.arms {
            for cell in 0..self.cells.len() {
                let mut along = vec![0.0; width];
                for (effect, weight) in self.effect_weights(arm, cell).into_iter().enumerate() {
                    let first = leaf.parameter + effect * width;
                    for (a, theta) in along.iter_mut().zip(&parameters[first..first + width]) {
                        *a += weight * theta;
                    }
                }
                let logit = |level| (0..width).map(|k| leaf.contrast(level, k) * along[k]).sum();
                let mut logits: Vec<f64> = (0..leaf.levels).map(logit).collect();
                softmax(&mut logits);
                law.extend(logits);
            }
        }
        law
    }
}

impl Leaf {
    /// Contrast `k` at a level.
    pub(super) fn contrast(&self, level: usize, k: usize) -> f64 {
        self.contrasts[level * (self.levels - 1) + k]
    }
}

/// From logits to probabilities; `-inf` becomes 0.
fn softmax(logits: &mut [f64]) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
    }
    let sum: f64 = logits.iter().sum();
    logits.iter_mut().for_each(|p| *p /= sum);
}

/// An orthonormal basis of `R^size` whose first column is constant (Helmert), row-major.
fn basis(size: usize) -> Vec<f64> {
    let mut basis = vec![0.0; size * size];
    for level in 0..size {
        basis[level * size] = (size as f64).sqrt().recip();
    }
    for column in 1..size {
        let k = column as f64;
        let scale = (k * (k + 1.0)).sqrt().recip();
        for level in 0..column {
            basis[level * size + column] = -scale;
        }
        basis[column * size + column] = k * scale;
    }
    basis
}

/// The basis without its constant column: size x (size - 1), row-major.
pub(super) fn contrasts(size: usize) -> Vec<f64> {
    basis(size)
        .chunks(size)
        .flat_map(|row| row[1..].to_vec())
        .collect()
}
