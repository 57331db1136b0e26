//! Measurements of columns whose rare levels were merged.
//!
//! Noise of equal size on each of many rare levels says nothing about any of them, but a model that is fitted
//! to it would follow it. MST's compression (McKenna, Miklau, Sheldon 2021) keeps of `m` rare levels only their
//! noisy sum. Divided by `sqrt(m)`, its noise has the standard deviation of the others', so the marginal stays one
//! measurement with one sigma.

use super::{AxisMap, Measurement};
use ndarray::Array2;

/// The map that reads cells of merged levels: cell `c` is the sum of the levels with `cells[level] = c`.
pub(super) fn merge_map(map: &AxisMap, levels: usize, cells: &[u16]) -> AxisMap {
    let count = cells.iter().max().map_or(0, |&last| usize::from(last) + 1);
    let columns = match map {
        AxisMap::Identity => levels,
        AxisMap::Linear(matrix) => matrix.ncols(),
    };
    let mut merged = Array2::zeros((count, columns));
    for (level, &cell) in cells.iter().enumerate() {
        let mut target = merged.row_mut(usize::from(cell));
        match map {
            AxisMap::Identity => target[level] = 1.0,
            AxisMap::Linear(matrix) => target += &matrix.row(level),
        }
    }
    AxisMap::Linear(merged)
}

/// A one-way marginal of all levels as one of merged levels: of `m` of them, the sum over `sqrt(m)`.
pub(super) fn merged_counts(mut measurement: Measurement, cells: &[u16]) -> Measurement {
    let count = cells.iter().max().map_or(0, |&last| usize::from(last) + 1);
    let mut members = vec![0.0; count];
    let mut sums = vec![0.0; count];
    for (&cell, value) in cells.iter().zip(&measurement.values) {
        members[usize::from(cell)] += 1.0;
        sums[usize::from(cell)] += value;
    }
    let scale: Vec<f64> = members.iter().map(|m: &f64| m.sqrt().recip()).collect();
    measurement.values = sums.iter().zip(&scale).map(|(sum, s)| sum * s).collect();
    for axis in &mut measurement.axes {
        let mut map = merge_map(&axis.map, cells.len(), cells);
        if let AxisMap::Linear(matrix) = &mut map {
            for (mut row, scale) in matrix.rows_mut().into_iter().zip(&scale) {
                row *= *scale;
            }
        }
        axis.map = map;
    }
    measurement
}

#[cfg(test)]
mod tests {
    use super::super::MeasuredAxis;
    use super::*;
    use ndarray::array;

    #[test]
    fn levels_are_summed_and_their_noise_keeps_its_size() {
        let measurement = Measurement {
            name: "m".into(),
            axes: vec![MeasuredAxis {
                variable: 0,
                map: AxisMap::Identity,
            }],
            values: vec![3.0, 10.0, -1.0, 2.0, 0.0],
            sigma: 2.0,
        };
        let merged = merged_counts(measurement, &[1, 0, 1, 1, 1]);
        assert_eq!(merged.values, [10.0, 2.0]);
        let expected = array![[0.0, 1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.5, 0.5]];
        assert_eq!(merged.axes[0].map, AxisMap::Linear(expected));
    }

    #[test]
    fn merging_bins_of_a_grid_composes_the_maps() {
        let bins = AxisMap::Linear(array![
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0]
        ]);
        let expected = array![[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]];
        assert_eq!(merge_map(&bins, 3, &[1, 0, 1]), AxisMap::Linear(expected));
    }
}
