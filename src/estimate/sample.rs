//! The rows that an estimator works on, checked once: arms, outcomes in their own units, and scores.
//!
//! A row `(1, scores, y)` is written out from its codes whenever it is looked at: a sample of all rows of a table takes 2 bytes a
//! row beside it, whatever the number of scores. Sums over rows are taken in blocks of fixed length and added up in
//! order, so they are the same for any number of threads.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{Array1, Array2};
use rayon::prelude::*;

use super::covariates::DesignMatrix;
use super::{ArmMoments, EstimateError};
use crate::schema::{Kind, SCALE, Schema};
use crate::table::CodedTable;

/// Which rows of a table to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// All of them.
    All,
    /// A run of rows, such as one imputation of a stack.
    Range(Range<usize>),
    /// These, such as a subgroup's.
    Indices(Vec<usize>),
}

impl Rows {
    /// How many there are in a table of `rows` rows.
    pub(super) fn len(&self, rows: usize) -> usize {
        match self {
            Rows::All => rows,
            Rows::Range(range) => range.len(),
            Rows::Indices(indices) => indices.len(),
        }
    }

    /// Their indices in a table of `rows` rows.
    ///
    /// # Errors
    /// If the table has no such row.
    pub fn indices(&self, rows: usize) -> Result<Vec<usize>, EstimateError> {
        let indices = match self {
            Rows::All => (0..rows).collect(),
            // The end is checked before the range is spelled out.
            Rows::Range(range) if range.end > rows => return Err(outside(range.end - 1)),
            Rows::Range(range) => range.clone().collect(),
            Rows::Indices(indices) => indices.clone(),
        };
        match indices.iter().find(|&&row| row >= rows) {
            Some(&row) => Err(outside(row)),
            None => Ok(indices),
        }
    }
}

fn outside(row: usize) -> EstimateError {
    EstimateError::Malformed(format!("there is no row {row}"))
}

/// Rows per block of a sum: long enough that a block's matrix product pays, short enough for the cache.
const BLOCK: usize = 1024;

/// A checked sample. Rows are numbered within the sample.
pub(super) struct Sample<'a> {
    design: DesignMatrix,
    /// Each covariate's codes, row by row of the table.
    covariates: Vec<&'a [u16]>,
    /// Each row's outcome, in fixed point.
    outcomes: &'a [u32],
    /// The outcome of 0, and the size of a unit, in the outcome's own units.
    outcome_scale: (f64, f64),
    /// Where the sample's rows stand in the table; `None` where they are all of it.
    places: Option<Vec<usize>>,
    width: usize,
    /// Each row's arm.
    pub arms: Vec<u16>,
    /// The names of the arms, for messages.
    pub arm_names: Vec<String>,
}

