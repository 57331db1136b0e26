//! The dual's second derivative, and what it does for the optimiser.
//!
//! The second derivative of the negative dual is `diag(sigma^2) + n Cov(a)`, `a` the measured functions
//! of a record. Measurements overlap (every table by arm contains the arms), so the covariance is
//! singular, and where the noise is small beside the counts the directions that it does not see have a
//! curvature smaller by orders of magnitude than the others: no diagonal scaling helps, and a
//! quasi-Newton method needs hundreds or thousands of steps to find them out.
//!
//! As the metric of the optimiser the full second derivative makes a few steps out of hundreds; computed once, it serves
//! any number of calibrations nearby. There are two ways to have it. With a moderate number of values it is a matrix, each
//! block a marginal over the union of two measurements' variables. On a tree of cliques with small separators its inverse is a pass
//! of messages (`tree_system`), which costs no more where there are thousands of values. What takes less is taken, if
//! it is worth its cost at all.

use std::sync::Arc;

use faer::Mat;

use super::calibration::{Calibrator, Scratch};
use super::dense::{cholesky, cholesky_solve};
use super::statistics::Statistics;
use super::tree_factor::{TreeFactor, Weights};
use super::tree_system::TreeSystem;
use super::{Calibration, Domain, JunctionTree, Measurement, Model, WarmStart};
use crate::model::propagation::Propagation;

/// An approximation of the second derivative that is cheap to solve with.
#[derive(Debug, Clone)]
pub(crate) enum Curvature {
    /// The inverse of `sigma^2 + n E[a^2]`.
    Diagonal(Vec<f64>),
    /// The lower Cholesky factor of the full matrix at some point.
    Full(Mat<f64>),
    /// The full matrix at some point, by messages between cliques.
    Tree(Arc<TreeSystem>, TreeFactor),
}

/// How the full second derivative is computed.
#[derive(Debug, Clone)]
pub(crate) enum FullCurvature {
    /// Not at all: it is not worth its cost.
    None,
    /// As a matrix.
    Matrix,
    /// By messages.
    Tree(Arc<TreeSystem>),
}

/// The largest number of values for which the full matrix is considered: its factor then takes 18 MB
/// and about a second.
const FULL_VALUES: usize = 1500;
/// The cells of all marginals that the full matrix needs, as a multiple of the cells of the model.
const FULL_CELLS: u128 = 300;
/// What an evaluation takes for a cell of the model, in multiplications of a matrix product: an exponential and some
/// passes over memory.
const EVALUATION: f64 = 20.0;
/// The most evaluations that a factored system on the tree may cost. It takes the place of hundreds or thousands.
const MOST_EVALUATIONS: f64 = 300.0;
/// Evaluations after which a calibration that has not converged gets the matrix at its current point: about what it costs.
const MATRIX_AFTER: usize = 40;

impl FullCurvature {
    /// The cheaper way.
    pub(crate) fn plan(
        domain: &Domain,
        propagation: &Propagation,
        statistics: &Statistics,
        measurements: &[Measurement],
    ) -> FullCurvature {
        let cells = propagation.tree().cells();
        let cross = statistics.cross_cells(domain);
        let values = statistics.len();
        let has_matrix = values <= FULL_VALUES && cross <= cells.saturating_mul(FULL_CELLS);
        let most = MOST_EVALUATIONS * EVALUATION * cells as f64;
        let matrix = (values as f64).powi(3) / 3.0 + 3.0 * cross as f64;
        let limit = if has_matrix { matrix.min(most) } else { most };
        match TreeSystem::new(domain, propagation, measurements, limit) {
            Some(system) => FullCurvature::Tree(Arc::new(system)),
            None if has_matrix => FullCurvature::Matrix,
            None => FullCurvature::None,
        }
    }

