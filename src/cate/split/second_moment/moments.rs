//! The sums: `q q'`, its upper triangle row by row from the diagonal on, then `q z`, then, of pseudo-outcomes, `z^2`.
//!
//! `q = w (phi, T - 1/2)`, the arm where it is a covariate, `w` the record's weight; `z` its target, in `[-1, 1]`. All in whole
//! units: products of units of `1 / MOMENT_SCALE`.
//!
//! **Norm.** Let `S^2 = w^2 (1 + d + 1/4)` bound `|q|^2` (without the arm, `w^2 (1 + d)`; multiplying by the weight rounds
//! towards zero, so whole units keep to it). Entries of `phi` are within -1 and 1, so `sum q_i^4 <= Q = w^4 (1 + d + 1/16)`
//! (`w^4 (1 + d)`). The triangle's squared length is `((sum q_i^2)^2 + sum q_i^4) / 2 <= (S^4 + Q) / 2`, that of `q z` at
//! most `S^2`. Together `Delta^2 = (S^4 + Q) / 2 + S^2`, and 1 more where `z^2 <= 1` is summed.
//!
//! **Diameter.** Two triangles have the inner product `((q . r)^2 + sum q_i^2 r_i^2) / 2 >= 0`, so they are at most
//! `sqrt 2` times their length apart; the products with targets are at most twice theirs, and two squares at most 1 apart:
//! `S^4 + Q + 4 S^2 + 1`.

use super::basis::{MOMENT_SCALE, MomentBasis};
use crate::cate::split::{Target, Targets};
use crate::measure::effects::Reach;
use crate::table::CodedTable;
use rayon::prelude::*;

/// What is asked of a part.
#[derive(Debug)]
pub struct MomentQuestion<'a> {
    /// The basis.
    pub basis: &'a MomentBasis,
    /// The targets.
    pub targets: &'a Targets,
    /// Index of the treatment.
    pub treatment: usize,
}

impl MomentQuestion<'_> {
    /// The number of entries of `q`.
    pub fn order(&self) -> usize {
        self.basis.size + usize::from(self.targets.has_treatment())
    }

    /// The number of sums.
    pub fn cells(&self) -> usize {
        let order = self.order();
        order * (order + 1) / 2 + order + usize::from(self.targets.has_squares())
    }
}

/// How far the contributions of records reach, in units of `1 / MOMENT_SCALE^2`.
pub fn reach(question: &MomentQuestion) -> Reach {
    let unit = MOMENT_SCALE as f64;
    let arm = if question.targets.has_treatment() {
        0.25
    } else {
        0.0
    };
    let weight = question.targets.weight_bound();
    let largest = (weight * unit).powi(2);
    let covariates = question.basis.squared_length() as f64;
    let squared = (covariates + arm) * largest;
    let fourth = (covariates + arm * arm) * largest * largest;
    let triangle = (squared * squared + fourth) / 2.0;
    let cross = squared * unit * unit;
    let square = if question.targets.has_squares() {
        unit.powi(4)
    } else {
        0.0
    };
    // Rounded up: sums and the root are off by less than 2^-48 of the value.
    let up = |x: f64| (x.sqrt() * (1.0 + 1e-14)).ceil() as i64;
    Reach {
        norm: up(triangle + cross + square),
        diameter: up(2.0 * triangle + 4.0 * cross + square),
    }
}

/// The rows that are summed up in 64 bits: contributions are below 2^25, so 2^38 of them fit.
const CHUNK: usize = 1 << 13;

/// The exact sums.
///
/// # Panics
/// If the table is not of the schema that the question is about.
pub fn moments(table: &CodedTable, question: &MomentQuestion) -> Vec<i64> {
    let order = question.order();
    let cells = question.cells();
    let chunks = table.rows.div_ceil(CHUNK);
    let add = |mut sums: Vec<i64>, more: Vec<i64>| {
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum += more;
        }
        sums
    };
    (0..chunks)
        .into_par_iter()
        .map(|chunk| {
            let first = chunk * CHUNK;
            let mut sums = vec![0; cells];
            let mut q = Vec::with_capacity(order);
            let arms = table.codes[question.treatment].as_ref();
            let arms = arms.expect("the treatment is coded");
            let rows = first..(first + CHUNK).min(table.rows);
            for (row, &arm) in rows.clone().zip(&arms[rows]) {
                let target = question.targets.of(table, row, arm);
                vector(table, row, arm, question, target, &mut q);
                contribute(&q, target, order, &mut sums);
            }
            sums
        })
        .reduce(|| vec![0; cells], add)
}

/// `q` in whole units, without its zeros, by ascending index.
fn vector(
    table: &CodedTable,
    row: usize,
    arm: u16,
    question: &MomentQuestion,
    target: Target,
    q: &mut Vec<(usize, i64)>,
) {
    q.clear();
    question.basis.each(table, row, |index, value| {
        if value != 0 {
            q.push((index, value));
        }
    });
    if question.targets.has_treatment() {
        let half = MOMENT_SCALE / 2;
        q.push((question.basis.size, if arm == 0 { -half } else { half }));
    }
    if question.targets.has_weights() {
        for (_, value) in q {
            // Towards zero.
            *value = (*value as f64 * target.weight) as i64;
        }
    }
}

/// Adds a record.
fn contribute(q: &[(usize, i64)], target: Target, order: usize, sums: &mut [i64]) {
    let limit = MOMENT_SCALE;
    let z = ((target.value * limit as f64).round() as i64).clamp(-limit, limit);
    let triangle = order * (order + 1) / 2;
    let (grams, crosses) = sums.split_at_mut(triangle);
    for (place, &(i, x)) in q.iter().enumerate() {
        // Row i of the triangle begins after rows of length order, order - 1, ..; its column j is j - i cells on.
        let start = i * (2 * order + 1 - i) / 2;
        let row = &mut grams[start..];
        for &(j, y) in &q[place..] {
            row[j - i] += x * y;
        }
        crosses[i] += x * z;
    }
    if let Some(squares) = crosses.get_mut(order) {
        *squares += z * z;
    }
}
