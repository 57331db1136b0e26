//! Small dense algebra on row-major slices of the caller's, for loops that must not allocate.

/// `x' y`.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Replaces the lower triangle of the symmetric positive definite `matrix`, `size x size`, by its Cholesky
/// factor `C`, `matrix = C C'`; false where it is not positive definite.
#[must_use]
pub(super) fn factor_in_place(matrix: &mut [f64], size: usize) -> bool {
    for i in 0..size {
        let (above, row) = matrix.split_at_mut(i * size);
        for j in 0..i {
            let pivot = &above[j * size..=j * size + j];
            row[j] = (row[j] - dot(&row[..j], &pivot[..j])) / pivot[j];
        }
        let square = row[i] - dot(&row[..i], &row[..i]);
        // Also false for NaN.
        if !(square > 0.0 && square.is_finite()) {
            return false;
        }
        row[i] = square.sqrt();
    }
    true
}

/// `x <- C^-1 x`.
pub(super) fn solve_lower(factor: &[f64], x: &mut [f64]) {
    let size = x.len();
    for i in 0..size {
        let row = &factor[i * size..=i * size + i];
        x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
    }
}

/// `x <- C'^-1 x`.
pub(super) fn solve_upper(factor: &[f64], x: &mut [f64]) {
    let size = x.len();
    for i in (0..size).rev() {
        let row = &factor[i * size..=i * size + i];
        x[i] /= row[i];
        let value = x[i];
        (x[..i].iter_mut().zip(row)).for_each(|(x, c)| *x -= c * value);
    }
}

/// `into <- A x`, `A` square.
pub(super) fn multiply(matrix: &[f64], x: &[f64], into: &mut [f64]) {
    for (into, row) in into.iter_mut().zip(matrix.chunks_exact(x.len())) {
        *into = dot(row, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        let matrix = [4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];
        let mut factor = matrix;
        assert!(factor_in_place(&mut factor, 3));
        let mut x = [1.0, -2.0, 0.5];
        let right = x;
        solve_lower(&factor, &mut x);
        solve_upper(&factor, &mut x);
        let mut back = [0.0; 3];
        multiply(&matrix, &x, &mut back);
        for (back, right) in back.iter().zip(right) {
            assert!((back - right).abs() < 1e-14, "{back} {right}");
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        assert!(!factor_in_place(&mut [1.0, 2.0, 2.0, 1.0], 2));
        assert!(!factor_in_place(&mut [f64::NAN], 1));
    }
}
