//! The last periods before the intervention, held out and predicted from the earlier ones: what a counterfactual is
//! worth where the answer is known.
//!
//! Of `T0` periods the last quarter, `H`, is held out. A method fitted to the first `T0 - H` predicts it, on the unit scale
//! and clipped to it. **Sensitivity.** The prediction is the counterfactual of a shorter panel whose intervention comes
//! `H` periods earlier, so replacing a donor moves each of its `H` values by at most [that bound](super::sensitivity)
//! for `T0 - H` periods. Mean absolute and root mean square error are, in the prediction, Lipschitz in the norm of
//! the largest coordinate with constant one, so they move by no more.

use super::linear::{length, mean};
use super::ridge::{Ridge, weighted_sum};
use super::sensitivity;

/// Of so many periods one is held out.
const ONE_IN: usize = 4;

/// A sensitivity is never taken for less than this: far below what any noise is worth, and far above the floating-point
/// error of a prediction.
const LEAST_SENSITIVITY: f64 = 1e-4;

/// How the past is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldOut {
    /// The periods that a method is fitted to, at least one.
    pub fitted: usize,
    /// The periods that are predicted, at least one.
    pub held: usize,
}

impl HoldOut {
    /// Of so many periods before the intervention, at least two.
    pub fn of(pre_periods: usize) -> HoldOut {
        let held = (pre_periods / ONE_IN).max(1);
        HoldOut {
            fitted: pre_periods - held,
            held,
        }
    }

    /// How far a donor can move the ridge prediction of one held-out period: `past` are all of the target's values
    /// before the intervention on the unit scale.
    pub fn ridge_sensitivity(&self, past: &[f64], donors: usize, lambda: f64) -> f64 {
        let fitted = length(&past[..self.fitted]);
        sensitivity::counterfactual(fitted, donors, self.fitted, lambda).max(LEAST_SENSITIVITY)
    }

    /// The errors of the ridge prediction from donors on the unit scale, of which `ridge` was made with the fitted
    /// periods.
    pub fn ridge_errors(
        &self,
        ridge: &Ridge<'_>,
        rows: &[Vec<f64>],
        past: &[f64],
        lambda: f64,
    ) -> Vec<f64> {
        let weights = ridge.weights(&past[..self.fitted], lambda);
        let path = weighted_sum(rows, &weights, self.fitted);
        self.errors(past, path.into_iter())
    }

    /// The errors of a prediction from the first held-out period on, clipped to the unit scale.
    pub fn errors(&self, past: &[f64], prediction: impl Iterator<Item = f64>) -> Vec<f64> {
        let held = past[self.fitted..].iter().zip(prediction);
        held.map(|(y, p)| y - p.clamp(-1.0, 1.0)).collect()
    }
}

/// The mean absolute error.
pub fn mean_absolute(errors: &[f64]) -> f64 {
    mean(&errors.iter().map(|e| e.abs()).collect::<Vec<f64>>())
}

/// The root mean square error.
pub fn root_mean_square(errors: &[f64]) -> f64 {
    length(errors) / (errors.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impute::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn a_quarter_is_held_out_and_one_period_at_least() {
        for (pre, fitted, held) in [(2, 1, 1), (7, 6, 1), (8, 6, 2), (19, 15, 4)] {
            assert_eq!(HoldOut::of(pre), HoldOut { fitted, held });
        }
    }

    /// Panels of extreme values and random neighbours: neither error moves by more than the bound, and the worst pair
    /// found comes within a factor of two or so of it.
    #[test]
    fn errors_move_by_no_more_than_the_sensitivity() {
        let mut rng = stream(11, Purpose::Simulation, 0);
        let mut closest: f64 = 0.0;
        for restart in 0..3000 {
            let (n, pre) = (1 + restart % 4, 2 + restart % 9);
            let lambda = [0.5, 4.0, 20.0, 80.0][restart % 4];
            let out = HoldOut::of(pre);
            let mut sign = || if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let past: Vec<f64> = (0..pre).map(|_| sign()).collect();
            let size = [1.0, (lambda / 2.0 / out.fitted as f64).sqrt().min(1.0)][restart % 2];
            let mut rows: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let row = |t: usize| match (i, restart % 3) {
                        // The target itself in small: what moves the weights the most.
                        (0, 0) if t < out.fitted => size * past[t],
                        (_, 1) => 0.0,
                        _ => size * sign(),
                    };
                    (0..pre).map(row).collect()
                })
                .collect();
            let errors = |rows: &[Vec<f64>]| {
                out.ridge_errors(&Ridge::new(rows, out.fitted), rows, &past, lambda)
            };
            let before = errors(&rows);
            let turned: Vec<f64> = (0..pre)
                .map(|t| match t < out.fitted {
                    true => -rows[0][t],
                    false => past[t],
                })
                .collect();
            let turned_target: Vec<f64> = (0..pre).map(|t| size * past[t]).collect();
            rows[0] = if restart % 5 == 0 {
                turned_target
            } else {
                turned
            };
            let after = errors(&rows);
            let bound = out.ridge_sensitivity(&past, n, lambda);
            for norm in [mean_absolute, root_mean_square] {
                let moved = (norm(&before) - norm(&after)).abs();
                assert!(
                    moved <= bound * (1.0 + 1e-9),
                    "{n} {pre} {lambda}: {moved} {bound}"
                );
                closest = closest.max(moved / bound);
            }
        }
        assert!(closest > 0.4, "{closest}");
    }
}
