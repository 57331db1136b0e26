//! How many measured values a model can fit freely.
//!
//! With the total fixed, the number of free directions is the dimension of the space that the measured
//! functions span, constants left out. Split the functions of each variable into the constants and
//! those of mean zero; a measurement then spans a sum of products over the subsets `S` of its
//! variables, and different `S` are orthogonal under the uniform measure. So the dimensions of the
//! subsets add up, and within a subset
//!
//! ```text
//! dim = min( sum over measurements of prod over v in S of dim U_v ,
//!            prod over v in S of dim (sum over measurements of U_v) )
//! ```
//!
//! with `U_v` the span of a measurement's map on `v`, centred. This is exact where the maps on all but
//! one of the variables agree, as in every workload of this project, and an upper bound otherwise (a
//! map that does not span the constants counts as if it did). Structural zeros are not taken into
//! account.

use std::collections::BTreeMap;

use super::{AxisMap, Domain, Measurement};

/// The number of measured values minus the number of free directions, at least 0.
pub(crate) fn degrees_of_freedom(domain: &Domain, measurements: &[Measurement]) -> usize {
    let values: usize = measurements.iter().map(|m| m.values.len()).sum();
    values.saturating_sub(free_directions(domain, measurements))
}

/// The span of a measurement's map on one variable, constants left out.
#[derive(Clone)]
enum Span {
    /// Everything: of dimension `levels - 1`.
    Full(usize),
    /// The span of these rows, each of mean zero.
    Rows(Vec<Vec<f64>>),
}

fn free_directions(domain: &Domain, measurements: &[Measurement]) -> usize {
    let mut subsets: BTreeMap<Vec<usize>, Vec<Vec<Span>>> = BTreeMap::new();
    for measurement in measurements {
        // A variable of one level has constants only. With the others, there are no more subsets than
        // the clique has cells.
        let mut axes: Vec<(usize, Span)> = measurement
            .axes
            .iter()
            .map(|a| (a.variable, span(&a.map, domain.sizes()[a.variable])))
            .filter(|(variable, _)| domain.sizes()[*variable] > 1)
            .collect();
        axes.sort_by_key(|(variable, _)| *variable);
        for mask in 1u64..1 << axes.len() {
            let chosen = || {
                (0..axes.len())
                    .filter(|i| mask >> i & 1 == 1)
                    .map(|i| &axes[i])
            };
            subsets
                .entry(chosen().map(|(v, _)| *v).collect())
                .or_default()
                .push(chosen().map(|(_, span)| span.clone()).collect());
        }
    }
    subsets.values().map(|blocks| dimension(blocks)).sum()
}

fn dimension(blocks: &[Vec<Span>]) -> usize {
    let variables = blocks.first().map_or(0, Vec::len);
    let separate = blocks
        .iter()
        .map(|spans| {
            spans
                .iter()
                .map(|s| joint_rank(&[s]))
                .fold(1, usize::saturating_mul)
        })
        .fold(0, usize::saturating_add);
    let joint = (0..variables)
        .map(|v| joint_rank(&blocks.iter().map(|spans| &spans[v]).collect::<Vec<_>>()))
        .fold(1, usize::saturating_mul);
    separate.min(joint)
}

/// The dimension of the sum of some spans on one variable.
fn joint_rank(spans: &[&Span]) -> usize {
    let mut rows = Vec::new();
    for span in spans {
        match span {
            Span::Full(levels) => return levels - 1,
            Span::Rows(more) => rows.extend(more.iter().cloned()),
        }
    }
    rank(rows)
}

fn span(map: &AxisMap, levels: usize) -> Span {
    let AxisMap::Linear(matrix) = map else {
        return Span::Full(levels);
    };
    let centred = |row: ndarray::ArrayView1<f64>| {
        let mean = row.sum() / levels as f64;
        row.iter().map(|v| v - mean).collect()
    };
    Span::Rows(matrix.rows().into_iter().map(centred).collect())
}

/// The rank of a matrix given by its rows, by elimination with row and column pivoting.
fn rank(mut rows: Vec<Vec<f64>>) -> usize {
    let largest = |rows: &[Vec<f64>]| {
        let mut best = (0.0, 0, 0);
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                if value.abs() > best.0 {
                    best = (value.abs(), i, j);
                }
            }
        }
        best
    };
    let scale = largest(&rows).0;
    let mut rank = 0;
    loop {
        let (size, pivot, column) = largest(&rows);
        // Elimination with full pivoting loses a few digits at most; what is left below is rounding.
        if size <= 1e-9 * scale {
            return rank;
        }
        rank += 1;
        let pivot = rows.swap_remove(pivot);
        for row in &mut rows {
            let factor = row[column] / pivot[column];
            for (value, p) in row.iter_mut().zip(&pivot) {
                *value -= factor * p;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MeasuredAxis;
    use ndarray::{Array2, array};

    fn measurement(axes: Vec<(usize, AxisMap)>, cells: usize) -> Measurement {
        let axes = axes
            .into_iter()
            .map(|(variable, map)| MeasuredAxis { variable, map });
        Measurement {
            name: String::new(),
            axes: axes.collect(),
            values: vec![0.0; cells],
            sigma: 1.0,
        }
    }

    /// The causal workload on arms {0,1}, a grid of four cells in two bins, and a covariate with three
    /// levels. Free: arm 1; grid bins 1, split 1, each also by arm: 4; covariate 2, by arm 2, by split
    /// 2, by both 2.
    #[test]
    fn free_directions_of_the_causal_workload() {
        let names = ["t", "y", "x"].map(String::from).to_vec();
        let domain = Domain::new(names, vec![2, 4, 3]).unwrap();
        let bins = AxisMap::Linear(array![[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]);
        let split = AxisMap::Linear(array![[0.9, 0.7, 0.4, 0.2], [0.1, 0.3, 0.6, 0.8]]);
        let arm = || (0, AxisMap::Identity);
        let measurements = [
            measurement(vec![arm(), (1, bins)], 4),
            measurement(vec![(1, split.clone()), arm()], 4),
            measurement(vec![arm(), (1, split), (2, AxisMap::Identity)], 12),
        ];
        assert_eq!(free_directions(&domain, &measurements), 1 + 4 + 8);
        assert_eq!(degrees_of_freedom(&domain, &measurements), 20 - 13);
    }

    /// A coarse map nested in the identity adds nothing; a full-rank matrix is as good as the identity.
    #[test]
    fn nested_and_equivalent_maps_count_once() {
        let domain = Domain::new(vec!["a".into(), "b".into()], vec![3, 1]).unwrap();
        let merged = AxisMap::Linear(array![[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]);
        let full = AxisMap::Linear(Array2::from_diag(&array![1.0, 2.0, 3.0]));
        let measurements = [
            measurement(vec![(0, merged)], 2),
            measurement(vec![(0, full)], 3),
            measurement(vec![(0, AxisMap::Identity), (1, AxisMap::Identity)], 3),
        ];
        assert_eq!(free_directions(&domain, &measurements), 2);
    }
}
