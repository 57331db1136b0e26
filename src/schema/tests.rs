//! Tests of the schema document: what it means, every error with its place, and that nothing panics.

use super::*;
use proptest::prelude::*;

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
fn syntax_and_keys() {
    assert_error("title: A test", "title: A: B", "x.yaml:2:9: ");
    assert_error(
        "title: A test",
        "title: A\ntitle: B",
        "x.yaml:3:1: key \"title\" stands here and in line 2",
    );
    assert_error(
        "title: A test",
        "titel: A",
        "x.yaml:2:1: unknown key \"titel\"; did you mean \"title\"?",
    );
    assert_error(
        "    bounds: [16, 60]",
        "    bonds: [16, 60]",
        "x.yaml:14:5: unknown key \"bonds\"; did you mean \"bounds\"?",
    );
    assert_error(
        "label: treated",
        "lable: treated",
        "x.yaml:11:27: unknown key \"lable\"; did you mean \"label\"?",
    );
    assert_error(
        "max_rows: 4",
        "maxrows: 4",
        "x.yaml:4:27: unknown key \"maxrows\"; did you mean \"max_rows\"?",
    );
    assert_error("to: 60", "til: 60", "x.yaml:36:35: unknown key \"til\"");
    assert_error(
        ", max_rows: 4",
        "",
        "x.yaml:4:7: key \"max_rows\" is missing",
    );
    assert_error(
        "role: treatment",
        "role: treatmnt",
        "x.yaml:9:11: unknown value \"treatmnt\"; did you mean \"treatment\"?",
    );
    assert_error(
        "type: boolean",
        "type: bool",
        "x.yaml:27:11: unknown value \"bool\"",
    );
    assert_error(
        "rows: 100",
        "rows: many",
        "x.yaml:3:7: expected a whole number, not negative, found \"many\"",
    );
    assert_error(
        "rows: 100",
        "rows: \"100\"",
        "x.yaml:3:7: expected a whole number, not negative, found the quoted",
    );
    assert_error(
        "max_rows: 4",
        "max_rows: 5000000000",
        "x.yaml:4:37: expected a whole number from 0 to 4294967295, found \"5000000000\"",
    );
    assert_error(
        "ordered: true",
        "ordered: yes",
        "x.yaml:25:14: expected true or false, found \"yes\"",
    );
    assert_error(
        "[16, 60]",
        "[16]",
        "x.yaml:14:13: expected an array of length 2, found 1 values",
    );
    assert_error("[16, 60]", "[16, 60, 70]", "x.yaml:14:13: ");
    assert_error(
        "[16, 60]",
        "[16, old]",
        "x.yaml:14:18: expected a number, found \"old\"",
    );
    assert_error(
        "unit: {column: household, max_rows: 4}",
        "unit: rwo",
        "x.yaml:4:7: expected `row` or",
    );
    assert_error(
        "bins: 4",
        "bins: many",
        "x.yaml:32:11: expected a number of bins or a list of edges",
    );
    assert_error("title: A test", "title: !!str A", "x.yaml:2:");
    assert_error(
        "1\ntitle: A test",
        "2\ntitle: A test",
        "x.yaml:1:9: format \"dpcausal.schema/2\" is not",
    );
    assert_error(
        "format: dpcausal.schema/1\n",
        "",
        "x.yaml:1:1: the document does not say what it is",
    );
    assert!(
        parse("")
            .unwrap_err()
            .starts_with("x.yaml:1:1: the document is empty")
    );
    let two = format!("{DOCUMENT}---\n{DOCUMENT}");
    assert!(
        parse(&two)
            .unwrap_err()
            .starts_with("x.yaml:38:1: a second document"),
        "{:?}",
        parse(&two)
    );
}

