//! Small schemas and tables for the room's tests.

use crate::schema::{Bin, Column, Kind, Level, PrivacyUnit, Role, SCALE, Schema};
use crate::table::CodedTable;

pub fn column(name: &str, role: Role, kind: Kind) -> Column {
    Column {
        name: name.into(),
        label: None,
        role,
        kind,
        missing: vec![],
    }
}

pub fn levels(codes: &[&str]) -> Vec<Level> {
    let level = |code: &&str| Level {
        code: (*code).into(),
        label: None,
    };
    codes.iter().map(level).collect()
}

pub fn categorical(codes: &[&str]) -> Kind {
    Kind::Categorical {
        levels: levels(codes),
        other: None,
        ordered: false,
    }
}

/// Integers `0..=upper`, each its own bin.
pub fn integer(upper: i64) -> Kind {
    let bin = |v: i64| Bin {
        lower: v as f64,
        upper: v as f64,
    };
    Kind::Integer {
        lower: 0,
        upper,
        bins: (0..=upper).map(bin).collect(),
    }
}

/// Reals in one bin.
pub fn real(lower: f64, upper: f64) -> Kind {
    Kind::Real {
        lower,
        upper,
        bins: vec![Bin { lower, upper }],
    }
}

pub fn schema(columns: Vec<Column>) -> Schema {
    Schema {
        title: None,
        unit: PrivacyUnit::Row,
        rows: None,
        design: Default::default(),
        columns,
        structural_zeros: vec![],
    }
}

/// A table of the codes of all columns but the outcome, which stands last in the schema and comes as
/// a fraction of its range.
pub fn table(mut codes: Vec<Vec<u16>>, outcome: &[f64]) -> CodedTable {
    codes.push(vec![0; outcome.len()]);
    let scaled = |y: &f64| (y.clamp(0.0, 1.0) * SCALE as f64).round() as u32;
    CodedTable {
        rows: outcome.len(),
        codes: codes.into_iter().map(Some).collect(),
        outcome: outcome.iter().map(scaled).collect(),
        imputation: None,
        ..CodedTable::default()
    }
}
