//! Small dense algebra on row-major slices of the caller's, for loops that must not allocate.
//!
//! Inner loops add a multiple of a row to a row: unlike inner products, whose order of summation is fixed,
//! these the compiler turns into vector instructions.

/// `x' y`.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `into <- into + factor * x`.
pub(super) fn add_multiple(into: &mut [f64], factor: f64, x: &[f64]) {
    into.iter_mut().zip(x).for_each(|(i, x)| *i += factor * x);
}

/// Replaces the upper triangle of the symmetric positive definite `matrix`, `size x size`, by its Cholesky
/// factor `R`, `matrix = R' R`; false where it is not positive definite.
#[must_use]
pub(super) fn factor_in_place(matrix: &mut [f64], size: usize) -> bool {
    for i in 0..size {
        let (head, below) = matrix.split_at_mut((i + 1) * size);
        let row = &mut head[i * size + i..];
        // Also false for NaN.
        if !(row[0] > 0.0 && row[0].is_finite()) {
            return false;
        }
        let scale = row[0].sqrt().recip();
        row.iter_mut().for_each(|r| *r *= scale);
        for (step, lower) in below.chunks_exact_mut(size).enumerate() {
            let from = &row[step + 1..];
            add_multiple(&mut lower[i + 1 + step..], -from[0], from);
        }
    }
    true
}

/// `x <- R'^-1 x`.
pub(super) fn solve_transposed(factor: &[f64], x: &mut [f64]) {
    let size = x.len();
    for (i, row) in factor.chunks_exact(size).enumerate() {
        x[i] /= row[i];
        let value = x[i];
        add_multiple(&mut x[i + 1..], -value, &row[i + 1..]);
    }
}

/// `x <- R^-1 x`.
pub(super) fn solve_upper(factor: &[f64], x: &mut [f64]) {
    let size = x.len();
    for (i, row) in factor.chunks_exact(size).enumerate().rev() {
        x[i] = (x[i] - dot(&row[i + 1..], &x[i + 1..])) / row[i];
    }
}

/// `into <- S x`, `S` symmetric.
pub(super) fn multiply(symmetric: &[f64], x: &[f64], into: &mut [f64]) {
    into.fill(0.0);
    for (&x, row) in x.iter().zip(symmetric.chunks_exact(x.len())) {
        add_multiple(into, x, row);
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
        solve_transposed(&factor, &mut x);
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
