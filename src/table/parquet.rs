//! Parquet files, one row group at a time, by way of Polars.

use super::TableError;
use super::source::Progress;
use polars::prelude::{DataFrame, ParquetReader, SerReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The rows of a frame that are coded at once.
const SLICE: usize = 1 << 16;

/// The key under which writers of Parquet keep their own description of the columns.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// An opened Parquet file.
pub(super) struct RowGroups {
    file: File,
    name: String,
    length: u64,
    /// The rows of each row group.
    groups: Vec<usize>,
    next_group: usize,
    read: Vec<usize>,
    /// The row group at hand, and how much of it has been given out.
    frame: DataFrame,
    given: usize,
    first_row: u64,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The file's key-value metadata.
    pub metadata: BTreeMap<String, String>,
}

impl RowGroups {
    /// Reads the file's directory.
    pub(super) fn open(file: File, length: u64, name: &str) -> Result<RowGroups, TableError> {
        let opened = contained(name, || {
            let mut reader = ParquetReader::new(file.try_clone()?);
            let schema = reader.schema()?;
            let header = schema.iter_names().map(|name| name.to_string()).collect();
            let metadata = reader.get_metadata()?;
            let pairs = metadata.key_value_metadata().iter().flatten();
            let pairs = pairs
                .filter(|pair| pair.key != ARROW_SCHEMA)
                .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
                .collect();
            let groups = metadata.row_groups.iter().map(|group| group.num_rows());
            Ok((header, pairs, groups.collect()))
        })?;
        let (header, metadata, groups): (_, _, Vec<usize>) = opened;
        Ok(RowGroups {
            file,
            name: name.to_owned(),
            length,
            groups,
            next_group: 0,
            read: Vec::new(),
            frame: DataFrame::empty(),
            given: 0,
            first_row: 1,
            header,
            metadata,
        })
    }

    /// Chooses the columns to read.
    pub(super) fn select(&mut self, read: Vec<usize>) {
        self.read = read;
    }

    /// The next rows and the number of the first of them, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(DataFrame, u64)>, TableError> {
        while self.given == self.frame.height() {
            if self.next_group == self.groups.len() {
                return Ok(None);
            }
            self.frame = self.group()?;
            self.given = 0;
            self.next_group += 1;
        }
        let rows = SLICE.min(self.frame.height() - self.given);
        let slice = self.frame.slice(self.given as i64, rows);
        let first_row = self.first_row;
        self.given += rows;
        self.first_row += rows as u64;
        Ok(Some((slice, first_row)))
    }

    /// How far reading is, by row groups: their share of the file's length.
    pub(super) fn progress(&self) -> Progress {
        let groups = self.groups.len().max(1) as u64;
        let done = (self.next_group as u64).min(groups);
        Progress {
            bytes_read: (u128::from(self.length) * u128::from(done) / u128::from(groups)) as u64,
            total_bytes: Some(self.length),
        }
    }

    fn group(&self) -> Result<DataFrame, TableError> {
        let start = self.groups[..self.next_group]
            .iter()
            .fold(0usize, |sum, &rows| sum.saturating_add(rows));
        let rows = self.groups[self.next_group];
        let frame = contained(&self.name, || {
            ParquetReader::new(self.file.try_clone()?)
                .with_projection(Some(self.read.clone()))
                .with_slice(Some((start, rows)))
                .finish()
        })?;
        // A directory that promises other rows than there are is damaged.
        if frame.height() == rows && frame.width() == self.read.len() {
            Ok(frame)
        } else {
            Err(TableError::Parquet {
                file: self.name.clone(),
            })
        }
    }
}

/// Runs Polars' Parquet reader, which panics on some damaged files, and turns every failure into an error
/// that says no more than that the file is damaged: Polars' own messages may quote what it read.
fn contained<T>(
    name: &str,
    read: impl FnOnce() -> polars::prelude::PolarsResult<T>,
) -> Result<T, TableError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        _ => Err(TableError::Parquet {
            file: name.to_owned(),
        }),
    }
}
