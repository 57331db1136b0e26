//! The studies' data files: plain CSV (no quotes, no missing cells), perhaps compressed by gzip.

use anyhow::{Context, Result, bail, ensure};
use dpcausal::schema::{Column, Kind};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::coding::Cells;

/// A file in memory, as text: columns are parsed when they are asked for, because a study uses few.
pub struct DataFile {
    path: PathBuf,
    header: Vec<String>,
    text: String,
}

impl DataFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it can't be read, or holds quotes, which this reader doesn't understand.
    pub fn read(path: &Path) -> Result<DataFile> {
        let context = || format!("can't read {}", path.display());
        let mut file = File::open(path).with_context(context)?;
        let mut text = String::new();
        if path.extension().is_some_and(|extension| extension == "gz") {
            flate2::read::MultiGzDecoder::new(file)
                .read_to_string(&mut text)
                .with_context(context)?;
        } else {
            file.read_to_string(&mut text).with_context(context)?;
        }
        ensure!(
            !text.contains('"'),
            "{} holds quotes, which are not understood here",
            path.display()
        );
        let header = text.lines().next().unwrap_or_default();
        Ok(DataFile {
            path: path.into(),
            header: header.split(',').map(str::to_owned).collect(),
            text,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.text.lines().count().saturating_sub(1)
    }

    /// Whether there is such a column.
    pub fn has(&self, name: &str) -> bool {
        self.header.iter().any(|column| column == name)
    }

    /// A column, each cell by `parse`.
    ///
    /// # Errors
    /// Where the column is absent, or `parse` has no answer for a cell; the message names the line.
    pub fn column<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
        let Some(index) = self.header.iter().position(|column| column == name) else {
            bail!("{} has no column {name:?}", self.path.display());
        };
        let cell = |(line, row): (usize, &str)| {
            let found = row
                .split(',')
                .nth(index)
                .and_then(|cell| parse(cell.trim()));
            found.with_context(|| {
                let line = line + 2;
                format!(
                    "{}:{line}: column {name:?} can't be read",
                    self.path.display()
                )
            })
        };
        self.text.lines().skip(1).enumerate().map(cell).collect()
    }

    /// A column of numbers.
    ///
    /// # Errors
    /// As [`DataFile::column`].
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        self.column(name, |cell| cell.parse().ok())
    }

    /// A column as a schema's column of the same name reads it.
    ///
    /// # Errors
    /// As [`DataFile::column`]; a text that is none of the levels can't be read.
    pub fn cells(&self, column: &Column) -> Result<Cells> {
        Ok(match &column.kind {
            Kind::Integer { .. } | Kind::Real { .. } => Cells::Numbers(self.numbers(&column.name)?),
            Kind::Boolean => Cells::Codes(self.column(&column.name, |cell| match cell {
                "0" | "false" => Some(0),
                "1" | "true" => Some(1),
                _ => None,
            })?),
            Kind::Categorical { levels, .. } => {
                Cells::Codes(self.column(&column.name, |cell| {
                    let position = levels.iter().position(|level| level.code == cell);
                    position.map(|position| position as u16)
                })?)
            }
        })
    }
}
