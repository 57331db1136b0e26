//! Noisy linear statistics of a table, and their maps applied axis by axis.

use ndarray::Array2;

use super::{Domain, ModelError};

/// What a measurement takes of one variable.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisMap {
    /// One cell per level.
    Identity,
    /// A matrix with one row per cell of the answer and one column per level: a bin that is the sum of
    /// several levels has a row of zeros and ones; the split `(1 - y, y)` of an outcome has two rows.
    Linear(Array2<f64>),
}

/// One axis of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredAxis {
    /// The variable (an index of the domain).
    pub variable: usize,
    /// What is taken of it.
    pub map: AxisMap,
}

/// A noisy linear statistic: `n (M_1 x M_2 x ...) mu + sigma Z`, the Kronecker product of the axes'
/// maps applied to `n` times the marginal over the axes' variables, with independent standard normal
/// `Z`.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What people call it.
    pub name: String,
    /// The axes, each of another variable.
    pub axes: Vec<MeasuredAxis>,
    /// The noisy answers in records, row-major over the axes (the last fastest).
    pub values: Vec<f64>,
    /// The standard deviation of each value's noise, in records.
    pub sigma: f64,
}

impl AxisMap {
    /// The number of cells of the answer along this axis.
    pub fn cells(&self, levels: usize) -> usize {
        match self {
            AxisMap::Identity => levels,
            AxisMap::Linear(matrix) => matrix.nrows(),
        }
    }
}

impl Measurement {
    /// The variables of the axes, in the axes' order.
    pub fn variables(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.variable).collect()
    }

    /// Checks the measurement against a domain.
    ///
    /// # Errors
    /// If a variable does not exist or has two axes, a matrix has not one column per level, the number
    /// of values is not the product of the axes' cells, a number is not finite, or sigma is not
    /// positive.
    pub fn check(&self, domain: &Domain) -> Result<(), ModelError> {
        let context = || format!("measurement `{}`", self.name);
        domain.check(&self.variables(), &context())?;
        let mut expected = 1usize;
        for axis in &self.axes {
            let levels = domain.sizes()[axis.variable];
            if let AxisMap::Linear(matrix) = &axis.map {
                if matrix.ncols() != levels {
                    return Err(ModelError::Length {
                        context: format!("a row of the axis map of {}", context()),
                        expected: levels,
                        found: matrix.ncols(),
                    });
                }
                if matrix.iter().any(|v| !v.is_finite()) {
                    let context = format!("the axis map of {}", context());
                    return Err(ModelError::NotFinite { context });
                }
            }
            expected = expected.saturating_mul(axis.map.cells(levels));
        }
        if expected != self.values.len() {
            return Err(ModelError::Length {
                context: context(),
                expected,
                found: self.values.len(),
            });
        }
        if self.values.iter().any(|v| !v.is_finite()) {
            return Err(ModelError::NotFinite { context: context() });
        }
        if !(self.sigma > 0.0 && self.sigma.is_finite()) {
            return Err(ModelError::Sigma {
                measurement: self.name.clone(),
                sigma: self.sigma,
            });
        }
        Ok(())
    }
}

/// The Kronecker product of a measurement's maps, ready to be applied.
#[derive(Debug, Clone)]
pub(crate) struct KroneckerMap {
    levels: Vec<usize>,
    matrices: Vec<Option<Matrix>>,
}

