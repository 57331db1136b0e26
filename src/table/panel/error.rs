//! What can be wrong with a panel: errors that name unit and period, and never a value.

use crate::table::{CellProblem, Row, TableError};

/// What can be wrong with a panel.
#[derive(Debug, thiserror::Error)]
pub enum PanelError {
    /// With the file or its header.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A column that the schema does not name.
    #[error(
        "{file}: the schema has no column `{column}`{nearest}; add it to the schema's `ignored` if it is not to be read"
    )]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The nearest name, as a question.
        nearest: String,
    },
    /// A row without a unit or a period.
    #[error("{file}, {row}: the {what} is empty; every row belongs to a unit and a period")]
    NoName {
        /// The file.
        file: String,
        /// The row.
        row: Row,
        /// `unit` or `period`.
        what: &'static str,
    },
    /// Two rows for one unit and period.
    #[error(
        "{file}, {row}: unit {unit:?} has a second row for period {period:?}; keep one row per unit and period"
    )]
    Duplicate {
        /// The file.
        file: String,
        /// The second row.
        row: Row,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
    },
    /// A unit that lacks a period which others have.
    #[error(
        "{file}: unit {unit:?} has no row for period {period:?}: the panel is not balanced; complete the unit, leave \
         the period out for all, or list the `donors` without the unit"
    )]
    Unbalanced {
        /// The file.
        file: String,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
    },
    /// An outcome that is no number.
    #[error("{file}, {row}: the outcome of unit {unit:?} in period {period:?}: {problem}")]
    Value {
        /// The file.
        file: String,
        /// The row.
        row: Row,
        /// The unit.
        unit: String,
        /// The period.
        period: String,
        /// What is wrong.
        problem: CellProblem,
    },
    /// A unit of the schema that the table lacks.
    #[error(
        "{file}: no row is about {what} unit {unit:?}{nearest}; correct the schema or the table"
    )]
    NoSuchUnit {
        /// The file.
        file: String,
        /// `the treated`, `the placebo` or `the donor`.
        what: &'static str,
        /// The unit.
        unit: String,
        /// The nearest name, as a question.
        nearest: String,
    },
    /// Periods without an order.
    #[error(
        "{file}: period {period:?}{of} can't be put in order with the others; write periods as numbers, or all alike as \
         dates that start with the year, such as 2021-03-15"
    )]
    Periods {
        /// The file.
        file: String,
        /// The period.
        period: String,
        /// A unit that has it.
        of: String,
    },
    /// Too few periods before or from the intervention on.
    #[error(
        "{file}: {before} periods lie before the intervention ({intervention}) and {after} from it on; {needed}"
    )]
    Intervention {
        /// The file.
        file: String,
        /// The schema's intervention.
        intervention: String,
        /// The number before.
        before: usize,
        /// The number after.
        after: usize,
        /// What is needed.
        needed: &'static str,
    },
    /// No donors.
    #[error(
        "{file}: every unit is treated or a placebo, so there are no donors; add untreated units"
    )]
    NoDonors {
        /// The file.
        file: String,
    },
}
