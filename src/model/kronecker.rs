//! Kronecker products of axis maps, applied axis by axis.

use super::{AxisMap, Domain, MeasuredAxis};

/// The Kronecker product of a measurement's maps, ready to be applied.
#[derive(Debug, Clone)]
pub(crate) struct KroneckerMap {
    levels: Vec<usize>,
    matrices: Vec<Option<Matrix>>,
}

/// A row-major matrix. Bins and merged levels have one entry per column that is not 0, so products go over
/// these alone.
#[derive(Debug, Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
    nonzero: Vec<Entry>,
}

/// An entry of a matrix: row, column, value.
type Entry = (usize, usize, f64);

impl KroneckerMap {
    /// The maps of a checked measurement.
    pub(crate) fn new(domain: &Domain, axes: &[MeasuredAxis]) -> KroneckerMap {
        let levels = axes.iter().map(|a| domain.sizes()[a.variable]).collect();
        let matrices = axes
            .iter()
            .map(|axis| match &axis.map {
                AxisMap::Identity => None,
                AxisMap::Linear(matrix) => Some(Matrix::new(
                    matrix.nrows(),
                    matrix.ncols(),
                    matrix.iter().copied().collect(),
                )),
            })
            .collect();
        KroneckerMap { levels, matrices }
    }

    /// The map with every entry squared: the second moments of what the map gives the means of.
    pub(crate) fn squared(&self) -> KroneckerMap {
        let mut result = self.clone();
        for matrix in result.matrices.iter_mut().flatten() {
            let squares = matrix.entries.iter().map(|v| v * v).collect();
            *matrix = Matrix::new(matrix.rows, matrix.columns, squares);
        }
        result
    }

    /// Applies the map to a table over the axes' variables, in the axes' order.
    pub(crate) fn apply(&self, mut table: Vec<f64>) -> Vec<f64> {
        let mut shape = self.levels.clone();
        for (axis, matrix) in self.matrices.iter().enumerate() {
            if let Some(matrix) = matrix {
                table = matrix.along(&table, &shape, axis);
                shape[axis] = matrix.rows;
            }
        }
        table
    }

    /// Applies the transposed map to an array of the answer's shape.
    pub(crate) fn apply_transposed(&self, answer: &[f64]) -> Vec<f64> {
        let mut shape = self.answer_shape();
        let mut table = answer.to_vec();
        for (axis, matrix) in self.matrices.iter().enumerate() {
            if let Some(matrix) = matrix {
                let transposed = matrix
                    .nonzero
                    .iter()
                    .map(|&(row, column, v)| (column, row, v));
                table = along_axis(&table, &shape, axis, matrix.columns, transposed);
                shape[axis] = matrix.columns;
            }
        }
        table
    }
}

/// One axis of a tensor whose cells belong to pairs `(i, j)` of cells of two answers: the offset of each
/// of its levels in the row-major matrix of the pairs.
pub(crate) type PairOffsets = Vec<usize>;

impl KroneckerMap {
    /// The expectations `E[a_i b_j]` of the products of two measurements' functions, given the table
    /// over the union of their variables: `left`'s axes first, in its order, then those of `right` that
    /// `left` lacks, in `right`'s. `shared[k]` is the axis of `left` that axis `k` of `right` shares.
    pub(crate) fn cross_moments(
        left: &KroneckerMap,
        right: &KroneckerMap,
        shared: &[Option<usize>],
        mut table: Vec<f64>,
    ) -> Vec<f64> {
        let new: Vec<usize> = (0..shared.len()).filter(|&k| shared[k].is_none()).collect();
        let mut shape = left.levels.clone();
        shape.extend(new.iter().map(|&k| right.levels[k]));
        let (left_cells, right_cells) = (left.answer_shape(), right.answer_shape());
        let right_strides = row_major_strides(&right_cells, 1);
        let left_strides = row_major_strides(&left_cells, right_cells.iter().product());
        let mut offsets: Vec<PairOffsets> = Vec::with_capacity(shape.len());
        for axis in 0..left.levels.len() {
            let partner = shared.iter().position(|&s| s == Some(axis));
            let pair = partner.map(|k| (&right.matrices[k], right_strides[k]));
            let (product, steps) =
                pair_axis(&left.matrices[axis], left_strides[axis], pair, shape[axis]);
            if let Some(matrix) = product {
                table = matrix.along(&table, &shape, axis);
                shape[axis] = matrix.rows;
            }
            offsets.push(steps);
        }
        for (position, &k) in new.iter().enumerate() {
            let axis = left.levels.len() + position;
            if let Some(matrix) = &right.matrices[k] {
                table = matrix.along(&table, &shape, axis);
                shape[axis] = matrix.rows;
            }
            offsets.push(
                (0..shape[axis])
                    .map(|level| level * right_strides[k])
                    .collect(),
            );
        }
        let mut places = vec![0usize];
        for steps in &offsets {
            places = places
                .iter()
                .flat_map(|&place| steps.iter().map(move |step| place + step))
                .collect();
        }
        let size = left_cells.iter().product::<usize>() * right_cells.iter().product::<usize>();
        let mut result = vec![0.0; size];
        for (place, value) in places.into_iter().zip(table) {
            result[place] += value;
        }
        result
    }

