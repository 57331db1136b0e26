//! What a record contributes to each stage's sums: whole numbers, with the length of every contribution bounded.
//!
//! Contributions are computed from one record and public parameters, rounded to whole units, and the bound on their
//! length is enforced on the whole numbers; so no rounding error can break it. Tests look for longer ones by brute
//! force.

use super::basis::{BASIS_SCALE, Basis};
use super::features::FEATURE_SCALE;
use super::pseudo::PseudoOutcome;
use crate::measure::effects::{Reach, Record, Statistic, clip_norm};
use crate::schema::SCALE;

/// `a = 3/2`: what the record's count weighs against its covariates, in units of `1 / FEATURE_SCALE`.
const HUB_WEIGHT: i64 = 3 * FEATURE_SCALE / 2;

/// The hub: `a (1, T - 1/2, y, y^2)` and `u~`, `u~^2`, where `u~ = u min(1, R / |u|)`.
///
/// **Norm.** `T - 1/2 = +-1/2`, `|y| <= 1` and `sum u~^4 <= sum u~^2 <= R^2`, as entries are at most 1: squared,
/// `a^2 (1 + 1/4 + 1 + 1) + 2 R^2`. **Diameter.** The count cancels and the arm differs by 1 at most. Of `y` and `y^2`,
/// and of each covariate's pair, the squared distance is at most 4 (`d^2 (1 + (2 - d)^2) <= 4` for `d` in `[0, 2]`).
/// Of all covariates together it is also at most `4 R^2 + 2 R^2`: vectors of length `R` of either sign, and vectors of
/// length `R` without negative entries. So squared, `a^2 (1 + 4) + min(6 R^2, 4 d)`; rounding towards zero moves
/// each entry's difference by less than a unit.
#[derive(Debug)]
pub struct HubTotals {
    /// The number of features, `d`.
    pub features: usize,
}

impl HubTotals {
    /// `R`, in units of `1 / FEATURE_SCALE`: features that are uniform have a squared length of mean `d/3`, and the rest
    /// is room for its spread.
    pub fn radius(&self) -> i64 {
        let d = self.features as f64;
        ((d / 3.0 + 0.6 * d.sqrt()).sqrt() * FEATURE_SCALE as f64).floor() as i64
    }

    /// What 1 is in the sums of count, arm and outcome.
    pub const WEIGHT: f64 = HUB_WEIGHT as f64 / FEATURE_SCALE as f64;
}

impl Statistic for HubTotals {
    fn cells(&self) -> usize {
        4 + 2 * self.features
    }

    fn scale(&self) -> i64 {
        FEATURE_SCALE
    }

    fn reach(&self) -> Reach {
        let (a, unit) = (HUB_WEIGHT as f64, FEATURE_SCALE as f64);
        let covariates = (self.radius() as f64).powi(2);
        let norm = (a * a * 3.25 + 2.0 * covariates).sqrt();
        let apart = (6.0 * covariates).min(4.0 * self.features as f64 * unit * unit);
        let diameter = (a * a * 5.0 + apart).sqrt() + (self.cells() as f64).sqrt();
        let up = |x: f64| (x * (1.0 + 1e-14)).ceil() as i64;
        Reach {
            norm: up(norm),
            diameter: up(diameter),
        }
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let y = record.outcome / (SCALE / FEATURE_SCALE);
        sums[0] += HUB_WEIGHT;
        sums[1] += if record.arm == 1 {
            HUB_WEIGHT / 2
        } else {
            -HUB_WEIGHT / 2
        };
        sums[2] += HUB_WEIGHT * y / FEATURE_SCALE;
        sums[3] += HUB_WEIGHT * (y * y / FEATURE_SCALE) / FEATURE_SCALE;
        let mut clipped = record.scores.to_vec();
        clip_norm(&mut clipped, self.radius());
        let (values, squares) = sums[4..].split_at_mut(self.features);
        for ((value, square), u) in values.iter_mut().zip(squares).zip(clipped) {
            *value += u;
            *square += u * u / FEATURE_SCALE;
        }
    }
}

/// Per arm, the upper triangle of the sum of `w phi phi'`, row by row from the diagonal on.
///
/// **Norm** (Frobenius, of the whole matrix). `w |phi|^2 <= S^2`. **Diameter.** Positive semidefinite matrices have
/// `tr(U V) >= 0`, those of different arms 0: acute.
#[derive(Debug)]
pub struct ArmGrams<'a> {
    /// The basis.
    pub basis: &'a Basis,
}

