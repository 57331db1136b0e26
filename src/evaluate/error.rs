//! Why two tables can't be compared.

/// Why two tables can't be compared. A message never holds a cell's value.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// A table has a header and nothing else.
    #[error("the {which} table has no rows: there is nothing to compare")]
    NoRows {
        /// Which of the two.
        which: &'static str,
    },
    /// The schema has identifiers and ignored columns only.
    #[error("the schema has no coded column: declare the columns that are to be compared")]
    NoColumns,
    /// A workload without arrays.
    #[error(
        "the workload measures effects only, and effects are compared anyway; name a workload with marginals or blocks, or none"
    )]
    NoMarginals,
    /// An array of the workload is too large to be counted.
    #[error(
        "the workload's {query} has more than {limit} cells; use coarser bins or fewer columns, or name no workload"
    )]
    TooManyCells {
        /// Its name.
        query: String,
        /// The most that are counted.
        limit: usize,
    },
    /// The stack of imputations is malformed.
    #[error(transparent)]
    Stack(#[from] crate::estimate::EstimateError),
}
