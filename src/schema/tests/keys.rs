//! Errors of syntax, of keys and of roles.

use super::{DOCUMENT, assert_error, parse};

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
