//! Writing coded tables as CSV or Parquet, whole or not at all.

use super::decode::{BLOCK, Decoder};
use super::layout::IMPUTATION;
use super::sink::{Encoder, Sink, Stream};
use super::{CodedTable, Format, TableError};
use crate::schema::Schema;
use polars::io::parquet::write::BatchedWriter;
use polars::prelude::{
    Column, CsvWriter, DataFrame, IntoColumn, KeyValueMetadata, NamedFrom, ParquetWriter,
    PolarsError, SerWriter, Series, StatisticsOptions,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// Where a table is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A file, which appears when it is complete. Names that end in `.gz` or `.zst` are compressed, and in
    /// `.parquet` are Parquet.
    Path(PathBuf),
    /// Standard output.
    Standard,
}

impl Destination {
    /// The destination that a command's argument names: `-` is standard output.
    pub fn from_argument(argument: &str) -> Destination {
        match argument {
            "-" => Destination::Standard,
            path => Destination::Path(path.into()),
        }
    }

    /// The name that messages use.
    pub fn name(&self) -> String {
        match self {
            Destination::Path(path) => path.display().to_string(),
            Destination::Standard => "standard output".into(),
        }
    }

    pub(super) fn has_extension(&self, extension: &str) -> bool {
        match self {
            Destination::Path(path) => path
                .extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(extension)),
            Destination::Standard => false,
        }
    }
}

/// What goes with a table that is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The format; by default Parquet for names that end in `.parquet`, and CSV otherwise.
    pub format: Option<Format>,
    /// The seed of the values that are drawn within bins.
    pub seed: u64,
    /// Key-value metadata for Parquet; CSV has no place for it.
    pub metadata: BTreeMap<String, String>,
    /// Whether the first column is `imputation`; every table written must then have its numbers.
    pub imputations: bool,
}

/// Writes tables of one schema, one after the other, to one destination.
///
/// The columns are the schema's coded columns in the schema's order. Integers are Int64 in Parquet, reals
/// Float64, categories String, booleans Boolean; a column with missing codes is String, since the codes
/// stand among its values. A value within a bin is drawn uniformly within the bin's public edges, and the
/// outcome's value comes from its fixed-point value, within its bin.
///
/// Until [`finish`](TableWriter::finish) a file of the same name stays as it was, and dropping the writer
/// leaves nothing behind.
pub struct TableWriter {
    name: String,
    decoders: Vec<Decoder>,
    options: WriteOptions,
    sink: Sink,
    output: Output,
    block: u32,
}

/// An open output of either format.
pub(super) enum Output {
    Csv(Box<Encoder>),
    Parquet(Box<BatchedWriter<Stream>>),
}

/// Writes one table; see [`TableWriter`].
///
/// # Errors
/// If the destination can't be written, or the table does not fit the schema.
pub fn write(
    table: &CodedTable,
    schema: &Schema,
    destination: &Destination,
    options: WriteOptions,
) -> Result<(), TableError> {
    let options = WriteOptions {
        imputations: table.imputation.is_some(),
        ..options
    };
    let mut writer = TableWriter::create(destination, schema, options)?;
    writer.append(table)?;
    writer.finish()
}

impl TableWriter {
    /// Opens the destination and writes what comes before the first row.
    ///
    /// # Errors
    /// If the destination can't be written.
    pub fn create(
        destination: &Destination,
        schema: &Schema,
        options: WriteOptions,
    ) -> Result<TableWriter, TableError> {
        let name = destination.name();
        let coded = schema.coded().into_iter();
        let decoders: Vec<Decoder> = coded
            .map(|index| Decoder::new(&schema.columns[index], index))
            .collect();
        let no_rows = CodedTable {
            codes: vec![Some(Vec::new()); schema.columns.len()],
            imputation: options.imputations.then(Vec::new),
            ..CodedTable::default()
        };
        let mut header = frame(&decoders, &options, &no_rows, 0..0, 0)?;
        let (sink, output) = Output::open(destination, &options, &mut header)
            .map_err(|error| failed(&name, error))?;
        Ok(TableWriter {
            name,
            decoders,
            options,
            sink,
            output,
            block: 0,
        })
    }

    /// Writes the rows of a table after those already written.
    ///
    /// # Errors
    /// If the table does not fit the schema, or the destination can't be written.
    pub fn append(&mut self, table: &CodedTable) -> Result<(), TableError> {
        for start in (0..table.rows).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(table.rows);
            let mut frame = frame(&self.decoders, &self.options, table, rows, self.block)?;
            self.block += 1;
            self.output
                .append(&mut frame)
                .map_err(|error| failed(&self.name, error))?;
        }
        Ok(())
    }

    /// Completes the output and puts the file in its place.
    ///
    /// # Errors
    /// If the destination can't be written; then a file of its name is as it was.
    pub fn finish(self) -> Result<(), TableError> {
        self.output
            .finish(self.sink)
            .map_err(|error| failed(&self.name, error))
    }
}