impl Statistic for ArmGrams<'_> {
    fn cells(&self) -> usize {
        self.basis.size() * (self.basis.size() + 1)
    }

    fn scale(&self) -> i64 {
        BASIS_SCALE * BASIS_SCALE
    }

    fn reach(&self) -> Reach {
        Reach::acute(self.basis.radius * self.basis.radius)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let (phi, _) = self.basis.weighted(&self.basis.phi(record.scores));
        let triangle = self.cells() / 2;
        let mut row = &mut sums[record.arm * triangle..(record.arm + 1) * triangle];
        for i in 0..phi.len() {
            let (cells, rest) = row.split_at_mut(phi.len() - i);
            for (cell, x) in cells.iter_mut().zip(&phi[i..]) {
                *cell += phi[i] * x;
            }
            row = rest;
        }
    }
}

/// Units of the clipped outcome, before it is multiplied with the basis.
const OUTCOME_SCALE: i64 = 1 << 16;

/// Per arm, the sum of `w phi clip(y - ybar, +-B)`.
///
/// **Norm.** `sqrt(w) |phi| <= S` times `sqrt(w) |r| <= B`, each rounded to whole units within its bound: `S B`.
/// **Diameter.** Within an arm the products have either sign: `2 S B`.
#[derive(Debug)]
pub struct ArmCross<'a> {
    /// The basis.
    pub basis: &'a Basis,
    /// `ybar`.
    pub centre: f64,
    /// `B`.
    pub bound: f64,
}

impl Statistic for ArmCross<'_> {
    fn cells(&self) -> usize {
        2 * self.basis.size()
    }

    fn scale(&self) -> i64 {
        BASIS_SCALE * OUTCOME_SCALE
    }

    fn reach(&self) -> Reach {
        Reach::signed(self.basis.radius * whole_bound(self.bound, OUTCOME_SCALE))
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let (phi, root) = self.basis.weighted(&self.basis.phi(record.scores));
        let y = record.outcome as f64 / SCALE as f64;
        let residual = clipped(
            root * (y - self.centre).clamp(-self.bound, self.bound),
            self.bound,
            OUTCOME_SCALE,
        );
        let arm = &mut sums[record.arm * phi.len()..];
        for (sum, x) in arm.iter_mut().zip(phi) {
            *sum += residual * x;
        }
    }
}

/// The sum of `min(|psi| / B, 1)`, rounded down.
///
/// **Norm.** 1. **Diameter.** Two numbers from 0 to 1 are at most 1 apart.
#[derive(Debug)]
pub struct PseudoSpread<'a> {
    /// The pseudo-outcome.
    pub pseudo: &'a PseudoOutcome<'a>,
    /// `B`.
    pub range: f64,
}

impl Statistic for PseudoSpread<'_> {
    fn cells(&self) -> usize {
        1
    }

    fn scale(&self) -> i64 {
        SCALE
    }

    fn reach(&self) -> Reach {
        Reach {
            norm: SCALE,
            diameter: SCALE,
        }
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let phi = self.pseudo.basis.phi(record.scores);
        let size = self.pseudo.of(&phi, record).abs() / self.range;
        // Not a number counts 0, beyond 1 counts 1.
        sums[0] += ((size.min(1.0) * SCALE as f64) as i64).clamp(0, SCALE);
    }
}

/// Units of the pseudo-outcome, before it is multiplied with the basis.
const PSEUDO_SCALE: i64 = 1 << 14;

/// The sum of `w phi clip(psi, +-B)`.
///
/// **Norm.** `S B`, as for the outcome. **Diameter.** `2 S B`.
#[derive(Debug)]
pub struct PseudoCross<'a> {
    /// The pseudo-outcome.
    pub pseudo: &'a PseudoOutcome<'a>,
    /// `B`.
    pub bound: f64,
}

impl Statistic for PseudoCross<'_> {
    fn cells(&self) -> usize {
        self.pseudo.basis.size()
    }

    fn scale(&self) -> i64 {
        BASIS_SCALE * PSEUDO_SCALE
    }

    fn reach(&self) -> Reach {
        Reach::signed(self.pseudo.basis.radius * whole_bound(self.bound, PSEUDO_SCALE))
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let basis = self.pseudo.basis;
        let unweighted = basis.phi(record.scores);
        let psi = self
            .pseudo
            .of(&unweighted, record)
            .clamp(-self.bound, self.bound);
        let (phi, root) = basis.weighted(&unweighted);
        let psi = clipped(root * psi, self.bound, PSEUDO_SCALE);
        for (sum, x) in sums.iter_mut().zip(phi) {
            *sum += psi * x;
        }
    }
}

/// A bound in whole units, at least one.
fn whole_bound(bound: f64, scale: i64) -> i64 {
    ((bound * scale as f64).floor() as i64).max(1)
}

/// A number in whole units, towards zero and within the bound whatever it is; not a number is 0.
fn clipped(x: f64, bound: f64, scale: i64) -> i64 {
    let limit = whole_bound(bound, scale);
    ((x * scale as f64) as i64).clamp(-limit, limit)
}
