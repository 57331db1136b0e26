//! Exact draws of `P(k)` proportional to `exp(-ceil(|k|) / a)` on the integer lattice.
//!
//! # The idea
//! Choose a whole radius `M` with probability proportional to `V(M) exp(-M / a)`, where `V(M)` counts the
//! lattice points of the ball of radius `M`, and then one of those points, each as likely as the others. A
//! point `k` comes out with probability proportional to the sum of `exp(-M / a)` over `M >= ceil(|k|)`, which
//! is proportional to `exp(-ceil(|k|) / a)`.
//!
//! **The cube.** In the largest-coordinate norm `V(M) = (2 M + 1)^d`. A sum of `d + 1` geometric variables has
//! `P(M)` proportional to `(M + 1) .. (M + d) exp(-M / a)`; accepting it by `d` coins of bias
//! `(2 M + 1) / (2 M + 2 j)`, `j = 1 .. d`, leaves `(2 M + 1)^d exp(-M / a)`. In up to eight dimensions a
//! point of the cube that lies in Euclid's ball is found in few trials (63 on average in eight); where the
//! point is rejected, its radius is too, so that the ball's law is exact as well.
//!
//! **The ball in many dimensions.** There `M` is drawn for the cube, `M >= M_0` only, and then a point of the
//! ball of that radius: discrete Gaussian coordinates of `sigma = M / sqrt(d)`, rounded, accepted within the
//! ball with probability `exp(-(M^2 - |k|^2) / (2 sigma^2))`, which makes all points of the ball equally
//! likely; about every `2 sqrt(d)`-th point is accepted. Now `P(k)` is proportional to the sum of
//! `exp(-M / a) C(M) / V(M)` over `M >= max(M_0, ceil(|k|))`, `C` the cube's count. The ratio `C / V` is nearly
//! constant: a ball's count lies between its volumes at radius `M - sqrt(d) / 2` and `M + sqrt(d) / 2` (the unit
//! cubes about its points cover the one and lie in the other), so from `M_0` on the ratio's logarithm varies
//! by at most `tau = d ln((M_0 + (sqrt(d) + 1) / 2) / (M_0 - sqrt(d) / 2))`. So `P(k)` is within a factor
//! `exp(tau)`, up to a constant, of `exp(-max(M_0, ceil(|k|)) / a)`, and a shift by `Delta` costs `Delta / a +
//! tau`. With `M_0 = a / 2` and nine dimensions, radii below `M_0` have probability 3e-10.
//!
//! No floating-point number takes part in a draw but the choice of `sigma`, which any value would leave exact.

use super::{discrete_gaussian, exponential_ratio_coin, laplace_magnitude, uniform_below_wide};
use crate::privacy::Norm;
use rand::Rng;

/// Up to so many dimensions a point of Euclid's ball is looked for in the cube.
const CUBE_DIMENSIONS: usize = 8;

/// The smallest radius in many dimensions, as a part of the scale.
const SMALLEST_RADIUS_PART: u64 = 2;

/// The largest scale of noise in so many dimensions: radii, about `d` scales long, leave the coordinates'
/// scale, `sqrt(d)` scales, well within what the discrete Gaussian sampler draws, 2^40.
pub(in crate::privacy) fn largest_scale(dimension: usize) -> u64 {
    let root = (dimension as f64).sqrt().ceil() as u64;
    (1 << 38) / root.max(32)
}

/// The law of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::privacy) struct Ball {
    norm: Norm,
    dimension: usize,
    scale: u64,
}

impl Ball {
    pub(in crate::privacy) fn new(norm: Norm, dimension: usize, scale: u64) -> Ball {
        Ball {
            norm,
            dimension,
            scale,
        }
    }

    pub(in crate::privacy) fn scale(&self) -> u64 {
        self.scale
    }

    fn is_drawn_from_cube(&self) -> bool {
        self.norm == Norm::LInfinity || self.dimension <= CUBE_DIMENSIONS
    }

    fn smallest_radius(&self) -> u64 {
        if self.is_drawn_from_cube() {
            0
        } else {
            self.scale / SMALLEST_RADIUS_PART
        }
    }

    /// `tau`, rounded up; infinite where the scale is too small for the argument.
    pub(in crate::privacy) fn sampling_cost(&self) -> f64 {
        if self.is_drawn_from_cube() {
            return 0.0;
        }
        let (d, root) = (self.dimension as f64, (self.dimension as f64).sqrt());
        let radius = self.smallest_radius() as f64;
        if radius <= root {
            return f64::INFINITY;
        }
        // ln(1 + x) <= x, and the factor covers the rounding of this line.
        d * (root + 0.5) / (radius - root / 2.0) * (1.0 + 1e-12)
    }

    /// One draw.
    pub(in crate::privacy) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<i64> {
        loop {
            let radius = self.radius(rng);
            if !self.is_drawn_from_cube() {
                return self.point_of_ball(radius, rng);
            }
            if let Some(point) = self.point_of_cube(radius, rng) {
                return point;
            }
        }
    }

    /// A radius with probability proportional to `(2 M + 1)^d exp(-M / a)`, from the smallest on.
    fn radius<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        loop {
            let total = (0..=self.dimension).try_fold(0u64, |sum, _| {
                let (rest, times) = laplace_magnitude(self.scale, rng);
                sum.checked_add(self.scale.checked_mul(times)?.checked_add(rest)?)
            });
            // Beyond 2^62 lies no radius that could ever be drawn: 2^24 scales at the least.
            let Some(radius) = total.filter(|&sum| sum < 1 << 62) else {
                continue;
            };
            let accepted = (1..=self.dimension as u128).all(|j| {
                let m = 2 * u128::from(radius);
                uniform_below_wide(m + 2 * j, rng) < m + 1
            });
            if accepted && radius >= self.smallest_radius() {
                return radius;
            }
        }
    }

    /// A point of the cube, where it lies in the norm's ball.
    fn point_of_cube<R: Rng + ?Sized>(&self, radius: u64, rng: &mut R) -> Option<Vec<i64>> {
        let mut room = u128::from(radius).pow(2);
        let mut point = Vec::with_capacity(self.dimension);
        for _ in 0..self.dimension {
            let k = uniform_below_wide(2 * u128::from(radius) + 1, rng) as i64 - radius as i64;
            if self.norm == Norm::L2 {
                room = room.checked_sub(u128::from(k.unsigned_abs()).pow(2))?;
            }
            point.push(k);
        }
        Some(point)
    }

    /// A point of Euclid's ball.
    fn point_of_ball<R: Rng + ?Sized>(&self, radius: u64, rng: &mut R) -> Vec<i64> {
        let sigma = ((radius as f64 / (self.dimension as f64).sqrt()).round() as u64)
            .clamp(1, super::LARGEST_SCALE);
        let square = u128::from(radius).pow(2);
        loop {
            let mut room = Some(square);
            let mut point = Vec::with_capacity(self.dimension);
            for _ in 0..self.dimension {
                let k = discrete_gaussian(sigma, rng);
                room = room.and_then(|room| {
                    room.checked_sub(k.unsigned_abs().checked_mul(k.unsigned_abs())?)
                });
                if room.is_none() {
                    break;
                }
                // Within the radius, which is below 2^62.
                point.push(k as i64);
            }
            if let Some(room) = room
                && exponential_ratio_coin(room, 2 * u128::from(sigma).pow(2), rng)
            {
                return point;
            }
        }
    }
}
