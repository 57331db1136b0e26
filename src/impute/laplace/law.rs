//! The law of the released sums: their mean, its derivative and their covariance at some parameters.
//!
//! The statistics of one record are `1{T=t} w_s r`, with `w = (1 - Y, Y)` and `r` running over 1 (the hub)
//! and the indicators of every leaf's levels; they are kept in the order `(t, s, r)`. Given `(t, o)` the
//! covariates are independent of each other and of the outcome within its cell. So with
//! `R(t, o) = (1, C_1, C_2, ...)` and `W_su(o) = E[w_s w_u | o]`,
//!
//! ```text
//! E[(t, s, r)]               = sum over o of p(t, o) w_s(o) R_r(t, o)
//! E[(t, s, r) (t, u, r')]    = sum over o of p(t, o) W_su(o) R_r R_r'     (one leaf: R_r where r = r', else 0)
//! ```
//!
//! and different arms never meet in one record. `W_01` is the cell's spread: an outcome between 0 and 1 has
//! the variance that its shape implies, not a coin's.

use super::star::{Point, Star};
use faer::Mat;

/// Mean, derivative and covariance of the sums.
pub(super) struct Law {
    /// Means, in records.
    pub(super) mean: Vec<f64>,
    /// Statistics x parameters.
    pub(super) jacobian: Mat<f64>,
    /// The sampling covariance (lower triangle and diagonal).
    pub(super) covariance: Mat<f64>,
}

/// `w_s(o)`.
fn side(star: &Star, cell: usize, side: usize) -> f64 {
    let mean = star.cells[cell].mean;
    if side == 0 { 1.0 - mean } else { mean }
}

/// `W_su(o)`.
fn side_product(star: &Star, cell: usize, s: usize, u: usize) -> f64 {
    let (mean, spread) = (star.cells[cell].mean, star.cells[cell].spread);
    match (s, u) {
        (0, 0) => 1.0 - mean - spread,
        (1, 1) => mean - spread,
        _ => spread,
    }
}

/// `R(t, o)`.
fn record(star: &Star, point: &Point, arm: usize, cell: usize) -> Vec<f64> {
    let at = arm * star.cells.len() + cell;
    let mut record = vec![1.0];
    for (leaf, law) in star.leaves.iter().zip(&point.leaves) {
        record.extend(&law[at * leaf.levels..(at + 1) * leaf.levels]);
    }
    record
}

/// The means alone.
pub(super) fn mean(star: &Star, point: &Point) -> Vec<f64> {
    let rows = star.rows();
    let mut mean = vec![0.0; 2 * star.arms * rows];
    for arm in 0..star.arms {
        for cell in 0..star.cells.len() {
            let mass = point.total * point.hub[arm * star.cells.len() + cell];
            let record = record(star, point, arm, cell);
            for s in 0..2 {
                let weight = mass * side(star, cell, s);
                let block = &mut mean[(2 * arm + s) * rows..(2 * arm + s + 1) * rows];
                block
                    .iter_mut()
                    .zip(&record)
                    .for_each(|(m, r)| *m += weight * r);
            }
        }
    }
    mean
}

impl Law {
    /// The law at some parameters.
    pub(super) fn new(star: &Star, point: &Point) -> Law {
        let mean = mean(star, point);
        Law {
            jacobian: jacobian(star, point, &mean),
            covariance: covariance(star, point, &mean),
            mean,
        }
    }
}

fn jacobian(star: &Star, point: &Point, mean: &[f64]) -> Mat<f64> {
    let rows = star.rows();
    let mut jacobian = Mat::zeros(mean.len(), star.parameters());
    for arm in 0..star.arms {
        for cell in 0..star.cells.len() {
            let mass = point.total * point.hub[arm * star.cells.len() + cell];
            let record = record(star, point, arm, cell);
            let tilted = star.hub_parameter() + star.arms - 1 + arm;
            let slopes = leaf_slopes(star, &record, arm, cell);
            for s in 0..2 {
                let weight = mass * side(star, cell, s);
                let first = (2 * arm + s) * rows;
                for (r, value) in record.iter().enumerate() {
                    jacobian[(first + r, tilted)] += weight * value * star.tilt(cell);
                }
                for &(r, parameter, slope) in &slopes {
                    jacobian[(first + r, parameter)] += weight * slope;
                }
            }
        }
    }
    for (i, value) in mean.iter().enumerate() {
        for k in 0..star.arms - 1 {
            jacobian[(i, star.hub_parameter() + k)] = value * star.arm_contrast(i / (2 * rows), k);
        }
        if star.free_total {
            jacobian[(i, 0)] = *value;
        }
    }
    centre_hub(star, point, mean, &mut jacobian);
    jacobian
}

