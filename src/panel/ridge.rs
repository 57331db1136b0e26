//! Ridge regression of the target on the donors, before the intervention, without an intercept.
//!
//! With `X` the donors' values, one row per donor, `y` the target's, both on the unit scale:
//!
//! ```text
//! f = argmin |y - X' f|^2 + (lambda / 2) |f|^2 = X (X' X + mu I)^-1 y,    mu = lambda / 2.
//! ```
//!
//! The same weights come from the rows (`n x n`) or the periods (`T0 x T0`); the smaller system is solved.

use super::linear::{Spectrum, dot, length, times};
use faer::Mat;

/// The weights' problem: the donors before the intervention, and the spectrum of the smaller Gram matrix.
pub struct Ridge<'a> {
    rows: &'a [Vec<f64>],
    pre: usize,
    spectrum: Spectrum,
    by_rows: bool,
}

impl<'a> Ridge<'a> {
    /// Of rows whose first `pre` values count.
    pub fn new(rows: &'a [Vec<f64>], pre: usize) -> Ridge<'a> {
        let by_rows = rows.len() < pre;
        let x = Mat::from_fn(rows.len(), pre, |i, t| rows[i][t]);
        let gram = match by_rows {
            true => &x * x.transpose(),
            false => x.transpose() * &x,
        };
        Ridge {
            rows,
            pre,
            spectrum: Spectrum::new(gram.as_ref()),
            by_rows,
        }
    }

    /// The ridge weights.
    pub fn weights(&self, y: &[f64], lambda: f64) -> Vec<f64> {
        self.pull(y, lambda / 2.0)
    }

    /// `(X X' + mu I)^-1 X y`.
    fn pull(&self, y: &[f64], mu: f64) -> Vec<f64> {
        if self.by_rows {
            return self.solve(&self.correlations(y), mu);
        }
        // X (X' X + mu I)^-1 y has no difference of large numbers in it, where Woodbury's form has.
        let periods = self.invert(y, mu);
        self.rows
            .iter()
            .map(|row| dot(&row[..self.pre], &periods))
            .collect()
    }

    /// `(G + mu I)^-1 right` for the Gram matrix `G` at hand.
    fn invert(&self, right: &[f64], mu: f64) -> Vec<f64> {
        let Spectrum { values, vectors } = &self.spectrum;
        let parts = self.spectrum.coordinates(right);
        let scaled: Vec<f64> = parts
            .iter()
            .zip(values)
            .map(|(p, v)| p / (v + mu))
            .collect();
        times(vectors, &scaled)
    }

    /// The weights of the perturbed objective `|y - X' f|^2 + (penalty / 2) |f|^2 + b' f`:
    /// `(2 X X' + penalty I)^-1 (2 X y - b)`, or where that is longer than `radius`, the minimum in the ball.
    pub fn perturbed(&self, y: &[f64], penalty: f64, b: &[f64], radius: f64) -> Vec<f64> {
        let push: Vec<f64> = b.iter().map(|b| b / 2.0).collect();
        let at = |multiplier: f64| -> Vec<f64> {
            let mu = penalty / 2.0 + multiplier;
            let (pull, push) = (self.pull(y, mu), self.solve(&push, mu));
            pull.iter().zip(push).map(|(a, b)| a - b).collect()
        };
        let free = at(0.0);
        if length(&free) <= radius {
            return free;
        }
        // The length falls as the multiplier grows: |f| <= (|X y| + |b| / 2) / multiplier.
        let most = (length(&self.correlations(y)) + length(&push)) / radius;
        edge(at, [0.0, most], length(&free), radius)
    }

    /// `X y`.
    fn correlations(&self, y: &[f64]) -> Vec<f64> {
        self.rows
            .iter()
            .map(|row| dot(&row[..self.pre], y))
            .collect()
    }

    /// `(X X' + mu I)^-1 right`.
    fn solve(&self, right: &[f64], mu: f64) -> Vec<f64> {
        if self.by_rows {
            return self.invert(right, mu);
        }
        // Woodbury: (X X' + mu I)^-1 = (I - X (X' X + mu I)^-1 X') / mu.
        let mut gathered = vec![0.0; self.pre];
        for (row, r) in self.rows.iter().zip(right) {
            gathered.iter_mut().zip(row).for_each(|(g, x)| *g += r * x);
        }
        let inner = self.invert(&gathered, mu);
        let rows = self.rows.iter().zip(right);
        rows.map(|(row, r)| (r - dot(&row[..self.pre], &inner)) / mu)
            .collect()
    }
}

/// Solutions on the ball's edge are this much shorter than its radius at most, as a part of it: far below what the
/// guarantee of [`objective`](super::objective) has room for.
const EDGE: f64 = 1e-10;

/// The solution whose length reaches the radius, from within: `at` gives a solution for a multiplier between the ends,
/// whose length falls from above the radius, `longest`, to below it.
fn edge(at: impl Fn(f64) -> Vec<f64>, ends: [f64; 2], longest: f64, radius: f64) -> Vec<f64> {
    // The inverse length is nearly linear in the multiplier, so the secant finds the middle of the range that is allowed in
    // a few steps; every third step halves, whatever the shape.
    let goal = (1.0 + EDGE / 2.0) / radius;
    let mut solution = at(ends[1]);
    let mut low = (ends[0], 1.0 / longest);
    let mut high = (ends[1], 1.0 / length(&solution));
    for step in 0..300 {
        if high.1 * radius <= 1.0 + EDGE || high.0 - low.0 <= f64::EPSILON * high.0 {
            break;
        }
        let part = (goal - low.1) / (high.1 - low.1);
        let part = if step % 3 == 2 || !part.is_finite() {
            0.5
        } else {
            part
        };
        let multiplier = low.0 + part * (high.0 - low.0);
        let tried = at(multiplier);
        let inverse = 1.0 / length(&tried);
        if inverse * radius < 1.0 {
            low = (multiplier, inverse);
        } else {
            (solution, high) = (tried, (multiplier, inverse));
        }
    }
    solution
}

/// The weighted sum of the donors from period `from` on.
pub fn weighted_sum(rows: &[Vec<f64>], weights: &[f64], from: usize) -> Vec<f64> {
    let periods = rows.first().map_or(0, |row| row.len() - from);
    let mut sum = vec![0.0; periods];
    for (row, weight) in rows.iter().zip(weights) {
        sum.iter_mut()
            .zip(&row[from..])
            .for_each(|(s, x)| *s += weight * x);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impute::{Purpose, stream};
    use rand::RngExt;

    fn panel(n: usize, periods: usize) -> Vec<Vec<f64>> {
        let mut rng = stream(5, Purpose::Simulation, (100 * n + periods) as u64);
        let mut row = || (0..periods).map(|_| rng.random_range(-1.0..1.0)).collect();
        (0..n).map(|_| row()).collect()
    }

    /// The gradient of the objective vanishes, in either system, and the direct form equals the weights' form.
    #[test]
    fn weights_solve_the_normal_equations() {
        for (n, pre) in [(3, 8), (8, 3), (5, 5)] {
            let rows = panel(n, pre + 2);
            let y: Vec<f64> = (0..pre).map(|t| (t as f64).sin()).collect();
            let b: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let ridge = Ridge::new(&rows, pre);
            let plain = ridge.weights(&y, 0.7);
            for (weights, penalty, b) in [
                (plain.clone(), 0.7, vec![0.0; n]),
                (ridge.perturbed(&y, 0.9, &b, 1e9), 0.9, b),
            ] {
                let fitted = weighted_sum(&rows, &weights, 0);
                for i in 0..n {
                    let residual = (0..pre).map(|t| (fitted[t] - y[t]) * rows[i][t]);
                    let gradient = 2.0 * residual.sum::<f64>() + penalty * weights[i] + b[i];
                    assert!(gradient.abs() < 1e-10, "{n} {pre} {i}: {gradient}");
                }
            }
        }
    }

    /// The edge is met from within for linear terms of all sizes, in either system, within a few solutions.
    #[test]
    fn the_edge_is_met_from_within() {
        for (n, pre) in [(3, 8), (8, 3), (1, 2), (30, 5)] {
            let rows = panel(n, pre);
            let y: Vec<f64> = (0..pre).map(|t| (t as f64).cos()).collect();
            let ridge = Ridge::new(&rows, pre);
            for size in [0.0, 1e-3, 1.0, 1e4, 1e12] {
                for radius in [1e-6, 0.01, 0.3, 2.0] {
                    let b: Vec<f64> = (0..n).map(|i| size * (1.0 + i as f64).sin()).collect();
                    let f = ridge.perturbed(&y, 0.8, &b, radius);
                    let free = ridge.perturbed(&y, 0.8, &b, f64::INFINITY);
                    let expected = length(&free).min(radius);
                    assert!(length(&f) <= radius * (1.0 + 1e-15));
                    assert!(
                        length(&f) >= expected * (1.0 - 2.0 * EDGE),
                        "{n} {size} {radius}"
                    );
                }
            }
        }
        let solutions = std::cell::Cell::new(0);
        let at = |multiplier: f64| {
            solutions.set(solutions.get() + 1);
            vec![3.0 / (1.0 + multiplier), 1.0 / (20.0 + multiplier)]
        };
        let found = edge(at, [0.0, 300.0], length(&at(0.0)), 0.1);
        assert!((length(&found) / 0.1 - 1.0).abs() <= EDGE);
        assert!(solutions.get() < 12, "{}", solutions.get());
    }

    #[test]
    fn the_ball_holds_and_its_edge_is_a_minimum() {
        let rows = panel(4, 6);
        let y = [0.3, -0.2, 0.9, 1.0, -1.0, 0.1];
        let b = [5.0, -3.0, 8.0, 0.5];
        let ridge = Ridge::new(&rows, 6);
        let inside = ridge.perturbed(&y, 0.5, &b, 0.4);
        assert!((length(&inside) - 0.4).abs() < 1e-9);
        let objective = |f: &[f64]| {
            let fitted = weighted_sum(&rows, f, 0);
            let misfit: f64 = fitted.iter().zip(y).map(|(s, y)| (s - y).powi(2)).sum();
            misfit + 0.25 * dot(f, f) + dot(&b, f)
        };
        let best = objective(&inside);
        for k in 0..200 {
            let mut other: Vec<f64> = (0..4).map(|i| ((7 * k + i) as f64).sin()).collect();
            super::super::linear::clip_length(&mut other, 0.4);
            assert!(objective(&other) >= best - 1e-9);
        }
    }
}
