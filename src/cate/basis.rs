//! The basis that effects and outcomes are expanded in.
//!
//! ```text
//! z = clip((u - m) / sd, +-3),   phi = (kappa, z, k2 [(z^2 - 1)/sqrt 2, z_i z_j, (z^3 - 3z)/sqrt 6])
//! ```
//!
//! with `m`, `sd`, `k2` from the hub's noisy sums and `kappa^2 = (d + k2^2 c) / 4` for `d` features and `c` nonlinear
//! terms. A record has the weight `w = min(1, S^2 / |phi|^2)`, `S^2 = .6 (kappa^2 + d + k2^2 c)`: so `w |phi|^2 <= S^2`,
//! for a record of any kind. The weight depends on the covariates alone; it is that of a weighted regression, which
//! estimates the same effect where the basis can express it.

use super::features::{FEATURE_SCALE, Features, Term};
use crate::measure::effects::clip_norm;

/// The units of weighted basis vectors: 1 is so many.
pub const BASIS_SCALE: i64 = 1 << 12;

/// Standardised features beyond this are clipped.
const LARGEST_STANDARDISED: f64 = 3.0;

/// `kappa^2` as a share of the other terms' expected squared length. A larger one makes the constant's sums more exact
/// and all others less (chosen by simulation).
const CONSTANT_SHARE: f64 = 0.25;

/// `S^2` as a share of the expected squared length (chosen by simulation: less noise against more down-weighting).
const CLIP_SHARE: f64 = 0.6;

/// A basis with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    means: Vec<f64>,
    deviations: Vec<f64>,
    /// `kappa`.
    pub constant: f64,
    /// `k2`.
    pub curve_weight: f64,
    /// The terms.
    pub terms: Vec<Term>,
    /// `S`, in units of `1 / BASIS_SCALE`.
    pub radius: i64,
}

impl Basis {
    /// The basis of these centres and scales, one per feature; scales and curve weight are positive.
    pub fn new(
        features: &Features,
        means: Vec<f64>,
        deviations: Vec<f64>,
        curve_weight: f64,
    ) -> Basis {
        let rest =
            features.list.len() as f64 + curve_weight * curve_weight * features.nonlinear() as f64;
        let constant = (CONSTANT_SHARE * rest).sqrt();
        let length = (CLIP_SHARE * (constant * constant + rest)).sqrt();
        Basis {
            means,
            deviations,
            constant,
            curve_weight,
            terms: features.terms.clone(),
            radius: (length * BASIS_SCALE as f64).floor() as i64,
        }
    }

    /// The number of terms.
    pub fn size(&self) -> usize {
        self.terms.len()
    }

    /// `S`.
    pub fn length(&self) -> f64 {
        self.radius as f64 / BASIS_SCALE as f64
    }

    /// A feature's value, in units of `1 / FEATURE_SCALE`, standardised.
    pub fn standardised(&self, feature: usize, value: i64) -> f64 {
        let u = value as f64 / FEATURE_SCALE as f64;
        ((u - self.means[feature]) / self.deviations[feature])
            .clamp(-LARGEST_STANDARDISED, LARGEST_STANDARDISED)
    }

    /// A term of standardised features.
    pub fn term(&self, term: Term, z: impl Fn(usize) -> f64) -> f64 {
        let k2 = self.curve_weight;
        match term {
            Term::Constant => self.constant,
            Term::Linear(i) => z(i),
            Term::Square(i) => k2 * square(z(i)),
            Term::Product(i, j) => k2 * z(i) * z(j),
            Term::Cube(i) => k2 * cube(z(i)),
        }
    }

    /// `phi` of a record's features.
    pub fn phi(&self, features: &[i64]) -> Vec<f64> {
        let z: Vec<f64> = features
            .iter()
            .enumerate()
            .map(|(i, &value)| self.standardised(i, value))
            .collect();
        self.terms
            .iter()
            .map(|&term| self.term(term, |i| z[i]))
            .collect()
    }

    /// `sqrt(w) phi` in whole units, of length at most [`radius`](Basis::radius), and `sqrt(w)`, at most 1.
    pub fn weighted(&self, phi: &[f64]) -> (Vec<i64>, f64) {
        let squared: f64 = phi.iter().map(|x| x * x).sum();
        // Positive: the constant is.
        let root = (self.length() / squared.sqrt()).min(1.0);
        let factor = root * BASIS_SCALE as f64;
        // Far beyond any term, so that squares stay small whatever the parameters.
        let limit = (1i64 << 28) as f64;
        let mut whole: Vec<i64> = phi
            .iter()
            .map(|x| (x * factor).round().clamp(-limit, limit) as i64)
            .collect();
        clip_norm(&mut whole, self.radius);
        (whole, root)
    }
}

/// `(z^2 - 1) / sqrt 2`.
pub fn square(z: f64) -> f64 {
    (z * z - 1.0) / std::f64::consts::SQRT_2
}

/// `(z^3 - 3 z) / sqrt 6`.
pub fn cube(z: f64) -> f64 {
    z * (z * z - 3.0) / 6.0f64.sqrt()
}