/// The normalising constant's part: `d log p(t, o) = f(t, o) - E[f]` for each of the hub's logits.
fn centre_hub(star: &Star, point: &Point, mean: &[f64], jacobian: &mut Mat<f64>) {
    let cells = star.cells.len();
    for position in 0..2 * star.arms - 1 {
        let feature = |(index, p): (usize, &f64)| {
            let (arm, cell) = (index / cells, index % cells);
            p * match position.checked_sub(star.arms - 1) {
                None => star.arm_contrast(arm, position),
                Some(tilted) if tilted == arm => star.tilt(cell),
                Some(_) => 0.0,
            }
        };
        let expected: f64 = point.hub.iter().enumerate().map(feature).sum();
        for (i, value) in mean.iter().enumerate() {
            jacobian[(i, star.hub_parameter() + position)] -= expected * value;
        }
    }
}

/// `d C_j(l | t, o) / d theta` as (row, parameter, slope).
fn leaf_slopes(star: &Star, record: &[f64], arm: usize, cell: usize) -> Vec<(usize, usize, f64)> {
    let weights = star.effect_weights(arm, cell);
    let mut slopes = Vec::new();
    for leaf in &star.leaves {
        let law = &record[leaf.row..leaf.row + leaf.levels];
        for k in 0..leaf.levels - 1 {
            let average: f64 = (0..leaf.levels).map(|l| law[l] * leaf.contrast(l, k)).sum();
            for (level, p) in law.iter().enumerate() {
                let slope = p * (leaf.contrast(level, k) - average);
                slopes.extend(weights.iter().enumerate().map(|(effect, weight)| {
                    let parameter = leaf.parameter + effect * (leaf.levels - 1) + k;
                    (leaf.row + level, parameter, weight * slope)
                }));
            }
        }
    }
    slopes
}

fn covariance(star: &Star, point: &Point, mean: &[f64]) -> Mat<f64> {
    let rows = star.rows();
    let mut covariance = Mat::zeros(mean.len(), mean.len());
    for arm in 0..star.arms {
        for cell in 0..star.cells.len() {
            let mass = point.total * point.hub[arm * star.cells.len() + cell];
            let record = record(star, point, arm, cell);
            for (s, u) in [(0, 0), (1, 0), (1, 1)] {
                let weight = mass * side_product(star, cell, s, u);
                let (first, second) = ((2 * arm + s) * rows, (2 * arm + u) * rows);
                for (b, right) in record.iter().enumerate() {
                    // Off the diagonal block all of it, on it the lower triangle.
                    let start = if s == u { b } else { 0 };
                    for (a, left) in record.iter().enumerate().skip(start) {
                        covariance[(first + a, second + b)] += weight * left * right;
                    }
                }
                for leaf in &star.leaves {
                    exclusive_levels(
                        &mut covariance,
                        leaf.row..leaf.row + leaf.levels,
                        &record,
                        (first, second),
                        weight,
                    );
                }
            }
        }
    }
    for j in 0..mean.len() {
        for i in j..mean.len() {
            covariance[(i, j)] -= mean[i] * mean[j] / point.total;
        }
    }
    covariance
}

/// A record has one level of a leaf: takes back the products of two, and leaves `R_r` on the diagonal.
fn exclusive_levels(
    covariance: &mut Mat<f64>,
    levels: std::ops::Range<usize>,
    record: &[f64],
    (first, second): (usize, usize),
    weight: f64,
) {
    for b in levels.clone() {
        let start = if first == second { b } else { levels.start };
        for a in start..levels.end {
            let right = if a == b { record[a] } else { 0.0 };
            covariance[(first + a, second + b)] += weight * (right - record[a] * record[b]);
        }
    }
}
