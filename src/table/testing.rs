//! A schema with a column of every type, and tables of it, for the tests of this room.

use crate::schema::{Bin, Column, Kind, Level, PrivacyUnit, Role, SCALE, Schema};
use crate::table::CodedTable;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn level(code: &str) -> Level {
    Level {
        code: code.into(),
        label: None,
    }
}

pub(super) fn column(name: &str, role: Role, kind: Kind, missing: &[&str]) -> Column {
    Column {
        name: name.into(),
        label: None,
        role,
        kind,
        missing: missing.iter().map(|text| (*text).into()).collect(),
    }
}

fn bins(edges: &[(f64, f64)]) -> Vec<Bin> {
    let bin = |&(lower, upper)| Bin { lower, upper };
    edges.iter().map(bin).collect()
}

/// Columns person (privacy unit, at most 2 rows), treated, age, region, sex, score, note (ignored), wage.
pub(super) fn schema() -> Schema {
    let age = Kind::Integer {
        lower: 16,
        upper: 90,
        bins: bins(&[(16.0, 29.0), (30.0, 49.0), (50.0, 90.0)]),
    };
    let region = Kind::Categorical {
        levels: vec![level("01"), level("a \"b\", c\nd")],
        other: Some(level("other")),
        ordered: false,
    };
    let sex = Kind::Categorical {
        levels: vec![level("male"), level("female")],
        other: None,
        ordered: false,
    };
    let score = Kind::Real {
        lower: -1.0,
        upper: 1.0,
        bins: bins(&[(-1.0, 0.0), (0.0, 0.0), (0.0, 0.5), (0.5, 1.0)]),
    };
    let wage = Kind::Real {
        lower: 0.0,
        upper: 1000.0,
        bins: bins(&[(0.0, 0.0), (0.0, 500.0), (500.0, 1000.0)]),
    };
    Schema {
        title: None,
        unit: PrivacyUnit::Column {
            column: 0,
            max_rows: 2,
        },
        rows: None,
        design: Default::default(),
        columns: vec![
            column("person", Role::Id, Kind::Boolean, &[]),
            column("treated", Role::Treatment, Kind::Boolean, &[]),
            column("age", Role::Covariate, age, &["-9", ""]),
            column("region", Role::Covariate, region, &[]),
            column("sex", Role::Covariate, sex, &["NA"]),
            column("score", Role::Covariate, score, &[]),
            column("note", Role::Ignored, Kind::Boolean, &[]),
            column("wage", Role::Outcome, wage, &[]),
        ],
        structural_zeros: vec![],
    }
}

/// A random table of [`schema`].
pub(super) fn table(rows: usize, seed: u64) -> CodedTable {
    let schema = schema();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut codes: Vec<Option<Vec<u16>>> = schema
        .columns
        .iter()
        .map(|column| {
            let levels = column.levels() as u16;
            let draw = |_| rng.random_range(0..levels);
            column.is_coded().then(|| (0..rows).map(draw).collect())
        })
        .collect();
    let outcome: Vec<u32> = (0..rows)
        .map(|_| match rng.random_range(0..4) {
            0 => 0,
            1 => SCALE as u32 / 2,
            _ => rng.random_range(1..=SCALE as u32),
        })
        .collect();
    codes[7] = Some(
        outcome
            .iter()
            .map(|&y| match y {
                0 => 0,
                y if i64::from(y) < SCALE / 2 => 1,
                _ => 2,
            })
            .collect(),
    );
    CodedTable {
        rows,
        codes,
        outcome,
        imputation: None,
        ..CodedTable::default()
    }
}
