//! The posterior of coefficients under normal priors whose spreads are averaged over a grid.
//!
//! `c = A x + N(0, Sigma)`. The constant's coefficient has a flat prior; linear terms have the standard deviation
//! `t s`, squares and cubes `t s / k2`, products `t s / k2`, with a `t` of its own for each of the three, from
//! [`GRID`]. The log-weight of a `t` is `-c ln(1 + (t / .2)^2) + ln t`, with `ln .1` at `t = 0`: the flat measure on the
//! logarithm against a heavy-tailed preference for small effects. Points of the grid count by marginal likelihood.

use super::CateError;
use super::features::Term;
use faer::linalg::solvers::{DenseSolveCore, Llt, Solve};
use faer::{Mat, Side};

/// The multiples of the outcome's spread that coefficients may have as prior standard deviation.
pub const GRID: [f64; 6] = [0.0, 0.03, 0.08, 0.2, 0.5, 1.2];

/// The standard deviation that stands for none, and the one that stands for a flat prior.
const NONE: f64 = 1e-3;
const FLAT: f64 = 100.0;

/// What `t = 0` counts in the place of `t`.
const WEIGHT_OF_NONE: f64 = 0.1;

/// Points of the grid with less than this share of the weight are left out.
const LEAST_WEIGHT: f64 = 1e-4;

/// A measured linear function of coefficients.
pub struct Observation<'a> {
    /// `c`.
    pub values: &'a [f64],
    /// `A`, square.
    pub design: &'a Mat<f64>,
    /// `Sigma`.
    pub noise: &'a Mat<f64>,
}

/// The prior's parameters.
#[derive(Debug, Clone, Copy)]
pub struct Prior<'a> {
    /// The terms that the coefficients belong to.
    pub terms: &'a [Term],
    /// `s`.
    pub scale: f64,
    /// `k2`.
    pub curve_weight: f64,
    /// The preference for small effects, `c`.
    pub concentration: f64,
}

/// Which `t` a term's prior has; none for the constant.
fn family(term: Term) -> Option<usize> {
    match term {
        Term::Constant => None,
        Term::Linear(_) => Some(0),
        Term::Square(_) | Term::Cube(_) => Some(1),
        Term::Product(..) => Some(2),
    }
}

/// Precision matrix and information vector of an observation: `A' Sigma^-1 A` and `A' Sigma^-1 c`.
pub fn information(observed: &Observation) -> Result<(Mat<f64>, Vec<f64>), CateError> {
    let factor = factor(observed.noise)?;
    let solved = factor.solve(observed.design);
    let precision = observed.design.transpose() * &solved;
    let p = observed.design.ncols();
    let vector = (0..p)
        .map(|j| {
            (0..observed.values.len())
                .map(|i| solved[(i, j)] * observed.values[i])
                .sum()
        })
        .collect();
    Ok((symmetric(&precision), vector))
}

/// The posterior mean, averaged over the grid.
pub fn posterior_mean(observed: &Observation, prior: &Prior) -> Result<Vec<f64>, CateError> {
    let (precision, vector) = information(observed)?;
    let mut points = Vec::new();
    for spreads in grid(prior) {
        points.push(point(&precision, &vector, prior, spreads)?);
    }
    let best = points
        .iter()
        .map(|(log, _)| *log)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = points.iter().map(|(log, _)| (log - best).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights
        .iter_mut()
        .filter(|w| **w < LEAST_WEIGHT * total)
        .for_each(|w| *w = 0.0);
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; vector.len()];
    for ((_, solution), weight) in points.iter().zip(weights) {
        for (mean, x) in mean.iter_mut().zip(solution) {
            *mean += weight / total * x;
        }
    }
    match mean.iter().all(|x| x.is_finite()) {
        true => Ok(mean),
        false => Err(CateError::Numerical),
    }
}

/// The points of the grid; a family without terms stays at 0.
fn grid(prior: &Prior) -> Vec<[f64; 3]> {
    let axis = |of: usize| -> &'static [f64] {
        match prior.terms.iter().any(|&term| family(term) == Some(of)) {
            true => &GRID,
            false => &GRID[..1],
        }
    };
    let mut points = Vec::new();
    for &linear in axis(0) {
        for &curves in axis(1) {
            points.extend(axis(2).iter().map(|&products| [linear, curves, products]));
        }
    }
    points
}

