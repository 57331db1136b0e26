//! The state of boosting: binned features and residuals, and one turn.
//!
//! Everything is in whole units, so sums are exact and don't depend on the order of rows or threads. A turn reads a
//! feature's bins once: it takes the last turn's update off the residuals and adds them up by leaf, without a
//! branch that depends on the data.

use super::bins::Feature;
use crate::cate::split::Targets;
use crate::measure::effects::Reach;
use crate::table::CodedTable;
use rayon::prelude::*;

/// The units of residuals and of fits: 1 is so many.
pub const RESIDUAL_SCALE: i64 = 1 << 20;

/// The units of counts.
pub const WEIGHT_SCALE: i64 = 1 << 20;

/// The units of a record's weight.
const RECORD_WEIGHT_SCALE: i64 = 1 << 14;

/// The clip of residuals: half the target's range.
const CLIP: i32 = RESIDUAL_SCALE as i32;

/// What stands for no clip in the test that shows why there must be one, in tables of at most 32 rows, whose sums still fit.
const UNCLIPPED: i32 = 1 << 25;

/// Rows that are summed up in 32 bits: `2^10` residuals of at most `2^20`.
const BLOCK: usize = 1 << 10;

/// Rows that a thread takes at once.
const CHUNK: usize = 1 << 15;

/// What is asked first: features and targets of a part.
#[derive(Debug)]
pub struct BoostQuestion<'a> {
    /// The features.
    pub features: &'a [Feature],
    /// The targets.
    pub targets: &'a Targets,
    /// Index of the treatment.
    pub treatment: usize,
}

/// Rows by feature, and what is left to explain.
pub struct BoostTable {
    /// By feature, the bin of every row.
    bins: Vec<Vec<u8>>,
    /// What the fit so far leaves.
    residuals: Vec<i32>,
    /// The rows' weights; empty where they are all 1.
    weights: Vec<i32>,
}

/// What the last turn found: added to a feature's bins below the first cut, from there to below the second, and beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Update {
    /// The feature.
    pub feature: usize,
    /// The cuts: the first bins of the second and third leaf.
    pub cuts: [u8; 2],
    /// By leaf, what is added, in units of `1 / RESIDUAL_SCALE`.
    pub steps: [i32; 3],
}

/// A turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// What the last turn found.
    pub last: Update,
    /// The feature.
    pub feature: usize,
    /// The cuts.
    pub cuts: [u8; 2],
    /// Whether residuals are clipped. Only a test that shows why they must be says no.
    pub clips: bool,
}

impl BoostTable {
    /// The state before the first turn.
    ///
    /// # Panics
    /// If the table is not of the schema.
    pub fn new(table: &CodedTable, question: &BoostQuestion) -> BoostTable {
        let arms = table.codes[question.treatment]
            .as_ref()
            .expect("a coded treatment");
        let target = |row: usize| question.targets.of(table, row, arms[row]);
        let residual = |row: usize| whole(target(row).value, RESIDUAL_SCALE);
        let weight = |row: usize| whole(target(row).weight, RECORD_WEIGHT_SCALE);
        let weighted = question.targets.has_weights();
        let bins = |feature: &Feature| -> Vec<u8> {
            let codes = table.codes[feature.column]
                .as_ref()
                .expect("a coded column");
            match table.values.get(feature.column).and_then(Option::as_ref) {
                Some(values) => {
                    let cells = codes.iter().zip(values);
                    cells
                        .map(|(&code, &value)| feature.of(code, value))
                        .collect()
                }
                None => codes.iter().map(|&code| feature.of(code, 0)).collect(),
            }
        };
        BoostTable {
            bins: question.features.par_iter().map(bins).collect(),
            residuals: (0..table.rows).into_par_iter().map(residual).collect(),
            weights: match weighted {
                true => (0..table.rows).into_par_iter().map(weight).collect(),
                false => Vec::new(),
            },
        }
    }

    /// The number of records, or the sum of squared weights, by feature and bin, in units of `1 / WEIGHT_SCALE`. `sizes` are
    /// the features' numbers of bins.
    pub fn counts(&self, sizes: &[usize]) -> Vec<i64> {
        let of_feature = |(bins, &size): (&Vec<u8>, &usize)| -> Vec<i64> {
            let mut counts = vec![0; size];
            if self.weights.is_empty() {
                for &bin in bins {
                    counts[usize::from(bin)] += WEIGHT_SCALE;
                }
            } else {
                // Rounded towards zero: never more than the square of the bound.
                let unit = RECORD_WEIGHT_SCALE * RECORD_WEIGHT_SCALE / WEIGHT_SCALE;
                for (&bin, &weight) in bins.iter().zip(&self.weights) {
                    counts[usize::from(bin)] += i64::from(weight) * i64::from(weight) / unit;
                }
            }
            counts
        };
        let by_feature: Vec<Vec<i64>> = self.bins.par_iter().zip(sizes).map(of_feature).collect();
        by_feature.concat()
    }

