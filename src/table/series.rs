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
        _ => code_texts(&texts(series).ok_or(None)?, coder, keep)?,
    }
    Ok(())
}

/// The slots of the memory of [`code_texts`]: most columns have fewer texts, and it fits the first-level
/// cache.
const SLOTS: usize = 512;

/// Codes texts. Most texts are short and come again and again, so the code of a short text is remembered
/// by the text's own bytes, which stand, with the length, in the 16 bytes of its view.
fn code_texts(
    texts: &StringChunked,
    coder: &CellCoder,
    mut keep: impl FnMut(Coded),
) -> Result<(), CellProblem> {
    // No short text has this view: its length would be 2^32 - 1.
    const NONE: u128 = u128::MAX;
    let nothing = Coded {
        code: 0,
        outcome: 0,
        position: 0,
    };
    let mut memory = vec![(NONE, nothing); SLOTS];
    for part in texts.downcast_iter() {
        for (view, text) in part.views().iter().zip(part.iter()) {
            match text {
                Some(text) if view.is_inline() => {
                    let key = view.as_u128();
                    let remembered = &mut memory[slot(key)];
                    if remembered.0 != key {
                        *remembered = (key, coder.text(text)?);
                    }
                    keep(remembered.1);
                }
                text => keep(coder.text(text.unwrap_or(""))?),
            }
        }
    }
    Ok(())
}

/// The slot of a key: Fibonacci hashing of its two halves.
fn slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(32);
    let hash = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - SLOTS.ilog2())) as usize
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
