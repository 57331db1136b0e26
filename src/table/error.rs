//! What can be wrong with a table. A message names file, row and column and says what to do; it never
//! holds a cell's text, nor how many rows the table has.

use std::fmt;
use std::io;

/// Where in a file something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The line of a text file on which the record starts; the first line is 1.
    Line(u64),
    /// The row of a Parquet file; the first row is 1.
    Number(u64),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Line(line) => write!(f, "line {line}"),
            Row::Number(row) => write!(f, "row {row}"),
        }
    }
}

/// Why a cell has no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellProblem {
    /// Nothing stands in the cell, and the empty text is no missing code.
    Empty,
    /// A text that is no level, in a column without an `other` level.
    Unlisted,
    /// A text that is neither true nor false.
    NotBoolean,
    /// A text that is no number.
    NotNumber,
    /// Not a number, or an infinity.
    NotFinite,
    /// A number with a fractional part in an integer column.
    NotWhole,
    /// The number of an imputation that is not a whole number from 1 on.
    NotImputation,
}

impl fmt::Display for CellProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CellProblem::Empty => {
                "the cell is empty; if that means missing, add \"\" to the column's missing codes"
            }
            CellProblem::Unlisted => {
                "the cell is not a declared level; add it to the column's levels, declare an `other` level, or declare it as a missing code"
            }
            CellProblem::NotBoolean => {
                "the cell is not boolean (false, true, 0 or 1); correct it, declare it as a missing code, or make the column categorical"
            }
            CellProblem::NotNumber => {
                "the cell is not a number; correct it, declare it as a missing code, or make the column categorical"
            }
            CellProblem::NotFinite => {
                "the cell is NaN or infinite; correct it or declare it as a missing code"
            }
            CellProblem::NotWhole => {
                "the cell is not a whole number; correct it or make the column real"
            }
            CellProblem::NotImputation => {
                "the imputation's number must be a whole number from 1 on"
            }
        })
    }
}

/// What can be wrong with a table, its file or the questions asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file can't be opened or read.
    #[error("{file}: can't be read: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the operating system or the decompressor says.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("{file}: can't be written: {source}")]
    Write {
        /// The file.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is not even a header.
    #[error("{file}: the file is empty; a table starts with a header that names its columns")]
    Empty {
        /// The file.
        file: String,
    },
    /// The header has no column of the schema: perhaps it is a row of data, so it is not quoted.
    #[error(
        "{file}: the header names none of the schema's columns; is the header line missing, or the separator not a comma?"
    )]
    NoHeader {
        /// The file.
        file: String,
    },
    /// Two columns have the same name.
    #[error("{file}: the header names column `{column}` twice; rename or remove one of them")]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A column that the schema does not declare. Dropping it in silence would hide a misspelt name.
    #[error(
        "{file}: the schema has no column `{column}`{}; declare it, with `role: ignored` if it is not to be read",
        nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default()
    )]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The nearest name among the schema's columns that the file lacks.
        nearest: Option<String>,
    },
    /// A column of the schema that the file lacks.
    #[error(
        "{file}: column `{column}` of the schema is missing; add it to the file or remove it from the schema"
    )]
    MissingColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A record with too few or too many cells.
    #[error(
        "{file}, {row}: the record has {found} cells where the header has {expected}; quote cells that contain commas, and complete short records"
    )]
    Ragged {
        /// The file.
        file: String,
        /// The record.
        row: Row,
        /// Its number of cells.
        found: usize,
        /// The header's number of cells.
        expected: usize,
    },
    /// A quotation mark where none may stand.
    #[error(
        "{file}, {row}: a quotation mark stands inside a cell; put the whole cell in quotation marks and double those within"
    )]
    Quote {
        /// The file.
        file: String,
        /// The record.
        row: Row,
    },
    /// A quoted cell that does not end.
    #[error("{file}, {row}: a quoted cell that starts in this record is never closed; close it")]
    OpenQuote {
        /// The file.
        file: String,
        /// The record.
        row: Row,
    },
    /// A record that is longer than any sensible one.
    #[error(
        "{file}, {row}: the record is longer than {limit} bytes; is a quotation mark never closed, or the file not a table?"
    )]
    LongRecord {
        /// The file.
        file: String,
        /// The record.
        row: Row,
        /// The limit in bytes.
        limit: usize,
    },
    /// Text that is not UTF-8.
    #[error("{file}, {row}: the text is not UTF-8; convert the file, for instance with `iconv`")]
    Encoding {
        /// The file.
        file: String,
        /// The record.
        row: Row,
    },
    /// A cell that has no code.
    #[error("{file}, {row}, column `{column}`: {problem}")]
    Cell {
        /// The file.
        file: String,
        /// The record.
        row: Row,
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: CellProblem,
    },
    /// A record without a privacy unit.
    #[error(
        "{file}, {row}, column `{column}`: the privacy unit is empty; every record must belong to a unit"
    )]
    NoUnit {
        /// The file.
        file: String,
        /// The record.
        row: Row,
        /// The column of the unit.
        column: String,
    },
    /// A record that the schema says can't exist.
    #[error(
        "{file}, {row}: the record is in a combination of {columns} that the schema declares impossible; correct the record or the structural zero"
    )]
    StructuralZero {
        /// The file.
        file: String,
        /// The record.
        row: Row,
        /// The columns involved.
        columns: String,
    },
    /// A Parquet column of a type that has no text.
    #[error(
        "{file}, column `{column}`: a column of this Parquet type can't be read; store it as integer, float, text or boolean"
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A damaged Parquet file.
    #[error(
        "{file}: not a Parquet file, or a damaged one; write it again, or give the format with --format"
    )]
    Parquet {
        /// The file.
        file: String,
    },
    /// A Parquet file within gzip or zstd, or Parquet read as text.
    #[error("{file}: a Parquet file inside gzip or zstd can't be read; unpack it first")]
    PackedParquet {
        /// The file.
        file: String,
    },
    /// The reader of CSV gave something else than was in the file: an error of this program.
    #[error(
        "{file}, {row}: the reader failed on a well-formed part of the file; please report this as an error of the program"
    )]
    Reader {
        /// The file.
        file: String,
        /// The first record of the part.
        row: Row,
    },
    /// A schema that can't code a table.
    #[error("schema, column `{column}`: {reason}")]
    Schema {
        /// The column.
        column: String,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// A query that can't be answered.
    #[error("query `{query}`: {reason}")]
    Query {
        /// The query's name.
        query: String,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// A coded table that is not of the schema.
    #[error("column `{column}`: the coded table does not fit the schema")]
    Misfit {
        /// The column.
        column: String,
    },
}

impl TableError {
    /// Whether the output was a pipe whose reader is gone, which is not a failure for a shell command.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, TableError::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
