//! Objective perturbation: the minimum of a convex objective with a random linear term.

use super::k_norm::KNormMechanism;
use super::{Accountant, Confidential, Cost, NoiseSource, Norm, PrivacyError};

/// Releases the minimum `f` of `J(f) + b' f` over a ball, with `b` of the K-norm law in Euclid's norm (Chaudhuri,
/// Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012 for the ball).
///
/// **Adjacency and sensitivity.** The caller states, with an argument, for neighbouring data: the gradient of `J`
/// moves by at most `Delta` on the ball, whole lattice units of `b` (with room for the minimiser's tolerance), and the
/// logarithm of the determinant of `J`'s second derivative by at most `of_curvature`. **Argument.** Inside the ball `f`
/// determines `b = -grad J(f)`, so the density of `f` is that of `b` there times the determinant: the first changes by a
/// factor of at most `exp(Delta / scale)`, the second by `exp(of_curvature)`; the surface is the limit of steeper and
/// steeper smooth walls, which both data sets share. **Charge.** Pure `epsilon`, the sum of both and of the
/// sampler's `tau`, rounded up.
///
/// The minimum is rounded to a lattice by the caller. Where a cell of that lattice is the image of a set of `b` that
/// contains a ball of `m` units, counting lattice points in the place of volumes costs at most `2 d^1.5 / m`
/// ([`PerturbationMechanism::rounding_cost`]). Cells that the ball's surface cuts can be thinner: for them the guarantee
/// is that of the mechanism on real numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerturbationMechanism {
    linear_term: KNormMechanism,
    dimension: usize,
    cost: Cost,
}

/// A cell of the released minimum's lattice is the image of a set of linear terms that contains a ball of this many
/// parts of their scale.
pub const CELL_PART: f64 = 1.0 / 128.0;

impl PerturbationMechanism {
    /// The mechanism with the least noise whose charge is at most `epsilon`.
    ///
    /// # Errors
    /// As [`KNormMechanism::new`], for what the curvature leaves of `epsilon`.
    pub fn new(
        dimension: usize,
        gradient_sensitivity: u64,
        of_curvature: f64,
        epsilon: f64,
    ) -> Result<PerturbationMechanism, PrivacyError> {
        let rounding = Self::rounding_cost(dimension);
        let left = (epsilon - of_curvature - rounding).next_down();
        let linear_term = KNormMechanism::new(Norm::L2, dimension, gradient_sensitivity, left)?;
        let extra = Cost::pure((of_curvature + rounding).next_up())?;
        Ok(PerturbationMechanism {
            linear_term,
            dimension,
            cost: linear_term.cost().plus(&extra),
        })
    }

    /// What rounding the minimum costs, in `epsilon`, where the caller's cells keep to [`CELL_PART`]. The scale is
    /// at least 2^31 units in up to a thousand dimensions, and half of what the sampler can draw in more.
    pub fn rounding_cost(dimension: usize) -> f64 {
        let d = dimension as f64;
        let scale = KNormMechanism::lattice(dimension, 1.0, 1.0) / 2.0;
        2.0 * d * d.sqrt() / (scale * CELL_PART)
    }

    /// The scale of the linear term, in its lattice units.
    pub fn scale(&self) -> u64 {
        self.linear_term.scale()
    }

    /// What a release charges.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Charges, draws the linear term and releases the minimum that `minimise` finds, in lattice units.
    ///
    /// # Errors
    /// [`PrivacyError::NotAuthorised`] where the charge doesn't fit; nothing is drawn then.
    pub(crate) fn release<T, Q: ?Sized>(
        &self,
        data: Confidential<T>,
        question: &Q,
        minimise: fn(&T, &Q, &[i64]) -> Vec<i64>,
        accountant: &mut Accountant,
        noise: &mut NoiseSource,
    ) -> Result<Vec<i64>, PrivacyError> {
        accountant.charge(&self.cost)?;
        let linear_term = self.linear_term.draw(noise);
        debug_assert_eq!(linear_term.len(), self.dimension);
        Ok(minimise(&data.open(), question, &linear_term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charge_holds_all_parts_and_keeps_the_share() {
        let mechanism = PerturbationMechanism::new(10, 1 << 31, 0.25, 1.0).unwrap();
        let cost = mechanism.cost().pure_epsilon();
        let linear = (1u64 << 31) as f64 / mechanism.scale() as f64;
        assert!(cost <= 1.0 && cost > 0.999_999_9, "{cost}");
        assert!(cost >= linear + 0.25 + PerturbationMechanism::rounding_cost(10));
        assert!(PerturbationMechanism::new(10, 1 << 31, 1.0, 1.0).is_err());
    }
}
