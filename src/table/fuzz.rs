//! Property tests: no bytes make the room panic, and whatever is written is read back.

use super::read::{Input, count, keep};
use super::testing::{schema, table};
use super::*;
use crate::schema::{Axis, Feature, PrivacyUnit, Query, Schema};
use proptest::prelude::*;
use std::io::Write;

/// A file of bytes, read for counting and for keeping in pieces of some size. Whether this succeeds does
/// not matter, but that both agree on the number of rows does.
fn read_both(bytes: &[u8], format: Option<Format>, piece: usize) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let source = Source::Path(file.path().into());
    let mut schema = schema();
    schema.unit = PrivacyUnit::Row;
    let open = || Input::open(&source, format, piece);
    let all = Query {
        name: "all".into(),
        axes: vec![Axis {
            column: 1,
            feature: Feature::Levels,
        }],
    };
    let counted = open().and_then(|input| count(input, &schema, &[all], &|_| ()));
    let kept = open().and_then(|input| keep(input, &schema, &|_| ()));
    if let (Ok(counted), Ok(kept)) = (counted, kept) {
        let sum: i64 = counted.sums()[0].iter().sum();
        assert_eq!(sum, kept.table.rows as i64 * crate::schema::SCALE);
    }
}

/// Text that is nearly a table.
fn nearly_csv() -> impl Strategy<Value = String> {
    let cell = prop_oneof![
        Just("1"),
        Just("0.5"),
        Just("male"),
        Just("01"),
        Just(""),
        Just("\""),
        Just("\"\""),
        Just("\"a \"\"b\"\", c\nd\""),
        Just("\r"),
        Just("\n"),
        Just("x^"),
        Just("\u{feff}"),
        Just("-9"),
        Just("NaN"),
        Just("é"),
    ];
    let row = proptest::collection::vec(cell, 5..8).prop_map(|cells| cells.join(","));
    proptest::collection::vec(row, 0..6)
        .prop_map(|rows| format!("treated,age,region,sex,score,wage\n{}", rows.join("\n")))
}

fn parquet() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let destination = Destination::Path(path.clone());
    write(
        &table(40, 1),
        &schema(),
        &destination,
        WriteOptions::default(),
    )
    .unwrap();
    std::fs::read(path).unwrap()
}

fn round_trip(table: &CodedTable, schema: &Schema, name: &str, seed: u64) -> CodedTable {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let options = WriteOptions {
        seed,
        ..WriteOptions::default()
    };
    write(table, schema, &Destination::Path(path.clone()), options).unwrap();
    read_unprotected(&Source::Path(path), None, schema, &|_| ())
        .unwrap()
        .table
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_no_reason_to_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        piece in 1usize..100,
    ) {
        read_both(&bytes, None, piece);
        read_both(&bytes, Some(Format::Parquet), piece);
        for magic in [&b"PAR1"[..], &[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]] {
            read_both(&[magic, &bytes, magic].concat(), None, piece);
        }
    }

    #[test]
    fn nearly_a_table_is_no_reason_to_panic(text in nearly_csv(), piece in 1usize..100) {
        read_both(text.as_bytes(), None, piece);
    }

    #[test]
    fn damaged_parquet_is_no_reason_to_panic(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = parquet();
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        read_both(&bytes, Some(Format::Parquet), 100);
    }

    #[test]
    fn what_is_written_is_read_back(rows in 0usize..60, seed in any::<u64>(), draws in any::<u64>()) {
        let (schema, table) = (schema(), table(rows, seed));
        for name in ["t.csv", "t.parquet"] {
            prop_assert!(round_trip(&table, &schema, name, draws) == table);
        }
    }
}
