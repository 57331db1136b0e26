//! The Gram matrices of the basis, from noisy to usable ones.
//!
//! Noisy entries are shrunk toward a simple target by the James-Stein factor `1 - m/(m+2) s^2/t^2`, separately off the
//! diagonal, on it and in the constant's row (`t^2` the mean square of the `m` entries' distance from the target, `s`
//! their noise); eigenvalues are floored. The whole's target is diagonal, an arm's is its share of the whole.

use super::basis::Basis;
use super::features::Term;
use crate::panel::linear::Spectrum;
use crate::release::PanelMeasurement;
use faer::Mat;

/// Weighted numbers of records are taken to be at least this.
const LEAST_RECORDS: f64 = 20.0;

/// Weighted shares of the treated are taken to lie this far from 0 and 1.
const LEAST_SHARE: f64 = 0.05;

/// The least diagonal entry of the target, as a share of what standardised features would have.
const LEAST_DIAGONAL: f64 = 0.2;

/// The least eigenvalue, as a share of the target's mean diagonal entry.
const LEAST_EIGENVALUE: f64 = 0.05;

/// The least eigenvalue, as a share of the largest that the noise left after shrinking would have.
const NOISE_EIGENVALUE: f64 = 0.3;

/// Second moments of the basis.
#[derive(Debug, Clone)]
pub struct Moments {
    /// `sum w phi phi'` over all records.
    pub whole: Mat<f64>,
    /// By arm.
    pub arms: [Mat<f64>; 2],
    /// `sum w`.
    pub records: f64,
    /// The share of the treated.
    pub share: f64,
    /// The standard deviation of an arm's noise on the diagonal, which is the whole's off it.
    pub noise: f64,
    /// The constant's row as it was measured, by arm.
    pub rows: [Vec<f64>; 2],
}

impl Moments {
    /// Reads the arms' triangles. `share` is the treated share; where it is not `known`, the weighted one counts half.
    pub fn new(basis: &Basis, measured: &PanelMeasurement, share: f64, known: bool) -> Moments {
        let p = basis.size();
        let numbers = measured.numbers();
        let noise = measured.noise_scale();
        let (first, second) = numbers.split_at(p * (p + 1) / 2);
        let arms = [triangle(first, p), triangle(second, p)];
        let sum = &arms[0] + &arms[1];
        let unit = basis.constant * basis.constant;
        let records = (sum[(0, 0)] / unit).max(LEAST_RECORDS);
        let weighted = (arms[1][(0, 0)] / unit / records).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let share = if known {
            share
        } else {
            f64::midpoint(share, weighted)
        };
        let target = target(basis, &sum, records);
        let (mut whole, kept) = shrunk(&sum, &target, noise);
        whole[(0, 0)] = records * unit;
        let typical = (1..p).map(|i| target[(i, i)]).sum::<f64>() / (p - 1) as f64;
        let least =
            (LEAST_EIGENVALUE * typical).max(NOISE_EIGENVALUE * (p as f64 * kept).sqrt() * noise);
        let whole = floored(&whole, least);
        let of_arm = |arm: usize, part: f64| {
            let target = Mat::from_fn(p, p, |i, j| part * whole[(i, j)]);
            let (mut gram, _) = shrunk(&arms[arm], &target, noise / std::f64::consts::SQRT_2);
            gram[(0, 0)] = target[(0, 0)];
            floored(&gram, part * least)
        };
        let usable = [of_arm(0, 1.0 - share), of_arm(1, share)];
        let row = |arm: &Mat<f64>| (0..p).map(|j| arm[(0, j)]).collect();
        Moments {
            rows: [row(&arms[0]), row(&arms[1])],
            arms: usable,
            whole,
            records,
            share,
            noise,
        }
    }
}

/// A symmetric matrix from its upper triangle, row by row from the diagonal on.
fn triangle(cells: &[f64], order: usize) -> Mat<f64> {
    let mut matrix = Mat::zeros(order, order);
    let places = (0..order).flat_map(|i| (i..order).map(move |j| (i, j)));
    for ((i, j), &cell) in places.zip(cells) {
        matrix[(i, j)] = cell;
        matrix[(j, i)] = cell;
    }
    matrix
}

/// A diagonal target: each kind of term has its measured mean, at least a part of what standardised features have.
fn target(basis: &Basis, sum: &Mat<f64>, records: f64) -> Mat<f64> {
    let p = basis.size();
    let kind = |term: Term| std::mem::discriminant(&term);
    Mat::from_fn(p, p, |i, j| {
        if i != j {
            return 0.0;
        }
        let term = basis.terms[i];
        let same = (0..p).filter(|&k| kind(basis.terms[k]) == kind(term));
        let (count, total) = same.fold((0.0, 0.0), |(n, s), k| (n + 1.0, s + sum[(k, k)]));
        match term {
            Term::Constant => sum[(0, 0)],
            Term::Linear(_) => (total / count).max(LEAST_DIAGONAL * records),
            _ => (total / count).max(LEAST_DIAGONAL * records * basis.curve_weight.powi(2)),
        }
    })
}

/// A noisy symmetric matrix shrunk toward a target, and the share of the distance off the diagonal that was kept; the
/// noise is the standard deviation off the diagonal, `sqrt 2` of it on it.
fn shrunk(noisy: &Mat<f64>, target: &Mat<f64>, noise: f64) -> (Mat<f64>, f64) {
    let p = noisy.nrows();
    let apart = |i: usize, j: usize| noisy[(i, j)] - target[(i, j)];
    let pairs = || (1..p).flat_map(|i| (i + 1..p).map(move |j| (i, j)));
    let off = kept(pairs().map(|(i, j)| apart(i, j)), noise);
    let on = kept(
        (1..p).map(|i| apart(i, i)),
        noise * std::f64::consts::SQRT_2,
    );
    let row = kept((1..p).map(|j| apart(0, j)), noise);
    let matrix = Mat::from_fn(p, p, |i, j| {
        let factor = match (i, j) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => row,
            _ if i == j => on,
            _ => off,
        };
        target[(i, j)] + factor * apart(i, j)
    });
    (matrix, off)
}

/// `1 - m/(m+2) s^2/t^2`, not below 0.
fn kept(distances: impl Iterator<Item = f64>, noise: f64) -> f64 {
    let (count, total) = distances.fold((0.0, 0.0), |(n, s), x| (n + 1.0, s + x * x));
    if total == 0.0 {
        return 0.0;
    }
    (1.0 - count / (count + 2.0) * noise * noise * count / total).max(0.0)
}

fn floored(matrix: &Mat<f64>, least: f64) -> Mat<f64> {
    Spectrum::new(matrix.as_ref()).map(|value| value.max(least))
}
