//! Tables: batched reading of CSV and Parquet into coded columns, counting, decoding and writing. The
//! only room that names Polars.

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
    /// The outcome in units of `1 / SCALE` of its public range (see [`crate::schema::SCALE`]); empty
    /// where the schema has no outcome. Its bins stand in `codes` too.
    pub outcome: Vec<u32>,
    /// The number of the imputation, counted from 1, where the table is a stack of imputations.
    pub imputation: Option<Vec<u32>>,
}