    fn answer_shape(&self) -> Vec<usize> {
        let rows = |(matrix, &levels): (&Option<Matrix>, &usize)| match matrix {
            Some(matrix) => matrix.rows,
            None => levels,
        };
        self.matrices.iter().zip(&self.levels).map(rows).collect()
    }
}

/// The map on an axis of the left measurement, multiplied level by level with the right one's map on the
/// same variable if it has one (`pair`, with its stride), and the offsets of its rows. Two identities
/// stay a diagonal.
fn pair_axis(
    left: &Option<Matrix>,
    left_stride: usize,
    pair: Option<(&Option<Matrix>, usize)>,
    levels: usize,
) -> (Option<Matrix>, PairOffsets) {
    let rows = |m: &Option<Matrix>| m.as_ref().map_or(levels, |m| m.rows);
    let entry = |m: &Option<Matrix>, row: usize, level: usize| match m {
        Some(m) => m.entries[row * m.columns + level],
        None => f64::from(u8::from(row == level)),
    };
    match pair {
        None => (
            left.clone(),
            (0..rows(left)).map(|i| i * left_stride).collect(),
        ),
        Some((None, stride)) if left.is_none() => (
            None,
            (0..levels).map(|l| l * (left_stride + stride)).collect(),
        ),
        Some((right, stride)) => {
            let mut entries = Vec::new();
            let mut offsets = Vec::new();
            for i in 0..rows(left) {
                for j in 0..rows(right) {
                    entries.extend((0..levels).map(|l| entry(left, i, l) * entry(right, j, l)));
                    offsets.push(i * left_stride + j * stride);
                }
            }
            let product = Matrix::new(offsets.len(), levels, entries);
            (Some(product), offsets)
        }
    }
}

/// The strides of a row-major tensor whose last axis has stride `last`.
fn row_major_strides(shape: &[usize], last: usize) -> Vec<usize> {
    let mut stride = last;
    let mut strides: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let current = stride;
            stride *= size;
            current
        })
        .collect();
    strides.reverse();
    strides
}

impl Matrix {
    fn new(rows: usize, columns: usize, entries: Vec<f64>) -> Matrix {
        let places = entries.iter().enumerate();
        let nonzero = places
            .filter(|(_, value)| **value != 0.0)
            .map(|(place, &value)| (place / columns, place % columns, value))
            .collect();
        Matrix {
            rows,
            columns,
            entries,
            nonzero,
        }
    }

    fn along(&self, tensor: &[f64], shape: &[usize], axis: usize) -> Vec<f64> {
        along_axis(tensor, shape, axis, self.rows, self.nonzero.iter().copied())
    }
}

/// Multiplies a tensor by a matrix with `rows` rows, given by its entries that are not 0, along one axis.
fn along_axis(
    tensor: &[f64],
    shape: &[usize],
    axis: usize,
    rows: usize,
    nonzero: impl Iterator<Item = Entry> + Clone,
) -> Vec<f64> {
    let columns = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut result = vec![0.0; outer * rows * inner];
    for block in 0..outer {
        let source = &tensor[block * columns * inner..(block + 1) * columns * inner];
        let target = &mut result[block * rows * inner..(block + 1) * rows * inner];
        for (row, column, weight) in nonzero.clone() {
            let target = &mut target[row * inner..(row + 1) * inner];
            let source = &source[column * inner..(column + 1) * inner];
            for (sum, value) in target.iter_mut().zip(source) {
                *sum += weight * value;
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::example;
    use super::*;

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
}