impl<'a> Sample<'a> {
    /// Reads the rows of a table; with `only`, those of some arms.
    pub fn new(
        table: &'a CodedTable,
        rows: &Rows,
        schema: &Schema,
        only: Option<&[u16]>,
    ) -> Result<Sample<'a>, EstimateError> {
        let treatment = schema.treatment().ok_or(EstimateError::NoTreatment)?;
        let outcome = schema.outcome().ok_or(EstimateError::NoOutcome)?;
        let arms = codes(table, schema, treatment, Some(EstimateError::NoTreatment))?;
        if table.outcome.len() != table.rows {
            return Err(EstimateError::NoOutcome);
        }
        let design = DesignMatrix::from_schema(schema);
        let covariates = design
            .covariates
            .iter()
            .map(|c| codes(table, schema, c.column, None))
            .collect::<Result<Vec<_>, _>>()?;
        let places = match (rows, only) {
            (Rows::All, None) => None,
            _ => {
                let mut places = rows.indices(table.rows)?;
                places.retain(|&row| only.is_none_or(|only| only.contains(&arms[row])));
                Some(places)
            }
        };
        let column = &schema.columns[treatment];
        Ok(Sample {
            width: design.score_count() + 2,
            design,
            covariates,
            outcomes: &table.outcome,
            outcome_scale: outcome_units(&schema.columns[outcome].kind),
            arms: match &places {
                Some(places) => places.iter().map(|&row| arms[row]).collect(),
                None => arms.to_vec(),
            },
            places,
            arm_names: (0..column.levels() as u16)
                .map(|arm| column.level_name(arm))
                .collect(),
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.arms.len()
    }

    fn place(&self, row: usize) -> usize {
        self.places.as_ref().map_or(row, |places| places[row])
    }

    /// Writes `z = (1, scores)` of a row into `z`, of length [`Sample::z_len`].
    pub fn fill_z(&self, row: usize, z: &mut [f64]) {
        let place = self.place(row);
        z[0] = 1.0;
        self.design.fill(|j| self.covariates[j][place], &mut z[1..]);
    }

    /// Room for a row's `z`.
    pub fn room(&self) -> Vec<f64> {
        vec![0.0; self.z_len()]
    }

    /// The outcome of a row, in its own units.
    pub fn y(&self, row: usize) -> f64 {
        let (lower, step) = self.outcome_scale;
        lower + step * f64::from(self.outcomes[self.place(row)])
    }

    /// The length of `z`.
    pub fn z_len(&self) -> usize {
        self.width - 1
    }

    /// The rows of an arm, of which there must be at least `needed`.
    pub fn rows_of(&self, arm: u16, needed: usize) -> Result<Vec<usize>, EstimateError> {
        let rows: Vec<usize> = (0..self.len()).filter(|&i| self.arms[i] == arm).collect();
        let name = || self.arm_names[usize::from(arm)].clone();
        match rows.len() {
            0 => Err(EstimateError::EmptyArm { arm: name() }),
            count if count < needed => Err(EstimateError::TooFewRows {
                arm: name(),
                rows: count as f64,
                needed: needed as f64,
            }),
            _ => Ok(rows),
        }
    }

    /// `sum_i w_i z_i z_i'` over the rows given, weights nonnegative and one per row given.
    pub fn weighted_gram(&self, rows: &[usize], weights: &[f64]) -> Mat<f64> {
        self.gram(rows, self.width - 1, |position| weights[position].sqrt())
    }

    /// The moments of the rows given.
    pub fn moments(&self, rows: &[usize]) -> ArmMoments {
        let sums = self.gram(rows, self.width, |_| 1.0);
        let weight = rows.len() as f64;
        let k = self.width - 1;
        let scale = weight.max(1.0);
        ArmMoments {
            weight,
            gram: Array2::from_shape_fn((k, k), |(i, j)| sums[(i, j)] / scale),
            cross: Array1::from_shape_fn(k, |i| sums[(i, k)] / scale),
            second_moment: sums[(k, k)] / scale,
        }
    }

    /// `sum_i r_i^2 v_i v_i'`, `v` a row's `z` or, with one more of the `columns`, its `(z, y)`.
    fn gram(
        &self,
        rows: &[usize],
        columns: usize,
        root: impl Fn(usize) -> f64 + Send + Sync,
    ) -> Mat<f64> {
        let block = |(number, block): (usize, &[usize])| {
            let mut scaled = vec![0.0; block.len() * columns];
            let rows = block.iter().zip(scaled.chunks_exact_mut(columns));
            for (offset, (&row, values)) in rows.enumerate() {
                self.fill_z(row, &mut values[..self.width - 1]);
                if columns == self.width {
                    values[columns - 1] = self.y(row);
                }
                let factor = root(number * BLOCK + offset);
                values.iter_mut().for_each(|v| *v *= factor);
            }
            let scaled = MatRef::from_row_major_slice(&scaled, block.len(), columns);
            let mut product = Mat::zeros(columns, columns);
            matmul(
                product.as_mut(),
                Accum::Replace,
                scaled.transpose(),
                scaled,
                1.0,
                Par::Seq,
            );
            product
        };
        let mut blocks = block_map(rows, block).into_iter();
        let first = blocks
            .next()
            .unwrap_or_else(|| Mat::zeros(columns, columns));
        blocks.fold(first, |sum, product| sum + product)
    }
}

/// Maps blocks of rows, in parallel where there are several; results stand in the order of the blocks.
pub(super) fn block_map<T: Send>(
    rows: &[usize],
    block: impl Fn((usize, &[usize])) -> T + Send + Sync,
) -> Vec<T> {
    if rows.len() <= BLOCK {
        return rows.chunks(BLOCK).enumerate().map(block).collect();
    }
    rows.par_chunks(BLOCK).enumerate().map(block).collect()
}

/// A coded column, checked: as long as the table, codes below the number of levels.
fn codes<'a>(
    table: &'a CodedTable,
    schema: &Schema,
    column: usize,
    absent: Option<EstimateError>,
) -> Result<&'a [u16], EstimateError> {
    let name = &schema.columns[column].name;
    let codes = match table.codes.get(column) {
        Some(Some(codes)) if codes.len() == table.rows => codes,
        _ => {
            return Err(absent.unwrap_or_else(|| {
                EstimateError::Malformed(format!("column `{name}` is not coded"))
            }));
        }
    };
    let levels = schema.columns[column].levels();
    if codes.iter().any(|&code| usize::from(code) >= levels) {
        return Err(EstimateError::Malformed(format!(
            "column `{name}` holds a code that the schema does not have"
        )));
    }
    Ok(codes)
}

/// The outcome's lower bound, and the size of its fixed-point unit, both in the outcome's own units.
fn outcome_units(kind: &Kind) -> (f64, f64) {
    let (lower, upper) = match *kind {
        Kind::Integer { lower, upper, .. } => (lower as f64, upper as f64),
        Kind::Real { lower, upper, .. } => (lower, upper),
        Kind::Categorical { .. } | Kind::Boolean => (0.0, 1.0),
    };
    (lower, (upper - lower) / SCALE as f64)
}
