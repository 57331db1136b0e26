//! The published score: how far a covariate's moments are from the model's.
//!
//! ```text
//! u_j = || q_j - q_j(P^) ||_2
//! ```
//!
//! `q_j` is the leaf as it would be released (counts by arm, outcome split and level; a linear bijection of the published
//! feature masses and outcome moments), and the model expects of a covariate without a leaf that it is independent of
//! the hub, with even levels. The factor in front, a Lipschitz constant of the effect, is the same for all candidates
//! and changes no choice. A covariate with uneven levels, or one that goes with the treatment alone, scores as high as
//! a confounder: it is here for comparison.
//!
//! **Sensitivity.** By the triangle inequality `u_j` moves by no more than the L2 norm of the change of `q_j`, which is that of
//! the leaf's measurement: [`Sensitivity`]. The norm is rounded down to whole units after an exact sum of
//! squares: if `|x - y| <= Delta` with `Delta` whole, rounding down keeps it so.

use super::answers::Answers;
use crate::privacy::{Adjacency, PrivacyError, Sensitivity};
use crate::schema::SCALE;

/// A leaf among the counted ones, and what the model expects of it, both in units of `1 / SCALE`.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Its position.
    pub leaf: usize,
    /// The expected counts.
    pub counts: Vec<i64>,
}

/// The largest change of a score between neighbouring tables, in units of `1 / SCALE`.
///
/// # Errors
/// Where it is out of range.
pub fn sensitivity(adjacency: Adjacency, max_rows: u32) -> Result<u64, PrivacyError> {
    let squared = Sensitivity::of_non_negative_sum(SCALE, adjacency, max_rows)?.squared();
    // At most 2^63, since the square is at most 2^126.
    let root = squared.isqrt() as u64;
    Ok(root + u64::from(u128::from(root).pow(2) < squared))
}

/// The scores, in units of `1 / SCALE`.
pub fn scores(counts: &Answers, candidates: &[Expected]) -> Vec<i64> {
    let score = |candidate: &Expected| {
        let cells = counts.0[candidate.leaf].iter().zip(&candidate.counts);
        let squared: u128 = cells
            .map(|(count, expected)| u128::from(count.abs_diff(*expected)).pow(2))
            .fold(0, u128::saturating_add);
        squared.isqrt().min(i64::MAX as u128) as i64
    };
    candidates.iter().map(score).collect()
}
