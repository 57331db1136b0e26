//! The product score: how far a covariate goes with what is left of the treatment *and* of the outcome.
//!
//! **Sensitivity.** The residuals of a record lie in `-1..=1` and are functions of the record and of released answers. A
//! record has one level of a covariate, so it adds at most 1 in size to one entry of the inner sums and nothing to the
//! others: in the L1 norm, `a_jt` and `b_jt` move by at most 1 for a record added or removed and by 2 for one replaced (two
//! entries by at most 1 each, or one by at most 2), times the rows of a unit. Penalties are public and do not move; minimum and
//! maximum of numbers that move by at most `Delta` move by at most `Delta`. Sums are of whole units, so this
//! holds exactly.

use super::hub::Hub;
use super::pairs::PairCandidate;
use super::residuals::{Residual, Residuals, UNIT, reach};
use crate::privacy::Adjacency;
use crate::table::CodedTable;
use rayon::prelude::*;
use std::f64::consts::FRAC_2_PI;

/// Rows that are summed up by one task.
const CHUNK: usize = 1 << 12;

/// A covariate whose leaf may be measured.
#[derive(Debug, Clone)]
pub struct LeafCandidate {
    /// Its index in [`crate::schema::Schema::columns`].
    pub column: usize,
    /// Its number of levels.
    pub levels: usize,
    /// `pen_at` and `pen_bt` of every contrast, in units.
    pub penalties: Vec<[i64; 2]>,
}

/// What is asked of the rows in a round.
#[derive(Debug)]
pub struct Question<'a> {
    /// What the model leaves unexplained.
    pub residuals: &'a Residuals,
    /// Leaves.
    pub leaves: &'a [LeafCandidate],
    /// Pairs.
    pub pairs: &'a [PairCandidate],
    /// The score of measuring nothing more, in units, where that is a candidate.
    pub stop: Option<i64>,
}

/// The largest change of a score between neighbouring tables, in units.
pub fn sensitivity(adjacency: Adjacency, max_rows: u32) -> u64 {
    UNIT as u64 * adjacency.changed_records() * u64::from(max_rows)
}

/// `pen_at` and `pen_bt` of every contrast: the mean L1 norm that noise and sampling alone would give the two sums,
///
/// ```text
/// pen = sqrt(2 / pi) (L sigma + sum over l of sqrt(n_l v))  <=  sqrt(2 / pi) (L sigma + sqrt(L n v))
/// ```
///
/// with the noise `sigma` of the leaf in the units of the residual, and the residual's variance `v` under the
/// hub. A level's number of records `n_l` is not known before the leaf is; an even division makes the sum largest.
pub fn penalties(hub: &Hub, levels: usize, sigma: f64, bound: Option<f64>) -> Vec<[i64; 2]> {
    let levels = levels as f64;
    let penalty = |sigma: f64, total: f64| {
        let mean = FRAC_2_PI.sqrt() * (levels * sigma + (levels * total).sqrt());
        (mean * UNIT as f64).round() as i64
    };
    let of_contrast = |t: usize| {
        let (records, share) = hub.contrast(t);
        let of_outcome = |arm: usize| bound.unwrap_or_else(|| reach(hub.means[arm]));
        let deviation = hub.over_arms(t, |arm| sigma / of_outcome(arm));
        let variance = hub.over_arms(t, |arm| hub.variances[arm] / of_outcome(arm).powi(2));
        [
            penalty(
                sigma / reach(share),
                records * share * (1.0 - share) / reach(share).powi(2),
            ),
            penalty(deviation, records * variance),
        ]
    };
    (1..=hub.contrasts()).map(of_contrast).collect()
}

/// The scores of leaves, pairs and the stop, in this order, in units.
pub fn scores(table: &CodedTable, question: &Question) -> Vec<i64> {
    let layout = Layout::new(question);
    let chunks = table.rows.div_ceil(CHUNK);
    let zero = || vec![0; layout.length];
    let add = |mut sums: Vec<i64>, more: Vec<i64>| {
        sums.iter_mut()
            .zip(more)
            .for_each(|(sum, more)| *sum += more);
        sums
    };
    // Whole numbers far below 2^63: the result does not depend on the order of the chunks.
    let sums = (0..chunks)
        .into_par_iter()
        .map(|chunk| layout.sum(table, question, chunk * CHUNK))
        .reduce(zero, add);
    let leaves = question.leaves.iter().zip(&layout.leaves);
    let pairs = question.pairs.iter().zip(&sums[layout.pairs..]);
    leaves
        .map(|(leaf, &at)| leaf.score(&sums[at..]))
        .chain(pairs.map(|(pair, &sum)| pair.score(sum)))
        .chain(question.stop)
        .collect()
}

impl LeafCandidate {
    /// The score from the sums by contrast, level, and residual (treatment, then outcome).
    fn score(&self, sums: &[i64]) -> i64 {
        let contrasts = self
            .penalties
            .iter()
            .zip(sums.chunks_exact(2 * self.levels));
        contrasts
            .map(|(penalty, sums)| {
                let norm = |side: usize| {
                    sums.iter()
                        .skip(side)
                        .step_by(2)
                        .map(|s| s.abs())
                        .sum::<i64>()
                };
                (norm(0) - penalty[0]).min(norm(1) - penalty[1])
            })
            .max()
            // There is a contrast: a treatment has two levels at least.
            .unwrap_or(i64::MIN / 4)
    }
}

/// Where each candidate's sums stand.
struct Layout {
    /// Of the leaves.
    leaves: Vec<usize>,
    /// Of the pairs: the first of them.
    pairs: usize,
    length: usize,
    contrasts: usize,
}

impl Layout {
    fn new(question: &Question) -> Layout {
        let contrasts = question.residuals.arms() - 1;
        let mut next = 0;
        let mut leaves = Vec::with_capacity(question.leaves.len());
        for leaf in question.leaves {
            leaves.push(next);
            next += 2 * contrasts * leaf.levels;
        }
        Layout {
            leaves,
            pairs: next,
            length: next + question.pairs.len(),
            contrasts,
        }
    }

    /// The sums of a chunk of rows.
    fn sum(&self, table: &CodedTable, question: &Question, first: usize) -> Vec<i64> {
        let mut sums = vec![0; self.length];
        let mut room = question.residuals.workspace();
        let mut residuals = vec![Residual::default(); self.contrasts];
        // The table is of the plan's schema, whose candidates are coded columns.
        let codes =
            |column: usize| -> &[u16] { table.codes[column].as_ref().expect("a coded column") };
        for row in first..(first + CHUNK).min(table.rows) {
            question.residuals.of(table, row, &mut room, &mut residuals);
            for (leaf, start) in question.leaves.iter().zip(&self.leaves) {
                let mut at = start + 2 * usize::from(codes(leaf.column)[row]);
                for residual in &residuals {
                    sums[at] += residual.treatment;
                    sums[at + 1] += residual.outcome;
                    at += 2 * leaf.levels;
                }
            }
            for (pair, sum) in question.pairs.iter().zip(&mut sums[self.pairs..]) {
                *sum += pair.product(pair.columns.map(|column| codes(column)[row]));
            }
        }
        sums
    }
}
