//! The little linear algebra that the room shares: symmetric matrices by their eigenvectors.

use faer::{Mat, MatRef, Side};

/// `V diag(values) V'`, the values descending.
#[derive(Debug, Clone)]
pub struct Spectrum {
    /// The eigenvalues, descending, negative ones by rounding taken as zero.
    pub values: Vec<f64>,
    /// The eigenvectors, one per column.
    pub vectors: Mat<f64>,
}

impl Spectrum {
    /// The spectrum of a symmetric matrix of finite numbers.
    pub fn new(matrix: MatRef<'_, f64>) -> Spectrum {
        let n = matrix.nrows();
        // The decomposition fails to converge only for numbers that are not finite; those have no directions.
        let Ok(eigen) = matrix.self_adjoint_eigen(Side::Lower) else {
            return Spectrum {
                values: vec![0.0; n],
                vectors: Mat::identity(n, n),
            };
        };
        // Ascending as they come.
        let values = (0..n).rev().map(|k| eigen.S()[k].max(0.0)).collect();
        let vectors = Mat::from_fn(n, n, |i, k| eigen.U()[(i, n - 1 - k)]);
        Spectrum { values, vectors }
    }

    /// `V diag(f(values)) V'`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Mat<f64> {
        let n = self.values.len();
        let scaled = Mat::from_fn(n, n, |i, k| self.vectors[(i, k)] * f(self.values[k]));
        &scaled * self.vectors.transpose()
    }

    /// The roots of the diagonal of `V diag(variances) V'`; variances that are not there are zero.
    pub fn deviations(&self, variances: &[f64]) -> Vec<f64> {
        let part = |i: usize, k: usize| variances[k] * self.vectors[(i, k)].powi(2);
        let of = |i: usize| (0..variances.len()).map(|k| part(i, k)).sum::<f64>();
        (0..self.values.len()).map(|i| of(i).sqrt()).collect()
    }

    /// The inner products of the eigenvectors with a vector.
    pub fn coordinates(&self, x: &[f64]) -> Vec<f64> {
        (0..self.vectors.ncols())
            .map(|k| (0..x.len()).map(|i| self.vectors[(i, k)] * x[i]).sum())
            .collect()
    }
}

/// `A x`.
pub fn times(matrix: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    (0..matrix.nrows())
        .map(|i| (0..x.len()).map(|j| matrix[(i, j)] * x[j]).sum())
        .collect()
}

/// `x' y`.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `|x|_2`.
pub fn length(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// The mean; zero of nothing.
pub fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len().max(1) as f64
}

/// `x` scaled down to a length of at most `radius`.
pub fn clip_length(x: &mut [f64], radius: f64) {
    let length = length(x);
    if length > radius {
        x.iter_mut().for_each(|x| *x *= radius / length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_a_matrix_multiply_to_it() {
        let a = Mat::from_fn(4, 4, |i, j| {
            (1 + i.min(j)) as f64 + if i == j { 0.5 } else { 0.0 }
        });
        let spectrum = Spectrum::new(a.as_ref());
        assert!(spectrum.values.windows(2).all(|pair| pair[0] >= pair[1]));
        let root = spectrum.map(f64::sqrt);
        let back = &root * &root;
        for i in 0..4 {
            for j in 0..4 {
                assert!((back[(i, j)] - a[(i, j)]).abs() < 1e-12);
            }
        }
        let x = [1.0, -2.0, 0.5, 3.0];
        assert!((length(&spectrum.coordinates(&x)) - length(&x)).abs() < 1e-12);
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let mut x = [3.0, 4.0];
        clip_length(&mut x, 10.0);
        assert_eq!(x, [3.0, 4.0]);
        clip_length(&mut x, 1.0);
        assert!((x[0] - 0.6).abs() < 1e-15 && (x[1] - 0.8).abs() < 1e-15);
    }
}
