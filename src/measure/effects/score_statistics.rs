//! Statistics of scores: alone, by arm, and with the outcome's residuals.
//!
//! A record's scores have norm at most `R` (the scorer clips them), in units of `1 / SCORE_SCALE`.

use super::outcome_statistics::Residuals;
use super::statistic::{Reach, Record, Statistic};
use crate::schema::SCORE_SCALE;

/// Sums of each score and of its square, for scores in `[-1, 1]` that are not clipped together.
///
/// **Norm.** `s^2 + s^4 <= 2` per score. **Diameter.** Per score `(s - s')^2 + (s^2 - s'^2)^2 =
/// (s - s')^2 (1 + (s + s')^2)`; with `d = |s - s'|` and `|s + s'| <= 2 - d` it is at most
/// `d^2 (1 + (2 - d)^2) <= 4` for `d` in `[0, 2]`, attained at `d = 2`. (`4 - d^2 (1 + (2 - d)^2)` is
/// `(2 - d)(2 + d - d^2 (2 - d))`, and `d^2 (2 - d) <= 32/27 < 2`.)
#[derive(Debug)]
pub struct ScoreMoments {
    /// The number of scores.
    pub scores: usize,
}

impl Statistic for ScoreMoments {
    fn cells(&self) -> usize {
        2 * self.scores
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE * SCORE_SCALE
    }

    fn reach(&self) -> Reach {
        let unit = self.scale() as f64;
        let count = self.scores as f64;
        Reach {
            norm: ((2.0 * count).sqrt() * unit).ceil() as i64,
            diameter: (2.0 * count.sqrt() * unit).ceil() as i64,
        }
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        for (pair, score) in sums.chunks_exact_mut(2).zip(record.scores) {
            pair[0] += score * SCORE_SCALE;
            pair[1] += score * score;
        }
    }
}

/// The sum of the scores.
///
/// **Norm.** `R`. **Diameter.** `2 R`.
#[derive(Debug)]
pub struct ScoreTotals {
    /// The number of scores.
    pub scores: usize,
    /// `R`.
    pub radius: i64,
}

impl Statistic for ScoreTotals {
    fn cells(&self) -> usize {
        self.scores
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE
    }

    fn reach(&self) -> Reach {
        Reach::signed(self.radius)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        for (sum, score) in sums.iter_mut().zip(record.scores) {
            *sum += score;
        }
    }
}

/// The units of the weights of [`Imbalance`].
pub const WEIGHT_SCALE: i64 = 1 << 12;

/// For every arm but the reference, `sum over the arm of w_t s - sum over the reference of w_0 s`.
///
/// **Norm.** A record of arm `t > 0` contributes `w_t s` to one of the sums, one of the reference arm
/// `-w_0 s` to all `A - 1`: `R max(max_t w_t, sqrt(A - 1) w_0)`. **Diameter.** Twice that.
#[derive(Debug)]
pub struct Imbalance {
    /// The number of scores.
    pub scores: usize,
    /// `R`.
    pub radius: i64,
    /// `w_t`, by arm, in units of `1 / WEIGHT_SCALE`.
    pub weights: Vec<i64>,
}

impl Statistic for Imbalance {
    fn cells(&self) -> usize {
        (self.weights.len() - 1) * self.scores
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE * WEIGHT_SCALE
    }

    fn reach(&self) -> Reach {
        let others = self.weights[1..].iter().copied().max().unwrap_or(0) as f64;
        let reference = self.weights[0] as f64 * ((self.weights.len() - 1) as f64).sqrt();
        let weight = others.max(reference.next_up());
        let norm = (self.radius as f64 * weight * (1.0 + 1e-14)).ceil() as i64;
        Reach::signed(match self.weights.len() {
            // Exact for two arms.
            2 => self.radius * self.weights[0].max(self.weights[1]),
            _ => norm,
        })
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let weight = self.weights[record.arm];
        if record.arm > 0 {
            let contrast = &mut sums[(record.arm - 1) * self.scores..record.arm * self.scores];
            for (sum, score) in contrast.iter_mut().zip(record.scores) {
                *sum += weight * score;
            }
        } else {
            for contrast in sums.chunks_exact_mut(self.scores.max(1)) {
                for (sum, score) in contrast.iter_mut().zip(record.scores) {
                    *sum -= weight * score;
                }
            }
        }
    }
}

/// How many bits of a residual are dropped, towards zero, before it is multiplied with scores.
pub const RESIDUAL_SHIFT: i64 = 1 << 4;

/// Per arm, the sum of scores times residual.
///
/// **Norm.** `|s| |r| <= R B`. **Diameter.** Within an arm the products have either sign: `2 R B`.
#[derive(Debug)]
pub struct Cross {
    /// The number of scores.
    pub scores: usize,
    /// `R`.
    pub radius: i64,
    /// Centres and clip of the residuals.
    pub residuals: Residuals,
}

impl Statistic for Cross {
    fn cells(&self) -> usize {
        self.residuals.centres.len() * self.scores
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE * (crate::schema::SCALE / RESIDUAL_SHIFT)
    }

    fn reach(&self) -> Reach {
        // A residual loses its last bits towards zero, and so does their bound.
        Reach::signed((self.radius * (self.residuals.bound / RESIDUAL_SHIFT)).max(1))
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let residual = self.residuals.of(record) / RESIDUAL_SHIFT;
        let arm = &mut sums[record.arm * self.scores..(record.arm + 1) * self.scores];
        for (sum, score) in arm.iter_mut().zip(record.scores) {
            *sum += residual * score;
        }
    }
}

/// Per arm, the upper triangle of the sum of `z z'`, `z = (kappa, s)`, row by row from the diagonal on.
///
/// **Norm** (Frobenius, of the whole matrix). `|z z'| = |z|^2 <= R^2 + kappa^2`. **Diameter.** Positive
/// semidefinite matrices have `tr(U V) >= 0`, those of different arms `0`: acute.
#[derive(Debug)]
pub struct Grams {
    /// The number of arms.
    pub arms: usize,
    /// The number of scores.
    pub scores: usize,
    /// `R`.
    pub radius: i64,
    /// `kappa`, in units of `1 / SCORE_SCALE`.
    pub constant: i64,
}

impl Grams {
    /// The number of cells of one arm's triangle.
    pub fn triangle(&self) -> usize {
        (self.scores + 1) * (self.scores + 2) / 2
    }
}

impl Statistic for Grams {
    fn cells(&self) -> usize {
        self.arms * self.triangle()
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE * SCORE_SCALE
    }

    fn reach(&self) -> Reach {
        Reach::acute(self.radius * self.radius + self.constant * self.constant)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let triangle = self.triangle();
        let mut cells = sums[record.arm * triangle..(record.arm + 1) * triangle].iter_mut();
        let z = |i: usize| match i {
            0 => self.constant,
            _ => record.scores[i - 1],
        };
        for i in 0..=self.scores {
            let zi = z(i);
            for (j, cell) in (i..=self.scores).zip(&mut cells) {
                *cell += zi * z(j);
            }
        }
    }
}
