//! Statistics of arms and outcomes.
//!
//! Outcomes are `y` in `[-1, 1]`, residuals `r = clip(y - ybar_t, +-B)` around public rough arm means.

use super::statistic::{Reach, Record, Statistic};
use crate::schema::SCALE;

/// Per arm, the number of records and the sum of outcomes: contribution `(1, y)` at the record's arm.
///
/// **Norm.** `1 + y^2 <= 2`. **Diameter.** Within an arm `u . v = 1 + y y' >= 0`, across arms `u . v = 0`, so
/// contributions are acute: `|u - v|^2 <= 4`.
#[derive(Debug)]
pub struct ArmTotals {
    /// The number of arms.
    pub arms: usize,
}

impl Statistic for ArmTotals {
    fn cells(&self) -> usize {
        2 * self.arms
    }

    fn scale(&self) -> i64 {
        SCALE
    }

    fn reach(&self) -> Reach {
        Reach {
            norm: (SCALE as f64 * std::f64::consts::SQRT_2).ceil() as i64,
            diameter: 2 * SCALE,
        }
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        sums[2 * record.arm] += SCALE;
        sums[2 * record.arm + 1] += record.outcome;
    }
}

/// Public rough arm means and the clip of residuals around them, in units of `1 / SCALE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residuals {
    /// `ybar_t`, by arm.
    pub centres: Vec<i64>,
    /// `B`, at least 1.
    pub bound: i64,
}

impl Residuals {
    /// The residual of a record: at most `bound` in size.
    pub fn of(&self, record: &Record) -> i64 {
        (record.outcome - self.centres[record.arm]).clamp(-self.bound, self.bound)
    }
}

/// Histogram of the sizes of residuals on ascending public edges; the last cell takes what is larger.
///
/// **Norm.** One-hot: 1. **Diameter.** Entries are not negative: acute.
#[derive(Debug)]
pub struct ResidualSizes {
    /// `ybar_t`, by arm, in units of `1 / SCALE`.
    pub centres: Vec<i64>,
    /// The upper ends of the cells but the last, in units of `1 / SCALE`.
    pub edges: Vec<i64>,
}

impl Statistic for ResidualSizes {
    fn cells(&self) -> usize {
        self.edges.len()
    }

    fn scale(&self) -> i64 {
        SCALE
    }

    fn reach(&self) -> Reach {
        Reach::acute(SCALE)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let size = (record.outcome - self.centres[record.arm]).abs();
        let cell = self.edges.partition_point(|&edge| edge < size);
        sums[cell.min(self.edges.len() - 1)] += SCALE;
    }
}

/// Per arm, the sum of residuals.
///
/// **Norm.** `|r| <= B`. **Diameter.** Residuals have either sign: `2 B`.
#[derive(Debug)]
pub struct ResidualTotals(pub Residuals);

impl Statistic for ResidualTotals {
    fn cells(&self) -> usize {
        self.0.centres.len()
    }

    fn scale(&self) -> i64 {
        SCALE
    }

    fn reach(&self) -> Reach {
        Reach::signed(self.0.bound)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        sums[record.arm] += self.0.of(record);
    }
}

/// Per arm, the sum of `(r / B)^2`, rounded down.
///
/// **Norm.** At most 1. **Diameter.** Entries are not negative: acute.
#[derive(Debug)]
pub struct ResidualSquares(pub Residuals);

impl Statistic for ResidualSquares {
    fn cells(&self) -> usize {
        self.0.centres.len()
    }

    fn scale(&self) -> i64 {
        SCALE
    }

    fn reach(&self) -> Reach {
        Reach::acute(SCALE)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let residual = i128::from(self.0.of(record));
        let bound = i128::from(self.0.bound);
        // r^2 <= B^2, so the quotient is at most SCALE.
        sums[record.arm] += (residual * residual * i128::from(SCALE) / (bound * bound)) as i64;
    }
}