#[test]
fn bounds_and_bins() {
    assert_error(
        "    bounds: [16, 60]\n",
        "",
        "x.yaml:12:5: column \"age\" is an integer and has no bounds; add e.g. \"bounds: [0, 120]\" from public",
    );
    assert_error(
        "    bounds: [0, 1e4]\n",
        "",
        "x.yaml:16:5: column \"income\" is a real number and has no bounds",
    );
    assert_error(
        "    bins: [16, 20, 24, 60]\n",
        "",
        "x.yaml:12:5: column \"age\" has no bins; add edges",
    );
    assert_error(
        "[16, 60]",
        "[60, 16]",
        "x.yaml:14:13: the lower bound of column \"age\" is not below",
    );
    assert_error(
        "[16, 60]",
        "[16, 16]",
        "x.yaml:14:13: the lower bound of column \"age\" is not below",
    );
    assert_error(
        "[16, 60]",
        "[16, .inf]",
        "x.yaml:14:13: the bounds of column \"age\" must be finite",
    );
    assert_error(
        "[0, 1e4]",
        "[.nan, 1e4]",
        "x.yaml:18:13: the bounds of column \"income\" must be finite",
    );
    assert_error(
        "[0, 1e4]",
        "[-1e308, 1e308]",
        "x.yaml:18:13: the bounds of column \"income\" are too far apart",
    );
    assert_error(
        "[16, 60]",
        "[16.5, 60]",
        "x.yaml:14:13: 16.5 is no whole number",
    );
    assert_error(
        "[16, 60]",
        "[16, 9007199254740992]",
        "x.yaml:14:13: the bounds of an integer column must lie",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[16, 20, 20, 60]",
        "x.yaml:15:20: 20 does not come after 20",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[16, 20.5, 60]",
        "x.yaml:15:16: 20.5 is no whole number",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[17, 20, 60]",
        "x.yaml:15:11: the edges of column \"age\" must begin with its lower",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[16, 20, 59]",
        "x.yaml:15:11: the edges of column \"age\" must begin with its lower",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[16]",
        "x.yaml:15:11: the edges of column \"age\" must begin with its lower",
    );
    assert_error(
        "[16, 20, 24, 60]",
        "[]",
        "x.yaml:15:11: the edges of column \"age\" must begin with its lower",
    );
    assert_error(
        "[0, 0, 2000, 10000]",
        "[0, 0, 0, 10000]",
        "x.yaml:19:18: 0 stands three times",
    );
    assert_error(
        "[0, 0, 2000, 10000]",
        "[0, 3000, 2000, 10000]",
        "x.yaml:19:21: 2000 comes after 3000",
    );
    assert_error(
        "[0, 0, 2000, 10000]",
        "[0, .inf, 10000]",
        "x.yaml:19:15: the edges of column \"income\" must be finite",
    );
    assert_error(
        "bins: 4",
        "bins: 0",
        "x.yaml:32:11: column \"wage\" needs at least one bin",
    );
    assert_error(
        "bins: 4",
        "bins: 65536",
        "x.yaml:32:11: column \"wage\" has more than 65535 bins",
    );
    assert_error(
        "type: boolean",
        "type: boolean\n    bins: 2",
        "x.yaml:28:11: column \"urban\" is boolean, which has no `bins`",
    );
    assert_error(
        "[0, 1e4]\n    bins: [0, 0, 2000, 10000]",
        "[0, 5e-324]\n    bins: 3",
        "x.yaml:19:11: 3 bins are too many",
    );
}

#[test]
fn levels_and_missing_codes() {
    assert_error(
        "    levels: [007, no, 1.50]\n",
        "",
        "x.yaml:21:5: column \"region\" is categorical and has no levels",
    );
    assert_error(
        "[007, no, 1.50]",
        "[]",
        "x.yaml:21:5: column \"region\" is categorical and has no levels",
    );
    assert_error(
        "[007, no, 1.50]",
        "[007, no, \"007\"]",
        "x.yaml:23:23: \"007\" stands twice",
    );
    assert_error(
        "code: other",
        "code: no",
        "x.yaml:24:12: \"no\" stands twice",
    );
    assert_error(
        "ordered: true",
        "missing: [x, no]",
        "x.yaml:25:18: \"no\" stands twice",
    );
    assert_error(
        "[\"\", NA]",
        "[NA, NA]",
        "x.yaml:20:19: \"NA\" stands twice",
    );
    assert_error(
        "[\"\", NA]",
        "[NA, 99]",
        "x.yaml:20:19: missing code \"99\" is also a value of column \"income\"",
    );
    assert_error(
        "type: boolean",
        "type: boolean\n    missing: [TRUE]",
        "x.yaml:28:15: missing code \"TRUE\" is also a value",
    );
    assert_error(
        "    type: boolean\n",
        "",
        "x.yaml:26:5: column \"urban\" has no type",
    );
    let many: Vec<String> = (0..65_535).map(|code| code.to_string()).collect();
    let many = format!("[{}]", many.join(","));
    assert_error(
        "[007, no, 1.50]",
        &many,
        "x.yaml:23:13: column \"region\" has more than 65535 levels",
    );
    // Numbers beyond the bounds may mean "missing", and the widest column holds 65,535 codes.
    assert!(parse(&DOCUMENT.replace("[\"\", NA]", "[-9]")).is_ok());
    let widest = parse(&DOCUMENT.replace(
        "bins: [0, 0, 2000, 10000]\n    missing: [\"\", NA]",
        "bins: 65535",
    ));
    assert_eq!(widest.unwrap().columns[3].levels(), 65_535);
    assert_error(
        "bins: [0, 0, 2000, 10000]",
        "bins: 65535",
        "x.yaml:20:14: column \"income\" has more than 65535 codes",
    );
}

