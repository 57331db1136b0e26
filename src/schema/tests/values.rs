//! Errors of bounds, bins, levels and structural zeros.

use super::{DOCUMENT, assert_error, parse};

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
        "{urban: true, region: [007, np]}",
        "x.yaml:36:33: \"np\" is no level of column \"region\"",
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