    /// The evaluations that it takes the time of: a calibration that has not converged after so many more gets it at its
    /// current point. `None` if it never does.
    pub(crate) fn due_after(&self, tree: &JunctionTree) -> Option<usize> {
        match self {
            FullCurvature::None => None,
            FullCurvature::Matrix => Some(MATRIX_AFTER),
            FullCurvature::Tree(system) => {
                Some((system.cost() / (EVALUATION * tree.cells() as f64)).ceil() as usize)
            }
        }
    }
}

impl Curvature {
    /// The diagonal, from the second moments times `n`.
    pub(crate) fn diagonal(moments: &[f64], sigma: &[f64]) -> Curvature {
        let inverse = |(moment, sigma): (&f64, &f64)| 1.0 / (sigma * sigma + moment);
        Curvature::Diagonal(moments.iter().zip(sigma).map(inverse).collect())
    }

    /// The full matrix at a model, or `None` where a marginal is above the size limit or rounding has
    /// spoilt positive definiteness.
    pub(crate) fn matrix(
        statistics: &Statistics,
        model: &Model,
        sigma: &[f64],
    ) -> Option<Curvature> {
        let mut matrix = statistics.covariance(model).ok()?;
        for (i, sigma) in sigma.iter().enumerate() {
            matrix[(i, i)] += sigma * sigma;
        }
        Some(Curvature::Full(cholesky(matrix)?))
    }

    /// The full second derivative where these are the cliques' expected counts, or `None` where rounding has spoilt it.
    pub(crate) fn tree(
        system: &Arc<TreeSystem>,
        counts: &[Vec<f64>],
        sigma: &[f64],
    ) -> Option<Curvature> {
        let separators = system.nodes.iter().zip(counts);
        let separators: Vec<Vec<f64>> = separators
            .map(|(node, cells)| node.separator.of(cells))
            .collect();
        let weights = Weights {
            cliques: counts,
            separators: Some(&separators),
            sigma,
        };
        let factor = TreeFactor::new(system, &weights)?;
        Some(Curvature::Tree(Arc::clone(system), factor))
    }

    /// Replaces a vector by the solution of the linear system that it is the right side of.
    pub(crate) fn solve(&self, vector: &mut [f64]) {
        match self {
            Curvature::Diagonal(inverse) => {
                vector.iter_mut().zip(inverse).for_each(|(v, d)| *v *= d);
            }
            Curvature::Full(factor) => cholesky_solve(factor, vector),
            Curvature::Tree(system, factor) => factor.solve_values(system, vector),
        }
    }
}

impl Calibrator {
    /// The diagonal at the point that was evaluated last.
    pub(super) fn diagonal_curvature(&self, total: f64, scratch: &Scratch) -> Curvature {
        let mut moments = vec![0.0; self.sigma.len()];
        self.statistics
            .second_moments(&scratch.workspace, total, &mut moments);
        Curvature::diagonal(&moments, &self.sigma)
    }

    /// The full second derivative at a model, where it is worth its cost.
    pub(super) fn full_curvature(&self, model: &Model) -> Option<Curvature> {
        match &self.full_curvature {
            FullCurvature::None => None,
            FullCurvature::Matrix => Curvature::matrix(&self.statistics, model, &self.sigma),
            FullCurvature::Tree(system) => {
                let cliques = 0..model.junction_tree().cliques().len();
                let counts = |clique| -> Vec<f64> {
                    let shares = model.clique_marginal(clique).iter();
                    shares.map(|share| share * model.total()).collect()
                };
                Curvature::tree(
                    system,
                    &cliques.map(counts).collect::<Vec<_>>(),
                    &self.sigma,
                )
            }
        }
    }

    /// A start for calibrations to targets near those of this one: its parameters and, where it is worth its cost (some
    /// tens of evaluations, if several calibrations start from it), the dual's full second derivative at them.
    pub fn warm_start(&self, calibration: &Calibration) -> WarmStart {
        WarmStart {
            parameters: calibration.parameters.clone(),
            curvature: self.full_curvature(&calibration.model).map(Arc::new),
        }
    }
}
