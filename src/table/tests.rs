//! Tests of the room as a whole: tables through files and back, and counting however they are cut.

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

/// The answers by definition: a product of features, row by row.
fn by_definition(table: &CodedTable, schema: &Schema, query: &Query) -> Vec<i64> {
    let mut sums = vec![0; query.cells(schema).unwrap()];
    for row in 0..table.rows {
        // Entries of the outer product: index and value in units of 1/SCALE.
        let mut entries = vec![(0, SCALE)];
        for axis in &query.axes {
            let y = table.outcome.get(row).map_or(0, |&y| i64::from(y));
            let feature = match axis.feature {
                Feature::Levels => {
                    let code = table.codes[axis.column].as_ref().unwrap()[row];
                    let mut one_hot = vec![0; schema.columns[axis.column].levels()];
                    one_hot[usize::from(code)] = SCALE;
                    one_hot
                }
                Feature::Split => vec![SCALE - y, y],
                Feature::Spread => vec![y * (SCALE - y) / SCALE],
            };
            entries = entries
                .iter()
                .flat_map(|&(index, value)| {
                    let cells = feature.len();
                    let product = move |(at, &f): (usize, &i64)| {
                        // One factor is a one-hot, so the product is exact.
                        (index * cells + at, value * f / SCALE)
                    };
                    feature.iter().enumerate().map(product).collect::<Vec<_>>()
                })
                .collect();
        }
        for (index, value) in entries {
            sums[index] += value;
        }
    }
    sums
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

/// What reading the text as CSV says is wrong.
fn message(text: &str) -> String {
    let file = file("csv", text.as_bytes());
    let error = answers(file.path(), &schema(), split::PIECE).unwrap_err();
    let message = error.to_string();
    // No message may depend on the size of the pieces.
    for piece in [1, 7, 50] {
        let other = answers(file.path(), &schema(), piece)
            .unwrap_err()
            .to_string();
        assert_eq!(message, other);
    }
    message.replace(&file.path().display().to_string(), "FILE")
}

const HEADER: &str = "person,treated,age,region,sex,score,wage\n";

#[test]
fn counting_is_the_product_of_features() {
    let (schema, table) = (schema(), table(500, 1));
    let answers = tabulate(&table, &schema, &queries()).unwrap();
    for (query, answer) in queries().iter().zip(&answers) {
        assert_eq!(
            answer,
            &by_definition(&table, &schema, query),
            "{}",
            query.name
        );
        if query.partitions_records() {
            assert_eq!(answer.iter().sum::<i64>(), 500 * SCALE);
        }
    }
}

#[test]
fn parts_of_a_table_merge_in_any_order() {
    let schema = schema();
    let (first, second) = (table(300, 2), table(77, 3));
    let part = |table: &CodedTable| {
        let mut counter = Counter::new(&schema, &queries()).unwrap();
        counter.add(table);
        counter
    };
    let mut forwards = part(&first);
    forwards.merge(part(&second));
    let mut backwards = part(&second);
    backwards.add(&first);
    assert_eq!(forwards.sums(), backwards.sums());
}

#[test]
fn queries_that_have_no_answer_are_refused() {
    let refused = |axes: &[Axis]| {
        let query = Query {
            name: "q".into(),
            axes: axes.to_vec(),
        };
        Counter::new(&schema(), &[query]).is_err()
    };
    assert!(refused(&[axis(0, Feature::Levels)]), "an identifier");
    assert!(refused(&[axis(99, Feature::Levels)]), "no column");
    assert!(refused(&[axis(2, Feature::Split)]), "not the outcome");
    assert!(
        refused(&[axis(7, Feature::Split), axis(7, Feature::Spread)]),
        "twice"
    );
    assert!(refused(&[axis(2, Feature::Levels); 20]), "5^20 cells");
}

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
fn answers_do_not_depend_on_pieces_threads_or_order() {
    let mut schema = schema();
    schema.unit = PrivacyUnit::Row;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let table = table(2000, 7);
    let destination = Destination::Path(path.clone());
    write(&table, &schema, &destination, WriteOptions::default()).unwrap();
    let expected = tabulate(&table, &schema, &queries()).unwrap();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            for piece in [200, 5000, split::PIECE] {
                assert_eq!(answers(&path, &schema, piece).unwrap(), expected);
            }
        });
    }
    let mut reversed = table;
    reversed
        .codes
        .iter_mut()
        .flatten()
        .for_each(|codes| codes.reverse());
    reversed.outcome.reverse();
    assert_eq!(tabulate(&reversed, &schema, &queries()).unwrap(), expected);
}

