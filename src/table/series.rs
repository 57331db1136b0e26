//! The cells of a typed column as codes or as texts.

use super::CellProblem;
use super::cell::{CellCoder, Coded};
use polars::prelude::{ChunkFullNull, DataType, Series, StringChunked};
use std::fmt::Write;

/// Codes a series, cell by cell, until the first problem; `Err(None)` if its type has no text.
pub(super) fn code_series(
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
pub(super) fn texts(series: &Series) -> Option<StringChunked> {
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