#[test]
fn roles_and_unit() {
    assert_error(
        "  - name: note",
        "  - name: treat",
        "x.yaml:33:11: column \"treat\" is declared twice",
    );
    assert_error(
        "  - name: note",
        "  - name: ''",
        "x.yaml:33:11: a column needs a name",
    );
    assert_error(
        "type: boolean",
        "type: boolean\n    role: treatment",
        "x.yaml:28:11: \"urban\" is a second treatment beside",
    );
    assert_error(
        "type: boolean",
        "type: boolean\n    role: outcome",
        "x.yaml:30:11: \"wage\" is a second outcome beside \"urban\"",
    );
    assert_error(
        "[0, {code: 1, label: treated}]",
        "[0]",
        "x.yaml:11:13: treatment \"treat\" has one arm",
    );
    assert_error(
        "label: treated}]",
        "label: treated}]\n    other: rest",
        "x.yaml:12:12: treatment \"treat\" can't have `other`",
    );
    assert_error(
        "label: treated}]",
        "label: treated}]\n    missing: [x]",
        "x.yaml:12:14: treatment \"treat\" can't have missing",
    );
    assert_error(
        "bins: 4",
        "bins: 4\n    missing: [x]",
        "x.yaml:33:14: outcome \"wage\" can't have missing",
    );
    assert_error(
        "type: categorical\n    levels: [0, {code: 1, label: treated}]",
        "type: integer\n    bounds: [0, 1]\n    bins: 2",
        "x.yaml:10:11: treatment \"treat\" is a number",
    );
    assert_error(
        "type: integer\n    bounds: [0, 9]\n    bins: 4",
        "type: categorical\n    levels: [a, b, c]",
        "x.yaml:31:13: outcome \"wage\" has 3 levels",
    );
    assert_error("rows: 100", "rows: 0", "x.yaml:3:7: a table without rows");
    assert_error(
        "column: household",
        "column: houshold",
        "x.yaml:4:16: no column is named \"houshold\"; did you mean \"household\"?",
    );
    assert_error(
        "column: household",
        "column: note",
        "x.yaml:4:16: the privacy unit \"note\" has the role `ignored`",
    );
    assert_error(
        "max_rows: 4",
        "max_rows: 0",
        "x.yaml:4:37: a unit contributes at least one row",
    );
    let text = "format: dpcausal.schema/1\ncolumns:\n  - {name: a, role: id}\n";
    assert!(
        parse(text)
            .unwrap_err()
            .starts_with("x.yaml:3:3: no column is released")
    );
}

#[test]
fn structural_zeros() {
    let zero = "{urban: true, age: {from: 20, to: 60}}";
    let at = |to: &str, starts: &str| assert_error(zero, to, starts);
    at(
        "{urban: true}",
        "x.yaml:36:5: a structural zero is a combination of at least two columns",
    );
    at(
        "{urban: true, aeg: 1}",
        "x.yaml:36:24: no column is named \"aeg\"; did you mean \"age\"?",
    );
    at(
        "{urban: true, note: 1}",
        "x.yaml:36:25: column \"note\" is not released",
    );
    at(
        "{urban: true, age: {from: 21, to: 60}}",
        "x.yaml:36:24: the range 21 to 60 cuts through a bin of column \"age\"",
    );
    at(
        "{urban: true, age: {from: 24, to: 19}}",
        "x.yaml:36:24: the range 24 to 19 cuts",
    );
    at(
        "{urban: true, age: 20}",
        "x.yaml:36:24: \"20\" is neither a missing code of column \"age\" nor a value with a bin",
    );
    at(
        "{urban: true, region: [007, nо]}",
        "x.yaml:36:33: \"nо\" is no level of column \"region\"",
    );
    at(
        "{urban: true, region: []}",
        "x.yaml:36:27: name at least one level",
    );
    at(
        "{urban: true, region: {from: 1, to: 2}}",
        "x.yaml:36:27: column \"region\" is not numeric",
    );
    at(
        "{urban: [false, true], age: {from: 20, to: 60}}",
        "x.yaml:36:13: these are all levels of column \"urban\"",
    );
    let all = "{urban: true, treat: 0}\n  - {urban: true, treat: 1}\n  - {urban: false, treat: 0}\n  - {urban: false, treat: 1}";
    at(
        all,
        "x.yaml:36:3: together the structural zeros rule out every combination",
    );
    let three = all.rsplit_once('\n').unwrap().0;
    assert!(parse(&DOCUMENT.replace(zero, three)).is_ok());
    let codes = |to: &str| {
        parse(&DOCUMENT.replace(zero, to)).unwrap().structural_zeros[0].conditions[0].clone()
    };
    assert_eq!(
        codes("{urban: true, income: {from: 0, to: 2000}}"),
        (3, vec![0, 1])
    );
    assert_eq!(
        codes("{urban: true, income: {from: 0, to: 0}}"),
        (3, vec![0])
    );
    assert_eq!(codes("{urban: true, income: [NA, 0]}"), (3, vec![0, 4]));
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
fn hostile_nesting_and_aliases_are_refused() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
        "? ".repeat(100_000),
    ] {
        assert!(parse(&text).is_err());
    }
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let alias = format!("*a{}", level - 1);
        bomb.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![alias; 10].join(", ")
        ));
    }
    let error = parse(&bomb).unwrap_err();
    assert!(error.contains("more than 1000000 values"), "{error}");
    assert!(parse("a: &a [*a]").is_err());
}