/// A dense row-major matrix.
#[derive(Debug, Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl KroneckerMap {
    /// The maps of a checked measurement.
    pub(crate) fn new(domain: &Domain, axes: &[MeasuredAxis]) -> KroneckerMap {
        let levels = axes.iter().map(|a| domain.sizes()[a.variable]).collect();
        let matrices = axes
            .iter()
            .map(|axis| match &axis.map {
                AxisMap::Identity => None,
                AxisMap::Linear(matrix) => Some(Matrix {
                    rows: matrix.nrows(),
                    columns: matrix.ncols(),
                    entries: matrix.iter().copied().collect(),
                }),
            })
            .collect();
        KroneckerMap { levels, matrices }
    }

    /// The map with every entry squared: the second moments of what the map gives the means of.
    pub(crate) fn squared(&self) -> KroneckerMap {
        let mut result = self.clone();
        for matrix in result.matrices.iter_mut().flatten() {
            matrix.entries.iter_mut().for_each(|v| *v *= *v);
        }
        result
    }

    /// Applies the map to a table over the axes' variables, in the axes' order.
    pub(crate) fn apply(&self, mut table: Vec<f64>) -> Vec<f64> {
        let mut shape = self.levels.clone();
        for (axis, matrix) in self.matrices.iter().enumerate() {
            if let Some(matrix) = matrix {
                table = along_axis(&table, &shape, axis, matrix.rows, |row, column| {
                    matrix.entries[row * matrix.columns + column]
                });
                shape[axis] = matrix.rows;
            }
        }
        table
    }

    /// Applies the transposed map to an array of the answer's shape.
    pub(crate) fn apply_transposed(&self, answer: &[f64]) -> Vec<f64> {
        let mut shape: Vec<usize> = self
            .levels
            .iter()
            .zip(&self.matrices)
            .map(|(&levels, m)| m.as_ref().map_or(levels, |m| m.rows))
            .collect();
        let mut table = answer.to_vec();
        for (axis, matrix) in self.matrices.iter().enumerate() {
            if let Some(matrix) = matrix {
                table = along_axis(&table, &shape, axis, matrix.columns, |row, column| {
                    matrix.entries[column * matrix.columns + row]
                });
                shape[axis] = matrix.columns;
            }
        }
        table
    }
}

/// Multiplies a tensor by a matrix with `rows` rows along one axis.
fn along_axis(
    tensor: &[f64],
    shape: &[usize],
    axis: usize,
    rows: usize,
    entry: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let columns = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut result = vec![0.0; outer * rows * inner];
    for block in 0..outer {
        let source = &tensor[block * columns * inner..(block + 1) * columns * inner];
        let target = &mut result[block * rows * inner..(block + 1) * rows * inner];
        for row in 0..rows {
            let target = &mut target[row * inner..(row + 1) * inner];
            for column in 0..columns {
                let weight = entry(row, column);
                if weight != 0.0 {
                    let source = &source[column * inner..(column + 1) * inner];
                    for (sum, value) in target.iter_mut().zip(source) {
                        *sum += weight * value;
                    }
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn example() -> (Domain, Vec<MeasuredAxis>) {
        let domain = Domain::new(vec!["a".into(), "b".into()], vec![3, 2]).unwrap();
        let axes = vec![
            MeasuredAxis {
                variable: 1,
                map: AxisMap::Identity,
            },
            MeasuredAxis {
                variable: 0,
                map: AxisMap::Linear(array![[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]),
            },
        ];
        (domain, axes)
    }

    #[test]
    fn the_map_and_its_transpose() {
        let (domain, axes) = example();
        let map = KroneckerMap::new(&domain, &axes);
        // Axes' order: b slowest, a fastest.
        let table = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(map.apply(table.clone()), [2.0, 4.0, 6.5, 8.5]);
        let answer = [1.0, -2.0, 3.0, 0.25];
        let left: f64 = map
            .apply(table.clone())
            .iter()
            .zip(&answer)
            .map(|(a, b)| a * b)
            .sum();
        let spread = map.apply_transposed(&answer);
        let right: f64 = spread.iter().zip(&table).map(|(a, b)| a * b).sum();
        assert!((left - right).abs() < 1e-12);
        assert_eq!(map.squared().apply(table), [1.5, 3.5, 5.25, 7.25]);
    }

    #[test]
    fn faults_are_refused() {
        let (domain, axes) = example();
        let good = Measurement {
            name: "m".into(),
            axes,
            values: vec![0.0; 4],
            sigma: 1.0,
        };
        assert!(good.check(&domain).is_ok());
        let mut bad = good.clone();
        bad.sigma = 0.0;
        assert!(matches!(bad.check(&domain), Err(ModelError::Sigma { .. })));
        bad = good.clone();
        bad.values[1] = f64::NAN;
        assert!(matches!(
            bad.check(&domain),
            Err(ModelError::NotFinite { .. })
        ));
        bad = good.clone();
        bad.values.pop();
        assert!(matches!(bad.check(&domain), Err(ModelError::Length { .. })));
        bad = good;
        bad.axes[1].variable = 1;
        assert!(matches!(
            bad.check(&domain),
            Err(ModelError::RepeatedVariable { .. })
        ));
    }
}
