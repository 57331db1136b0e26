//! How far one donor's row can move the ridge weights and the ridge counterfactual: bounds, with proofs.
//!
//! Values are on the unit scale, `|x| <= 1`; `y` is the target's `T0` values before the intervention, public. Let
//! `K` be the Gram matrix, over periods, of the donors but one, `M = (K + mu I)^-1`, `a` the row of that one, `h = a' M
//! a`, `s = |M a|^2`. Then `a' M K M a = h - mu s`, so `mu s <= h`, and `h <= |a|^2 / mu <= T0 / mu`.
//!
//! **Weights.** Adding the row changes the weights, with a zero in its place before, by `a' M y / (1 + h)` times
//! `(e - X M a)`, where `e` is the row's own unit vector and `|X M a|^2 = h - mu s`. So the squared change is at most
//! `|y|^2 s (1 + h - mu s) / (1 + h)^2`. In `s` this grows up to `mu s = (1 + h) / 2`, where it is `|y|^2 / (4 mu)`; with
//! `mu s <= h <= T0 / mu <= 1` it is at most `|y|^2 T0 / (mu + T0)^2`. A replacement is a removal and an addition:
//!
//! ```text
//! Delta = 2 |y| sqrt(T0) / (mu + T0)   if mu >= T0,     |y| / sqrt(mu)   otherwise,
//! ```
//!
//! whatever the number of donors. It is attained: `y` of ones, the other rows zero, `a = t y` and `-t y`, `t = min(1,
//! sqrt(mu / T0))`.
//!
//! **Counterfactual.** With `c_j` the others' values in a later period and `c` the row's own, the addition changes the
//! counterfactual by `(c - sum_j c_j x_j' M a) a' M y / (1 + h)`. By Cauchy and Schwarz the sum is at most
//! `sqrt(n - 1) sqrt(h - mu s)`, so with `mu s = theta h` a replacement changes it by at most
//!
//! ```text
//! 2 |y| max over 0 <= theta <= 1, h <= T0 / mu of  sqrt(theta h / mu) (1 + sqrt((n - 1) h (1 - theta))) / (1 + h).
//! ```
//!
//! For given `h` the maximum over `theta = 1 - c^2` has `2 k c^2 + c = k`, `k = sqrt((n - 1) h)`.

/// The exact sensitivity of the weights, in Euclid's norm.
pub fn weights(y_length: f64, pre_periods: usize, lambda: f64) -> f64 {
    let (t0, mu) = (pre_periods as f64, lambda / 2.0);
    match mu >= t0 {
        true => 2.0 * y_length * t0.sqrt() / (mu + t0),
        false => y_length / mu.sqrt(),
    }
}

/// The published bound on the same.
pub fn weights_of_paper(donors: usize, pre_periods: usize, lambda: f64) -> f64 {
    4.0 * pre_periods as f64 * (8.0 + donors as f64).sqrt() / lambda
}

/// Cells of the maximisation over `h`.
const CELLS: usize = 2000;

/// The sensitivity of the counterfactual in one period, at most 2: it lies between -1 and 1 once clipped.
pub fn counterfactual(y_length: f64, donors: usize, pre_periods: usize, lambda: f64) -> f64 {
    let mu = lambda / 2.0;
    let largest = pre_periods as f64 / mu;
    let others = donors.saturating_sub(1) as f64;
    // Over a cell from h to g every factor is at most its value at one of the ends.
    let bound = |h: f64, g: f64| (g / mu).sqrt() * pivot((others * g).sqrt()) / (1.0 + h);
    // Cells in geometric progression; below the first, a part of 2^-20 of the range, the bound is far smaller.
    let edge = |i: usize| largest * (-20.0 * (1.0 - i as f64 / CELLS as f64)).exp2();
    let cells = (0..CELLS).map(|i| bound(edge(i), edge(i + 1)));
    let most = cells.fold(bound(0.0, edge(0)), f64::max);
    (2.0 * y_length * most).min(2.0)
}

/// `max over theta of sqrt(theta) (1 + k sqrt(1 - theta))`.
fn pivot(k: f64) -> f64 {
    // (sqrt(1 + 8 k^2) - 1) / (4 k), without cancellation.
    let c = 2.0 * k / ((1.0 + 8.0 * k * k).sqrt() + 1.0);
    (1.0 - c * c).max(0.0).sqrt() * (1.0 + k * c)
}

/// How far the gradient of the misfit `|y - X' f|^2` moves, in Euclid's norm, where `|f| <= radius`.
///
/// For row `a` of weight `f_i` and the others' sum `s`, another donor's component moves by `2 f_i x_j' (a - a')`, at most
/// `4 T0 |f_i|`; the row's own, `2 a' (s + f_i a - y)`, by at most `4 sqrt(T0)` times the largest length of the residual,
/// `|y| + |X' f| <= |y| + sqrt(n T0) radius`.
pub fn gradient(y_length: f64, donors: usize, pre_periods: usize, radius: f64) -> f64 {
    let (t0, n) = (pre_periods as f64, donors as f64);
    let others = (n - 1.0) * (4.0 * t0 * radius).powi(2);
    let own = 4.0 * t0.sqrt() * (y_length + (n * t0).sqrt() * radius);
    (others + own * own).sqrt()
}

/// How far the misfit's second derivative `2 X X'` moves, in the spectral norm: twice an arrow matrix whose shaft's
/// entry is at most `T0` and whose head's length at most `2 T0 sqrt(n - 1)`; it has two eigenvalues, of either sign.
pub fn curvature(donors: usize, pre_periods: usize) -> f64 {
    (1.0 + (16.0 * donors as f64 - 15.0).sqrt()) * pre_periods as f64
}

#[cfg(test)]
mod tests;
