//! Named counting queries: the only questions that a mechanism can ask of a table.
//!
//! A query is a product of *features*, one per column involved, summed over the rows. Its answer is a
//! dense integer array in row-major order of its axes, in units of `1 / SCALE` of a record.

use super::{Kind, Schema};

/// The fixed-point unit of every confidential sum: one record counts `SCALE`, and the outcome, mapped
/// to `[0, 1]` by its public bounds, is a whole number in `0..=SCALE`. Sums are therefore exact, do not
/// depend on the order of rows, and their sensitivity is exact too.
pub const SCALE: i64 = 1 << 20;

/// What a query takes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// One-hot of the column's code: as many cells as the column has levels. Sum `SCALE`, L2 norm `SCALE`.
    Levels,
    /// `(SCALE - y, y)` of the outcome: two cells. Sum `SCALE`, L2 norm at most `SCALE`.
    Split,
    /// `floor(y (SCALE - y) / SCALE)` of the outcome: one cell, at most `SCALE / 4`.
    Spread,
}

/// One axis of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Index into [`Schema::columns`].
    pub column: usize,
    /// What is taken of it.
    pub feature: Feature,
}

/// A named counting query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// A name unique within a release, such as `leaf:age`.
    pub name: String,
    /// The axes; the answer is row-major over them (last axis fastest).
    pub axes: Vec<Axis>,
}

impl Axis {
    /// The number of cells along this axis.
    pub fn cells(&self, schema: &Schema) -> usize {
        match self.feature {
            Feature::Levels => schema.columns[self.column].levels(),
            Feature::Split => 2,
            Feature::Spread => 1,
        }
    }
}

impl Query {
    /// The lengths of the axes.
    pub fn shape(&self, schema: &Schema) -> Vec<usize> {
        self.axes.iter().map(|a| a.cells(schema)).collect()
    }

    /// The number of cells, or `None` where it overflows.
    pub fn cells(&self, schema: &Schema) -> Option<usize> {
        self.shape(schema)
            .into_iter()
            .try_fold(1usize, usize::checked_mul)
    }

    /// A bound on the L2 norm of what one record adds to the answer, in units of `1 / SCALE`.
    ///
    /// The contribution is an outer product, so its norm is the product of the features' norms: a
    /// one-hot has norm `SCALE / SCALE = 1`; `a^2 + b^2 <= (a + b)^2` bounds the split by 1; the
    /// spread is at most `y (1 - y) <= 1/4`, and rounding down keeps it so.
    pub fn record_norm(&self) -> i64 {
        self.axes
            .iter()
            .fold(SCALE, |norm, axis| match axis.feature {
                Feature::Levels | Feature::Split => norm,
                Feature::Spread => norm / 4,
            })
    }

    /// Whether the answer's cells sum to the number of records (no spread axis).
    pub fn partitions_records(&self) -> bool {
        self.axes.iter().all(|a| a.feature != Feature::Spread)
    }
}

impl Schema {
    /// The outcome of a code of a two-level outcome, in units of `1 / SCALE`.
    pub fn two_level_outcome(code: u16) -> i64 {
        if code == 1 { SCALE } else { 0 }
    }

    /// The lower bound and the width of the outcome's public range; 0 and 1 for two-level outcomes.
    pub fn outcome_range(&self) -> (f64, f64) {
        let bounds = self
            .outcome()
            .and_then(|column| self.columns[column].bounds());
        bounds.map_or((0.0, 1.0), |(lower, upper)| (lower, upper - lower))
    }

    /// A numeric outcome mapped to `0..=SCALE` by the column's public bounds: clamped, then rounded to
    /// nearest. `value` must be finite.
    pub fn scaled_outcome(kind: &Kind, value: f64) -> i64 {
        let (lower, upper) = match *kind {
            Kind::Integer { lower, upper, .. } => (lower as f64, upper as f64),
            Kind::Real { lower, upper, .. } => (lower, upper),
            _ => return if value >= 1.0 { SCALE } else { 0 },
        };
        (((value.clamp(lower, upper) - lower) / (upper - lower)) * SCALE as f64).round() as i64
    }
}
