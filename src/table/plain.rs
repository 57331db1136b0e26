//! Writing columns of plain numbers and texts, such as synthetic series, as CSV or Parquet.

use super::write::{Output, failed};
use super::{Destination, TableError, WriteOptions};
use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum PlainColumn {
    /// Texts.
    Text(Vec<String>),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Real numbers, or nothing.
    Real(Vec<Option<f64>>),
}

/// Writes columns of one length, whole or not at all. Of the options, the seed and the imputations have no meaning
/// here.
///
/// # Errors
/// If the destination can't be written, or the columns differ in length.
pub fn write_plain(
    columns: Vec<(String, PlainColumn)>,
    destination: &Destination,
    options: &WriteOptions,
) -> Result<(), TableError> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let columns = columns
        .into_iter()
        .map(|(name, column)| column.into_series(name));
    let mut frame = DataFrame::new(rows, columns.collect()).map_err(|_| TableError::Misfit {
        column: "(of another length)".into(),
    })?;
    let mut written = || {
        let (sink, mut output) = Output::open(destination, options, &mut frame.clear())?;
        output.append(&mut frame)?;
        output.finish(sink)
    };
    written().map_err(|error| failed(&destination.name(), error))
}

impl PlainColumn {
    fn len(&self) -> usize {
        match self {
            PlainColumn::Text(values) => values.len(),
            PlainColumn::Integer(values) => values.len(),
            PlainColumn::Real(values) => values.len(),
        }
    }

    fn into_series(self, name: String) -> Column {
        match self {
            PlainColumn::Text(values) => Series::new(name.into(), values),
            PlainColumn::Integer(values) => Series::new(name.into(), values),
            PlainColumn::Real(values) => Series::new(name.into(), values),
        }
        .into_column()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_written_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.csv");
        let columns = vec![
            (
                "unit".to_string(),
                PlainColumn::Text(vec!["a".into(), "b,c".into()]),
            ),
            ("n".to_string(), PlainColumn::Integer(vec![1, -2])),
            ("x".to_string(), PlainColumn::Real(vec![None, Some(0.5)])),
        ];
        let destination = Destination::Path(path.clone());
        write_plain(columns, &destination, &WriteOptions::default()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "unit,n,x\na,1,\n\"b,c\",-2,0.5\n");
        let uneven = vec![
            ("n".to_string(), PlainColumn::Integer(vec![1])),
            ("m".to_string(), PlainColumn::Integer(vec![1, 2])),
        ];
        assert!(write_plain(uneven, &destination, &WriteOptions::default()).is_err());
    }
}
