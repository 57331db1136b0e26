//! Dense factorisations, always on one thread: results must not depend on a library's global setting.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::lu::partial_pivoting as lu;
use faer::linalg::matmul::matmul;
use faer::perm::PermRef;
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// Replaces a symmetric matrix, of which the lower triangle counts, by its lower Cholesky factor; `None` where rounding has spoilt
/// positive definiteness.
pub(super) fn cholesky(mut matrix: Mat<f64>) -> Option<Mat<f64>> {
    let request =
        llt::factor::cholesky_in_place_scratch::<f64>(matrix.nrows(), Par::Seq, Default::default());
    llt::factor::cholesky_in_place(
        matrix.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(request)),
        Default::default(),
    )
    .ok()?;
    Some(matrix)
}

/// Replaces a vector by the solution of the system with this Cholesky factor.
pub(super) fn cholesky_solve(factor: &Mat<f64>, vector: &mut [f64]) {
    let rows = vector.len();
    llt::solve::solve_in_place(
        factor.as_ref(),
        MatMut::from_column_major_slice_mut(vector, rows, 1),
        Par::Seq,
        MemStack::new(&mut []),
    );
}

/// The inverse of the matrix with this Cholesky factor.
pub(super) fn cholesky_inverse(factor: &Mat<f64>) -> Mat<f64> {
    let mut inverse = Mat::identity(factor.nrows(), factor.nrows());
    llt::solve::solve_in_place(
        factor.as_ref(),
        inverse.as_mut(),
        Par::Seq,
        MemStack::new(&mut []),
    );
    inverse
}

/// A square matrix whose leading block is diagonal, factored.
#[derive(Debug, Clone)]
pub(super) struct Lu {
    diagonal: Vec<f64>,
    upper: Mat<f64>,
    lower: Mat<f64>,
    /// The Schur complement of the diagonal block, with row pivoting.
    rest: PivotedLu,
}

impl Lu {
    /// Factors a matrix; the leading block of `diagonal` rows has no zero on its diagonal, and what is beside the diagonal is not
    /// read.
    pub(super) fn new(matrix: &Mat<f64>, diagonal: usize) -> Lu {
        let rest = matrix.nrows() - diagonal;
        let upper = matrix.submatrix(0, diagonal, diagonal, rest).to_owned();
        let lower = matrix.submatrix(diagonal, 0, rest, diagonal).to_owned();
        let divided = Mat::from_fn(diagonal, rest, |i, j| upper[(i, j)] / matrix[(i, i)]);
        let mut complement = matrix.submatrix(diagonal, diagonal, rest, rest).to_owned();
        add_product(complement.as_mut(), -1.0, lower.as_ref(), divided.as_ref());
        Lu {
            diagonal: (0..diagonal).map(|i| matrix[(i, i)]).collect(),
            upper,
            lower,
            rest: PivotedLu::new(complement),
        }
    }

    /// Replaces a matrix by the solution of the system that it is the right side of.
    pub(super) fn solve(&self, right: MatMut<'_, f64>) {
        let (mut first, mut rest) = right.split_at_row_mut(self.diagonal.len());
        let divide = |mut rows: MatMut<'_, f64>| {
            for j in 0..rows.ncols() {
                for (i, diagonal) in self.diagonal.iter().enumerate() {
                    rows[(i, j)] /= diagonal;
                }
            }
        };
        let mut divided = first.to_owned();
        divide(divided.as_mut());
        add_product(rest.as_mut(), -1.0, self.lower.as_ref(), divided.as_ref());
        self.rest.solve(rest.as_mut());
        add_product(first.as_mut(), -1.0, self.upper.as_ref(), rest.as_ref());
        divide(first);
    }

    /// As [`Self::solve`], of a vector.
    pub(super) fn solve_vector(&self, vector: &mut [f64]) {
        let rows = vector.len();
        self.solve(MatMut::from_column_major_slice_mut(vector, rows, 1));
    }
}

/// A square matrix, factored with row pivoting.
#[derive(Debug, Clone)]
struct PivotedLu {
    factors: Mat<f64>,
    permutation: Vec<usize>,
    inverse: Vec<usize>,
}

impl PivotedLu {
    fn new(mut matrix: Mat<f64>) -> PivotedLu {
        let rows = matrix.nrows();
        let (mut permutation, mut inverse) = (vec![0; rows], vec![0; rows]);
        let request =
            lu::factor::lu_in_place_scratch::<usize, f64>(rows, rows, Par::Seq, Default::default());
        lu::factor::lu_in_place(
            matrix.as_mut(),
            &mut permutation,
            &mut inverse,
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(request)),
            Default::default(),
        );
        PivotedLu {
            factors: matrix,
            permutation,
            inverse,
        }
    }

    fn solve(&self, right: MatMut<'_, f64>) {
        let rows = self.permutation.len();
        let request =
            lu::solve::solve_in_place_scratch::<usize, f64>(rows, right.ncols(), Par::Seq);
        lu::solve::solve_in_place(
            self.factors.as_ref(),
            self.factors.as_ref(),
            PermRef::new_checked(&self.permutation, &self.inverse, rows),
            right,
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(request)),
        );
    }
}

/// A symmetric matrix, diagonal or not.
#[derive(Debug, Clone)]
pub(super) enum Symmetric {
    Diagonal(Vec<f64>),
    Full(Mat<f64>),
}

impl Symmetric {
    /// `target += factor * self right`.
    pub(super) fn add_product(
        &self,
        mut target: MatMut<'_, f64>,
        factor: f64,
        right: MatRef<'_, f64>,
    ) {
        match self {
            Symmetric::Full(matrix) => add_product(target, factor, matrix.as_ref(), right),
            Symmetric::Diagonal(diagonal) => {
                for j in 0..right.ncols() {
                    for (i, d) in diagonal.iter().enumerate() {
                        target[(i, j)] += factor * d * right[(i, j)];
                    }
                }
            }
        }
    }

    /// As [`Self::add_product`], of vectors.
    pub(super) fn add_times(&self, target: &mut [f64], factor: f64, vector: &[f64]) {
        let rows = vector.len();
        self.add_product(
            MatMut::from_column_major_slice_mut(target, rows, 1),
            factor,
            MatRef::from_column_major_slice(vector, rows, 1),
        );
    }
}

/// `target += factor * left right`.
pub(super) fn add_product(
    target: MatMut<'_, f64>,
    factor: f64,
    left: MatRef<'_, f64>,
    right: MatRef<'_, f64>,
) {
    matmul(target, Accum::Add, left, right, factor, Par::Seq);
}

/// `target += factor * matrix vector`.
pub(super) fn add_times(target: &mut [f64], factor: f64, matrix: MatRef<'_, f64>, vector: &[f64]) {
    let (rows, columns) = (target.len(), vector.len());
    add_product(
        MatMut::from_column_major_slice_mut(target, rows, 1),
        factor,
        matrix,
        MatRef::from_column_major_slice(vector, columns, 1),
    );
}