impl Output {
    /// Opens the destination and writes what comes before the first row; `header` has no rows.
    pub(super) fn open(
        destination: &Destination,
        options: &WriteOptions,
        header: &mut DataFrame,
    ) -> Result<(Sink, Output), PolarsError> {
        let parquet = match options.format {
            Some(format) => format == Format::Parquet,
            None => destination.has_extension("parquet"),
        };
        let sink = Sink::create(destination)?;
        let stream = sink.stream()?;
        if parquet {
            let pairs = options.metadata.clone().into_iter().collect();
            let writer = ParquetWriter::new(stream)
                .with_statistics(StatisticsOptions::empty())
                .with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)))
                .batched(header.schema())?;
            return Ok((sink, Output::Parquet(Box::new(writer))));
        }
        let mut encoder = Encoder::new(destination, stream)?;
        CsvWriter::new(&mut encoder).finish(header)?;
        Ok((sink, Output::Csv(Box::new(encoder))))
    }

    pub(super) fn append(&mut self, frame: &mut DataFrame) -> Result<(), PolarsError> {
        match self {
            Output::Csv(encoder) => CsvWriter::new(encoder).include_header(false).finish(frame),
            Output::Parquet(writer) => writer.write_batch(frame),
        }
    }

    pub(super) fn finish(self, sink: Sink) -> Result<(), PolarsError> {
        match self {
            Output::Csv(encoder) => encoder.finish()?,
            Output::Parquet(writer) => {
                writer.finish()?;
            }
        }
        Ok(sink.commit()?)
    }
}

/// The values of some rows of a table, which are block number `block`.
fn frame(
    decoders: &[Decoder],
    options: &WriteOptions,
    table: &CodedTable,
    rows: Range<usize>,
    block: u32,
) -> Result<DataFrame, TableError> {
    let decode = |decoder: &Decoder| decoder.decode(table, rows.clone(), options.seed, block);
    let mut columns: Vec<Column> = decoders.par_iter().map(decode).collect::<Result<_, _>>()?;
    let misfit = |column: &str| TableError::Misfit {
        column: column.into(),
    };
    if options.imputations {
        let numbers = table
            .imputation
            .as_deref()
            .and_then(|all| all.get(rows.clone()));
        let numbers = numbers.ok_or_else(|| misfit(IMPUTATION))?;
        let numbers: Vec<i64> = numbers.iter().map(|&number| number.into()).collect();
        columns.insert(0, Series::new(IMPUTATION.into(), numbers).into_column());
    }
    // Only a schema that repeats a name makes this fail.
    DataFrame::new(rows.len(), columns).map_err(|_| misfit("(several of one name)"))
}

pub(super) fn failed(name: &str, error: PolarsError) -> TableError {
    let source = match error {
        PolarsError::IO { error, .. } => io::Error::new(error.kind(), error.to_string()),
        other => io::Error::other(other.to_string()),
    };
    TableError::Write {
        file: name.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::{schema, table};
    use crate::table::{Source, read_unprotected};

    #[test]
    fn written_bytes_do_not_depend_on_threads() {
        let folder = tempfile::tempdir().unwrap();
        // Two blocks of random numbers.
        let table = table((1 << 17) + 5, 8);
        let mut written = Vec::new();
        for threads in [1, 2, 3] {
            let path = folder.path().join("t.csv");
            let destination = Destination::Path(path.clone());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let write = || write(&table, &schema(), &destination, WriteOptions::default());
            pool.build().unwrap().install(write).unwrap();
            written.push(std::fs::read(path).unwrap());
        }
        assert!(written[0] == written[1] && written[1] == written[2]);
        let header = b"treated,age,region,sex,score,wage\n";
        assert!(written[0].starts_with(header));
    }

    #[test]
    fn a_file_stays_as_it_was_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "old").unwrap();
        let destination = Destination::Path(path.clone());
        let options = WriteOptions::default();
        let mut writer = TableWriter::create(&destination, &schema(), options.clone()).unwrap();
        writer.append(&table(10, 9)).unwrap();
        drop(writer);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

        let mut writer = TableWriter::create(&destination, &schema(), options).unwrap();
        writer.append(&table(10, 9)).unwrap();
        writer.append(&table(7, 10)).unwrap();
        writer.finish().unwrap();
        let read = read_unprotected(&Source::Path(path.clone()), None, &schema(), &|_| ());
        assert_eq!(read.unwrap().table.rows, 17);
        let absent = folder.path().join("no").join("t.csv");
        let error = write(
            &table(1, 1),
            &schema(),
            &Destination::Path(absent),
            WriteOptions::default(),
        );
        assert!(matches!(error, Err(TableError::Write { .. })));
    }
}