#[test]
fn lalonde_ships_and_its_json_schema_names_the_keys() {
    let (schema, _) =
        Schema::parse(include_str!("../../schemas/lalonde.yaml"), "lalonde.yaml").unwrap();
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

/// Documents that hold together, of a few columns.
fn documents() -> impl Strategy<Value = String> {
    let column = prop_oneof![
        (-1000_i64..1000, 1_i64..500, 1_u32..40).prop_map(|(lower, width, bins)| format!(
            "type: integer\n    bounds: [{lower}, {}]\n    bins: {bins}",
            lower + width
        )),
        (-1e6..1e6_f64, 1e-3..1e6_f64, 1_u32..40).prop_map(|(lower, width, bins)| {
            format!(
                "type: real\n    bounds: [{lower:?}, {:?}]\n    bins: {bins}\n    missing: [NA]",
                lower + width
            )
        }),
        prop::collection::btree_set("[a-z0-9.~ ]{0,4}", 1..6).prop_map(|levels| {
            let levels: Vec<String> = levels.iter().map(|l| format!("{l:?}")).collect();
            format!("type: categorical\n    levels: [{}]", levels.join(", "))
        }),
        Just("type: boolean".to_string()),
    ];
    prop::collection::vec(column, 1..6).prop_map(|columns| {
        let mut text = String::from("format: dpcausal.schema/1\ncolumns:\n");
        for (index, column) in columns.iter().enumerate() {
            text.push_str(&format!("  - name: c{index}\n    {column}\n"));
        }
        text
    })
}

/// A valid document after a few small accidents.
fn mutated() -> impl Strategy<Value = String> {
    let accident = (
        any::<prop::sample::Index>(),
        0_usize..6,
        "[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,3}",
    );
    prop::collection::vec(accident, 1..6).prop_map(|accidents| {
        let mut text: Vec<char> = DOCUMENT.chars().collect();
        for (at, removed, inserted) in accidents {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}|[\\[\\]{}:,&*!|>\"'%@~?# \n\ta-z0-9.-]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn mutated_documents_never_panic(text in mutated()) {
        if let Ok((schema, file)) = Schema::parse(&text, "x.yaml") {
            prop_assert_eq!(Schema::from_file(&file).unwrap(), schema);
        }
    }

    #[test]
    fn documents_survive_yaml_and_json(text in documents()) {
        let (schema, file) = Schema::parse(&text, "x.yaml").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let yaml = serde_yaml::to_string(&file).unwrap();
        prop_assert_eq!(&parse(&yaml).map_err(TestCaseError::fail)?, &schema);
        let json = serde_json::to_string(&file).unwrap();
        prop_assert_eq!(&parse(&json).map_err(TestCaseError::fail)?, &schema);
        let embedded: SchemaFile = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&embedded, &file);
        prop_assert_eq!(Schema::from_file(&embedded).unwrap(), schema);
    }

    #[test]
    fn bins_partition_the_integers(lower in -50_i64..50, width in 1_i64..100, count in 1_u32..120) {
        let text = format!(
            "format: dpcausal.schema/1\ncolumns:\n  - {{name: a, type: integer, bounds: [{lower}, {}], bins: {count}}}",
            lower + width
        );
        let schema = parse(&text).map_err(TestCaseError::fail)?;
        let bins = schema.columns[0].bins().unwrap();
        prop_assert_eq!(bins.len() as i64, i64::from(count).min(width + 1));
        let sizes: Vec<f64> = bins.iter().map(|b| b.upper - b.lower + 1.0).collect();
        let (least, most) = sizes.iter().fold((f64::MAX, 0.0_f64), |(l, m), &s| (l.min(s), m.max(s)));
        prop_assert!(least >= 1.0 && most - least <= 1.0);
        prop_assert_eq!(bins[0].lower, lower as f64);
        prop_assert_eq!(bins[bins.len() - 1].upper, (lower + width) as f64);
        prop_assert!(bins.windows(2).all(|pair| pair[1].lower == pair[0].upper + 1.0));
    }
}
