//! Which scores matter: those that go with the treatment *and* with the outcome.
//!
//! The utility of score `j` (Asiaee and Aryan 2026 select by confounding too; this form has a small, exact
//! sensitivity) is
//!
//! ```text
//! u_j = min( max_t |sum s_j (1{T=t} - p_t)| / max(p_t, 1 - p_t),  |sum s_j r| / B )
//! ```
//!
//! with public shares `p_t` and residuals `|r| <= B`, rounded down to units of `1 / SCORE_SCALE`.
//!
//! **Sensitivity.** A record moves `sum s_j (1{T=t} - p_t)` by at most `max(p_t, 1 - p_t)`, and `sum s_j r` by
//! at most `B`, since `|s_j| <= 1`; so each of the quotients moves by at most 1, and minimum, maximum, absolute value
//! and rounding down to whole units move no further: `Delta = 1` for a record added or removed, 2 for one
//! replaced, times the rows of a unit.

use super::outcome_statistics::Residuals;
use super::scorer::Scorer;
use super::statistic::ScoreSource;
use super::statistic::{Questions, Reach, Record, Statistic, totals};
use crate::privacy::Adjacency;
use crate::schema::SCORE_SCALE;
use crate::table::CodedTable;

/// The units of the shares.
const SHARE_SCALE: i64 = 1 << 16;

/// What the utilities of all scores are computed from.
pub struct Association<'a> {
    /// Index of the treatment column.
    pub treatment: usize,
    /// The candidates' scores.
    pub scorer: &'a Scorer,
    /// `p_t`, by arm.
    pub shares: &'a [f64],
    /// Centres and clip of the residuals.
    pub residuals: &'a Residuals,
}

/// The largest change of a utility, in units of `1 / SCORE_SCALE`.
pub fn utility_sensitivity(adjacency: Adjacency, max_rows: u32) -> u64 {
    SCORE_SCALE as u64 * adjacency.changed_records() * u64::from(max_rows)
}

/// The utilities, in units of `1 / SCORE_SCALE`.
pub fn utilities(table: &CodedTable, association: &Association) -> Vec<i64> {
    let shares: Vec<i64> = association
        .shares
        .iter()
        .map(|p| (p * SHARE_SCALE as f64).round() as i64)
        .collect();
    let sums = AssociationSums {
        scores: association.scorer.len(),
        shares: &shares,
        residuals: association.residuals,
    };
    let questions = Questions {
        treatment: association.treatment,
        scorer: association.scorer,
        statistics: vec![&sums],
    };
    let totals = totals(table, &questions).swap_remove(0);
    (0..association.scorer.len())
        .map(|j| sums.utility(&totals, j))
        .collect()
}

/// `sum s_j (1{T=t} - p_t)` for every arm but the reference, then `sum s_j r`.
struct AssociationSums<'a> {
    scores: usize,
    shares: &'a [i64],
    residuals: &'a Residuals,
}

impl AssociationSums<'_> {
    fn utility(&self, totals: &[i64], j: usize) -> i64 {
        let with_treatment = (1..self.shares.len())
            .map(|arm| {
                let weight = self.shares[arm].max(SHARE_SCALE - self.shares[arm]);
                totals[(arm - 1) * self.scores + j].abs() / weight
            })
            .max()
            .unwrap_or(0);
        let with_outcome =
            totals[(self.shares.len() - 1) * self.scores + j].abs() / self.residuals.bound;
        with_treatment.min(with_outcome)
    }
}

impl Statistic for AssociationSums<'_> {
    fn cells(&self) -> usize {
        self.shares.len() * self.scores
    }

    fn scale(&self) -> i64 {
        SCORE_SCALE
    }

    /// Not released as it stands: see [`utility_sensitivity`].
    fn reach(&self) -> Reach {
        Reach::signed(i64::MAX / 2)
    }

    fn add(&self, record: &Record, sums: &mut [i64]) {
        let (treatment, outcome) = sums.split_at_mut((self.shares.len() - 1) * self.scores);
        for (position, sums) in treatment.chunks_exact_mut(self.scores).enumerate() {
            let arm = position + 1;
            let own = if record.arm == arm { SHARE_SCALE } else { 0 };
            for (sum, score) in sums.iter_mut().zip(record.scores) {
                *sum += score * (own - self.shares[arm]);
            }
        }
        let residual = self.residuals.of(record);
        for (sum, score) in outcome.iter_mut().zip(record.scores) {
            *sum += score * residual;
        }
    }
}
