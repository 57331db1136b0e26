//! The dual's second derivative, and what it does for the optimiser.
//!
//! The second derivative of the negative dual is `diag(sigma^2) + n Cov(a)`, `a` the measured functions
//! of a record. Measurements overlap (every table by arm contains the arms), so the covariance is
//! singular, and where the noise is small beside the counts the directions that it does not see have a
//! curvature smaller by orders of magnitude than the others: no diagonal scaling helps, and a
//! quasi-Newton method needs hundreds or thousands of steps to find them out.
//!
//! With a moderate number of values the full matrix costs no more than some tens of evaluations: each
//! block is a marginal over the union of two measurements' variables. As the metric of the optimiser it
//! makes a few steps out of hundreds; computed once, it serves any number of calibrations nearby.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::{Mat, MatMut, Par};

use super::Model;
use super::statistics::Statistics;

/// An approximation of the second derivative that is cheap to solve with.
#[derive(Debug, Clone)]
pub(crate) enum Curvature {
    /// The inverse of `sigma^2 + n E[a^2]`.
    Diagonal(Vec<f64>),
    /// The lower Cholesky factor of the full matrix at some point.
    Full(Mat<f64>),
}

/// The largest number of values for which the full matrix is considered: its factor then takes 18 MB
/// and about a second.
const FULL_VALUES: usize = 1500;
/// The cells of all marginals that the full matrix needs, as a multiple of the cells of the model.
const FULL_CELLS: u128 = 300;

impl Curvature {
    /// The diagonal, from the second moments times `n`.
    pub(crate) fn diagonal(moments: &[f64], sigma: &[f64]) -> Curvature {
        let inverse = |(moment, sigma): (&f64, &f64)| 1.0 / (sigma * sigma + moment);
        Curvature::Diagonal(moments.iter().zip(sigma).map(inverse).collect())
    }

    /// Whether the full matrix is worth its cost.
    pub(crate) fn full_is_affordable(statistics: &Statistics, model: &Model) -> bool {
        let cells = statistics.cross_cells(model.domain());
        statistics.len() <= FULL_VALUES
            && cells <= model.junction_tree().cells().saturating_mul(FULL_CELLS)
    }

    /// The full matrix at a model, or `None` where a marginal is above the size limit or rounding has
    /// spoilt positive definiteness.
    pub(crate) fn full(statistics: &Statistics, model: &Model, sigma: &[f64]) -> Option<Curvature> {
        let mut matrix = statistics.covariance(model).ok()?;
        for (i, sigma) in sigma.iter().enumerate() {
            matrix[(i, i)] += sigma * sigma;
        }
        let request = llt::factor::cholesky_in_place_scratch::<f64>(
            matrix.nrows(),
            Par::Seq,
            Default::default(),
        );
        // One thread, whatever the library's global setting is: results must not depend on it.
        llt::factor::cholesky_in_place(
            matrix.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(request)),
            Default::default(),
        )
        .ok()?;
        Some(Curvature::Full(matrix))
    }

    /// Replaces a vector by the solution of the linear system that it is the right side of.
    pub(crate) fn solve(&self, vector: &mut [f64]) {
        match self {
            Curvature::Diagonal(inverse) => {
                vector.iter_mut().zip(inverse).for_each(|(v, d)| *v *= d);
            }
            Curvature::Full(factor) => {
                let rows = vector.len();
                llt::solve::solve_in_place(
                    factor.as_ref(),
                    MatMut::from_column_major_slice_mut(vector, rows, 1),
                    Par::Seq,
                    MemStack::new(&mut []),
                );
            }
        }
    }
}