#[test]
fn the_first_rows_of_a_unit_count() {
    // Unit a has three rows, of which the last does not count; b's rows do not depend on it.
    let row = |unit: &str, wage: u32| format!("{unit},1,40,01,male,0,{wage}\n");
    let rows = [
        row("a", 0),
        row("b", 250),
        row("a", 500),
        row("a", 1000),
        row("b", 0),
    ];
    let mut table = file("csv", HEADER.as_bytes());
    table.write_all(rows.concat().as_bytes()).unwrap();
    for piece in [1, 60, split::PIECE] {
        let answers = answers(table.path(), &schema(), piece).unwrap();
        assert_eq!(answers[0], [4 * SCALE]);
        // Wages of the treated sum to 750 of 1000.
        assert_eq!(answers[1][3], 3 * SCALE / 4);
    }
    let mut row_unit = schema();
    row_unit.unit = PrivacyUnit::Row;
    let all = answers(table.path(), &row_unit, split::PIECE).unwrap();
    assert_eq!(all[0], [5 * SCALE]);
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
fn errors_name_line_and_column_and_never_the_value() {
    let good = "p,1,40,01,male,0.5,250\n";
    for (bad, expected) in [
        (
            "p,1,SECRET,01,male,0.5,250",
            "FILE, line 3, column `age`: the cell is not a number",
        ),
        (
            "p,SECRET,40,01,male,0.5,250",
            "FILE, line 3, column `treated`: the cell is not boolean",
        ),
        (
            "p,1,40,01,SECRET,0.5,250",
            "FILE, line 3, column `sex`: the cell is not a declared",
        ),
        (
            "p,1,40,,male,0.5,250",
            "FILE, line 3, column `region`: the cell is empty",
        ),
        (
            "p,1,40.987,01,male,0.5,250",
            "FILE, line 3, column `age`: the cell is not a whole",
        ),
        (
            "p,1,40,01,male,NaN,250",
            "FILE, line 3, column `score`: the cell is NaN or infinite",
        ),
        (
            "p,1,40,01,male,0.5,-inf",
            "FILE, line 3, column `wage`: the cell is NaN or infinite",
        ),
        (
            ",1,40,01,male,0.5,250",
            "FILE, line 3, column `person`: the privacy unit is empty",
        ),
        (
            "p,1,40,01,male,0.5,250,SECRET",
            "FILE, line 3: the record has 8 cells where the header has 7",
        ),
        ("p,1,40,01,male,0.5", "FILE, line 3: the record has 6 cells"),
        (
            "p,1,40,0\"SECRET\",male,0.5,250",
            "FILE, line 3: a quotation mark stands inside a cell",
        ),
        (
            "p,1,40,\"SECRET,male,0.5,250",
            "FILE, line 3: a quoted cell that starts in this record",
        ),
    ] {
        for rest in ["", good] {
            // An open quote swallows what follows, but not what stands before.
            let text = format!("{HEADER}{good}{bad}\n{rest}");
            let message = message(&text);
            assert!(message.starts_with(expected), "{message}");
            for secret in ["SECRET", "987", "-inf"] {
                assert!(!message.contains(secret), "{message}");
            }
        }
    }
    let earlier = format!("{HEADER}{good}p,1,40,01,x,0.5,250\np,1,x,01,male,0.5,250\np\n");
    assert!(message(&earlier).contains("line 3, column `sex`"));
    let later_column = format!("{HEADER}{good}p,1,40,01,x,x,250\n");
    assert!(message(&later_column).contains("line 3, column `sex`"));
    assert!(message("").contains("the file is empty"));
}

#[test]
fn text_that_is_not_utf8_is_an_error_with_its_line() {
    let mut table = file("csv", HEADER.as_bytes());
    table
        .write_all(b"p,1,40,01,male,0.5,250\np,1,40,\xe9t\xe9,male,0.5,250\n")
        .unwrap();
    let error = answers(table.path(), &schema(), split::PIECE).unwrap_err();
    assert!(
        matches!(
            error,
            TableError::Encoding {
                row: Row::Line(3),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn structural_zeros_are_enforced() {
    let mut schema = schema();
    schema.structural_zeros = vec![StructuralZero {
        conditions: vec![(2, vec![0]), (4, vec![1, 2])],
    }];
    let good = "p,1,20,01,male,0.5,250\nq,1,40,01,female,0.5,250\n";
    let table = file("csv", format!("{HEADER}{good}").as_bytes());
    assert!(answers(table.path(), &schema, split::PIECE).is_ok());
    let table = file(
        "csv",
        format!("{HEADER}{good}r,1,20,01,NA,0,0\n").as_bytes(),
    );
    let message = answers(table.path(), &schema, split::PIECE)
        .unwrap_err()
        .to_string();
    assert!(message.contains("line 4: the record is in a combination of `age` and `sex`"));
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
