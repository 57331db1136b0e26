//! A piece of CSV text becomes a frame of texts, by way of Polars.

use super::record::{self, Checked};
use super::split::{Piece, malformed};
use super::{Row, TableError};
use crate::table::layout::Layout;
use polars::prelude::{CsvReadOptions, DataFrame, DataType, Field, Schema, SerReader};
use std::io::Cursor;
use std::sync::Arc;

/// What was read of a piece.
pub(super) struct Read {
    /// The cells of the layout's columns, all as text, of the well-formed records before the first fault.
    pub frame: DataFrame,
    /// The first fault.
    pub fault: Option<TableError>,
}

/// Reads a piece. Every value is read as text, so that what it means is left to the schema.
pub(super) fn read(piece: &Piece, layout: &Layout, file: &str) -> Result<Read, TableError> {
    let Checked {
        records,
        length,
        blank_lines,
        fault,
    } = record::check(&piece.text, layout.cells);
    let fault = fault.map(|fault| {
        let line = piece.first_line + fault.line as u64;
        malformed(file, fault.malformation, line, layout.cells)
    });
    let text = &piece.text[..length];
    // Only text without blank lines and magic numbers has the meaning for Polars that it has for us.
    let frame = if blank_lines {
        parse(&guarded(&record::without_blank_lines(text)), layout)
    } else if looks_packed(text) {
        parse(&guarded(text), layout)
    } else {
        parse(text, layout)
    };
    match frame {
        Some(frame) if frame.height() == records => Ok(Read { frame, fault }),
        _ => Err(TableError::Reader {
            file: file.to_owned(),
            row: Row::Line(piece.first_line),
        }),
    }
}

/// The place of a record of a piece that was read.
pub(super) fn row(piece: &Piece, index: usize) -> Row {
    Row::Line(piece.first_line + record::line_of(&piece.text, index) as u64)
}

/// Whether the text starts with what Polars takes for the magic number of zlib, or with a byte order
/// mark, both of which may start a piece amid a file.
fn looks_packed(text: &[u8]) -> bool {
    text.starts_with(b"x") || text.starts_with("\u{feff}".as_bytes())
}

/// The text with its first cell in quotation marks, which no magic number starts with.
fn guarded(text: &[u8]) -> Vec<u8> {
    let end = text.iter().position(|byte| b",\r\n".contains(byte));
    let (cell, rest) = text.split_at(end.unwrap_or(text.len()));
    if !looks_packed(cell) {
        return text.to_vec();
    }
    // The cell starts with no quotation mark, and text that was checked has none amid a cell.
    [b"\"", cell, b"\"", rest].concat()
}

/// The frame of checked text, or `None` if Polars refuses it.
fn parse(text: &[u8], layout: &Layout) -> Option<DataFrame> {
    let field = |index: usize| Field::new(index.to_string().into(), DataType::String);
    if text.is_empty() {
        let schema: Schema = layout.read.iter().map(|&index| field(index)).collect();
        return Some(DataFrame::empty_with_schema(&schema));
    }
    let schema: Schema = (0..layout.cells).map(field).collect();
    let projection = (layout.read.len() < layout.cells).then(|| Arc::new(layout.read.clone()));
    // Where no mark stands, Polars need not look for them.
    let quote = memchr::memchr(b'"', text).map(|_| b'"');
    CsvReadOptions::default()
        .map_parse_options(|options| options.with_quote_char(quote))
        .with_has_header(false)
        .with_schema(Some(Arc::new(schema)))
        .with_projection(projection)
        .with_n_threads(Some(1))
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .ok()
}