    /// Replaces bins by those that they are part of: one map per feature.
    pub fn merge(&mut self, maps: &[Vec<u8>]) {
        self.bins.par_iter_mut().zip(maps).for_each(|(bins, map)| {
            for bin in bins {
                *bin = map[usize::from(*bin)];
            }
        });
    }

    /// Takes the last turn's update off the residuals and adds them up by leaf.
    pub fn turn(&mut self, turn: &Turn) -> Vec<i64> {
        let (last, next) = (&self.bins[turn.last.feature], &self.bins[turn.feature]);
        let weights = &self.weights;
        let chunk = |(index, residuals): (usize, &mut [i32])| -> [i64; 3] {
            let rows = index * CHUNK..index * CHUNK + residuals.len();
            let (last, next) = (&last[rows.clone()], &next[rows.clone()]);
            match weights.as_slice() {
                [] => unweighted(turn, residuals, last, next),
                weights => weighted(turn, residuals, last, next, &weights[rows]),
            }
        };
        let add = |a: [i64; 3], b: [i64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let below = if self.residuals.len() <= CHUNK {
            chunk((0, &mut self.residuals))
        } else {
            let chunks = self.residuals.par_chunks_mut(CHUNK).enumerate();
            chunks.map(chunk).reduce(|| [0; 3], add)
        };
        let [first, second, all] = below;
        vec![first, second - first, all - second]
    }
}

/// How far a record's sums reach in a turn, in units of `1 / RESIDUAL_SCALE`, for weights of at most this.
pub fn reach(weight_bound: f64) -> Reach {
    Reach::signed((weight_bound * RESIDUAL_SCALE as f64).ceil() as i64)
}

/// Sums over bins below the first cut, below the second, and all.
fn unweighted(turn: &Turn, residuals: &mut [i32], last: &[u8], next: &[u8]) -> [i64; 3] {
    let limit = if turn.clips { CLIP } else { UNCLIPPED };
    let Update { cuts, steps, .. } = turn.last;
    let mut sums = [0; 3];
    let blocks = residuals
        .chunks_mut(BLOCK)
        .zip(last.chunks(BLOCK))
        .zip(next.chunks(BLOCK));
    for ((residuals, last), next) in blocks {
        let mut block = [0i32; 3];
        for ((residual, &was), &is) in residuals.iter_mut().zip(last).zip(next) {
            let step = if was < cuts[0] {
                steps[0]
            } else if was < cuts[1] {
                steps[1]
            } else {
                steps[2]
            };
            *residual = residual.wrapping_sub(step);
            let clipped = (*residual).clamp(-limit, limit);
            block[0] += if is < turn.cuts[0] { clipped } else { 0 };
            block[1] += if is < turn.cuts[1] { clipped } else { 0 };
            block[2] += clipped;
        }
        for (sum, part) in sums.iter_mut().zip(block) {
            *sum += i64::from(part);
        }
    }
    sums
}

/// As [`unweighted`], of weighted records: the fit counts `w`, and so does the residual in the sum.
fn weighted(
    turn: &Turn,
    residuals: &mut [i32],
    last: &[u8],
    next: &[u8],
    weights: &[i32],
) -> [i64; 3] {
    let limit = if turn.clips { CLIP } else { UNCLIPPED };
    let Update { cuts, steps, .. } = turn.last;
    let mut sums = [0; 3];
    let rows = residuals.iter_mut().zip(last).zip(next).zip(weights);
    for (((residual, &was), &is), &weight) in rows {
        let leaf = usize::from(was >= cuts[0]) + usize::from(was >= cuts[1]);
        let step = i64::from(steps[leaf]) * i64::from(weight) / RECORD_WEIGHT_SCALE;
        // A weight is at most 1, so the quotient fits.
        *residual = residual.wrapping_sub(step as i32);
        let clipped = i64::from((*residual).clamp(-limit, limit));
        // Towards zero: never longer than the bound on weights allows.
        let part = clipped * i64::from(weight) / RECORD_WEIGHT_SCALE;
        sums[0] += if is < turn.cuts[0] { part } else { 0 };
        sums[1] += if is < turn.cuts[1] { part } else { 0 };
        sums[2] += part;
    }
    sums
}

/// A number within -1 and 1 in whole units, towards zero.
fn whole(x: f64, scale: i64) -> i32 {
    (x * scale as f64) as i32
}
