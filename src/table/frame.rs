//! From a frame of raw cells to codes.

use super::cell::{CellCoder, Coded};
use super::layout::{IMPUTATION, Layout};
use super::{CellProblem, CodedTable, Row, TableError};
use crate::schema::Schema;
use polars::prelude::{ChunkFullNull, DataFrame, DataType, Series, StringChunked};
use std::fmt::Write;

/// Codes frames whose columns are those of a [`Layout`].
pub(super) struct FrameCoder<'s> {
    schema: &'s Schema,
    file: String,
    layout: Layout,
    cells: Vec<Option<CellCoder>>,
    /// For each structural zero and each column involved: whether a code meets the condition.
    zeros: Vec<Vec<(usize, Vec<bool>)>>,
}

/// A coded frame.
pub(super) struct CodedFrame {
    pub table: CodedTable,
    /// The privacy unit of each row, where the schema has units and the layout reads them.
    pub units: Option<StringChunked>,
}

/// What is wrong with a row.
enum Flaw {
    Cell(usize, CellProblem),
    NoUnit,
    Imputation(CellProblem),
    Zero(usize),
}

impl<'s> FrameCoder<'s> {
    pub(super) fn new(
        schema: &'s Schema,
        file: String,
        layout: Layout,
    ) -> Result<FrameCoder<'s>, TableError> {
        let coder = |column: &crate::schema::Column| {
            let coded = column.is_coded();
            coded.then(|| CellCoder::new(column)).transpose()
        };
        let cells = schema.columns.iter().map(coder).collect::<Result<_, _>>()?;
        let condition = |&(column, ref codes): &(usize, Vec<u16>)| {
            let levels = schema.columns[column].levels() as u16;
            let met = (0..levels).map(|code| codes.contains(&code)).collect();
            (column, met)
        };
        let zeros = schema
            .structural_zeros
            .iter()
            .map(|zero| zero.conditions.iter().map(condition).collect())
            .collect();
        Ok(FrameCoder {
            schema,
            file,
            layout,
            cells,
            zeros,
        })
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Codes a frame. Of several flaws the one that stands first in the file is reported, whatever the
    /// pieces in which it is read; `row` gives the place of a row of the frame.
    pub(super) fn code(
        &self,
        frame: &DataFrame,
        row: impl Fn(usize) -> Row,
    ) -> Result<CodedFrame, TableError> {
        let rows = frame.height();
        let series = |position: usize| frame.columns()[position].as_materialized_series();
        let mut first = None;
        let mut table = CodedTable {
            rows,
            codes: vec![None; self.schema.columns.len()],
            ..CodedTable::default()
        };
        for (column, coder) in self.cells.iter().enumerate() {
            let (Some(coder), Some(position)) = (coder, self.layout.coded[column]) else {
                continue;
            };
            let is_outcome = self.schema.outcome() == Some(column);
            let mut codes = Vec::with_capacity(rows);
            let mut outcome = Vec::with_capacity(if is_outcome { rows } else { 0 });
            let failed = code_series(series(position), coder, |coded| {
                codes.push(coded.code);
                if is_outcome {
                    outcome.push(coded.outcome);
                }
            });
            match failed {
                Ok(()) => {}
                Err(Some(problem)) => {
                    keep_first(&mut first, codes.len(), Flaw::Cell(column, problem))
                }
                Err(None) => return Err(self.untyped(&self.schema.columns[column].name)),
            }
            table.codes[column] = Some(codes);
            if is_outcome {
                table.outcome = outcome;
            }
        }
        let mut units = None;
        if let Some(position) = self.layout.unit {
            let name = || self.layout_name(position);
            let texts = texts(series(position)).ok_or_else(|| self.untyped(name()))?;
            let is_empty = |unit: Option<&str>| unit.is_none_or(str::is_empty);
            if let Some(at) = texts.iter().position(is_empty) {
                keep_first(&mut first, at, Flaw::NoUnit);
            }
            units = Some(texts);
        }
        if let Some(position) = self.layout.imputation {
            let texts = texts(series(position)).ok_or_else(|| self.untyped(IMPUTATION))?;
            let mut numbers = Vec::with_capacity(rows);
            for text in texts.iter() {
                match text.unwrap_or("").parse() {
                    Ok(number) if number > 0 => numbers.push(number),
                    _ => {
                        let flaw = Flaw::Imputation(CellProblem::NotImputation);
                        keep_first(&mut first, numbers.len(), flaw);
                        break;
                    }
                }
            }
            table.imputation = Some(numbers);
        }
        let complete = first.as_ref().map_or(rows, |(at, _)| *at);
        if let Some((at, zero)) = self.first_zero(&table, complete) {
            first = Some((at, Flaw::Zero(zero)));
        }
        match first {
            None => Ok(CodedFrame { table, units }),
            Some((at, flaw)) => Err(self.error(row(at), flaw)),
        }
    }