/// The log-weight of a point of the grid and the posterior mean there.
fn point(
    precision: &Mat<f64>,
    vector: &[f64],
    prior: &Prior,
    spreads: [f64; 3],
) -> Result<(f64, Vec<f64>), CateError> {
    let deviation = |term: Term| match family(term) {
        None => FLAT * prior.scale,
        Some(0) => spreads[0].max(NONE) * prior.scale,
        Some(of) => spreads[of].max(NONE) * prior.scale / prior.curve_weight,
    };
    let mut matrix = precision.clone();
    let mut log = 0.0;
    for (i, &term) in prior.terms.iter().enumerate() {
        let own = deviation(term).powi(-2);
        matrix[(i, i)] += own;
        log += 0.5 * own.ln();
    }
    let factor = factor(&matrix)?;
    let solution = solve(&factor, vector);
    log += 0.5 * solution.iter().zip(vector).map(|(x, h)| x * h).sum::<f64>();
    log -= (0..vector.len())
        .map(|i| factor.L()[(i, i)].ln())
        .sum::<f64>();
    for (of, &spread) in spreads.iter().enumerate() {
        if prior.terms.iter().any(|&term| family(term) == Some(of)) {
            log -= prior.concentration * (1.0 + (spread / 0.2).powi(2)).ln();
            log += if spread > 0.0 { spread } else { WEIGHT_OF_NONE }.ln();
        }
    }
    Ok((log, solution))
}

/// The Cholesky factor, with the least of some ridges that makes the matrix positive definite in floating point.
pub fn factor(matrix: &Mat<f64>) -> Result<Llt<f64>, CateError> {
    let p = matrix.nrows();
    let size = (0..p).map(|i| matrix[(i, i)].abs()).fold(0.0, f64::max);
    for ridge in [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4] {
        let ridged = Mat::from_fn(p, p, |i, j| {
            matrix[(i, j)] + if i == j { ridge * size } else { 0.0 }
        });
        if let Ok(factor) = Llt::new(ridged.as_ref(), Side::Lower) {
            return Ok(factor);
        }
    }
    Err(CateError::Numerical)
}

/// `M^-1 b`.
pub fn solve(factor: &Llt<f64>, b: &[f64]) -> Vec<f64> {
    let solution = factor.solve(Mat::from_fn(b.len(), 1, |i, _| b[i]));
    (0..b.len()).map(|i| solution[(i, 0)]).collect()
}

/// `M^-1`.
pub fn inverse(factor: &Llt<f64>) -> Mat<f64> {
    factor.inverse()
}

/// A product that rounding left a little asymmetric, made symmetric.
fn symmetric(matrix: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
        f64::midpoint(matrix[(i, j)], matrix[(j, i)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: [Term; 3] = [Term::Constant, Term::Linear(0), Term::Linear(1)];

    fn posterior(values: &[f64], noise: f64) -> Vec<f64> {
        let design = Mat::identity(3, 3);
        let noise = Mat::from_fn(3, 3, |i, j| if i == j { noise * noise } else { 0.0 });
        let observed = Observation {
            values,
            design: &design,
            noise: &noise,
        };
        let prior = Prior {
            terms: &TERMS,
            scale: 1.0,
            curve_weight: 0.3,
            concentration: 4.0,
        };
        posterior_mean(&observed, &prior).unwrap()
    }

    #[test]
    fn what_is_exact_stays_and_what_is_noise_goes() {
        let exact = posterior(&[2.0, 0.4, -0.1], 1e-4);
        for (x, expected) in exact.iter().zip([2.0, 0.4, -0.1]) {
            assert!((x - expected).abs() < 1e-4, "{exact:?}");
        }
        // A tenth of its noise: nothing is left of it, while the constant is believed.
        let noisy = posterior(&[2.0, 0.05, -0.05], 0.5);
        assert!((noisy[0] - 2.0).abs() < 0.01, "{noisy:?}");
        assert!(noisy[1].abs() < 0.02 && noisy[2].abs() < 0.02, "{noisy:?}");
    }
}
