//! Reading a table: once, from front to back, a few pieces at a time.
//!
//! The pieces of a batch are coded in parallel while the next batch is read. Whatever follows takes them
//! in file order, so nothing depends on the number of threads or the size of the pieces: not the answers,
//! not which rows of a unit count, not which of several errors is reported.

use super::count::Counter;
use super::csv;
use super::frame::{CodedFrame, FrameCoder};
use super::layout::{Layout, Purpose};
use super::parquet::RowGroups;
use super::source::{self, Format, Meter, Opened, Progress, Source};
use super::split::{self, Piece, Splitter};
use super::units::Units;
use super::{CodedTable, Row, TableError};
use crate::privacy::Confidential;
use crate::schema::{PrivacyUnit, Query, Schema};
use polars::prelude::DataFrame;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The pieces per thread in a batch: enough to even out pieces that take longer than others.
const PIECES_PER_THREAD: usize = 2;

/// Answers every query exactly, in one pass over a table and in bounded memory (but for the privacy units'
/// names, where the schema has units).
///
/// The answers are in the order of the queries, each row-major over its axes, in units of `1 / SCALE` of a
/// record. Rows beyond `max_rows` of their privacy unit do not count. A table without rows is valid: that
/// it is empty is confidential. `progress` is told the bytes read, never rows.
///
/// # Errors
/// [`TableError`] for a file that can't be read, a table that does not fit the schema, or a query that
/// can't be answered.
pub fn answer(
    source: &Source,
    format: Option<Format>,
    schema: &Schema,
    queries: &[Query],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Confidential<Vec<Vec<i64>>>, TableError> {
    let input = Input::open(source, format, split::PIECE)?;
    count(input, schema, queries, progress).map(Counter::answers)
}

/// Exact answers to counting queries: one vector per query.
pub type Answers = Confidential<Vec<Vec<i64>>>;

/// As [`answer`], and keeps the rows that count, in codes and with the values of numeric covariates, for
/// questions that depend on what was released first. Four bytes a cell at most.
///
/// # Errors
/// As [`answer`].
pub fn answer_and_keep(
    source: &Source,
    format: Option<Format>,
    schema: &Schema,
    queries: &[Query],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(Answers, Confidential<CodedTable>), TableError> {
    let input = Input::open(source, format, split::PIECE)?;
    let mut counter = Counter::new(schema, queries)?;
    let mut kept = None;
    admit(input, schema, Purpose::Measuring, progress, |table| {
        counter.add(&table);
        join(&mut kept, table);
    })?;
    let kept = kept.unwrap_or_else(|| CodedTable {
        values: vec![Some(Vec::new()); schema.columns.len()],
        ..empty(schema)
    });
    Ok((counter.answers(), Confidential::new(kept)))
}

pub(super) fn count(
    input: Input,
    schema: &Schema,
    queries: &[Query],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Counter, TableError> {
    let mut counter = Counter::new(schema, queries)?;
    admit(input, schema, Purpose::Counting, progress, |table| {
        counter.add(&table);
    })?;
    Ok(counter)
}

/// Gives the rows that count, in file order, to `take`.
fn admit(
    input: Input,
    schema: &Schema,
    purpose: Purpose,
    progress: &(dyn Fn(Progress) + Sync),
    mut take: impl FnMut(CodedTable),
) -> Result<(), TableError> {
    let mut units = match schema.unit {
        PrivacyUnit::Row => None,
        PrivacyUnit::Column { max_rows, .. } => Some(Units::new(max_rows)),
    };
    run(input, schema, purpose, progress, |frame| {
        take(match &mut units {
            Some(units) => units.admit(frame),
            None => frame.table,
        });
    })
}

/// A table that was read whole, with what travels with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnprotectedTable {
    /// The rows, in codes; with the numbers of the imputations if the file's first column is `imputation`.
    pub table: CodedTable,
    /// The key-value metadata of a Parquet file; empty for CSV.
    pub metadata: BTreeMap<String, String>,
}

/// The key-value metadata of a Parquet file; empty for CSV. Reads no rows.
///
/// # Errors
/// Where the file can't be read.
pub fn metadata(
    source: &Source,
    format: Option<Format>,
) -> Result<BTreeMap<String, String>, TableError> {
    Ok(Input::open(source, format, split::PIECE)?.metadata())
}

/// Reads a table whole, without any protection: for synthetic and imputed tables, and for tables whose
/// reader may see them. Privacy units are not looked at, and all rows are kept.
///
/// # Errors
/// As [`answer`].
pub fn read_unprotected(
    source: &Source,
    format: Option<Format>,
    schema: &Schema,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<UnprotectedTable, TableError> {
    keep(Input::open(source, format, split::PIECE)?, schema, progress)
}

/// Reads a *public* table whole, without any protection, as [`answer_and_keep`] keeps a confidential one: in
/// codes, with the values of numeric covariates. For populations that a plan is simulated on. Privacy units
/// are not looked at.
///
/// # Errors
/// As [`answer`].
pub fn read_population(
    source: &Source,
    format: Option<Format>,
    schema: &Schema,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<CodedTable, TableError> {
    let input = Input::open(source, format, split::PIECE)?;
    let mut whole = None;
    run(input, schema, Purpose::Simulating, progress, |frame| {
        join(&mut whole, frame.table);
    })?;
    Ok(whole.unwrap_or_else(|| empty(schema)))
}

pub(super) fn keep(
    input: Input,
    schema: &Schema,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<UnprotectedTable, TableError> {
    let metadata = input.metadata();
    let mut whole: Option<CodedTable> = None;
    run(input, schema, Purpose::Keeping, progress, |frame| {
        join(&mut whole, frame.table);
    })?;
    let table = whole.unwrap_or_else(|| empty(schema));
    Ok(UnprotectedTable { table, metadata })
}

/// A table of the schema without rows.
fn empty(schema: &Schema) -> CodedTable {
    CodedTable {
        codes: schema
            .columns
            .iter()
            .map(|column| column.is_coded().then(Vec::new))
            .collect(),
        ..CodedTable::default()
    }
}

fn join(whole: &mut Option<CodedTable>, more: CodedTable) {
    match whole {
        Some(whole) => append(whole, more),
        None => *whole = Some(more),
    }
}

fn append(whole: &mut CodedTable, more: CodedTable) {
    whole.rows += more.rows;
    for (codes, more) in whole.codes.iter_mut().zip(more.codes) {
        if let (Some(codes), Some(more)) = (codes, more) {
            codes.extend(more);
        }
    }
    for (values, more) in whole.values.iter_mut().zip(more.values) {
        if let (Some(values), Some(more)) = (values, more) {
            values.extend(more);
        }
    }
    whole.outcome.extend(more.outcome);
    if let (Some(numbers), Some(more)) = (&mut whole.imputation, more.imputation) {
        numbers.extend(more);
    }
}

/// A table's file, opened, of either format.
pub(super) struct Input {
    name: String,
    pub(super) header: Vec<String>,
    kind: InputKind,
}

enum InputKind {
    Csv(Box<Splitter>, Meter),
    Parquet(Box<RowGroups>),
}

/// Rows as they stand in the file.
pub(super) enum Raw {
    Csv(Piece),
    Parquet(DataFrame, u64),
}

impl Input {
    pub(super) fn open(
        source: &Source,
        format: Option<Format>,
        piece: usize,
    ) -> Result<Input, TableError> {
        let name = source.name();
        match source::open(source, format)? {
            Opened::Text { reader, meter } => Input::text(reader, meter, name, piece),
            Opened::Parquet { file, length } => {
                let groups = RowGroups::open(file, length, &name)?;
                let header = groups.header.clone();
                let kind = InputKind::Parquet(Box::new(groups));
                Ok(Input { name, header, kind })
            }
        }
    }

    fn text(
        reader: Box<dyn std::io::Read + Send>,
        meter: Meter,
        name: String,
        piece: usize,
    ) -> Result<Input, TableError> {
        let mut splitter = Splitter::new(reader, name.clone(), piece);
        let header = splitter.header()?;
        let kind = InputKind::Csv(Box::new(splitter), meter);
        Ok(Input { name, header, kind })
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        match &self.kind {
            InputKind::Csv(..) => BTreeMap::new(),
            InputKind::Parquet(groups) => groups.metadata.clone(),
        }
    }

    /// Chooses the columns to read, where the format can leave others out.
    pub(super) fn select(&mut self, layout: &Layout) -> Result<(), TableError> {
        match &mut self.kind {
            InputKind::Csv(..) => Ok(()),
            InputKind::Parquet(groups) => groups.select(layout.read.clone()),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Raw>, TableError> {
        match &mut self.kind {
            InputKind::Csv(splitter, _) => Ok(splitter.next()?.map(Raw::Csv)),
            InputKind::Parquet(groups) => {
                let next = groups.next()?;
                Ok(next.map(|(frame, row)| Raw::Parquet(frame, row)))
            }
        }
    }

    fn progress(&self) -> Progress {
        match &self.kind {
            InputKind::Csv(_, meter) => meter.progress(),
            InputKind::Parquet(groups) => groups.progress(),
        }
    }

    /// The next pieces, and the error that stopped them, if one did.
    fn batch(
        &mut self,
        size: usize,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> (Vec<Raw>, Option<TableError>) {
        let mut pieces = Vec::with_capacity(size);
        while pieces.len() < size {
            match self.next() {
                Ok(Some(piece)) => pieces.push(piece),
                Ok(None) => break,
                Err(error) => return (pieces, Some(error)),
            }
            progress(self.progress());
        }
        (pieces, None)
    }
}

/// Gives the coded pieces of a table, in file order, to `take`.
fn run(
    mut input: Input,
    schema: &Schema,
    purpose: Purpose,
    progress: &(dyn Fn(Progress) + Sync),
    mut take: impl FnMut(CodedFrame),
) -> Result<(), TableError> {
    let layout = Layout::new(&input.name, &input.header, schema, purpose)?;
    input.select(&layout)?;
    let coder = FrameCoder::new(schema, input.name.clone(), layout, purpose)?;
    let size = PIECES_PER_THREAD * rayon::current_num_threads();
    let (mut batch, mut stopped) = input.batch(size, progress);
    while !batch.is_empty() {
        let code = || -> Vec<_> { batch.into_par_iter().map(|raw| code(&coder, raw)).collect() };
        let (coded, next) = if stopped.is_none() {
            rayon::join(code, || input.batch(size, progress))
        } else {
            (code(), (Vec::new(), None))
        };
        for frame in coded {
            take(frame?);
        }
        // Errors come in file order: what stopped the reading stands after everything read before.
        if let Some(error) = stopped {
            return Err(error);
        }
        (batch, stopped) = next;
    }
    stopped.map_or(Ok(()), Err)
}

fn code(coder: &FrameCoder, raw: Raw) -> Result<CodedFrame, TableError> {
    match raw {
        Raw::Csv(piece) => {
            let read = csv::read(&piece, coder.layout(), coder.file())?;
            let coded = coder.code(&read.frame, |index| csv::row(&piece, index))?;
            read.fault.map_or(Ok(coded), Err)
        }
        Raw::Parquet(frame, first) => coder.code(&frame, |index| Row::Number(first + index as u64)),
    }
}
