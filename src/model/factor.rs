//! Dense tables over a few variables.

use super::junction_tree::is_subset;
use super::projection::Projection;
use super::{Domain, ModelError};

/// A dense table over a sorted list of variables, row-major (the last variable fastest).
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    variables: Vec<usize>,
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Factor {
    /// A table over `variables`, which must be sorted; `values` are row-major.
    ///
    /// # Errors
    /// If a variable does not exist or is listed twice, or if there are not as many values as cells.
    pub fn new(
        domain: &Domain,
        variables: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Factor, ModelError> {
        domain.check(&variables, "a factor")?;
        let shape = domain.shape(&variables);
        let expected = domain.cells(&variables);
        if expected != values.len() as u128 || !variables.is_sorted() {
            return Err(ModelError::Length {
                context: "a factor over sorted variables".into(),
                expected: usize::try_from(expected).unwrap_or(usize::MAX),
                found: values.len(),
            });
        }
        Ok(Factor {
            variables,
            shape,
            values,
        })
    }

    /// The factor over no variable, with one value.
    pub fn scalar(value: f64) -> Factor {
        Factor {
            variables: Vec::new(),
            shape: Vec::new(),
            values: vec![value],
        }
    }

    /// The variables, sorted.
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// The number of levels of each variable.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values, row-major.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The table's values with its axes in another order.
    ///
    /// # Panics
    /// If `order` is not a permutation of the variables.
    pub fn values_in_order(&self, order: &[usize]) -> Vec<f64> {
        assert!(order.len() == self.variables.len() && is_subset(order, &self.variables));
        self.summed_onto(order)
    }

    /// The sum over all variables that are not in `keep` (in any order; those that the factor does not
    /// have are ignored).
    pub fn sum_onto(&self, keep: &[usize]) -> Factor {
        let kept = |v: &usize| keep.contains(v);
        let variables: Vec<usize> = self.variables.iter().copied().filter(kept).collect();
        let shape = self
            .axes()
            .filter(|(v, _)| kept(v))
            .map(|(_, s)| s)
            .collect();
        let values = self.summed_onto(&variables);
        Factor {
            variables,
            shape,
            values,
        }
    }

    /// The product of two factors, summed over all variables that are not in `keep`. The product itself
    /// is not stored.
    pub fn contract(&self, other: &Factor, keep: &[usize]) -> Factor {
        let mut axes: Vec<(usize, usize)> = self.axes().chain(other.axes()).collect();
        axes.sort_unstable();
        axes.dedup();
        let kept: Vec<(usize, usize)> = axes
            .iter()
            .copied()
            .filter(|(v, _)| keep.contains(v))
            .collect();
        let (variables, shape): (Vec<usize>, Vec<usize>) = kept.into_iter().unzip();
        let mut values = vec![0.0; shape.iter().product()];
        let result_strides = strides(&variables, &shape);
        let (left, right) = (
            strides(&self.variables, &self.shape),
            strides(&other.variables, &other.shape),
        );
        let steps: Vec<Step> = axes
            .iter()
            .map(|&(variable, size)| Step {
                size,
                left: stride_of(&self.variables, &left, variable),
                right: stride_of(&other.variables, &right, variable),
                result: stride_of(&variables, &result_strides, variable),
            })
            .collect();
        contract_steps(&steps, &self.values, &other.values, &mut values);
        Factor {
            variables,
            shape,
            values,
        }
    }

    /// The sum of a table over sorted `variables` over all of them that are not in `keep`, sorted.
    pub(super) fn summed(
        domain: &Domain,
        variables: &[usize],
        values: &[f64],
        keep: &[usize],
    ) -> Factor {
        let projection = Projection::new(variables, &domain.shape(variables), keep);
        let mut sums = vec![0.0; projection.cells()];
        projection.sum(values, &mut sums);
        Factor {
            variables: keep.to_vec(),
            shape: domain.shape(keep),
            values: sums,
        }
    }

    /// The table as a matrix, by the cells of `rows` and of `columns`, which together are its variables; one that is in both
    /// leaves zeros where its two levels differ.
    pub(super) fn matrix(&self, domain: &Domain, rows: &[usize], columns: &[usize]) -> Matrix {
        let [row_shape, column_shape] = [rows, columns].map(|set| domain.shape(set));
        let width: usize = column_shape.iter().product();
        let offsets = |variable: usize| {
            let row = stride_of(rows, &strides(rows, &row_shape), variable) * width;
            row + stride_of(columns, &strides(columns, &column_shape), variable)
        };
        let mut places = vec![0usize];
        for (variable, levels) in self.axes() {
            let step = offsets(variable);
            let spread = |&place: &usize| (0..levels).map(move |level| place + level * step);
            places = places.iter().flat_map(spread).collect();
        }
        let height: usize = row_shape.iter().product();
        let mut entries = vec![0.0; height * width];
        for (place, value) in places.into_iter().zip(&self.values) {
            entries[place] = *value;
        }
        Matrix {
            rows: height,
            columns: width,
            entries,
        }
    }

    fn axes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.variables
            .iter()
            .copied()
            .zip(self.shape.iter().copied())
    }

    fn summed_onto(&self, order: &[usize]) -> Vec<f64> {
        let projection = Projection::new(&self.variables, &self.shape, order);
        let mut values = vec![0.0; projection.cells()];
        projection.sum(&self.values, &mut values);
        values
    }
}

