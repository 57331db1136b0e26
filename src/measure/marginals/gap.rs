//! How far a model is from the data, marginal by marginal: the scores of the choices.
//!
//! The score of a marginal with counts `x`, of which the model expects `x^`, is
//!
//! ```text
//! u = W (sum over cells of |x - x^| - penalty)
//! ```
//!
//! on whole numbers: `x^` and the penalty are rounded to units of `1 / GAP_SCALE` of a record, and `W` is a whole
//! number up to [`WEIGHT_SCALE`]. Both are public, as they come from earlier noisy answers.

use super::counts::MarginalCounts;
use crate::privacy::Adjacency;

/// How many units of a gap one record is: fine enough that the rounding of `x^` (half a unit per cell) stays far below
/// the noise of any choice, coarse enough that weighted scores stay far inside 64 bits.
pub const GAP_SCALE: i64 = 1 << 10;

/// The units of the weights: the heaviest candidate has this many.
pub const WEIGHT_SCALE: i64 = 1 << 10;

/// A candidate as a round sees it.
pub struct GapCandidate {
    /// Which of the counted marginals it is.
    pub marginal: usize,
    /// What the model expects, in units of `1 / GAP_SCALE` of a record.
    pub expected: Vec<i64>,
    /// What is taken off the distance, in the same units.
    pub penalty: i64,
    /// `W`, from 1 to the largest weight that is stated to [`gap_sensitivity`].
    pub weight: i64,
}

/// The largest change of a score of weight at most `most_weight` between neighbouring tables, in units of scores.
///
/// A record adds 1 to one cell of every marginal and nothing to the others, so by the reverse triangle inequality
/// the L1 distance between counts and *any* fixed `x^` moves by at most `||x - x'||_1 = 1` for a record added or
/// removed, and 2 for one replaced (one cell loses 1, one gains 1), each times the rows of a unit. The penalty is
/// public and does not move, and a weight multiplies the change. Merging cells adds counts up, which leaves a
/// record one count in one cell. All sums are of whole numbers in 128 bits, clamped to 64 at the end, and clamping
/// moves two numbers no further apart.
pub fn gap_sensitivity(adjacency: Adjacency, max_rows: u32, most_weight: i64) -> u64 {
    GAP_SCALE as u64 * adjacency.changed_records() * u64::from(max_rows) * most_weight as u64
}

/// The scores of the candidates.
pub fn gaps(counts: &MarginalCounts, candidates: &[GapCandidate]) -> Vec<i64> {
    let score = |candidate: &GapCandidate| {
        let distance = distance(counts.of(candidate.marginal), &candidate.expected);
        let score = (distance - i128::from(candidate.penalty)) * i128::from(candidate.weight);
        score.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    };
    candidates.iter().map(score).collect()
}

/// The L1 distance of counts of records from what is expected, in units of `1 / GAP_SCALE`.
fn distance(counts: &[u32], expected: &[i64]) -> i128 {
    let cells = counts.iter().zip(expected);
    cells
        .map(|(&count, &expected)| i128::from((i64::from(count) * GAP_SCALE).abs_diff(expected)))
        .sum()
}

/// Numbers of records in units of gaps, rounded.
pub fn in_gap_units(records: &[f64]) -> Vec<i64> {
    records
        .iter()
        .map(|r| (r * GAP_SCALE as f64).round() as i64)
        .collect()
}

/// Weights as whole numbers, the heaviest [`WEIGHT_SCALE`], rounded up so that none is 0.
pub fn whole_weights(weights: &[f64]) -> Vec<i64> {
    let most = weights.iter().copied().fold(0.0, f64::max);
    weights
        .iter()
        .map(|w| ((w / most * WEIGHT_SCALE as f64).ceil() as i64).clamp(1, WEIGHT_SCALE))
        .collect()
}

/// The mean of the L1 norm of `cells` independent normal numbers, in standard deviations: what noise alone adds.
pub fn noise_norm(cells: usize) -> f64 {
    std::f64::consts::FRAC_2_PI.sqrt() * cells as f64
}
