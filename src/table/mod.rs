//! Tables: batched reading of CSV and Parquet into coded columns, counting, decoding and writing. The
//! only room that names Polars.
//!
//! [`answer`] reads a confidential table once, a few pieces at a time, and leaves the exact answers to
//! counting queries, wrapped as [`Confidential`](crate::privacy::Confidential); the rows are not kept.
//! [`answer_and_keep`] keeps the coded rows beside, wrapped likewise, for mechanisms whose later questions
//! depend on earlier noisy answers. All that a cell can mean is in the schema:
//!
//! * a text that is a missing code, exactly as it stands, is that code;
//! * a categorical cell is a level by its exact text (leading zeros count), else `other`, else an error;
//! * a boolean cell is `false`, `true`, `0` or `1`, in any case;
//! * a numeric cell may have spaces around it and any decimal notation; NaN and infinities are errors,
//!   fractions in integer columns are errors, and then what lies outside the bounds is clamped;
//! * an empty cell is an error unless the empty text is a missing code or a level.
//!
//! Of a Parquet file the values count as the texts that would stand in a CSV file: null is the empty text,
//! a float without fraction an integer.
//!
//! An error names file, line (or row) and column. It never holds what a cell says.

mod bins;
mod cell;
mod count;
mod csv;
mod decode;
mod error;
mod frame;
#[cfg(test)]
mod fuzz;
mod layout;
mod panel;
mod parquet;
mod plain;
mod read;
mod record;
mod series;
mod sink;
mod source;
mod split;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod units;
mod write;

pub(crate) use bins::Bins;
pub use count::{Counter, tabulate};
pub use error::{CellProblem, Row, TableError};
pub use panel::{DonorRows, PanelError, read_panel, read_panel_frame};
pub use plain::{PlainColumn, write_plain};
pub use read::{
    Answers, UnprotectedTable, answer, answer_and_keep, metadata, read_population, read_unprotected,
};
pub use source::{Format, Progress, Source};
pub use write::{Destination, TableWriter, WriteOptions, write};

/// A table in codes, as the model samples it and as estimators read it.
///
/// This type is *not* confidential: it holds synthetic rows, or rows whose reader takes the
/// responsibility (see [`read_unprotected`]). Confidential tables are counted without being kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodedTable {
    /// The number of rows.
    pub rows: usize,
    /// One entry per schema column, in schema order: its codes, or `None` where it is not coded.
    pub codes: Vec<Option<Vec<u16>>>,
    /// One entry per schema column: of numeric covariates, where each value lies between the column's bounds,
    /// from 0 to 65535 (missing codes: 0); else `None`. Empty where nobody asked for it.
    pub values: Vec<Option<Vec<u16>>>,
    /// The outcome in units of `1 / SCALE` of its public range (see [`crate::schema::SCALE`]); empty
    /// where the schema has no outcome. Its bins stand in `codes` too.
    pub outcome: Vec<u32>,
    /// The number of the imputation, counted from 1, where the table is a stack of imputations.
    pub imputation: Option<Vec<u32>>,
}

impl crate::privacy::Rows for CodedTable {
    fn rows(&self) -> usize {
        self.rows
    }

    fn picked(&self, rows: &[usize]) -> Self {
        CodedTable::picked(self, rows)
    }
}

impl CodedTable {
    /// The table of these rows, in this order, some perhaps several times; no longer a stack.
    ///
    /// # Panics
    /// If there is no such row.
    pub(crate) fn picked(&self, rows: &[usize]) -> CodedTable {
        let pick = |column: &Option<Vec<u16>>| -> Option<Vec<u16>> {
            let column = column.as_ref()?;
            Some(rows.iter().map(|&row| column[row]).collect())
        };
        let outcome = match self.outcome.as_slice() {
            [] => Vec::new(),
            outcome => rows.iter().map(|&row| outcome[row]).collect(),
        };
        CodedTable {
            rows: rows.len(),
            codes: self.codes.iter().map(pick).collect(),
            values: self.values.iter().map(pick).collect(),
            outcome,
            imputation: None,
        }
    }
}
