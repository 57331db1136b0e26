//! Parquet files, one row group at a time, by way of Polars.

use super::TableError;
use super::source::Progress;
use polars::prelude::{
    ArrowDataType, DataFrame, ParquetReader, PolarsError, PolarsResult, SerReader,
};
use polars_parquet::parquet::metadata::ColumnChunkMetadata;
use polars_parquet::parquet::page::CompressedPage;
use polars_parquet::parquet::read::PageReader;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
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
    /// For each column whether its type is one that has a text.
    readable: Vec<bool>,
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
            let types = schema.iter_values().map(|field| is_readable(field.dtype()));
            let types = types.collect();
            let metadata = reader.get_metadata()?;
            let pairs = metadata.key_value_metadata().iter().flatten();
            let pairs = pairs
                .filter(|pair| pair.key != ARROW_SCHEMA)
                .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
                .collect();
            let groups = metadata.row_groups.iter().map(|group| group.num_rows());
            Ok((header, types, pairs, groups.collect()))
        })?;
        let (header, readable, metadata, groups) = opened;
        Ok(RowGroups {
            file,
            name: name.to_owned(),
            length,
            groups,
            next_group: 0,
            read: Vec::new(),
            readable,
            frame: DataFrame::empty(),
            given: 0,
            first_row: 1,
            header,
            metadata,
        })
    }

    /// Chooses the columns to read, all of which must be numbers, texts or booleans.
    pub(super) fn select(&mut self, read: Vec<usize>) -> Result<(), TableError> {
        if let Some(&column) = read.iter().find(|&&column| !self.readable[column]) {
            return Err(TableError::ColumnType {
                file: self.name.clone(),
                column: self.header[column].clone(),
            });
        }
        self.read = read;
        Ok(())
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

    /// Checks the pages of the row group at hand. Polars takes a page's number of values on trust, and a
    /// negative one, in a damaged file, ends the process for want of memory, which nothing can catch.
    fn check_pages(&self) -> PolarsResult<()> {
        let mut file = self.file.try_clone()?;
        let mut reader = ParquetReader::new(self.file.try_clone()?);
        let group = &reader.get_metadata()?.row_groups[self.next_group];
        for &column in &self.read {
            let chunks = group.columns_under_root_iter(&self.header[column]);
            for chunk in chunks.into_iter().flatten() {
                let range = chunk.byte_range();
                // A range beyond the file yields fewer bytes, of which the page reader complains.
                let length = range.end.saturating_sub(range.start).min(self.length);
                file.seek(SeekFrom::Start(range.start))?;
                let mut bytes = Vec::new();
                file.by_ref().take(length).read_to_end(&mut bytes)?;
                if !pages_are_sound(chunk, bytes, group.num_rows()) {
                    return Err(PolarsError::ComputeError("damaged page".into()));
                }
            }
        }
        Ok(())
    }

    fn group(&self) -> Result<DataFrame, TableError> {
        let start = self.groups[..self.next_group]
            .iter()
            .fold(0usize, |sum, &rows| sum.saturating_add(rows));
        let rows = self.groups[self.next_group];
        let frame = contained(&self.name, || {
            self.check_pages()?;
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

/// Whether the pages of a column's chunk hold, each, a number of values that the row group can have.
fn pages_are_sound(chunk: &ColumnChunkMetadata, bytes: Vec<u8>, rows: usize) -> bool {
    let pages = PageReader::new(Cursor::new(bytes.into()), chunk, Vec::new(), usize::MAX);
    pages.into_iter().all(|page| match page {
        Ok(CompressedPage::Data(page)) => page.num_values() <= rows,
        Ok(CompressedPage::Dict(_)) => true,
        Err(_) => false,
    })
}

/// Whether a column of this type can be read: Polars' other types are compiled out, or have no text that
/// a schema could mean.
fn is_readable(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as T;
    match dtype {
        T::Null | T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View => true,
        T::Int8 | T::Int16 | T::Int32 | T::Int64 => true,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => true,
        T::Float32 | T::Float64 => true,
        T::Dictionary(_, values, _) => {
            matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View)
        }
        _ => false,
    }
}

/// Runs Polars' Parquet reader, which panics on some damaged files, and turns every failure into an error
/// that says no more than that the file is damaged: Polars' own messages may quote what it read.
fn contained<T>(name: &str, read: impl FnOnce() -> PolarsResult<T>) -> Result<T, TableError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        _ => Err(TableError::Parquet {
            file: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::table::testing::schema;
    use crate::table::{CodedTable, Source, TableError, read_unprotected};
    use polars::prelude::{Categories, DataFrame, DataType, NamedFrom, ParquetWriter, Series, df};

    fn read(mut frame: DataFrame) -> Result<CodedTable, TableError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Row groups of two rows.
        ParquetWriter::new(file.as_file())
            .with_row_group_size(Some(2))
            .finish(&mut frame)
            .unwrap();
        let source = Source::Path(file.path().into());
        read_unprotected(&source, None, &schema(), &|_| ()).map(|read| read.table)
    }

    fn frame(age: Series) -> DataFrame {
        let categories = DataType::from_categories(Categories::global());
        let sex = Series::new("sex".into(), ["male", "female", "NA", "male", "male"]);
        df!(
            "treated" => [true, false, true, false, true],
            "age" => age,
            "region" => ["01", "1", "01", "01", "x"],
            "sex" => sex.cast(&categories).unwrap(),
            "score" => [0.0f32, 0.25, -1.0, 0.5, 1.0],
            "wage" => [0u32, 1, 2, 3, 4],
        )
        .unwrap()
    }

    #[test]
    fn columns_of_every_type_with_a_text_are_read() {
        let ages = Series::new("age".into(), [20i64, 40, 60, -9, 20]);
        for dtype in [
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Float32,
        ] {
            let table = read(frame(ages.cast(&dtype).unwrap())).unwrap();
            let codes = |column: usize| table.codes[column].clone().unwrap();
            assert_eq!(table.rows, 5);
            assert_eq!(codes(2), [0, 1, 2, 3, 0], "{dtype}");
            assert_eq!(codes(3), [0, 2, 0, 0, 2]);
            assert_eq!(codes(4), [0, 1, 2, 0, 0]);
            assert_eq!(codes(5), [1, 2, 0, 3, 3]);
        }
    }

    #[test]
    fn other_types_are_named() {
        let bytes = Series::new("age".into(), [&b"20"[..]; 5]);
        let error = read(frame(bytes)).unwrap_err();
        assert!(
            matches!(&error, TableError::ColumnType { column, .. } if column == "age"),
            "{error}"
        );
    }

    #[test]
    fn errors_count_rows_through_row_groups() {
        let ages = Series::new("age".into(), [20.0, 40.0, 60.0, 20.0, 20.5]);
        let error = read(frame(ages)).unwrap_err().to_string();
        assert!(error.contains("row 5, column `age`"), "{error}");
    }
}