    /// The first row, among those before `rows`, that meets all conditions of a structural zero.
    fn first_zero(&self, table: &CodedTable, rows: usize) -> Option<(usize, usize)> {
        let first = |(index, zero): (usize, &Vec<(usize, Vec<bool>)>)| {
            let conditions: Option<Vec<(&[u16], &[bool])>> = zero
                .iter()
                .map(|(column, met)| Some((table.codes[*column].as_deref()?, met.as_slice())))
                .collect();
            let conditions = conditions.filter(|all| !all.is_empty())?;
            (0..rows)
                .find(|&row| {
                    conditions
                        .iter()
                        .all(|(codes, met)| met[usize::from(codes[row])])
                })
                .map(|row| (row, index))
        };
        self.zeros.iter().enumerate().filter_map(first).min()
    }

    fn layout_name(&self, position: usize) -> &str {
        let column = |&(_, other): &(usize, &Option<usize>)| *other == Some(position);
        match self.layout.coded.iter().enumerate().find(column) {
            Some((column, _)) => &self.schema.columns[column].name,
            None => match self.schema.unit {
                crate::schema::PrivacyUnit::Column { column, .. } => {
                    &self.schema.columns[column].name
                }
                crate::schema::PrivacyUnit::Row => IMPUTATION,
            },
        }
    }

    fn untyped(&self, column: &str) -> TableError {
        TableError::ColumnType {
            file: self.file.clone(),
            column: column.to_owned(),
        }
    }

    fn error(&self, row: Row, flaw: Flaw) -> TableError {
        let file = self.file.clone();
        let name = |column: usize| self.schema.columns[column].name.clone();
        match flaw {
            Flaw::Cell(column, problem) => TableError::Cell {
                file,
                row,
                column: name(column),
                problem,
            },
            Flaw::NoUnit => TableError::NoUnit {
                file,
                row,
                column: self
                    .layout
                    .unit
                    .map_or(String::new(), |position| self.layout_name(position).into()),
            },
            Flaw::Imputation(problem) => TableError::Cell {
                file,
                row,
                column: IMPUTATION.into(),
                problem,
            },
            Flaw::Zero(zero) => {
                let names: Vec<String> = self.zeros[zero]
                    .iter()
                    .map(|(column, _)| format!("`{}`", name(*column)))
                    .collect();
                TableError::StructuralZero {
                    file,
                    row,
                    columns: names.join(" and "),
                }
            }
        }
    }
}

/// Keeps the flaw of the earliest row; of several in one row the first that was found.
fn keep_first(first: &mut Option<(usize, Flaw)>, at: usize, flaw: Flaw) {
    if first.as_ref().is_none_or(|(other, _)| at < *other) {
        *first = Some((at, flaw));
    }
}

/// Codes a series, cell by cell, until the first problem; `Err(None)` if its type has no text.
fn code_series(
    series: &Series,
    coder: &CellCoder,
    mut keep: impl FnMut(Coded),
) -> Result<(), Option<CellProblem>> {
    let numbers = coder.takes_numbers();
    match series.dtype() {
        DataType::Int32 | DataType::Int64 | DataType::UInt32 if numbers => {
            let integers = series.cast(&DataType::Int64).map_err(|_| None)?;
            for value in integers.i64().map_err(|_| None)?.iter() {
                let value = value.ok_or(CellProblem::Empty)?;
                keep(coder.integer(value)?);
            }
        }
        DataType::Float32 | DataType::Float64 if numbers => {
            let reals = series.cast(&DataType::Float64).map_err(|_| None)?;
            for value in reals.f64().map_err(|_| None)?.iter() {
                let value = value.ok_or(CellProblem::Empty)?;
                keep(coder.real(value)?);
            }
        }
        _ => {
            for text in texts(series).ok_or(None)?.iter() {
                keep(coder.text(text.unwrap_or(""))?);
            }
        }
    }
    Ok(())
}

/// The cells of a series as texts, as they would stand in a CSV file, or `None` if the type has none: a
/// whole number has no decimal point, null is no text at all.
fn texts(series: &Series) -> Option<StringChunked> {
    let name = series.name().clone();
    match series.dtype() {
        DataType::String => series.str().ok().cloned(),
        DataType::Null => Some(StringChunked::full_null(name, series.len())),
        DataType::Boolean => {
            let text = |value: bool| if value { "true" } else { "false" };
            let values = series.bool().ok()?.iter().map(|v| v.map(text));
            Some(values.collect())
        }
        DataType::Float32 | DataType::Float64 => {
            let single = matches!(series.dtype(), DataType::Float32);
            let reals = series.cast(&DataType::Float64).ok()?;
            let mut text = String::new();
            let values = reals.f64().ok()?.iter().map(|value| {
                let value = value?;
                text.clear();
                // Writing to a string does not fail. Single precision has its own shortest text.
                let _ = if single {
                    write!(text, "{}", value as f32)
                } else {
                    write!(text, "{value}")
                };
                Some(text.clone())
            });
            Some(values.collect())
        }
        dtype if dtype.is_integer() || dtype.is_categorical() || dtype.is_enum() => {
            series.cast(&DataType::String).ok()?.str().ok().cloned()
        }
        _ => None,
    }
}
