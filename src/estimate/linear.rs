//! The little linear algebra that the estimators share.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};

use super::EstimateError;

/// The Cholesky factor of a symmetric matrix plus `ridge(i)` on its diagonal.
pub(crate) fn factor(
    mut matrix: Mat<f64>,
    ridge: impl Fn(usize) -> f64,
) -> Result<Llt<f64>, EstimateError> {
    for i in 0..matrix.nrows() {
        matrix[(i, i)] += ridge(i);
    }
    // Fails only for matrices that are not positive semidefinite, or not finite.
    Llt::new(matrix.as_ref(), Side::Lower)
        .map_err(|_| EstimateError::Malformed("moments that no data can have".into()))
}

/// `A^-1 b`.
pub(crate) fn solve(cholesky: &Llt<f64>, b: &[f64]) -> Vec<f64> {
    if b.is_empty() {
        return Vec::new();
    }
    let solution = cholesky.solve(Mat::from_fn(b.len(), 1, |i, _| b[i]));
    (0..b.len()).map(|i| solution[(i, 0)]).collect()
}

/// `x' y`.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `x' A x`.
pub(super) fn quadratic_form(matrix: &Mat<f64>, x: &[f64]) -> f64 {
    (0..x.len())
        .map(|i| x[i] * (0..x.len()).map(|j| matrix[(i, j)] * x[j]).sum::<f64>())
        .sum()
}
