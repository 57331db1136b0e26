//! The outcome's grid: the cells in which a model carries the outcome.
//!
//! A release measures the outcome's histogram over its public bins and its exact moments. Both hold at
//! once in a model only if the outcome's mean within a bin is free to move, so each bin is divided into
//! a few cells of the grid, uniform by reference, and the calibration tilts them.

use super::{Column, Kind};

/// One cell of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridCell {
    /// The bin (code of the outcome column) that the cell belongs to.
    pub bin: u16,
    /// Smallest value, in the outcome's own units.
    pub lower: f64,
    /// Upper end: included for integer outcomes and points, else excluded.
    pub upper: f64,
    /// Mean of the outcome mapped to `[0, 1]`, uniform within the cell.
    pub mean: f64,
    /// Mean of `y (1 - y)`, uniform within the cell.
    pub spread: f64,
    /// The cell's share of its bin under the reference measure.
    pub weight: f64,
}

/// The grid of an outcome column.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeGrid {
    /// The cells, ascending.
    pub cells: Vec<GridCell>,
}

/// How many cells a bin is divided into (fewer where it holds fewer values): enough that a bin's mean
/// can move over three quarters of the bin, few enough to keep models small.
const CELLS_PER_BIN: usize = 4;

impl OutcomeGrid {
    /// The grid of an outcome column without missing codes. Two-level outcomes have two cells, 0 and 1.
    pub fn new(column: &Column) -> OutcomeGrid {
        OutcomeGrid::with_parts(column, CELLS_PER_BIN)
    }

    /// The grid with one cell per bin, for releases that measured the outcome's histogram at most.
    pub fn of_bins(column: &Column) -> OutcomeGrid {
        OutcomeGrid::with_parts(column, 1)
    }

    fn with_parts(column: &Column, most: usize) -> OutcomeGrid {
        let mut cells = Vec::new();
        match &column.kind {
            Kind::Boolean | Kind::Categorical { .. } => {
                for bin in 0..column.declared_levels() as u16 {
                    let mean = f64::from(bin);
                    cells.push(GridCell {
                        bin,
                        lower: mean,
                        upper: mean,
                        mean,
                        spread: 0.0,
                        weight: 1.0,
                    });
                }
            }
            Kind::Integer { lower, upper, bins } => {
                let scale = Unit {
                    lower: *lower as f64,
                    width: (upper - lower) as f64,
                };
                for (index, bin) in bins.iter().enumerate() {
                    let count = (bin.upper - bin.lower) as u64 + 1;
                    let parts = (most as u64).min(count);
                    for part in 0..parts {
                        let first = bin.lower + (count * part / parts) as f64;
                        let last = bin.lower + (count * (part + 1) / parts) as f64 - 1.0;
                        let values = last - first + 1.0;
                        // Variance of the uniform law on `values` consecutive integers.
                        let variance = (values * values - 1.0) / 12.0;
                        cells.push(scale.cell(index, first, last, variance, values / count as f64));
                    }
                }
            }
            Kind::Real { lower, upper, bins } => {
                let scale = Unit {
                    lower: *lower,
                    width: upper - lower,
                };
                for (index, bin) in bins.iter().enumerate() {
                    let parts = if bin.is_point() { 1 } else { most };
                    let width = (bin.upper - bin.lower) / parts as f64;
                    for part in 0..parts {
                        let first = bin.lower + width * part as f64;
                        let last = if part + 1 == parts {
                            bin.upper
                        } else {
                            first + width
                        };
                        cells.push(scale.cell(
                            index,
                            first,
                            last,
                            width * width / 12.0,
                            1.0 / parts as f64,
                        ));
                    }
                }
            }
        }
        OutcomeGrid { cells }
    }
}

/// The map from the outcome's units to `[0, 1]`.
struct Unit {
    lower: f64,
    width: f64,
}

impl Unit {
    fn cell(&self, bin: usize, lower: f64, upper: f64, variance: f64, weight: f64) -> GridCell {
        let mean = (f64::midpoint(lower, upper) - self.lower) / self.width;
        let second_moment = mean * mean + variance / (self.width * self.width);
        GridCell {
            bin: bin as u16,
            lower,
            upper,
            mean,
            spread: mean - second_moment,
            weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bin, Role};

    fn outcome(kind: Kind) -> Column {
        Column {
            name: "y".into(),
            label: None,
            role: Role::Outcome,
            kind,
            missing: vec![],
        }
    }

    #[test]
    fn integer_cells_partition_the_values() {
        let bins = vec![
            Bin {
                lower: 0.0,
                upper: 0.0,
            },
            Bin {
                lower: 1.0,
                upper: 2.0,
            },
            Bin {
                lower: 3.0,
                upper: 12.0,
            },
        ];
        let grid = OutcomeGrid::new(&outcome(Kind::Integer {
            lower: 0,
            upper: 12,
            bins,
        }));
        assert_eq!(grid.cells.len(), 1 + 2 + 4);
        let mut next = 0.0;
        for cell in &grid.cells {
            assert_eq!(cell.lower, next);
            next = cell.upper + 1.0;
            let values: Vec<f64> = (cell.lower as i64..=cell.upper as i64)
                .map(|v| v as f64 / 12.0)
                .collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let spread = values.iter().map(|y| y * (1.0 - y)).sum::<f64>() / values.len() as f64;
            assert!((cell.mean - mean).abs() < 1e-12 && (cell.spread - spread).abs() < 1e-12);
        }
        assert_eq!(next, 13.0);
    }

    #[test]
    fn real_points_stay_points() {
        let bins = vec![
            Bin {
                lower: 0.0,
                upper: 0.0,
            },
            Bin {
                lower: 0.0,
                upper: 8.0,
            },
        ];
        let grid = OutcomeGrid::new(&outcome(Kind::Real {
            lower: 0.0,
            upper: 8.0,
            bins,
        }));
        assert_eq!(grid.cells.len(), 5);
        assert_eq!(
            (
                grid.cells[0].lower,
                grid.cells[0].upper,
                grid.cells[0].spread
            ),
            (0.0, 0.0, 0.0)
        );
        assert!((grid.cells[1].mean - 0.125).abs() < 1e-12);
        // E[y(1-y)] on [0, 1/4]: 1/8 - 1/48.
        assert!((grid.cells[1].spread - (0.125 - 1.0 / 48.0)).abs() < 1e-12);
    }
}
