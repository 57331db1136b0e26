//! Tests of the schema document: what it means, every error with its place, and that nothing panics.

mod fuzz;
mod keys;
mod values;

use super::*;

/// A small document with every kind of column; tests change one thing in it.
const DOCUMENT: &str = "\
format: dpcausal.schema/1
title: A test
rows: 100
unit: {column: household, max_rows: 4}
columns:
  - name: household
    role: id
  - name: treat
    role: treatment
    type: categorical
    levels: [0, {code: 1, label: treated}]
  - name: age
    type: integer
    bounds: [16, 60]
    bins: [16, 20, 24, 60]
  - name: income
    type: real
    bounds: [0, 1e4]
    bins: [0, 0, 2000, 10000]
    missing: [\"\", NA]
  - name: region
    type: categorical
    levels: [007, no, 1.50]
    other: {code: other, label: elsewhere}
    ordered: true
  - name: urban
    type: boolean
  - name: wage
    role: outcome
    type: integer
    bounds: [0, 9]
    bins: 4
  - name: note
    role: ignored
structural_zeros:
  - {urban: true, age: {from: 20, to: 60}}
";

fn parse(text: &str) -> Result<Schema, String> {
    match Schema::parse(text, "x.yaml") {
        Ok((schema, _)) => Ok(schema),
        Err(error) => Err(error.to_string()),
    }
}

/// The error after one text of the document was replaced by another.
#[track_caller]
fn error(from: &str, to: &str) -> String {
    assert_eq!(
        DOCUMENT.matches(from).count(),
        1,
        "{from:?} must stand once"
    );
    parse(&DOCUMENT.replace(from, to)).expect_err("the change must be refused")
}

#[track_caller]
fn assert_error(from: &str, to: &str, starts: &str) {
    let error = error(from, to);
    assert!(
        error.starts_with(starts),
        "expected {starts:?}...\n   found {error:?}"
    );
}

#[test]
fn the_document_means_what_it_says() {
    let schema = parse(DOCUMENT).unwrap();
    assert_eq!(schema.rows, Some(100));
    assert_eq!(
        schema.unit,
        PrivacyUnit::Column {
            column: 0,
            max_rows: 4
        }
    );
    let bin = |lower, upper| Bin { lower, upper };
    assert_eq!(
        schema.columns[2].bins().unwrap(),
        [bin(16., 19.), bin(20., 23.), bin(24., 60.)]
    );
    assert_eq!(
        schema.columns[3].bins().unwrap(),
        [bin(0., 0.), bin(0., 2000.), bin(2000., 10000.)]
    );
    assert_eq!(schema.columns[3].missing, ["", "NA"]);
    // Ten integers in four bins: sizes 2, 3, 2, 3.
    assert_eq!(
        schema.columns[6].bins().unwrap(),
        [bin(0., 1.), bin(2., 4.), bin(5., 6.), bin(7., 9.)]
    );
    let Kind::Categorical {
        levels,
        other,
        ordered,
    } = &schema.columns[4].kind
    else {
        panic!()
    };
    let codes: Vec<&str> = levels.iter().map(|l| l.code.as_str()).collect();
    assert_eq!(
        codes,
        ["007", "no", "1.50"],
        "texts are kept as they are written"
    );
    assert_eq!(other.as_ref().unwrap().label.as_deref(), Some("elsewhere"));
    assert!(ordered);
    assert_eq!(
        schema.structural_zeros[0].conditions,
        [(2, vec![1, 2]), (5, vec![1])]
    );
}

#[test]
fn a_document_without_text_names_the_element() {
    let (_, mut file) = Schema::parse(DOCUMENT, "x.yaml").unwrap();
    file.columns[2].bounds = None;
    let error = Schema::from_file(&file).unwrap_err().to_string();
    assert!(
        error.starts_with("columns[2]: column \"age\" is an integer and has no bounds"),
        "{error}"
    );
}

#[test]
fn json_aliases_and_byte_order_marks_are_read() {
    let schema = parse(DOCUMENT).unwrap();
    let (_, file) = Schema::parse(DOCUMENT, "x.yaml").unwrap();
    let json = serde_json::to_string_pretty(&file).unwrap();
    assert_eq!(parse(&json).unwrap(), schema);
    assert_eq!(parse(&format!("\u{feff}{DOCUMENT}")).unwrap(), schema);
    assert_eq!(parse(&DOCUMENT.replace('\n', "\r\n")).unwrap(), schema);
    let alias = DOCUMENT
        .replace("bins: [16, 20, 24, 60]", "bins: &edges [16, 20, 24, 60]")
        .replace(
            "bounds: [0, 9]\n    bins: 4",
            "bounds: [16, 60]\n    bins: *edges",
        );
    let schema = parse(&alias).unwrap();
    assert_eq!(schema.columns[6].bins(), schema.columns[2].bins());
}

#[test]
fn lalonde_ships_and_its_json_schema_names_the_keys() {
    let (schema, _) = Schema::parse(
        include_str!("../../../schemas/lalonde.yaml"),
        "lalonde.yaml",
    )
    .unwrap();
    assert_eq!(schema.columns.len(), 10);
    assert_eq!(schema.covariates().len(), 8);
    assert_eq!(schema.columns[9].declared_levels(), 11);
    // Bins of education: 0..5, 6..8, 9, 10, 11 | 12, 13..15, 16..18.
    assert_eq!(
        schema.structural_zeros[0].conditions,
        [(2, vec![5, 6, 7]), (6, vec![1])]
    );
    assert_eq!(
        schema.structural_zeros[1].conditions,
        [(2, vec![0, 1, 2, 3, 4]), (6, vec![0])]
    );
    let json = SchemaFile::json_schema();
    assert_eq!(json["additionalProperties"], false);
    assert_eq!(json["required"], serde_json::json!(["format", "columns"]));
    assert!(json["$defs"]["ColumnFile"]["properties"]["bounds"].is_object());
}
