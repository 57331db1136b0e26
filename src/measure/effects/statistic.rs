//! Sums over records of what each contributes: the questions that the effects release asks.

use crate::schema::SCALE;
use crate::table::CodedTable;
use rayon::prelude::*;

/// A record as the statistics see it.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The code of the treatment.
    pub arm: usize,
    /// The outcome, mapped to `[-1, 1]`, in units of `1 / SCALE`.
    pub outcome: i64,
    /// The scores, in the units of their source (the effects': `1 / SCORE_SCALE`).
    pub scores: &'a [i64],
}

/// How far the contributions of records reach, in the statistic's own units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The largest L2 norm of a contribution.
    pub norm: i64,
    /// The largest L2 distance between two contributions.
    pub diameter: i64,
}

impl Reach {
    /// Of contributions of either sign: by the triangle inequality, two are at most twice the norm apart.
    pub fn signed(norm: i64) -> Reach {
        Reach {
            norm,
            diameter: 2 * norm,
        }
    }

    /// Of contributions of which no two have a negative inner product: `|u - v|^2 <= |u|^2 + |v|^2`.
    pub fn acute(norm: i64) -> Reach {
        // Rounded up: the conversion and the root are off by less than 2^-50 of the value.
        let diameter = (norm as f64 * std::f64::consts::SQRT_2 * (1.0 + 1e-14)).ceil() as i64;
        Reach { norm, diameter }
    }
}

/// What turns a coded row into scores, by public parameters alone.
pub trait ScoreSource: Sync {
    /// The number of scores.
    fn len(&self) -> usize;

    /// Writes the scores of a row.
    fn fill(&self, table: &CodedTable, row: usize, out: &mut [i64]);
}

/// A sum over records. Its parameters are public: fixed, or computed from what was released before.
pub trait Statistic: Sync {
    /// The number of sums.
    fn cells(&self) -> usize;

    /// How many units 1 is.
    fn scale(&self) -> i64;

    /// The reach of a record's contribution, with the argument for it in the type's documentation.
    fn reach(&self) -> Reach;

    /// Adds a record's contribution.
    fn add(&self, record: &Record, sums: &mut [i64]);
}

/// What is asked of a table in one pass.
pub struct Questions<'a> {
    /// Index of the treatment column.
    pub treatment: usize,
    /// The scores that the statistics see.
    pub scorer: &'a dyn ScoreSource,
    /// The statistics.
    pub statistics: Vec<&'a dyn Statistic>,
}

/// The rows that are summed up in 64 bits before they are added in 128: a contribution is below 2^42, so
/// 2^20 of them fit.
const CHUNK: usize = 1 << 14;

/// The exact sums, one vector per statistic, clamped to 64 bits. Clamping a number moves two no further
/// apart, so it leaves sensitivities as they are.
///
/// # Panics
/// If the table is not of the schema that the questions are about.
pub fn totals(table: &CodedTable, questions: &Questions) -> Vec<Vec<i64>> {
    let chunks = table.rows.div_ceil(CHUNK);
    let zero = || -> Vec<Vec<i128>> {
        let cells = questions.statistics.iter().map(|s| vec![0; s.cells()]);
        cells.collect()
    };
    let sums = (0..chunks)
        .into_par_iter()
        .map(|chunk| chunk_totals(table, questions, chunk))
        .fold(zero, |sums, more| merge(sums, &more))
        .reduce(zero, |a, b| merge(a, &b));
    let clamp = |sum: i128| sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    sums.into_iter()
        .map(|sums| sums.into_iter().map(clamp).collect())
        .collect()
}

fn merge<T: Copy + Into<i128>>(mut sums: Vec<Vec<i128>>, more: &[Vec<T>]) -> Vec<Vec<i128>> {
    for (sum, more) in sums.iter_mut().flatten().zip(more.iter().flatten()) {
        *sum += (*more).into();
    }
    sums
}

fn chunk_totals(table: &CodedTable, questions: &Questions, chunk: usize) -> Vec<Vec<i64>> {
    let arms = table.codes[questions.treatment]
        .as_ref()
        .expect("the treatment is coded");
    let cells = questions.statistics.iter().map(|s| vec![0; s.cells()]);
    let mut sums: Vec<Vec<i64>> = cells.collect();
    let mut scores = vec![0; questions.scorer.len()];
    let first = chunk * CHUNK;
    let rows = first..(first + CHUNK).min(table.rows);
    for (row, &arm) in rows.clone().zip(&arms[rows]) {
        questions.scorer.fill(table, row, &mut scores);
        let record = Record {
            arm: usize::from(arm),
            outcome: 2 * i64::from(table.outcome[row]) - SCALE,
            scores: &scores,
        };
        for (statistic, sums) in questions.statistics.iter().zip(&mut sums) {
            statistic.add(&record, sums);
        }
    }
    sums
}
