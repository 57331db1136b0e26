//! Tests of the room as a whole: tables through files and back, and counting however they are cut.

mod counting;
mod errors;
mod files;

use super::read::{Input, count, keep};
use super::testing::{schema, table};
use super::*;
use crate::schema::{Axis, Feature, PrivacyUnit, Query, SCALE, Schema, StructuralZero};
use std::io::Write;
use std::path::Path;

fn silent(_: Progress) {}

fn axis(column: usize, feature: Feature) -> Axis {
    Axis { column, feature }
}

/// Queries that between them use every column and every feature; all but the last partition records.
fn queries() -> Vec<Query> {
    let query = |name: &str, axes: &[Axis]| Query {
        name: name.into(),
        axes: axes.to_vec(),
    };
    use Feature::{Levels, Split, Spread};
    vec![
        query("all", &[]),
        query("hub", &[axis(1, Levels), axis(7, Split)]),
        query("leaf", &[axis(7, Split), axis(2, Levels), axis(1, Levels)]),
        query("bins", &[axis(7, Levels), axis(7, Split)]),
        query("wide", &[axis(3, Levels), axis(4, Levels), axis(5, Levels)]),
        query("spread", &[axis(1, Levels), axis(7, Spread)]),
    ]
}

fn file(extension: &str, content: &[u8]) -> tempfile::NamedTempFile {
    let suffix = format!(".{extension}");
    let mut file = tempfile::Builder::new().suffix(&suffix).tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

fn read(path: &Path, schema: &Schema, piece: usize) -> Result<UnprotectedTable, TableError> {
    let source = Source::Path(path.into());
    keep(Input::open(&source, None, piece)?, schema, &silent)
}

fn answers(path: &Path, schema: &Schema, piece: usize) -> Result<Vec<Vec<i64>>, TableError> {
    let source = Source::Path(path.into());
    let counter = count(
        Input::open(&source, None, piece)?,
        schema,
        &queries(),
        &silent,
    )?;
    Ok(counter.sums())
}

const HEADER: &str = "person,treated,age,region,sex,score,wage\n";
