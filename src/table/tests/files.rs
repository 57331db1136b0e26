//! Tables through files and back.

use super::*;

#[test]
fn tables_survive_every_format() {
    let mut schema = schema();
    schema.unit = PrivacyUnit::Row;
    let folder = tempfile::tempdir().unwrap();
    for stack in [false, true] {
        let mut table = table(3000, 4);
        if stack {
            table.imputation = Some((0..3000).map(|row| row / 1000 + 1).collect());
        }
        for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"] {
            let path = folder.path().join(name);
            let options = WriteOptions {
                seed: 5,
                metadata: [("release".into(), "{\"a\": 1}".into())].into(),
                ..WriteOptions::default()
            };
            write(
                &table,
                &schema,
                &Destination::Path(path.clone()),
                options.clone(),
            )
            .unwrap();
            for piece in [1 << 10, split::PIECE] {
                let back = read(&path, &schema, piece).unwrap();
                assert!(back.table == table, "{name} {stack}");
                let is_parquet = name == "t.parquet";
                assert_eq!(back.metadata == options.metadata, is_parquet);
            }
        }
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 4, "temporary files are gone");
    }
}

#[test]
fn a_table_without_rows_is_a_table() {
    let mut schema = schema();
    schema.unit = PrivacyUnit::Row;
    let folder = tempfile::tempdir().unwrap();
    let empty = table(0, 6);
    for name in ["t.csv", "t.parquet"] {
        let path = folder.path().join(name);
        let destination = Destination::Path(path.clone());
        write(&empty, &schema, &destination, WriteOptions::default()).unwrap();
        assert_eq!(read(&path, &schema, split::PIECE).unwrap().table, empty);
        let counts = answers(&path, &schema, split::PIECE).unwrap();
        assert!(counts.iter().flatten().all(|&sum| sum == 0));
    }
}

#[test]
fn csv_in_all_its_dress_is_read() {
    let text = "\u{feff}wage,treated,region,age,sex,\"score\",person\r\n\
        250,\"1\",\"a \"\"b\"\", c\nd\",\"\",NA,-0.5,x^y\r\n\
        \r\n\
        250.0,TRUE,01, 33 ,male,1e-1,\u{feff}p";
    let file = file("csv", text.as_bytes());
    for piece in [1, 9, 100, split::PIECE] {
        let read = read(file.path(), &schema(), piece).unwrap().table;
        assert_eq!(read.rows, 2);
        let codes = |column: usize| read.codes[column].clone().unwrap();
        assert_eq!(codes(1), [1, 1]);
        assert_eq!(codes(2), [4, 1]);
        assert_eq!(codes(3), [1, 0]);
        assert_eq!(codes(4), [2, 0]);
        assert_eq!(codes(5), [0, 2]);
        assert_eq!(read.outcome, [SCALE as u32 / 4; 2]);
        assert_eq!(
            answers(file.path(), &schema(), piece).unwrap()[0],
            [2 * SCALE]
        );
    }
}

#[test]
fn a_piece_may_start_with_what_looks_like_a_magic_number() {
    let mut schema = schema();
    schema.columns.truncate(1);
    schema.columns[0].role = crate::schema::Role::Covariate;
    schema.unit = PrivacyUnit::Row;
    schema.columns[0].kind = crate::schema::Kind::Categorical {
        levels: ["x^12", "x\u{1}ab", "\u{feff}a", "x"]
            .map(|code| crate::schema::Level {
                code: code.into(),
                label: None,
            })
            .to_vec(),
        other: None,
        ordered: false,
    };
    let file = file(
        "csv",
        "person\nx^12\nx\u{1}ab\n\u{feff}a\n\nx\nx^12".as_bytes(),
    );
    for piece in [1, 10, split::PIECE] {
        let table = read(file.path(), &schema, piece).unwrap().table;
        assert_eq!(table.codes[0].as_deref().unwrap(), [0, 1, 2, 3, 0]);
    }
}

#[test]
fn packed_and_broken_files_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read(&path, &schema(), split::PIECE).unwrap_err()
    };
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let packed = read("t.gz", &pack(b"PAR1 and so on PAR1"));
    assert!(matches!(packed, TableError::PackedParquet { .. }));
    let whole = pack(b"treated,age,region,sex,score,wage\n1,20,01,male,0,0\n");
    let cut = read("t.gz", &whole[..whole.len() - 9]);
    assert!(matches!(cut, TableError::Read { .. }), "{cut}");
    let damaged = read("t.parquet", b"PAR1 and so on PAR1");
    assert!(matches!(damaged, TableError::Parquet { .. }));
    let absent = Source::Path(folder.path().join("absent.csv"));
    let absent = read_unprotected(&absent, None, &schema(), &silent).unwrap_err();
    assert!(matches!(absent, TableError::Read { .. }));
}