/// A row-major matrix.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) entries: Vec<f64>,
}

/// One axis of a contraction: its length and the stride that it has in each of the three tables.
#[derive(Clone, Copy)]
struct Step {
    size: usize,
    left: usize,
    right: usize,
    result: usize,
}

/// `result[..] += left[..] * right[..]` over all cells of the axes; the longest axis innermost.
fn contract_steps(steps: &[Step], left: &[f64], right: &[f64], result: &mut [f64]) {
    let mut outer = steps.to_vec();
    let longest = (0..outer.len()).max_by_key(|&a| outer[a].size);
    let Some(inner) = longest.map(|axis| outer.remove(axis)) else {
        result[0] += left[0] * right[0];
        return;
    };
    let mut codes = vec![0usize; outer.len()];
    let (mut l, mut r, mut o) = (0, 0, 0);
    loop {
        for k in 0..inner.size {
            result[o + k * inner.result] += left[l + k * inner.left] * right[r + k * inner.right];
        }
        // The odometer: the last axis that can advance does, those after it start over.
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            let step = outer[axis];
            codes[axis] += 1;
            l += step.left;
            r += step.right;
            o += step.result;
            if codes[axis] < step.size {
                break;
            }
            codes[axis] = 0;
            l -= step.left * step.size;
            r -= step.right * step.size;
            o -= step.result * step.size;
        }
    }
}

/// The row-major strides of a table; the variables are only counted.
fn strides(variables: &[usize], shape: &[usize]) -> Vec<usize> {
    let mut result = vec![1; variables.len()];
    for axis in (1..shape.len()).rev() {
        result[axis - 1] = result[axis] * shape[axis];
    }
    result
}

fn stride_of(variables: &[usize], strides: &[usize], variable: usize) -> usize {
    match variables.iter().position(|&v| v == variable) {
        Some(axis) => strides[axis],
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contraction_follows_the_definition() {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let domain = Domain::new(names, vec![2, 3, 4]).unwrap();
        let left: Vec<f64> = (0..6).map(|i| f64::from(i) + 1.0).collect();
        let right: Vec<f64> = (0..12).map(|i| f64::from(i * i) - 3.0).collect();
        let f = Factor::new(&domain, vec![0, 1], left.clone()).unwrap();
        let g = Factor::new(&domain, vec![1, 2], right.clone()).unwrap();
        let product = f.contract(&g, &[2, 0]);
        assert_eq!(product.variables(), [0, 2]);
        for a in 0..2 {
            for c in 0..4 {
                let expected: f64 = (0..3).map(|b| left[a * 3 + b] * right[b * 4 + c]).sum();
                assert_eq!(product.values()[a * 4 + c], expected);
            }
        }
        let total: f64 = product.values().iter().sum();
        assert_eq!(f.contract(&g, &[]).values(), [total]);
        assert_eq!(product.values_in_order(&[2, 0])[1], product.values()[4]);
    }
}
